package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

type citizen struct {
	Pos   vec2   `net:"pos,1cm"`
	Name  string `net:"text,31,ref"`
	Title string `net:"text,8,ref,group=1"`
	Motto string `net:"text,12"`
}

// town is a server of citizens and one client, with the lane that a game's server has.
type town struct {
	t         failer
	kind      *schema.Kind
	h         *History
	v         *View
	s         *Store
	texts     Texts
	log       wire.Log
	lane      *reliable.Sender
	in        reliable.Receiver
	recv      wire.Received
	agreement wire.Agreement
	up        wire.Seq // newest packet of the client, which the server has
	tick      clock.Tick
	ents      []int32
	truth     map[uint32]citizen
	id        uint32
	messages  int // that arrived
	flying    []packet
	scratch   []byte
	others    uint16 // texts up to this number are in use once more than citizens have them
}

func newTown(t failer) *town {
	k, err := schema.New("citizen", reflect.TypeFor[citizen](), 30)
	if err != nil {
		t.Fatal(err)
	}
	ks := []*schema.Kind{k}
	c := &town{t: t, kind: k, h: NewHistory(codec.All(ks...)), s: NewStore(codec.All(ks...)), truth: map[uint32]citizen{}}
	c.v = NewView(c.h)
	if c.lane, err = reliable.NewSender(reliable.Config{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *town) now() clock.Time { return clock.Time(c.tick) * tickTime }

// step runs a tick: change may spawn, remove, show and rename between Begin and Record.
func (c *town) step(change func()) {
	c.tick++
	c.h.Begin(c.tick)
	change()
	sims := make([]int64, c.kind.Sims)
	for _, i := range c.ents {
		v := c.truth[c.h.At(i).ID]
		c.kind.Extract(unsafe.Pointer(&v), sims)
		c.h.Record(i, sims, false)
	}
}

func (c *town) spawn(v citizen) int32 {
	c.id++
	c.truth[c.id] = v
	i := c.h.Add(c.id, 0, false)
	c.ents = append(c.ents, i)
	return i
}

func (c *town) remove(at int) {
	i := c.ents[at]
	c.ents = append(c.ents[:at], c.ents[at+1:]...)
	delete(c.truth, c.h.At(i).ID)
	c.v.Leave(i)
	c.h.Remove(i)
}

// send makes a packet of what is due; share is which part of it fits, of 8.
func (c *town) send(share int) {
	due := c.v.Pending(c.now(), rto, nil)
	if len(due) == 0 && !c.lane.NeedsSend(c.now(), rto) {
		return
	}
	p := c.log.Sent(c.now(), c.tick, c.missing)
	var w wire.BitWriter
	w.Reset(nil)
	var x Writer
	x.Begin(c.v, due, plenty)
	for i := range due {
		if i%8 < share {
			x.Try(&due[i])
			x.Keep()
		}
	}
	x.End(&w, p, c.now())
	b := w.Bytes()
	c.scratch = c.v.UnsentTexts(c.scratch, func(body []byte) bool {
		return c.lane.Send(reliable.Message{Kind: TextMessage, AtOnce: true, Body: body}) == nil
	})
	b = c.lane.Append(b, uint16(p.Seq), reliable.MinRoom, c.now(), rto)
	c.flying = append(c.flying, packet{seq: p.Seq, tick: c.tick, latest: c.up, body: b})
}

func (c *town) missing(p *wire.Packet) { c.v.Missing(p); c.lane.Lost(uint16(p.Seq)) }

func (c *town) arrive(i int) {
	p := c.flying[i]
	c.flying = append(c.flying[:i], c.flying[i+1:]...)
	if !c.recv.Accepts(p.seq) {
		return
	}
	var r wire.BitReader
	r.Reset(p.body)
	agreed, _ := c.agreement.Agreed(p.tick, p.latest)
	if err := c.s.Read(&r, p.tick, agreed); err != nil {
		c.t.Fatalf("tick %d: %v", p.tick, err)
	}
	if rest := r.Rest(); len(rest) > 0 {
		if _, err := c.in.Read(rest); err != nil {
			c.t.Fatal(err)
		}
	}
	for m, ok := c.in.Next(); ok; m, ok = c.in.Next() {
		if err := c.texts.Read(m.Body); err != nil {
			c.t.Fatal(err)
		}
		c.messages++
	}
	c.recv.Applied(p.seq)
	c.agreement.Applied(p.tick, c.up+1)
}

func (c *town) ack() {
	if a, ok := c.recv.Ack(); ok {
		c.up++
		c.log.Acked(a, func(p *wire.Packet) { c.v.Delivered(p); c.lane.Delivered(uint16(p.Seq)) }, c.missing)
	}
	c.log.Expire(c.now().Add(-2*rto), c.missing)
}

// see returns a citizen as the client draws it by its newest records.
func (c *town) see(e *Replica) (v citizen) {
	drawn := make([]int64, c.kind.Obs)
	for g := range c.kind.Groups {
		group := &c.kind.Groups[g]
		if s := e.Groups[g].Newest(); s != nil {
			motion.Draw(c.kind, group, s, nil, s.Tick.Frac(), drawn[group.At:group.At+group.N])
		}
	}
	c.texts.Spell(c.kind, drawn)
	c.kind.StoreDrawn(unsafe.Pointer(&v), drawn)
	return v
}

// settle lets everything arrive and compares all that is in sight.
func (c *town) settle() {
	for range 40 {
		c.step(func() {})
		c.send(8)
		for len(c.flying) > 0 {
			c.arrive(0)
		}
		c.ack()
	}
	for _, e := range c.s.Entities() {
		if got, want := c.see(e), c.truth[e.ID]; got != want {
			c.t.Fatalf("tick %d: citizen %d is drawn as %+v, is %+v", c.tick, e.ID, got, want)
		}
	}
	if entities, _ := c.v.Count(); entities != len(c.s.Entities()) {
		c.t.Fatalf("%d in sight, the client holds %d", entities, len(c.s.Entities()))
	}
	// A number is in use as often as rows say.
	uses := map[uint16]int32{}
	for n := range c.others {
		uses[n+1]++
	}
	for _, i := range c.ents {
		row := c.h.At(i).obsRow(c.kind, c.tick)
		for pi := range c.kind.Props {
			if p := &c.kind.Props[pi]; p.Ref && row[p.ObsAt] != 0 {
				uses[uint16(row[p.ObsAt])]++
			}
		}
	}
	for n := 1; n < len(c.h.texts.list); n++ {
		if e := &c.h.texts.list[n]; e.uses != uses[uint16(n)] || e.uses > 0 && c.h.texts.index[e.text] != uint16(n) {
			c.t.Fatalf("text %d is in use %d times, counted as %d", n, uses[uint16(n)], e.uses)
		}
	}
}

// Citizens come, go, are renamed and come into sight, while packets are lost, late and doubled: a
// name is drawn as it is, as another one that this citizen had, or not at all until it has come; in
// the end all are right.
func TestTextsByReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newTown(t)
		had := map[uint32]map[string]bool{}
		name := func() string {
			return rapid.SampledFrom([]string{"", "Ada", "Grace", "Edsger", "a name of the length of 31 byte",
				"Ådå 日本"}).Draw(t, "name")
		}
		person := func() citizen {
			return citizen{Pos: vec2{float64(rapid.IntRange(0, 100).Draw(t, "x")), 0}, Name: name(), Title: "Dr.",
				Motto: "as it is"}
		}
		change := func() {
			switch rapid.IntRange(0, 5).Draw(t, "change") {
			case 0:
				if len(c.ents) < 12 {
					c.v.Enter(c.spawn(person()), Observed)
				}
			case 1:
				if len(c.ents) > 0 {
					c.remove(rapid.IntRange(0, len(c.ents)-1).Draw(t, "which"))
				}
			case 2:
				if len(c.ents) > 0 {
					i := rapid.SampledFrom(c.ents).Draw(t, "who")
					v := c.truth[c.h.At(i).ID]
					v.Name, v.Pos.X = name(), v.Pos.X+1
					c.truth[c.h.At(i).ID] = v
				}
			case 3:
				if len(c.ents) > 0 {
					if i := rapid.SampledFrom(c.ents).Draw(t, "who"); c.v.Has(i) {
						c.v.Leave(i)
					} else {
						c.v.Enter(i, Observed)
					}
				}
			}
			for id, v := range c.truth {
				if had[id] == nil {
					had[id] = map[string]bool{"": true}
				}
				had[id][v.Name] = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"tick": func(t *rapid.T) { c.step(change); c.send(rapid.IntRange(1, 8).Draw(t, "share")) },
			"arrive": func(t *rapid.T) {
				if len(c.flying) > 0 {
					i := rapid.IntRange(0, len(c.flying)-1).Draw(t, "which")
					if rapid.IntRange(0, 3).Draw(t, "twice") == 0 {
						c.flying = append(c.flying, c.flying[i])
					}
					if c.log.Get(c.flying[i].seq) != nil && int(c.tick-c.flying[i].tick) < 60 {
						c.arrive(i)
					}
				}
			},
			"lose": func(t *rapid.T) {
				if len(c.flying) > 0 {
					i := rapid.IntRange(0, len(c.flying)-1).Draw(t, "which")
					c.flying = append(c.flying[:i], c.flying[i+1:]...)
				}
			},
			"ack": func(t *rapid.T) { c.ack() },
			"": func(t *rapid.T) {
				for _, e := range c.s.Entities() {
					if v := c.see(e); !had[e.ID][v.Name] || v.Title != "" && v.Title != "Dr." {
						t.Fatalf("citizen %d is called %q %q", e.ID, v.Title, v.Name)
					}
				}
			},
		})
		c.flying = nil
		c.settle()
	})
}

