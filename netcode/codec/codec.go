// Package codec codes the bodies of records: the values of a kind's properties, in few bits. It
// expects each value to go on as the baseline shows, and writes by how much it is off, in a prefix
// code that the baseline chooses too. The codes are tables made from recorded movement.
// docs/PROTOCOL.md, "Bodies" and "Code tables", has the rules.
//
// A Coder is made from a kind by For, and used with Append and Read.
package codec

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// A Coder codes the bodies of one kind's records. It never changes, so any number of histories and
// stores may share it.
type Coder struct {
	kind   *schema.Kind
	tables *Tables
	groups [schema.MaxGroups + 1]group
	coarse []*Coder // for records of the levels after the first
}

// For returns the Coder of a kind, with the tables that are part of the protocol.
func For(k *schema.Kind) *Coder { return With(k, shipped) }

// All returns the Coders of kinds, in their order.
func All(kinds ...*schema.Kind) []*Coder {
	coders := make([]*Coder, len(kinds))
	for i, k := range kinds {
		coders[i] = For(k)
	}
	return coders
}

// With returns a Coder of a kind with other tables, for experiments. Both sides must use the same.
func With(k *schema.Kind, t *Tables) *Coder {
	times := newTimes(k.Rate)
	c := newCoder(k, t, times)
	for level := 1; level <= len(k.Levels); level++ {
		c.coarse = append(c.coarse, newCoder(k.At(level), t, times))
	}
	return c
}

func newCoder(k *schema.Kind, t *Tables, times *times) *Coder {
	c := &Coder{kind: k, tables: t}
	for g := range c.groups {
		if g < len(k.Groups) || g == schema.OwnerGroup {
			c.groups[g].plan(k, g, t)
			c.groups[g].times = times
		}
	}
	return c
}

// Kind returns the kind that the Coder was made from.
func (c *Coder) Kind() *schema.Kind { return c.kind }

// At returns the Coder of records of a level, whose integers count coarser steps: see
// [schema.Kind.At].
func (c *Coder) At(level int) *Coder {
	if level == 0 || len(c.coarse) == 0 {
		return c
	}
	return c.coarse[min(level, len(c.coarse))-1]
}

// Base is what the differences of a record are taken from; both sides have it. Values are those of
// the record's group: observer integers, or all simulation integers for the owner's group.
type Base[T int32 | int64] struct {
	Vals  []T        // the baseline; nil: the record's values stand by themselves
	Prior []T        // a state before the baseline, which shows how it moves; nil: none
	Age   clock.Tick // ticks from Vals to the record
	Gap   clock.Tick // ticks from Prior to Vals

	Viewer *Viewer // a place that both sides know; nil: none
	Costs  *Costs  // of the body that Append writes; nil: not wanted
}

// Costs are how many bits of a body are values of each property. What else it has, such as the set
// of those that changed, is none of theirs.
type Costs [schema.MaxProps]uint32
