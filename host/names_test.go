package host

import (
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"meanwhile/session"
)

// A name shows everything that it is, and nothing else.
func TestCleanName(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"Ann", "Ann"}, {"", ""}, {"   ", ""}, {" a  b\u00a0c ", "a b c"},
		{"Zo\u00eb \U0001f388", "Zo\u00eb \U0001f388"}, {"\u05d0\u05d1", "\u05d0\u05d1"},
		{"a\u200bb\u2060c\ufeff", "abc"},       // nothing wide
		{"\u202eadmin\u202c", "admin"},         // backwards
		{"\u2066a\u2069\u200f", "a"},           // isolates and marks of direction
		{"\u3164\u115f\uffa0\u2800\u034f", ""}, // letters that show nothing
		{"a\ufe0f\U000e0041b\U000e0100", "ab"}, // variation selectors and tags
		{"\u0301a", "a"},                       // a mark without a letter
		{"a" + strings.Repeat("\u0301", 9), "a" + strings.Repeat("\u0301", maxMarks)},
		{"\ue000\U000f0000x", "x"},                   // private use
		{"\u0e1c\u0e39\u0e49", "\u0e1c\u0e39\u0e49"}, // Thai with two marks
	} {
		if got := cleanName(c.name); got != c.want {
			t.Errorf("%q became %q, want %q", c.name, got, c.want)
		}
	}
}

// Two players never have the same name, however they write it.
func TestNamesDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		long := strings.Repeat("\u00e9", session.MaxName/2)
		for _, c := range []struct{ name, want string }{
			{"Ann", "Ann"}, {"ann", "ann 2"}, {"A\u200bnn", "Ann 3"}, {"", "Guest"}, {"Guest", "Guest 2"},
			{"\u202e", "Guest 3"}, {"Ann 2", "Ann 2 2"}, {long, long},
			{long, strings.Repeat("\u00e9", session.MaxName/2-1) + " 2"},
		} {
			conn := s.greet(session.Hello{Name: c.name})
			defer end(conn)
			r := s.room(DefaultRoom)
			r.call(func() {
				got := r.order[len(r.order)-1].name
				if got != c.want || len(got) > session.MaxName || !utf8.ValidString(got) {
					t.Errorf("%q is called %q, want %q", c.name, got, c.want)
				}
			})
		}
	})
}