// A text is sent once, however often entities with that name come into sight.
func TestTextsAreToldOnce(t *testing.T) {
	c := newTown(t)
	var crowd []int32
	c.step(func() {
		for n := range 60 {
			crowd = append(crowd, c.spawn(citizen{Name: fmt.Sprintf("citizen number %d", n%20), Title: "Dr."}))
		}
	})
	for range 10 {
		for _, i := range crowd {
			c.v.Enter(i, Observed)
		}
		c.settle()
		for _, i := range crowd {
			c.v.Leave(i)
		}
		c.settle()
	}
	if c.messages != 21 {
		t.Errorf("%d messages, want one for each of 20 names and a title", c.messages)
	}
}

// Numbers stand for new texts once they were out of use for long, and clients that knew the old
// ones are sent the new ones.
func TestTextNumbersComeBack(t *testing.T) {
	c := newTown(t)
	for n := range 300 {
		c.step(func() { c.v.Enter(c.spawn(citizen{Name: fmt.Sprintf("visitor %d", n)}), Observed) })
		c.settle()
		c.step(func() { c.remove(0) })
		c.settle()
	}
	// 82 ticks a visitor: those of the last 1024 ticks keep their numbers.
	if got := len(c.h.texts.list) - 1; got > 20 {
		t.Errorf("300 visitors, one at a time, took %d numbers", got)
	}
	if c.messages != 300 {
		t.Errorf("%d messages for 300 names", c.messages)
	}
}

