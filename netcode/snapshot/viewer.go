package snapshot

import (
	"slices"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Places without a baseline are coded relative to the viewer, where the schema says so (wire=near):
// to the place of the client's avatar in a record that the client is known to hold. So both sides
// mean the same place, wherever the client predicts itself by now and however far it was teleported
// since. A packet names that record once, and only if an entry needs it.

// viewerAt is the record that has the viewer's place.
type viewerAt struct {
	known bool
	slot  uint16
	ago   uint64 // ticks before the packet, less 1
}

// bits returns how many bits naming it takes at most.
func (a viewerAt) bits(h *History) int {
	switch {
	case !h.near:
		return 0
	case !a.known:
		return 1
	}
	return 1 + viewerSlotB + wire.UvarintBits(a.ago, viewerK)
}

// append writes whether some place is relative to the viewer, and the record that has the viewer's.
func (a viewerAt) append(w *wire.BitWriter, near bool) {
	if w.Bool(near); near {
		w.Bits(uint64(a.slot), viewerSlotB)
		w.Uvarint(a.ago, viewerK)
	}
}

// viewer finds the newest record of the client's avatar that the client is known to hold, and its
// place.
func (v *View) viewer(to *codec.Viewer) (a viewerAt) {
	h := v.h
	if !h.near {
		return a
	}
	for n := range v.slots.used {
		s := &v.slots.list[n]
		if !s.mine() || s.phase() != live {
			continue
		}
		e := h.At(s.ent)
		k := h.kinds[e.Kind]
		t := v.ledger.acked(s.unit(OwnerGroup))
		if k.Place < 0 || t == 0 || t >= h.tick {
			continue
		}
		switch {
		case h.has(e, t):
			*to, a.known = codec.ViewerOf(k, e.ownRow(k, t))
		case e.ownChanged[k.Place] <= t: // it has not moved since
			*to, a.known = codec.ViewerOf(k, e.ownRow(k, h.tick))
		}
		if a.known {
			a.slot, a.ago = n, uint64(h.tick-t)-1
			return a
		}
	}
	return a
}

// readViewer reads what viewerAt.append wrote.
func (s *Store) readViewer(r *wire.BitReader, tick clock.Tick) error {
	if !r.Bool() {
		return nil
	}
	slot, ago := r.Bits(viewerSlotB), r.Uvarint(viewerK)
	if r.Bad() {
		return wire.ErrTruncated
	}
	if ago+1 >= uint64(tick) {
		return fault.Errorf("%w: a viewer %d ticks before tick %d", wire.ErrMalformed, ago+1, tick)
	}
	held := s.slots[slot]
	if held == nil || !held.Mine {
		return ErrSlot
	}
	st := held.Groups[OwnerGroup].At(tick - clock.Tick(ago) - 1)
	if st == nil {
		return ErrBaseline
	}
	if s.parsed.viewer, s.parsed.hasViewer = codec.ViewerOf(s.kinds[held.Kind], st.Vals); !s.parsed.hasViewer {
		return fault.Errorf("%w: a viewer without a place", wire.ErrMalformed)
	}
	return nil
}

func anyNear(kinds []*schema.Kind) bool {
	return slices.ContainsFunc(kinds, func(k *schema.Kind) bool { return k.Near })
}
