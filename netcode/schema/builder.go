package schema

import (
	"errors"
	"reflect"
	"strings"

	"meanwhile/internal/fault"
)

// A builder makes a Kind field by field.
type builder struct {
	kind    *Kind
	title   string // of the struct, in messages
	maxText int    // bytes of a text at most
	errs    []error
}

// netTag returns the value of the key net of a struct tag, as reflect.StructTag.Lookup does, but
// with escapes as they are written: package strconv's would make a page's program larger.
func netTag(tag string) (value string, ok bool) {
	for {
		key, rest, _ := strings.Cut(strings.TrimLeft(tag, " "), ":\"")
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return "", false
		}
		if key == "net" {
			return rest[:end], true
		}
		tag = rest[end+1:]
	}
}

// add adds a field of the struct.
func (b *builder) add(f reflect.StructField) {
	t := typeOf(f.Type)
	text, tagged := netTag(string(f.Tag))
	works := t.example("")
	switch {
	case works == "":
		b.fail("%s.%s has the type %s, which no class fits; %s", b.title, f.Name, t.name, fitting)
		return
	case !tagged:
		b.fail("%s.%s has no net tag; write for example `net:%q`, or `net:%q` if it never leaves the server",
			b.title, f.Name, works, works+",server")
		return
	}
	class, _, _ := strings.Cut(text, ",")
	p := Prop{
		Name:  f.Name,
		field: field{offset: f.Offset, size: f.Type.Size()},
		tag:   written{text: text, works: t.example(class), maxText: b.maxText},
	}
	if err := p.parse(t, b.kind.Rate); err != nil {
		b.wrong(&p, err)
		return
	}
	b.kind.Props = append(b.kind.Props, p)
}

func (b *builder) fail(format string, args ...any) {
	b.errs = append(b.errs, fault.Errorf(format, args...))
}

// wrong reports a mistake in the tag of a property.
func (b *builder) wrong(p *Prop, err error) {
	b.fail("%s.%s `net:%q`: %w; an example that works: `net:%q`", b.title, p.Name, p.tag.text, err, p.tag.works)
}

// finish returns the finished kind, or every mistake that was made in one error.
func (b *builder) finish() (*Kind, error) {
	k := b.kind
	if len(k.Props) > MaxProps {
		b.fail("%s has %d properties, at most %d fit a kind", b.title, len(k.Props), MaxProps)
	}
	if len(b.errs) == 0 { // what follows is about properties beside each other
		b.layout()
	}
	if len(b.errs) > 0 {
		return nil, fault.Errorf("schema: %s: %w", k.Name, errors.Join(b.errs...))
	}
	k.coarse = k.coarser()
	return k, nil
}

// observed reports whether anyone but the owner receives the property.
func (p *Prop) observed() bool { return p.Audience == Everyone || p.Audience == Team }

// layout checks properties beside each other, and settles where each stands.
func (b *builder) layout() {
	k := b.kind
	for i := range k.Props {
		p := &k.Props[i]
		p.At, p.ObsAt = k.Sims, -1
		k.Sims += p.Comps
		if p.observed() || p.Audience == Owner {
			k.Owned = append(k.Owned, i)
		}
		b.appoint(i)
	}
	if k.Sims > MaxComps {
		b.fail("%s has %d integers, at most %d fit a kind", k.Name, k.Sims, MaxComps)
	}
	b.levels()
	b.groups()
	for i := range k.Props {
		b.check(i)
	}
}

// appoint finds what the property at an index is to the entity: its team, its parent, its place,
// the way it faces.
func (b *builder) appoint(i int) {
	k, p := b.kind, &b.kind.Props[i]
	if p.tag.team {
		if k.Team >= 0 {
			b.wrong(p, fault.Errorf("%s names the entity's team already", k.Props[k.Team].Name))
		} else {
			k.Team = i
		}
	}
	if p.tag.parent {
		if k.Parent >= 0 {
			b.wrong(p, fault.Errorf("%s names the parent already", k.Props[k.Parent].Name))
		} else {
			k.Parent = i
		}
	}
	if p.isPlace() && p.Audience == Everyone && k.Place < 0 {
		k.Place = i
	}
	if classes[p.Class].facts.faces && p.Audience == Everyone && k.Facing < 0 {
		k.Facing = i
	}
}

// check refuses words of the property at an index that do not go with other properties.
func (b *builder) check(i int) {
	k, p := b.kind, &b.kind.Props[i]
	if p.Audience == Team && k.Team < 0 {
		b.wrong(p, errors.New("to=team needs a property with the word team, which says whose team"))
	}
	if p.tag.parent && (k.Place < 0 || k.Props[k.Place].Group != p.Group) {
		b.wrong(p, errors.New("a parent needs a pos for everyone in its group, which is relative to it"))
	}
	if p.Far > 0 && k.Place < 0 {
		b.wrong(p, errors.New("far= is measured from the first pos for everyone, and there is none: "+
			"leave out far=, or let everyone receive a pos"))
	}
	if i == k.Place && p.Far > 0 {
		b.wrong(p, errors.New("far= is measured from the first pos for everyone, "+
			"so all who know of the entity receive that one; leave it out, or give far= to what else they need not know"))
	}
	if p.tag.slow > 0 {
		if err := k.stalls(p); err != nil {
			b.wrong(p, err)
		}
	}
	if (p.Draw == Hermite || p.Draw == Reckon) && p.observed() {
		if err := k.tangent(i); err != nil {
			b.wrong(p, err)
		}
	}
}