// More texts than there are numbers: those that come too late are none, and counted, until others
// leave.
func TestTextsOverflow(t *testing.T) {
	c := newTown(t)
	const others = schema.MaxRefs - 100 // as if so many had texts that nobody else has
	for n := range others {
		c.h.texts.take(packed{1, int32(n)}, 1)
	}
	c.others = others
	c.step(func() {
		for n := others; n < schema.MaxRefs+4; n++ {
			c.spawn(citizen{Name: fmt.Sprintf("n%d", n)})
		}
	})
	if c.h.TextRefOverflow() != 5 || len(c.h.texts.list) != schema.MaxRefs {
		t.Fatalf("%d texts found no number, %d numbers", c.h.TextRefOverflow(), len(c.h.texts.list))
	}
	last := c.ents[len(c.ents)-1]
	c.step(func() {
		for range 5 {
			c.remove(0)
		}
		c.v.Enter(last, Observed)
	})
	c.settle()
	if got := c.see(c.s.Entities()[0]); got.Name != fmt.Sprintf("n%d", schema.MaxRefs+3) {
		t.Errorf("the last one is called %q once there is room", got.Name)
	}
}

// While a client is sent no text for long, more numbers may get a new text than the table
// remembers.
func TestTextsLongSilence(t *testing.T) {
	c := newTown(t)
	c.step(func() { c.v.Enter(c.spawn(citizen{Name: "before"}), Observed) })
	c.settle()
	c.remove(0)
	c.h.texts.given += 3 * schema.MaxRefs // as if so many had come and gone
	c.h.texts.index = map[packed]uint16{{'x'}: 1}
	c.h.texts.list[1].text = packed{'x'}
	c.step(func() { c.v.Enter(c.spawn(citizen{Name: "x"}), Observed) })
	c.settle()
}

