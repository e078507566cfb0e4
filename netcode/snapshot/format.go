package snapshot

import (
	"math/bits"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// The numbers of the format: server and client must agree on each of them. docs/PROTOCOL.md has
// them too.
const (
	// HistoryTicks is how many ticks a History remembers: a record against an older baseline is
	// absolute.
	HistoryTicks = 128
	// RewindTicks is how many ticks a History remembers of what can be hit. What a client draws may
	// be older than HistoryTicks: a playout time lies a second back at most, and a record is drawn
	// for twice its bound before that, or three times if the next one is lost.
	RewindTicks = 2 * HistoryTicks

	// OwnerGroup is the index of the group of exact records, at simulation precision: of their
	// avatar all clients receive this group, of other entities those that run them ahead.
	OwnerGroup = schema.OwnerGroup

	// Slots is how many slots a client has. A slot stays taken after its entity is gone until the
	// client is known to have learned of it, so there are twice as many as visible entities: all of
	// them may be exchanged within a round trip.
	Slots = 512

	// HeldStates is how many states of a group a client keeps: the newest baseline that a record
	// named, and the newest others. The server may name any state that it knows of, so they must
	// last for a round trip: 3.2 s at 20 records a second.
	//
	// Records with a long bound are drawn late. If they arrive often nevertheless, states older
	// than these are still needed. Each is kept until the one after it is due for drawing at a
	// playout time HeldStates-2 ticks before the newest state, so that as much of the past can be
	// drawn whatever the bound. That makes at most MostStates, when a record with the longest
	// bound arrives in each tick.
	HeldStates = 64
	MostStates = HeldStates + motion.LongestWait

	// TextMessage is the kind of reliable messages that say which text a number stands for. Events
	// have smaller ones.
	TextMessage = 255

	// priorTicks is how old the state before the baseline may be at most to be used: a client that
	// applies one record a tick still has it, and both sides agree on what it holds.
	priorTicks = wire.AgreedTicks - 1
)

// Widths of fields in bits, and orders k of exponential Golomb codes.
const (
	othersK  = 0 // number of entries that are not ordinary updates
	countK   = 2 // number of ordinary updates
	changesK = 0 // number of slots that differ from those of an earlier packet
	orderB   = 3 // order of the code of the distances between slots
	maxOrder = 1<<orderB - 1
	idK      = 10 // ID of a first sight
	spawnK   = 3  // ticks since the command that spawned the entity of a first sight
	spawnNK  = 0  // which of the entities that it spawned
	ageK     = 3  // age of a baseline
	gapK     = 2  // age of the prior state before the baseline
	agoK     = 3  // ticks since a cut or start
	boundB   = 4  // bound
	levelB   = 2  // detail level

	viewerSlotB = 9 // slot of the viewer's avatar
	viewerK     = 2 // age of its place
)

// form says what an entry is that is not an ordinary update. It is coded as so many ones and a
// zero, which the last form goes without.
type form int

const (
	general form = iota // an update that names its groups and all else that is special
	firstSight
	isGone
	mustForget

	// ordinary is an update of the group rules.ordinary, against the baseline that both sides agree
	// on, with nothing special: nothing but a body. It has no form on the wire.
	ordinary
)

func (f form) append(w *wire.BitWriter) { w.Bits(1<<uint(f)-1, min(int(f)+1, int(mustForget))) }

func readForm(r *wire.BitReader) (f form) {
	for f < mustForget && r.Bool() {
		f++
	}
	return f
}

// ref is what a record is a difference from.
type ref struct {
	base  clock.Tick // baseline; 0: none, in a first sight
	prior clock.Tick // acknowledged state before it; 0: none, or too old
	// agreed says that the record need not name them: they are the newest two states that the
	// client knows to be known to the server.
	agreed bool
}

// gap returns how many ticks before the baseline the prior state is, 0 if there is none.
func (r *ref) gap() clock.Tick {
	if r.prior == 0 {
		return 0
	}
	return r.base - r.prior
}

// header is what a record has besides its values.
type header struct {
	ref
	cut, start clock.Tick
	rest       bool
	bound, was uint8 // of the record, and of the baseline
	// Detail levels of the record, of the baseline and of the prior state.
	level, baseLevel, priorLevel uint8
	// Handles of the group that this client receives as 0, and of the baseline that it received so.
	hides, hid uint64
}

// plain reports whether the header has nothing but a ref.
func (h *header) plain() bool {
	return h.cut == 0 && h.start == 0 && !h.rest && h.bound == h.was && h.level == h.baseLevel
}

// append writes the header of a record of group g. A first sight has no ref.
func (h *header) append(w *wire.BitWriter, k *schema.Kind, g int, now clock.Tick) {
	if h.base != 0 {
		if w.Bool(!h.agreed); !h.agreed {
			w.Uvarint(uint64(now-h.base)-1, ageK)
			w.Uvarint(uint64(h.gap()), gapK)
		}
	}
	if g == OwnerGroup || k.Groups[g].Moving {
		special := h.cut != 0 || h.start != 0
		w.Bool(special)
		if special {
			w.Bool(h.cut != 0)
			if h.cut != 0 {
				w.Uvarint(uint64(now-h.cut), agoK)
			}
			w.Bool(h.start != 0)
			if h.start != 0 {
				w.Uvarint(uint64(now-h.start), agoK)
			}
		}
		w.Bool(h.rest)
	}
	if g != OwnerGroup && k.Moves() {
		other := h.bound != h.was
		if w.Bool(other); other {
			w.Bits(uint64(h.bound), boundB)
		}
	}
	if len(k.Levels) > 0 && k.Graded(g) {
		other := h.level != h.baseLevel
		if w.Bool(other); other {
			w.Bits(uint64(h.level), levelB)
		}
	}
}

// kindBits returns how many bits the kind of a first sight takes, of so many kinds.
func kindBits(kinds int) int { return bits.Len(uint(max(kinds, 1) - 1)) }
