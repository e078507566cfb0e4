package protocol_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
)

const states = "../../../docs/STATES.md"

// table writes rows in columns.
type table [][]string

func (t *table) row(cells ...any) {
	var r []string
	for _, c := range cells {
		r = append(r, fmt.Sprint(c))
	}
	*t = append(*t, r)
}

func (t table) text() string {
	var width []int
	for _, r := range t {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], len(c))
		}
	}
	var b strings.Builder
	for _, r := range t {
		line := ""
		for i, c := range r {
			line += fmt.Sprintf("%-*s  ", width[i], c)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// pillar is a thing with one group.
type pillar struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

// scene is one entity on a server, one client, and packets that arrive or not.
type scene struct {
	t    *testing.T
	kind *schema.Kind
	h    *snapshot.History
	v    *snapshot.View
	s    *snapshot.Store
	log  wire.Log
	recv wire.Received
	now  clock.Time
	tick clock.Tick
	i    int32
	sims []int64
	rows table
}

const resend = 200 * time.Millisecond

func newScene(t *testing.T) *scene {
	k, err := schema.New("pillar", reflect.TypeFor[pillar](), 30)
	if err != nil {
		t.Fatal(err)
	}
	ks := []*schema.Kind{k}
	h := snapshot.NewHistory(codec.All(ks...))
	c := &scene{
		t:    t,
		kind: k,
		h:    h,
		v:    snapshot.NewView(h),
		s:    snapshot.NewStore(codec.All(ks...)),
		sims: make([]int64, k.Sims),
	}
	return c
}

// step is one tick: something happens, what is due is sent, and arrives or not; its ack arrives in
// the same tick.
func (c *scene) step(happens string, change func(), arrives bool) {
	c.tick++
	c.now += clock.Time(time.Second / 30)
	c.h.Begin(c.tick)
	if c.tick == 1 {
		c.i = c.h.Add(7, 0, false)
	}
	if change != nil {
		change()
	}
	c.h.Record(c.i, c.sims, false)
	before := c.v.AckedTick(c.i, 0)
	due := c.v.Pending(c.now, resend, nil)
	sent := "-"
	if len(due) > 0 {
		p := c.log.Sent(c.now, c.tick, c.v.Missing)
		var w wire.BitWriter
		w.Reset(nil)
		new(snapshot.Writer).All(&w, c.v, due[:1], p, c.now)
		rest := c.h.At(c.i).RestedAt(0, c.tick)
		switch {
		case due[0].Gone:
			sent = "gone"
		case due[0].First:
			sent = "first sight"
		case rest:
			sent = fmt.Sprintf("rest, against %d", before)
		default:
			sent = fmt.Sprintf("update, against %d", before)
		}
		sent = fmt.Sprintf("packet %d: %s", p.Seq, sent)
		if arrives {
			var r wire.BitReader
			r.Reset(w.Bytes())
			if err := c.s.Read(&r, c.tick, ^uint64(0)); err != nil {
				c.t.Fatal(err)
			}
			c.recv.Applied(p.Seq)
			a, _ := c.recv.Ack()
			c.log.Acked(a, c.v.Delivered, c.v.Missing)
		} else {
			sent += " (lost)"
		}
	}
	holds := "-"
	if e := c.s.Find(7); e != nil {
		st := e.Groups[0].Newest()
		holds = fmt.Sprintf("tick %d, x %d", st.Tick, st.Vals[0])
		if st.Start > 0 {
			holds += fmt.Sprintf(", moves since %d", st.Start)
		}
		if st.Rest {
			holds += ", rests"
		}
	}
	known := "-"
	if a := c.v.AckedTick(c.i, 0); a > 0 {
		known = fmt.Sprint("tick ", a)
	}
	_, slots := c.v.Count()
	if happens != "" || sent != "-" {
		c.rows.row(c.tick, happens, sent, holds, known, slots)
	}
}

// wait lets ticks pass until something is sent again.
func (c *scene) wait(happens string, arrives bool) {
	for len(c.v.Pending(c.now+clock.Time(time.Second/30), resend, nil)) == 0 {
		c.step("", nil, true)
	}
	c.step(happens, nil, arrives)
}

// The tables of docs/STATES.md are what the code does.
func TestStates(t *testing.T) {
	examples := map[string]string{}

	c := newScene(t)
	c.rows.row("tick", "what happens", "sent", "client holds", "known", "slots")
	move := func() { c.sims[0] += 10 }
	c.step("comes into sight", func() { c.v.Enter(c.i, snapshot.Observed) }, false)
	c.step("moves", move, true)
	c.wait("200 ms are over", false)
	c.log.Drop(2, c.v.Missing)
	c.step("packet 2 is taken for lost", nil, true)
	c.step("moves", move, false)
	c.step("moves", move, true)
	c.step("moves", move, true)
	c.step("goes out of sight", func() { c.v.Leave(c.i) }, false)
	c.wait("200 ms are over", true)
	examples["a slot"] = c.rows.text()

	c = newScene(t)
	c.rows.row("tick", "what happens", "sent", "client holds", "known", "slots")
	c.step("comes into sight", func() { c.v.Enter(c.i, snapshot.Observed) }, true)
	c.step("moves", move, true)
	c.step("moves for the last time", move, true)
	for range 5 {
		c.step("", nil, true)
	}
	c.step("6 ticks unchanged", nil, false)
	c.wait("200 ms are over", true)
	for c.tick < 999 {
		c.step("", nil, true)
	}
	c.step("moves", move, true)
	c.step("moves", move, true)
	examples["rest"] = c.rows.text()

	var r wire.Received
	var l wire.Log
	var rows table
	rows.row("arrives", "applied", "newest", "history", "the sender learns")
	for range 80 {
		l.Charge(l.Sent(0, 1, func(*wire.Packet) {}), 100)
	}
	for _, s := range []wire.Seq{1, 2, 4, 3, 3, 8, 5, 75, 11, 10} {
		applied := "yes"
		if !r.Accepts(s) {
			applied = "no: applied before"
			if a, _ := r.Ack(); a.Latest-s > wire.Window {
				applied = "no: too old"
			}
		} else {
			r.Applied(s)
		}
		a, _ := r.Ack()
		var learns []string
		var first, last wire.Seq
		l.Acked(a, func(p *wire.Packet) { learns = append(learns, fmt.Sprint(p.Seq, " arrived")) }, func(p *wire.Packet) {
			if last != 0 && p.Seq == last+1 {
				last = p.Seq
				learns[len(learns)-1] = fmt.Sprintf("%d to %d lost", first, last)
				return
			}
			first, last = p.Seq, p.Seq
			learns = append(learns, fmt.Sprint(p.Seq, " lost"))
		})
		if len(learns) == 0 {
			learns = []string{"-"}
		}
		rows.row(s, applied, a.Latest, fmt.Sprintf("%016x", a.History), strings.Join(learns, ", "))
	}
	examples["acks"] = rows.text()

	text, err := os.ReadFile(states)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	examples["a connection"] = connections(t)

	if golden.Updating() {
		for name, text := range examples {
			doc = replace(t, doc, name, text)
		}
		if err := os.WriteFile(states, []byte(doc), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	found := 0
	for _, m := range blocks.FindAllStringSubmatch(doc, -1) {
		if want := examples[m[1]]; m[2] != want {
			t.Errorf("the example %q is\n%swant\n%s", m[1], m[2], want)
		}
		found++
	}
	if found != len(examples) {
		t.Errorf("%d examples in the document, want %d", found, len(examples))
	}
}
