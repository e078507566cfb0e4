// Package golden compares the output of a test with a file in testdata. It is for tests only.
//
//	golden.Check(t, "testdata/headers.txt", b.String())
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files in testdata; a changed vector is a protocol change")

// Updating reports whether the flag -update is set, for tests that write their files themselves.
func Updating() bool { return *update }

// Check compares got with a file, reports the first line that differs, and returns the text of the
// file. With -update it writes the file first.
func Check(t testing.TB, file, got string) string {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if kept := string(text); kept != got {
		n, g, k := difference(got, kept)
		t.Errorf("%s differs in line %d (-update rewrites it)\ngot  %s\nkept %s", file, n, g, k)
	}
	return string(text)
}

// Quoted checks that a page of the docs contains text, wherever its lines break. A test compares the
// figures that a page quotes from it.
func Quoted(t testing.TB, page, text string) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if words := strings.Join(strings.Fields(text),
		" "); !strings.Contains(strings.Join(strings.Fields(string(b)), " "), words) {
		t.Errorf("%s does not say %q, as it was measured just now", page, words)
	}
}

// difference returns the number of the first line that two different texts do not share, and both
// forms of it.
func difference(a, b string) (line int, in, other string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for line < len(x) && line < len(y) && x[line] == y[line] {
		line++
	}
	at := func(lines []string) string {
		if line < len(lines) {
			return lines[line]
		}
		return "(ends)"
	}
	return line + 1, at(x), at(y)
}
