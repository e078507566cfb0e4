package wire

import "unicode/utf8"

// CutText cuts a text, which must be valid UTF-8, to at most n bytes, at the end of a character.
func CutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