// groups gives every combination of group number, audience and distance a record of its own.
func (b *builder) groups() {
	k := b.kind
	type key struct {
		group    int
		audience Audience
		far      float64
	}
	of := func(i int) key { return key{k.Props[i].Group, k.Props[i].Audience, k.Props[i].Far} }
	before := func(a, b key) bool {
		if a.group != b.group || a.audience != b.audience {
			return a.group < b.group || a.group == b.group && a.audience < b.audience
		}
		return a.far < b.far
	}
	var props []int
	for i := range k.Props {
		if !k.Props[i].observed() {
			continue
		}
		props = append(props, i) // sorted in: there are few, and package slices would be 5 kB more of each page's program
		for j := len(props) - 1; j > 0 && before(of(i), of(props[j-1])); j-- {
			props[j], props[j-1] = props[j-1], i
		}
	}
	for at, i := range props {
		p := &k.Props[i]
		if at == 0 || of(props[at-1]) != of(i) {
			k.Groups = append(k.Groups, Group{At: k.Obs, Audience: p.Audience, Far: p.Far})
		}
		g := &k.Groups[len(k.Groups)-1]
		p.ObsAt = k.Obs
		k.Obs += p.Comps
		k.Refs = k.Refs || p.Ref
		k.Near = k.Near || p.Near > 0
		g.N += p.Comps
		g.Props = append(g.Props, i)
		g.Moving = g.Moving || p.Draw != Step
		if p.Warp > 0 {
			g.Warps = append(g.Warps, i)
		}
	}
	for g := range k.Groups { // groups without members leave no hole
		for _, i := range k.Groups[g].Props {
			k.Props[i].Group = g
		}
	}
	if len(k.Groups) > MaxGroups {
		b.fail("%s has %d groups by number, audience and distance, at most %d fit a kind",
			b.title, len(k.Groups), MaxGroups)
	}
	if len(k.Groups) == 0 {
		k.Groups = append(k.Groups, Group{}) // a record must say that the thing is there
	}
}

// levels merges the distances of all properties.
func (b *builder) levels() {
	k := b.kind
	for i := range k.Props {
		for _, l := range k.Props[i].tag.levels {
			at := 0
			for at < len(k.Levels) && k.Levels[at] < l.from {
				at++
			}
			if at == len(k.Levels) || k.Levels[at] != l.from {
				k.Levels = append(k.Levels[:at], append([]float64{l.from}, k.Levels[at:]...)...)
			}
		}
	}
	if len(k.Levels) >= MaxLevels {
		b.fail("%s has %d distances at which precisions change, at most %d fit a kind: %v m",
			b.title, len(k.Levels), MaxLevels-1, k.Levels)
		return
	}
	for i := range k.Props {
		p := &k.Props[i]
		for n, from := range k.Levels {
			p.Shift[n+1] = p.Shift[n]
			for _, l := range p.tag.levels {
				if l.from == from {
					p.Shift[n+1] = l.shift
				}
			}
		}
	}
}

// stalls reports a precision in which the slowest movement that matters would stand still
// (docs/adr/0011).
//
// A place moves by slow/rate in a tick. Rounded to whole steps it advances by at least one only if
// a step is no longer than that. A velocity that friction of 1/s takes down loses slow/rate in a
// tick; what is less than half a step, or half a step exactly, is rounded away, and it glides for
// ever.
func (k *Kind) stalls(p *Prop) error {
	tick := p.tag.slow / float64(k.Rate) // units in one tick at that speed
	per := p.perUnit(p.Sim)
	if classes[p.Class].tags.unit.speed {
		if float64(float64(2*tick)*per) > 1 {
			return nil
		}
		return fault.Errorf("a step of %s is too coarse for slow=%s at %d Hz: friction of 1/s takes away %s in a tick, "+
			"of which half a step or less is rounded away for ever; write a precision of %s or finer",
			p.amount(1/per, 3), p.tag.slowest, k.Rate, p.amount(tick, 3), p.advice(float64(1.999*tick)))
	}
	if float64(tick*per) >= 1-1e-9 {
		return nil
	}
	return fault.Errorf("a step of %s is too coarse for slow=%s at %d Hz, which is %s a tick; "+
		"write a precision of %s or finer",
		p.amount(1/per, 3), p.tag.slowest, k.Rate, p.amount(tick, 3), p.advice(tick))
}

// tangent finds the velocity that draws the property at an index.
func (k *Kind) tangent(at int) error {
	p := &k.Props[at]
	class := classes[p.Class].tags.leader
	how := "hermite"
	if p.Draw == Reckon {
		how = "dr"
	}
	for i := range k.Props {
		v := &k.Props[i]
		if v.Class != class || v.Comps != p.Comps || !v.observed() || v.Group != p.Group {
			continue
		}
		p.Tangent = i
		if p.Draw == Reckon {
			k.Groups[p.Group].Reckoned |= 1<<at | 1<<i
		}
		p.TangentQ = round(float64(p.perUnit(p.Obs) / float64(v.Obs*float64(k.Rate)) * (1 << 32)))
		return nil
	}
	return fault.Errorf("draws %s and needs a %s property of %d components for everyone in its group", how, class, p.Comps)
}
