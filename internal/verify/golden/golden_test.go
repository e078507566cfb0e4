package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// complaints is a testing.TB that keeps its errors instead of failing.
type complaints struct {
	testing.TB
	errors []string
}

func (c *complaints) Helper() {}

func (c *complaints) Errorf(format string, args ...any) {
	c.errors = append(c.errors, fmt.Sprintf(format, args...))
}

func TestCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kept.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{"one\ntwo\n", ""},
		{"one\n2\n", " differs in line 2 (-update rewrites it)\ngot  2\nkept two"},
		{"one\ntwo\nthree\n", " differs in line 3 (-update rewrites it)\ngot  three\nkept "},
		{"one", " differs in line 2 (-update rewrites it)\ngot  (ends)\nkept two"},
	} {
		all := complaints{TB: t}
		if kept := Check(&all, file, c.got); kept != "one\ntwo\n" {
			t.Errorf("the file has %q", kept)
		}
		switch {
		case c.want == "" && len(all.errors) != 0:
			t.Errorf("%q: %q", c.got, all.errors)
		case c.want != "" && (len(all.errors) != 1 || all.errors[0] != file+c.want):
			t.Errorf("%q: %q, want %q", c.got, all.errors, file+c.want)
		}
	}
}

func TestUpdate(t *testing.T) {
	defer func(u bool) { *update = u }(*update)
	*update = true
	file := filepath.Join(t.TempDir(), "new.txt")
	if kept := Check(t, file, "made\n"); kept != "made\n" || !Updating() {
		t.Errorf("the file has %q", kept)
	}
}

func TestQuoted(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("It takes 3\nseconds.\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"takes 3 seconds": 0, "3  seconds.": 0, "takes 4 seconds": 1} {
		all := complaints{TB: t}
		if Quoted(&all, page, text); len(all.errors) != want {
			t.Errorf("%q: %q", text, all.errors)
		}
	}
}
