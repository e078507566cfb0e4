package wire

import "testing"

func TestCutText(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"Zoë", 4, "Zoë"},
		{"Zoë", 3, "Zo"}, // ë has two bytes
		{"€uro", 3, "€"},
		{"€uro", 2, ""},
		{"a😀", 4, "a"},
	} {
		if got := CutText(c.text, c.n); got != c.want {
			t.Errorf("%q cut to %d bytes is %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
