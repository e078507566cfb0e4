package snapshot

import (
	"slices"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Places without a baseline are coded relative to the viewer, where the schema says so (wire=near):
// to the place of the client's avatar in a record that the client is known to hold. So both sides
// mean the same place, wherever the client predicts itself by now and however far it was teleported
// since. A packet says once which record that is, and only if an entry needs it: nearly always the
// newest that both sides know of.

// viewerAt is the record that has the viewer's place.
type viewerAt struct {
	known   bool
	implied bool // it is the newest state agreed on of the only avatar that the client can have
	slot    uint16
	ago     uint64 // ticks before the packet, less 1
}

// bits returns how many bits naming it takes at most.
func (a viewerAt) bits(h *History) int {
	switch {
	case !h.near:
		return 0
	case !a.known:
		return 1
	case a.implied:
		return 2
	}
	return 2 + viewerSlotB + wire.UvarintBits(a.ago, viewerK)
}

// append writes whether some place is relative to the viewer, and the record that has the viewer's.
func (a viewerAt) append(w *wire.BitWriter, near bool) {
	if w.Bool(near); !near {
		return
	}
	if w.Bool(!a.implied); !a.implied {
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
	avatars := 0
	for n := range v.slots.used {
		if s := &v.slots.list[n]; s.mine() && s.phase() != ended {
			avatars++
		}
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
			a.implied = avatars == 1 && v.ledger.ref(s.unit(OwnerGroup), h.tick).agreed
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
	held, st, err := s.readViewerAt(r, tick)
	if err != nil {
		return err
	}
	if s.parsed.viewer, s.parsed.hasViewer = codec.ViewerOf(s.kinds[held.Kind], st.Vals); !s.parsed.hasViewer {
		return fault.Errorf("%w: a viewer without a place", wire.ErrMalformed)
	}
	return nil
}

// readViewerAt finds the record that has the viewer's place.
func (s *Store) readViewerAt(r *wire.BitReader, tick clock.Tick) (held *Replica, st *motion.State, err error) {
	if !r.Bool() {
		for _, e := range s.alive {
			if !e.Mine || tick <= e.since {
				continue
			}
			if held != nil {
				return nil, nil, ErrBaseline // so late that it has another avatar by now
			}
			held = e
		}
		if r.Bad() || held == nil {
			return nil, nil, ErrBaseline
		}
		st, _, err = held.Groups[OwnerGroup].agreed(tick, s.parsed.agreed)
		return held, st, err
	}
	slot, ago := r.Bits(viewerSlotB), r.Uvarint(viewerK)
	if r.Bad() {
		return nil, nil, wire.ErrTruncated
	}
	if ago+1 >= uint64(tick) {
		return nil, nil, fault.Errorf("%w: a viewer %d ticks before tick %d", wire.ErrMalformed, ago+1, tick)
	}
	if held = s.slots[slot]; held == nil || !held.Mine {
		return nil, nil, ErrSlot
	}
	if st = held.Groups[OwnerGroup].At(tick - clock.Tick(ago) - 1); st == nil {
		return nil, nil, ErrBaseline
	}
	return held, st, nil
}

func anyNear(kinds []*schema.Kind) bool {
	return slices.ContainsFunc(kinds, func(k *schema.Kind) bool { return k.Near })
}
