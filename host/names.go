package host

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// maxMarks is how many combining marks a letter of a name may carry: no script needs more, and
// towers of them cover what stands above.
const maxMarks = 3

// blank are characters that show nothing although Unicode counts them as letters, marks or symbols.
var blank = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // a cell of Braille without dots
}

// cleanName returns a name as others see it: without what is invisible or changes the direction of
// the text beside it, with single spaces, and without towers of marks. It may be empty.
func cleanName(name string) string {
	var b strings.Builder
	marks := maxMarks // none at the beginning
	space := false
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			space, marks = b.Len() > 0, maxMarks
			continue
		case !unicode.IsGraphic(r) || r == unicode.ReplacementChar || unicode.In(r, blank...):
			continue
		case unicode.IsMark(r):
			if marks++; marks > maxMarks {
				continue
			}
		default:
			marks = 0
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// ownName returns a name that nobody else in the room has: with a number behind it if need be.
// Names that differ only in the case of letters count as the same.
func (r *room) ownName(name string) string {
	for n := 1; ; n++ {
		own := name
		if n > 1 {
			suffix := fmt.Sprintf(" %d", n)
			own = strings.TrimRight(wire.CutText(name, session.MaxName-len(suffix)), " ") + suffix
		}
		if !slices.ContainsFunc(r.order, func(p *player) bool { return strings.EqualFold(p.name, own) }) {
			return own
		}
	}
}
