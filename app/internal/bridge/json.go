package bridge

import (
	"strconv"
	"unicode/utf8"
)

// jsonWriter writes JSON for the page. Package encoding/json would be a tenth of the whole program;
// these methods inlined would be a hundredth.
type jsonWriter struct {
	b    []byte
	next bool // a comma comes before the next value
}

func (j *jsonWriter) comma() {
	if j.next {
		j.b = append(j.b, ',')
	}
	j.next = true
}

//go:noinline
func (j *jsonWriter) open(c byte) {
	j.comma()
	j.b = append(j.b, c)
	j.next = false
}

//go:noinline
func (j *jsonWriter) close(c byte) {
	j.b = append(j.b, c)
	j.next = true
}

//go:noinline
func (j *jsonWriter) key(s string) *jsonWriter {
	j.text(s)
	j.b = append(j.b, ':')
	j.next = false
	return j
}

//go:noinline
func (j *jsonWriter) number(v float64) {
	j.comma()
	j.b = strconv.AppendFloat(j.b, v, 'g', -1, 64)
}

// text writes a string, RFC 8259 §7. What is not UTF-8 becomes the replacement character.
func (j *jsonWriter) text(s string) {
	const hex = "0123456789abcdef"
	j.comma()
	j.b = append(j.b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			j.b = append(j.b, '\\', byte(r))
		case r < 0x20:
			j.b = append(j.b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			j.b = utf8.AppendRune(j.b, r)
		}
	}
	j.b = append(j.b, '"')
}
