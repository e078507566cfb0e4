package schema

import (
	"strings"

	"meanwhile/internal/fault"
)

// One of some words, the first of which is 0.
var enumClass = class{
	name: "enum", goes: "an integer type", works: "enum,idle|walk|run",
	tags: tagRules{
		fits: fitsInteger,
		steps: func(p *Prop, word string) (float64, error) {
			names := strings.Split(word, "|")
			for i, n := range names {
				if !goodWord(n) || i >= MaxNames {
					return wantPrecision(word,
						fault.Sprintf("1 to %d words such as idle|walk|run, of letters, digits, - and _", MaxNames))
				}
				for _, other := range names[:i] {
					if n == other {
						return wantPrecision(word, "each word once, and "+n+" stands there twice")
					}
				}
			}
			if _, most, _ := intRange(p.field.kind); int64(len(names))-1 > most {
				return wantPrecision(word, fault.Sprintf("as many words as fit Go type %s", p.field.kind))
			}
			p.Names, p.Max, p.ranged = word, int64(len(names))-1, true
			return 1, nil
		},
		need: "class enum needs its words, such as idle|walk|run", team: true, group: 1,
	},
	facts: facts{shape: ShapeEnum},
	values: valueRules{
		load: loadInt, store: storeInt, clamp: clampScaled, observe: observeSame,
		drawn: drawnWhole, exact: exactScaled, round: roundWhole,
		whole: true,
	},
}

// Words returns the words of an Enum, the first of which is 0.
func (p *Prop) Words() []string { return strings.Split(p.Names, "|") }

// goodWord reports whether s can name a value of an enum.
func goodWord(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}
