package bridge

import (
	"math"

	"meanwhile/client"
	"meanwhile/netcode/schema"
)

// writer writes the floats of one draw. docs/BRIDGE.md has their order.
type writer struct {
	kinds, events []kindLayout
	texts         texts
	out           []float64
	kind          int // the kind whose list is open; -1: none yet
	count         int // its entities so far
	countAt       int // where in out their number belongs
}

// headFloats is the size of the head, which is written last.
const headFloats = 8

// reset begins a draw.
func (w *writer) reset() {
	var head [headFloats]float64
	w.out = append(w.out[:0], head[:]...)
	w.kind, w.count = -1, 0
}

// head ends a draw.
func (w *writer) head(me float64, events, packets int) {
	copy(w.out, []float64{
		Version, float64(len(w.out)), me, w.texts.version,
		float64(len(statNames)), float64(len(w.kinds)), float64(events), float64(packets),
	})
}

// begin closes the list of the open kind and opens those up to the given one, which stays open.
func (w *writer) begin(kind int) {
	for w.kind < kind {
		if w.kind >= 0 {
			w.out[w.countAt] = float64(w.count)
		}
		if w.kind++; w.kind < len(w.kinds) {
			w.countAt, w.count = len(w.out), 0
			w.out = append(w.out, 0)
		}
	}
}

// values writes the properties of an entity or event from their simulation floats. The page gets
// all of them if e is nil, and otherwise NaN for those that this player may not know of e.
func (w *writer) values(l *kindLayout, vals []float64, e *client.Entity) {
	for i := range l.props {
		p := &l.props[i]
		switch v := vals[p.at : p.at+p.comps]; {
		case e != nil && (p.private && !e.Mine || p.limited && !e.Has(p.group)):
			for range p.floats() {
				w.out = append(w.out, math.NaN())
			}
		case p.text:
			w.out = append(w.out, w.texts.of(v))
		default:
			w.out = append(w.out, v...)
		}
	}
}

// texts are the strings of entities and events, each once. When there are too many, all are
// forgotten, and each that is still used gets a new index.
type texts struct {
	version float64
	list    []string
	index   map[textKey]float64
}

// A textKey is a text property's simulation integers: four bytes each.
type textKey [(schema.MaxText + 3) / 4]uint32

// maxTexts is how many texts are kept: names of players come and go.
const maxTexts = 1024

func (t *texts) reset() {
	t.version++
	t.list = append(t.list[:0], "")
	t.index = map[textKey]float64{{}: 0}
}

// limit forgets all texts when there are too many.
func (t *texts) limit() {
	if len(t.list) > maxTexts {
		t.reset()
	}
}

// of returns the index of the text with these integers.
func (t *texts) of(ints []float64) float64 {
	var k textKey
	for i, v := range ints {
		k[i] = uint32(int64(v))
	}
	if i, ok := t.index[k]; ok {
		return i
	}
	s := make([]byte, 0, 4*len(k))
	for _, v := range k {
		for ; v != 0; v >>= 8 {
			if c := byte(v); c != 0 {
				s = append(s, c)
			}
		}
	}
	i := float64(len(t.list))
	t.list, t.index[k] = append(t.list, string(s)), i
	t.version++
	return i
}

// Desyncs returns a JSON array with a text about each of the newest wrong predictions, the newest
// first.
func (b *Bridge) Desyncs() string {
	var j jsonWriter
	j.open('[')
	if b.client != nil {
		for _, s := range b.client.Desyncs(nil) {
			j.text(s)
		}
	}
	j.close(']')
	return string(j.b)
}

// Texts returns the texts as a JSON array of strings. Index 0 is "".
func (b *Bridge) Texts() string {
	var j jsonWriter
	j.open('[')
	for _, s := range b.write.texts.list {
		j.text(s)
	}
	j.close(']')
	return string(j.b)
}
