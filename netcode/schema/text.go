package schema

import (
	"bytes"
	"reflect"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"meanwhile/internal/fault"
)

// A text of a few bytes of UTF-8, four of them in an integer.
var textClass = class{
	name: "text", goes: "string", usual: true, works: "text,12",
	tags: tagRules{
		kind: reflect.String,
		steps: func(p *Prop, word string) (float64, error) {
			n, err := strconv.Atoi(word)
			most := max(p.tag.maxText, MaxText)
			if err != nil || n < 1 || n > most {
				return wantPrecision(word, fault.Sprintf("a number of bytes, 1 to %d", most))
			}
			p.Max, p.Comps = int64(n), (n+3)/4
			return 1, nil
		},
		need: "class text needs a precision", group: 2,
	},
	facts: facts{shape: ShapeText},
	values: valueRules{
		load: func(q *Prop, f unsafe.Pointer, dst []int64) { packText(dst, *(*string)(f), int(q.Max)) },
		store: func(_ *Prop, g *grid, f unsafe.Pointer, src []int64) {
			var short [textBytes]byte
			b := short[:]
			if len(src) > textInts {
				b = make([]byte, 4*len(src))
			}
			n := unpackText(b, src, g.shift)
			if s := (*string)(f); *s != string(b[:n]) { // the comparison does not allocate
				*s = validText(b[:n])
			}
		},
		clamp: func(q *Prop, v []int64) {
			var b [(MaxLine + 3) / 4 * 4]byte
			n := unpackText(b[:], v, 0)
			packText(v, unsafe.String(&b[0], n), int(q.Max))
		},
		observe: observeUint32, drawn: drawnUint32, exact: exactScaled,
		round: func(_ *Prop, _ []float64, dst []int64) { clear(dst) },
		bits:  32,
		whole: true,
	},
}

// isText reports whether the property is a text.
func (p *Prop) isText() bool { return p.Class == Text }

// MaxRefs bounds the numbers that stand for texts, which have 16 bits in messages; 0 stands for
// none.
const MaxRefs = 1 << 16

// refOrder is the order of the code of such a number: 7 bits up to 63.
const refOrder = 6

// WireComps returns how many integers of the property travel in a record.
func (p *Prop) WireComps(obs bool) int {
	if obs && p.Ref {
		return 1
	}
	return p.Comps
}

const (
	textInts  = (MaxText + 3) / 4
	textBytes = 4 * textInts
)

// AppendText appends the text that integers of the property are to b.
func (p *Prop) AppendText(b []byte, vals []int64) []byte {
	var line [(MaxLine + 3) / 4 * 4]byte
	return append(b, line[:unpackText(line[:], vals[p.At:p.At+p.Comps], 0)]...)
}

// SetText makes integers of the property out of a text. It reports false, and changes nothing, if
// the text is too long, no UTF-8, or has a zero byte.
func (p *Prop) SetText(vals []int64, text []byte) bool {
	if len(text) > int(p.Max) || !IsText(text) {
		return false
	}
	packText(vals[p.At:p.At+p.Comps], string(text), int(p.Max))
	return true
}

// packText writes s, four bytes to an integer, as store gives it back: valid UTF-8 without zero
// bytes, cut between two characters where it is longer than most.
func packText(dst []int64, s string, most int) {
	clear(dst)
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		char := s[:size]
		s = s[size:]
		if r == 0 || r == utf8.RuneError && size == 1 {
			continue
		}
		if n+size > most {
			return
		}
		for i := range size {
			dst[n/4] |= int64(char[i]) << (8 * uint(n%4))
			n++
		}
	}
}

// IsText reports whether b is UTF-8 without zero bytes.
func IsText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// unpackText writes the bytes of a packed text into b and returns how many there are, zeros left
// out.
func unpackText(b []byte, src []int64, shift uint) (n int) {
	for _, v := range src {
		v >>= shift
		for j := range 4 {
			if ch := byte(v >> (8 * j)); ch != 0 {
				b[n] = ch
				n++
			}
		}
	}
	return n
}

// validText returns b without what is not UTF-8. It uses b's memory. strings.ToValidUTF8 would make
// the browser's program larger.
func validText(b []byte) string {
	kept := b[:0]
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r != utf8.RuneError || size > 1 {
			kept = append(kept, b[:size]...)
		}
		b = b[size:]
	}
	return string(kept)
}
