package schema

import (
	"errors"
	"hash/fnv"
	"strconv"

	"meanwhile/internal/fault"
)

// Plain returns an error if a property has words that only make sense for entities: commands and
// events have no place and no distance. An event may have a team, a command has none.
func (k *Kind) Plain(event bool) error {
	var errs []error
	for i := range k.Props {
		p := &k.Props[i]
		word := ""
		switch {
		case p.tag.parent:
			word = "parent"
		case p.tag.team && !event:
			word = "team"
		case p.Audience == Team:
			word = "to=team"
		default:
			word = p.relative()
		}
		if word == "" {
			continue
		}
		errs = append(errs, fault.Errorf("schema: %s: %s `net:%q`: %s is for entities only; an example that works: `net:%q`",
			k.Name, p.Name, p.tag.text, word, p.tag.works))
	}
	return errors.Join(errs...)
}

// relative returns a word of the tag that is about what others receive as they move; "" if there is
// none.
func (p *Prop) relative() string {
	switch {
	case p.Far > 0:
		return "far="
	case p.Warp > 0:
		return "warp="
	case len(p.tag.levels) > 0:
		return "@ distances"
	case p.Draw == Reckon:
		return "draw=dr"
	case p.tag.parent:
		return "parent"
	}
	return ""
}

// Hash identifies the schema text s; equal texts speak the same wire format.
func Hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// Text describes the kind in a line per property, for hashes and for naming differences.
func (k *Kind) Text() string {
	var t describer
	t.word(k.Name)
	t.whole(" rate=", int64(k.Rate))
	label := " levels="
	for _, m := range k.Levels {
		t.number(label, m)
		label = ","
	}
	if k.Extrapolated {
		t.word(" guessed")
	}
	if k.Beyond > 0 {
		t.number(" beyond=", k.Beyond)
	}
	switch k.Ahead {
	case Predicted:
		t.word(" predicted")
	case Near:
		t.number(" near=", k.Reach)
	}
	t.word("\n")
	for i := range k.Props {
		if p := &k.Props[i]; p.Audience != Server { // what is never on the wire is not described
			t.property(p, len(k.Levels))
		}
	}
	return string(t)
}

func (t *describer) property(p *Prop, levels int) {
	t.word(" ")
	t.word(p.Name)
	t.word(" ")
	t.word(p.Class.String())
	t.whole(" x", int64(p.Comps))
	t.number(" sim=", p.Sim)
	t.number(" obs=", p.Obs)
	t.whole(" range=", p.Min)
	t.whole("..", p.Max)
	t.whole(" to=", int64(p.Audience))
	t.whole(" draw=", int64(p.Draw))
	t.whole(" group=", int64(p.Group))
	if p.Names != "" {
		t.word(" names=")
		t.word(p.Names)
	}
	if p.Draw == Reckon {
		t.whole(" dr=", p.Bound)
	}
	if p.Warp > 0 {
		t.whole(" warp=", p.Warp)
	}
	if p.Far > 0 {
		t.number(" far=", p.Far)
	}
	if p.Shift[levels] > 0 {
		label := " shift="
		for l := 1; l <= levels; l++ {
			t.whole(label, int64(p.Shift[l]))
			label = ","
		}
	}
	t.mark(" ref", p.Ref)
	switch p.Near {
	case 0:
	case NearBits:
		t.word(" near")
	default:
		t.whole(" near=", int64(p.Near))
	}
	t.mark(" parent", p.tag.parent)
	t.mark(" team", p.tag.team)
	t.word("\n")
}

// A describer writes a kind's text. Its methods stand in a program once: inlined they would make
// the page's program 6 kB longer.
type describer []byte

//go:noinline
func (t *describer) word(s string) { *t = append(*t, s...) }

//go:noinline
func (t *describer) number(label string, v float64) {
	t.word(label)
	*t = strconv.AppendFloat(*t, v, 'g', -1, 64)
}

//go:noinline
func (t *describer) whole(label string, v int64) {
	t.word(label)
	*t = strconv.AppendInt(*t, v, 10)
}

func (t *describer) mark(label string, there bool) {
	if there {
		t.word(label)
	}
}
