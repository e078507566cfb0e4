package web_test

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/transport"
	"meanwhile/web"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(web.Files, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Modules names exactly what a page loads when it follows all imports from meanwhile.js.
func TestModules(t *testing.T) {
	statement := regexp.MustCompile(`(?m)^import .* from "(.*)"$`)
	var found []string
	var follow func(name string)
	follow = func(name string) {
		if slices.Contains(found, "/"+name) {
			return
		}
		found = append(found, "/"+name)
		for _, m := range statement.FindAllStringSubmatch(read(t, name), -1) {
			follow(path.Join(path.Dir(name), m[1]))
		}
	}
	follow("meanwhile.js")
	slices.Sort(found)
	want := web.Modules()
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("a page loads %v, but Modules names %v", found, want)
	}
}

// The constants of transport.js that have a counterpart in Go have the same value.
func TestConstants(t *testing.T) {
	source := read(t, "transport.js")
	constant := func(name string) int {
		m := regexp.MustCompile(`(?m)^const .*\b` + name + ` = (\d+)(?: << (\d+))?(?:,|$)`).FindStringSubmatch(source)
		if m == nil {
			t.Fatalf("transport.js has no constant %s", name)
		}
		v, _ := strconv.Atoi(m[1])
		shift, _ := strconv.Atoi("0" + m[2])
		return v << shift
	}
	h := wire.Header{Seq: 0xa1a2, Stamp: clock.Stamp(0xb2b3b4)}
	var w wire.BitWriter
	w.Reset(nil)
	h.Append(&w, wire.Known{})
	b := w.Bytes()
	if at := constant("SEQ_AT"); wire.Seq(binary.LittleEndian.Uint16(b[at:])) != h.Seq || wire.SeqOf(b) != h.Seq {
		t.Errorf("SEQ_AT is %d, but the header is %x", at, b)
	}
	if at := constant("STAMP_AT"); b[at] != 0xb4 || b[at+1] != 0xb3 || b[at+2] != 0xb2 || wire.StampOf(b) != h.Stamp {
		t.Errorf("STAMP_AT is %d, but the header is %x", at, b)
	}
	for name, want := range map[string]int{
		"MIN_DATAGRAM": transport.MinDatagram, "MAX_DATAGRAM": transport.MaxDatagram, "MAX_MESSAGE": transport.MaxMessage,
	} {
		if got := constant(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

// A page's author finds the whole API at the head of meanwhile.js, on one screen.
func TestHeadFitsOneScreen(t *testing.T) {
	lines := strings.Split(read(t, "meanwhile.js"), "\n")
	n := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "//") })
	if n < 20 || n >= 60 {
		t.Errorf("the head has %d lines, want fewer than 60", n)
	}
}

// The guide calls what the panel shows as the panel calls it, and explains each of its lines.
func TestGuideNamesThePanel(t *testing.T) {
	guide, err := os.ReadFile("../docs/guide/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	var names, lines []string
	shown := regexp.MustCompile(`\b(name|title): "([^"]+)"|this\.section\("\w+", "([^"]+)"\)`)
	for _, name := range []string{"meanwhile/panel/measures.js", "meanwhile/panel/panel.js"} {
		for _, m := range shown.FindAllStringSubmatch(read(t, name), -1) {
			names = append(names, m[2]+m[3])
			if m[1] == "name" && strings.HasSuffix(name, "measures.js") {
				lines = append(lines, m[2])
			}
		}
	}
	used := regexp.MustCompile(`\*([^*\n]+)\*`).FindAllStringSubmatch(string(guide), -1)
	for _, m := range used {
		if !slices.Contains(names, m[1]) && !slices.Contains([]string{"WebSocket", "WebTransport", "field"}, m[1]) {
			t.Errorf("the guide speaks of *%s*, which the panel does not show", m[1])
		}
	}
	if len(lines) != 11 {
		t.Errorf("the panel has %d lines: %q", len(lines), lines)
	}
	for _, line := range lines {
		if !strings.Contains(string(guide), "*"+line+"*") {
			t.Errorf("the guide does not explain the panel's line %q", line)
		}
	}
}
