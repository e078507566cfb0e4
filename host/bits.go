package host

import (
	"slices"

	"meanwhile/netcode/schema"
)

// RecordBits are bits of records by kind and property, as server.Outbox.Bits has them. They are not
// changed once they are in Totals.
type RecordBits [][]uint64

// plus returns the sums.
func (b RecordBits) plus(c RecordBits) RecordBits {
	if len(c) == 0 {
		return b
	}
	if len(b) == 0 {
		return c
	}
	sum := make(RecordBits, len(b))
	for i := range b {
		sum[i] = slices.Clone(b[i])
		for j, n := range c[i] {
			sum[i][j] += n
		}
	}
	return sum
}

// matrixOf returns a copy of what changes.
func matrixOf(b RecordBits) RecordBits {
	c := make(RecordBits, len(b))
	for i := range b {
		c[i] = slices.Clone(b[i])
	}
	return c
}

// A Spending is how many bits one property of one kind took.
type Spending struct {
	Kind     string
	Property string // empty: what is no property's, such as which of them changed
	Bits     uint64
}

// Spendings returns RecordBits of a room or a host by name, in the order of the schema. Properties
// that nobody receives are left out.
func (h *Host) Spendings(b RecordBits) (list []Spending) {
	for i, k := range h.cfg.Rules.Kinds {
		for j := range len(k.Props) + 1 {
			s := Spending{Kind: k.Name}
			if j < len(k.Props) {
				if s.Property = k.Props[j].Name; k.Props[j].Audience == schema.Server {
					continue
				}
			}
			if len(b) > 0 {
				s.Bits = b[i][j]
			}
			list = append(list, s)
		}
	}
	return list
}
