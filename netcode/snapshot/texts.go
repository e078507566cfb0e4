package snapshot

import (
	"encoding/binary"
	"unicode/utf8"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// Texts by reference. For observers a property with the word ref is a number. A reliable message,
// sent once when a record first has the number, says which text it stands for. Records and that
// message may arrive in any order: until the message arrives, the number stands for what it stood
// for before, which as a rule is nothing. So no record ever waits for a text.
//
// The server chooses the numbers, the same for all clients, and uses one again when its text was
// out of use for a while.

// textRest is how many ticks a text must be out of use before its number may stand for another one.
// By then no client shows the old one, and a text that comes back earlier need not be sent again.
const textRest = 1024

const textInts = (schema.MaxText + 3) / 4

// packed is a text as its property's simulation integers have it, filled up with zeros.
type packed [textInts]int32

// texts is the table of a History: the numbers, their texts, and how many values have each number.
type texts struct {
	list     []textEntry // by number; the first is no text, and the ring of numbers out of use begins there
	index    map[packed]uint16
	given    uint32           // how many times a number got a text
	log      [givenLog]uint16 // the last of those numbers: the n-th is at n modulo givenLog
	overflow uint64           // see History.TextRefOverflow
	missing  clock.Tick       // when a text found no number; 0: never
}

// givenLog is how many numbers that got a text are remembered. A client that was sent no text for
// longer is taken to know none.
const givenLog = 4096

type textEntry struct {
	text  packed
	uses  int32
	since clock.Tick // if it is out of use: when it was last in use
	// Neighbours in the ring of the numbers out of use, by since. The newest is older than number
	// 0, and the oldest newer than it.
	older, newer uint16
}

// take returns the number of a text for one more use. If all numbers are in use it is 0: no text.
func (t *texts) take(p packed, now clock.Tick) uint16 {
	if p == (packed{}) {
		return 0
	}
	n, known := t.index[p]
	if !known {
		if n = t.vacant(now); n == 0 {
			t.overflow++
			t.missing = now
			return 0
		}
		t.index[p] = n
		t.list[n] = textEntry{text: p, uses: 1}
		t.log[t.given%givenLog] = n
		t.given++
		return n
	}
	if e := &t.list[n]; e.uses == 0 {
		t.unlink(n)
	}
	t.list[n].uses++
	return n
}

// vacant returns a number that is free from now on: one that was out of use for long, else a new
// one, else the one that was out of use for longest; 0 if all are in use.
func (t *texts) vacant(now clock.Tick) uint16 {
	if t.list == nil {
		t.list, t.index = make([]textEntry, 1, 16), map[packed]uint16{}
	}
	oldest := t.list[0].newer
	if len(t.list) < schema.MaxRefs && (oldest == 0 || now-t.list[oldest].since < textRest) {
		t.list = append(t.list, textEntry{})
		return uint16(len(t.list) - 1)
	}
	if oldest != 0 {
		t.unlink(oldest)
		delete(t.index, t.list[oldest].text)
	}
	return oldest
}

// unlink takes a number out of the ring of those out of use.
func (t *texts) unlink(n uint16) {
	e := &t.list[n]
	t.list[e.older].newer, t.list[e.newer].older = e.newer, e.older
}

// leave ends one use of a number.
func (t *texts) leave(n uint16, now clock.Tick) {
	if n == 0 {
		return
	}
	e := &t.list[n]
	if e.uses--; e.uses > 0 {
		return
	}
	newest := t.list[0].older
	e.since, e.older, e.newer = now, newest, 0
	t.list[newest].newer, t.list[0].older = n, n
}

// refer replaces an entity's texts in its row by their numbers, of the properties of a set: others
// are numbers already. prev is the row before, nil if there is none.
func (h *History) refer(k *schema.Kind, row, prev []int32, set uint64) {
	for i := range k.Props {
		p := &k.Props[i]
		if !p.Ref || p.ObsAt < 0 || set>>uint(i)&1 == 0 {
			continue
		}
		var text packed
		vals := row[p.ObsAt : p.ObsAt+p.Comps]
		copy(text[:], vals)
		clear(vals)
		old := uint16(0)
		if prev != nil {
			old = uint16(prev[p.ObsAt])
		}
		if old != 0 && h.texts.list[old].text == text {
			vals[0] = int32(old)
			continue
		}
		vals[0] = int32(h.texts.take(text, h.tick))
		h.texts.leave(old, h.tick)
	}
}

// unrefer ends the uses of the texts in an entity's last row.
func (h *History) unrefer(k *schema.Kind, row []int32) {
	for i := range k.Props {
		if p := &k.Props[i]; p.Ref && p.ObsAt >= 0 {
			h.texts.leave(uint16(row[p.ObsAt]), h.tick)
		}
	}
}

// Spell replaces numbers by their texts in drawn values, observer integers in 1/schema.SubSteps.
func (h *History) Spell(k *schema.Kind, drawn []int64) {
	spell(k, drawn, func(n int64) packed {
		if n >= int64(len(h.texts.list)) {
			return packed{}
		}
		return h.texts.list[n].text
	})
}

// TextRefOverflow counts how often, in entities times ticks, a text had no number because all were
// in use: no client receives it then.
func (h *History) TextRefOverflow() uint64 { return h.texts.overflow }

// TextsMissing reports whether a text found no number in the tick before the present one. The
// entities must be recorded again then, though nothing changed: there may be one now.
func (h *History) TextsMissing() bool { return h.texts.missing != 0 && h.texts.missing+1 == h.tick }

func spell(k *schema.Kind, drawn []int64, lookup func(n int64) packed) {
	if !k.Refs {
		return
	}
	for i := range k.Props {
		p := &k.Props[i]
		if !p.Ref || p.ObsAt < 0 {
			continue
		}
		vals := drawn[p.ObsAt : p.ObsAt+p.Comps]
		text := lookup(vals[0] / schema.SubSteps)
		for c := range vals {
			vals[c] = int64(uint32(text[c])) * schema.SubSteps
		}
	}
}

// sentTexts notes which texts one client was sent.
type sentTexts struct {
	given uint32   // up to where texts.log is accounted for
	knows []uint64 // set of numbers whose text was sent or is in wants
	wants []uint16 // numbers that records have, whose text was not sent yet
}

// want notes that a record of group g has the numbers in row.
func (v *View) want(k *schema.Kind, g int, row []int32) {
	if v.texts == nil {
		v.texts = &sentTexts{}
	}
	t, from := v.texts, &v.h.texts
	for ; t.given != from.given; t.given++ { // these stand for another text now
		if from.given-t.given > givenLog {
			clear(t.knows)
			t.given = from.given - givenLog
		}
		if n := from.log[t.given%givenLog]; int(n/64) < len(t.knows) {
			t.knows[n/64] &^= 1 << (n % 64)
		}
	}
	for _, i := range k.Groups[g].Props {
		p := &k.Props[i]
		if !p.Ref {
			continue
		}
		n := uint16(row[p.ObsAt])
		if n == 0 {
			continue
		}
		for int(n/64) >= len(t.knows) {
			t.knows = append(t.knows, 0)
		}
		if bit := uint64(1) << (n % 64); t.knows[n/64]&bit == 0 {
			t.knows[n/64] |= bit
			t.wants = append(t.wants, n)
		}
	}
}

// keptWants is for how many texts a View keeps memory when it wants none.
const keptWants = 16

// UnsentTexts calls f with the body of a TextMessage for each text that a record refers to and the
// client was not sent, until f returns false: then that one could not be sent and is offered again.
// scratch is memory for the bodies.
func (v *View) UnsentTexts(scratch []byte, f func(body []byte) bool) []byte {
	t := v.texts
	if t == nil {
		return scratch
	}
	for i, n := range t.wants {
		scratch = appendText(scratch[:0], n, &v.h.texts.list[n].text)
		if !f(scratch) {
			t.wants = append(t.wants[:0], t.wants[i:]...)
			return scratch
		}
	}
	if t.wants = t.wants[:0]; cap(t.wants) > keptWants { // a client that enters a crowd wants many
		t.wants = nil
	}
	return scratch
}

// appendText writes the body of a TextMessage.
//
//	offset  size  field
//	0       2     number, at least 1, little-endian
//	2       1..   the text: UTF-8 without zeros, at most schema.MaxText bytes
func appendText(b []byte, n uint16, p *packed) []byte {
	b = binary.LittleEndian.AppendUint16(b, n)
	for i := range 4 * len(p) {
		if c := byte(p[i/4] >> (8 * (i % 4))); c != 0 {
			b = append(b, c)
		}
	}
	return b
}

// Texts are the texts that a client has received. The zero Texts has none. It takes 32 bytes for
// each number up to the largest, 2 MB at most.
type Texts struct{ list []packed }

// Read applies the body of a TextMessage. It fails, and changes nothing, if no server writes such a
// body.
func (t *Texts) Read(body []byte) error {
	if len(body) < 3 {
		return fault.Errorf("%w: a text of %d bytes, it has at least 3", wire.ErrTruncated, len(body))
	}
	n, text := binary.LittleEndian.Uint16(body), body[2:]
	if n == 0 || len(text) > schema.MaxText || !utf8.Valid(text) {
		return fault.Errorf("%w: text %d of %d bytes", wire.ErrMalformed, n, len(text))
	}
	var p packed
	for i, c := range text {
		if c == 0 {
			return fault.Errorf("%w: a zero in text %d", wire.ErrMalformed, n)
		}
		p[i/4] |= int32(uint32(c) << (8 * (i % 4)))
	}
	for int(n) >= len(t.list) {
		t.list = append(t.list, packed{})
	}
	t.list[n] = p
	return nil
}

// Spell replaces numbers by their texts in drawn values, observer integers in 1/schema.SubSteps.
func (t *Texts) Spell(k *schema.Kind, drawn []int64) {
	spell(k, drawn, func(n int64) packed {
		if n < 0 || n >= int64(len(t.list)) {
			return packed{}
		}
		return t.list[n]
	})
}
