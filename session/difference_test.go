package session

import "testing"

func TestFirstDifference(t *testing.T) {
	for _, c := range []struct{ server, client, theirs, ours string }{
		{"", "", "", ""},
		{"a\nb\n", "a\nb\n", "", ""},
		{"a\n b\nc\n", "a\n x\nc\n", "b", "x"},
		{"a\nb\n", "a\n", "b", ""},
		{"a\n", "a\nb\nc\n", "", "b"},
		{"a", "", "a", ""},
	} {
		if theirs, ours := FirstDifference(c.server, c.client); theirs != c.theirs || ours != c.ours {
			t.Errorf("%q and %q differ first in %q and %q, want %q and %q", c.server, c.client, theirs, ours, c.theirs, c.ours)
		}
	}
}

func TestExplain(t *testing.T) {
	r := Refusal{Code: WrongSchema, Text: "other rules", SchemaText: "pilot\n pos 1cm\n"}
	for schema, want := range map[string]string{
		"pilot\n pos 1mm\n":        `session: refused: wrong schema: other rules: it has "pos 1cm", here it is "pos 1mm"`,
		"pilot\n":                  `session: refused: wrong schema: other rules: it has "pos 1cm", which is missing here`,
		"pilot\n pos 1cm\n vel\n":  `session: refused: wrong schema: other rules: it does not have "vel"`,
		"pilot\n pos 1cm\n":        `session: refused: wrong schema: other rules`,
		"gem\n":                    `session: refused: wrong schema: other rules: it has "pilot", here it is "gem"`,
		"pilot\n pos 1cm\nother\n": `session: refused: wrong schema: other rules: it does not have "other"`,
	} {
		if got := r.Explain(schema); got != want {
			t.Errorf("%q:\n got %s\nwant %s", schema, got, want)
		}
	}
	if got := (Refusal{Code: Busy, SchemaText: "x"}).Explain("y"); got != "session: refused: server is busy" {
		t.Error(got)
	}
}