// Bodies that no server writes are refused and change nothing.
func TestTextsHostile(t *testing.T) {
	var s Texts
	good := []byte{1, 0, 'A', 'd', 'a'}
	if err := s.Read(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		body []byte
		want error
	}{
		{"nothing", nil, wire.ErrTruncated},
		{"half a number", []byte{1}, wire.ErrTruncated},
		{"no text", []byte{1, 0}, wire.ErrTruncated},
		{"number 0", []byte{0, 0, 'x'}, wire.ErrMalformed},
		{"too long", append([]byte{1, 0}, bytes.Repeat([]byte{'x'}, schema.MaxText+1)...), wire.ErrMalformed},
		{"no UTF-8", []byte{1, 0, 0xff}, wire.ErrMalformed},
		{"a zero", []byte{1, 0, 'x', 0}, wire.ErrMalformed},
	} {
		if err := s.Read(c.body); !errors.Is(err, c.want) || len(s.list) != 2 ||
			s.list[1] != (packed{'A' | 'd'<<8 | 'a'<<16}) {
			t.Errorf("%s: %v, %v", c.name, err, s.list)
		}
	}
	kind := newTown(t).kind
	drawn := make([]int64, kind.Obs)
	// numbers whose text did not arrive, even ones that no decoder lets through
	for _, n := range []int64{-1, 2, 1 << 40, -1 << 60} {
		for i := range kind.Props {
			if p := &kind.Props[i]; p.Ref {
				drawn[p.ObsAt] = n * schema.SubSteps
			}
		}
		s.Spell(kind, drawn)
		var v citizen
		if kind.StoreDrawn(unsafe.Pointer(&v), drawn); v.Name != "" {
			t.Errorf("number %d stands for %q", n, v.Name)
		}
	}
}

// Recording and sending what is known allocates nothing.
func TestTextsAllocations(t *testing.T) {
	c := newTown(t)
	c.step(func() { c.v.Enter(c.spawn(citizen{Name: "Ada", Title: "Dr."}), Observed) })
	c.settle()
	sims := make([]int64, c.kind.Sims)
	v := citizen{Name: "Ada", Title: "Dr."}
	drawn := make([]int64, c.kind.Obs)
	none := func([]byte) bool { return true }
	if n := testing.AllocsPerRun(100, func() {
		c.tick++
		c.h.Begin(c.tick)
		v.Pos.X++
		c.kind.Extract(unsafe.Pointer(&v), sims)
		c.h.Record(c.ents[0], sims, false)
		c.v.want(c.kind, 0, c.h.At(c.ents[0]).obsRow(c.kind, c.tick))
		c.scratch = c.v.UnsentTexts(c.scratch, none)
		c.h.Spell(c.kind, drawn)
		c.texts.Spell(c.kind, drawn)
	}); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
}

// FuzzTexts reads any bytes as what a number stands for; what was read is what a server would
// write.
func FuzzTexts(f *testing.F) {
	f.Add([]byte{1, 0, 'A', 'd', 'a'})
	f.Add(append([]byte{255, 15}, "a name of the length of 31 byte"...))
	f.Add([]byte{0, 16, 'x'})
	f.Fuzz(func(t *testing.T, body []byte) {
		var s Texts
		if s.Read(body) != nil {
			if s.list != nil {
				t.Fatalf("%x is refused and changes something", body)
			}
			return
		}
		n := uint16(len(s.list) - 1)
		if again := appendText(nil, n, &s.list[n]); !bytes.Equal(again, body) {
			t.Fatalf("%x is read as %x", body, again)
		}
	})
}

// What could not be sent is offered again, and what was sent is not.
func TestUntoldIsOfferedAgain(t *testing.T) {
	c := newTown(t)
	c.step(func() {
		for _, name := range []string{"Ada", "Grace", "Edsger"} {
			c.v.Enter(c.spawn(citizen{Name: name}), Observed)
		}
	})
	var w wire.BitWriter
	var x Writer
	w.Reset(nil)
	x.All(&w, c.v, c.v.Pending(c.now(), rto, nil), c.log.Sent(c.now(), c.tick, c.missing), c.now())
	var got []string
	offer := func(room int) {
		c.v.UnsentTexts(nil, func(body []byte) bool {
			if room == 0 {
				return false
			}
			room--
			got = append(got, string(body[2:]))
			return true
		})
	}
	for _, room := range []int{0, 1, 0, 1, 9, 9} {
		offer(room)
	}
	if fmt.Sprint(got) != "[Ada Grace Edsger]" {
		t.Errorf("the texts of %v were sent", got)
	}
}

// Numbers out of use are given away the oldest first, and none that came into use again.
func TestTextNumbersOutOfUse(t *testing.T) {
	var x texts
	take := func(c int32, now clock.Tick) uint16 { return x.take(packed{c}, now) }
	a, b, c := take('a', 1), take('b', 1), take('c', 1)
	x.leave(c, 2)
	x.leave(a, 3)
	x.leave(b, 4)
	if again := take('a', 5); again != a {
		t.Errorf("a text that comes back soon has number %d, had %d", again, a)
	}
	const late = 10 + textRest
	for i, want := range []uint16{c, b, 4, 5} {
		if got := take('d'+int32(i), late); got != want {
			t.Errorf("text %d has number %d, want %d", i, got, want)
		}
	}
	if take('a', late) != a || x.list[a].uses != 2 {
		t.Errorf("the text in use lost number %d", a)
	}
}
