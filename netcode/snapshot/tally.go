package snapshot

import "meanwhile/netcode/codec"

// A Tally counts the bits of the records in some packets, by kind and property: which of them cost
// most. It is for a sample of the packets, as each of its records is coded anew.
type Tally struct {
	// Bits are those of the values, by kind and index in schema.Kind.Props. Behind the properties
	// stands the rest of the records of a kind: their heads, and which properties changed. Lists of
	// slots and entries that end a record belong to no kind.
	Bits [][]uint64
}

// NewTally returns an empty Tally of the kinds of a History.
func NewTally(h *History) *Tally {
	t := &Tally{Bits: make([][]uint64, len(h.kinds))}
	for i, k := range h.kinds {
		t.Bits[i] = make([]uint64, len(k.Props)+1)
	}
	return t
}

// add counts an entry of so many bits.
func (t *Tally) add(kind, size int, costs *codec.Costs) {
	bits := t.Bits[kind]
	rest := len(bits) - 1
	for i := range bits[:rest] {
		bits[i] += uint64(costs[i])
		size -= int(costs[i])
	}
	bits[rest] += uint64(size)
}
