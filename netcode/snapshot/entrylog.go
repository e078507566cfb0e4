package snapshot

import (
	"encoding/binary"
	"math/bits"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// A logEntry is what the packet log remembers of an entry of a packet. There are thousands of them
// for each client, so each takes two or three bytes. They stand in the order of the packet: first
// the others, then the ordinary updates, each by rising slot.
//
//	bits 0..2  distance from the slot before (-1 at first), less 1, modulo Slots;
//	           7: the next byte has the rest, after 255 of it one more
//	bit 3      another byte follows; if not, it is that of the entry before (1 at first):
//	           bits 0..3 groups, 0: the owner's; 4..5 level; 6 gone, of the entity where there are no groups; 7 based
//	bits 4..7  bound
//
// If it is based, there follows for each of its groups how many ticks before the packet the
// baseline is, times 2, as a varint; plus 1 if another byte follows that has the baseline's bound
// in bits 0..3 and its level in bits 4..5, because they are not those of the entry.
type logEntry struct {
	slot         uint16
	groups       uint32
	gone         bool // the entity, or its groups, must be forgotten
	based        bool // the baselines are noted, as they are longAgo
	level, bound uint8
}

const (
	logGap   = 7
	logOther = 1 << 3
	logGone  = 1 << 6
	logBased = 1 << 7
)

// longAgo is the age in ticks from which on the log notes the baseline of a record: when
// RecordsAround asks for a moment before that record, the packet that carried the baseline may have
// left the log.
const longAgo = wire.LogTicks - HistoryTicks

// logWriter writes the entries of one packet.
type logWriter struct {
	b    []byte
	slot int
	what byte
}

func (w *logWriter) begin(b []byte) { *w = logWriter{b, -1, 1} }

// put writes an entry; the baselines of one that is based long ago must follow.
func (w *logWriter) put(e logEntry) {
	what := byte(e.groups&(1<<schema.MaxGroups-1)) | e.level<<4
	if e.gone {
		what |= logGone
	}
	if e.based {
		what |= logBased
	}
	gap := (int(e.slot) - w.slot - 1) & (Slots - 1)
	head := byte(min(gap, logGap)) | e.bound<<4
	if what != w.what {
		head |= logOther
	}
	w.b = append(w.b, head)
	if gap -= logGap; gap >= 255 {
		w.b = append(w.b, 255, byte(gap-255))
	} else if gap >= 0 {
		w.b = append(w.b, byte(gap))
	}
	if what != w.what {
		w.b = append(w.b, what)
	}
	w.slot, w.what = int(e.slot), what
}

// base writes the baseline of a group of the entry e.
func (w *logWriter) base(e *logEntry, age clock.Tick, level, bound uint8) {
	if level == e.level && bound == e.bound {
		w.b = binary.AppendUvarint(w.b, uint64(age)<<1)
		return
	}
	w.b = append(binary.AppendUvarint(w.b, uint64(age)<<1|1), bound|level<<4)
}

// logReader reads what a logWriter wrote.
type logReader struct {
	logEntry
	b     []byte
	at    int // next slot
	what  byte
	bases int // not read yet
}

func (r *logReader) begin(b []byte) { *r = logReader{b: b, what: 1} }

// next reads the next entry, if there is one.
func (r *logReader) next() bool {
	for r.bases > 0 {
		r.base()
	}
	if len(r.b) == 0 {
		return false
	}
	head, used, gap := r.b[0], 1, int(r.b[0]&7)
	if gap == logGap {
		gap += int(r.b[1])
		if used = 2; r.b[1] == 255 {
			gap, used = gap+int(r.b[2]), 3
		}
	}
	if head&logOther != 0 {
		r.what = r.b[used]
		used++
	}
	r.b = r.b[used:]
	r.slot = uint16(r.at+gap) & (Slots - 1)
	r.at = int(r.slot) + 1
	r.gone, r.based = r.what&logGone != 0, r.what&logBased != 0
	r.groups, r.level, r.bound = uint32(r.what)&(1<<schema.MaxGroups-1), r.what>>4&3, head>>4
	if r.groups == 0 && !r.gone {
		r.groups = 1 << OwnerGroup
	}
	if r.based {
		r.bases = bits.OnesCount32(r.groups)
	}
	return true
}

// nextOf reads the next entry of one of a set of slots, if there is one. others leaves out the
// ordinary updates where other entries stand before them.
func (r *logReader) nextOf(set *slotSet, others bool) bool {
	for r.bases > 0 {
		r.base()
	}
	b, at, what := r.b, uint(r.at), r.what
	for i := 0; i < len(b); {
		from := i
		head, gap := b[i], uint(b[i]&7)
		if i++; gap == logGap {
			gap += uint(b[i])
			if i++; b[i-1] == 255 {
				gap += uint(b[i])
				i++
			}
		}
		slot := at + gap
		if slot >= Slots {
			if slot -= Slots; others && slot+1 != at { // a slot may have two entries
				break
			}
		}
		if head&logOther != 0 {
			what = b[i]
			i++
		}
		if set[slot>>6&(Slots/64-1)]>>(slot&63)&1 != 0 {
			r.b, r.at, r.what = b[from:], int(at), what
			return r.next()
		}
		if at = slot + 1; what&logBased == 0 {
			continue
		}
		for n := max(bits.OnesCount8(what&(1<<schema.MaxGroups-1)), 1); n > 0; n-- {
			other := int(b[i] & 1)
			for b[i]&0x80 != 0 {
				i++
			}
			i += 1 + other
		}
	}
	r.b = nil
	return false
}

// base reads the baseline of the next group.
func (r *logReader) base() (age clock.Tick, level, bound uint8) {
	v, n := binary.Uvarint(r.b)
	r.bases--
	if r.b = r.b[n:]; v&1 == 0 {
		return clock.Tick(v >> 1), r.level, r.bound
	}
	other := r.b[0]
	r.b = r.b[1:]
	return clock.Tick(v >> 1), other >> 4 & 3, other & 15
}
