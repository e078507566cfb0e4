// Package protocol holds docs/PROTOCOL.md to what the code does: its examples are datagrams of a real server, taken apart by
// a second decoder that knows the document's tables and nothing of packages snapshot, game and schema's codes.
package protocol_test

import (
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/clock"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/lane"
	"meanwhile/motion"
	"meanwhile/schema"
	"meanwhile/server"
	"meanwhile/snapshot"
	"meanwhile/wire"
)

var update = flag.Bool("update", false, "rewrite the examples of docs/PROTOCOL.md; a changed example is a protocol change")

const document = "../../docs/PROTOCOL.md"

// Kite is what the players of the examples are.
type Kite struct {
	Pos  geom.Vec2  `net:"pos,others=1cm"`
	Aim  geom.Angle `net:"angle,8bit"`
	Name string     `net:"text,4,ref"`
	Line int        `net:"int,0..99,to=owner"`
}

// Gust is an event.
type Gust struct {
	Force float64 `net:"float,0.5"`
}

// Pull is a command.
type Pull struct {
	Move geom.Vec2 `net:"stick,5bit"`
	Reel bool      `net:"press"`
}

var (
	kites = game.NewKind[Kite]("kite")
	gusts = game.NewEvent[Gust]("gust")

	kiteGame = game.Definition[Pull]{
		Name: "kites", Rate: 30, Send: 30, Kinds: game.Kinds(kites), Events: game.Events(gusts),
		Join: func(w *game.World, name string) game.ID {
			return kites.Spawn(w, Kite{Pos: geom.Vec2{X: float64(2 * len(name)), Y: 1}, Name: name, Line: 30})
		},
		Act: func(w *game.World, me game.ID, c Pull) {
			k := kites.Get(w, me)
			k.Pos = k.Pos.Add(c.Move)
			if c.Reel {
				k.Pos, k.Line = geom.Vec2{X: 50}, k.Line-1
				w.Cut(me)
				gusts.Emit(w, me, k.Pos, Gust{Force: 2.5})
			}
		},
	}
)

// The document's examples are what a server and a client really send, and taken apart by the document's own tables they say
// what a real client understands.
func TestExamples(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	d := newDissector(t, doc)
	examples := map[string]string{}

	for i, h := range []wire.Header{
		{Session: 7, Seq: 1, Stamp: 20_000_000, Elicits: true},
		{Session: 7, Seq: 900, Stamp: 20_050_000, HasAck: true, Ack: wire.Ack{Latest: 300, History: ^uint64(0) &^ 0b100}, HasEcho: true, Echo: 19_990_000, EchoAt: 20_031_000 & (1<<24 - 1)},
		{Session: 7, Seq: 301, Stamp: 20_060_000, Server: true, Tick: 600, Time: 20_000_000, NextDue: wire.Quiet, Period: 40 * time.Millisecond},
	} {
		d.start(h.Append(nil))
		d.header()
		examples[fmt.Sprint("header ", i+1)] = d.text()
	}

	rules, err := kiteGame.Rules()
	if err != nil {
		t.Fatal(err)
	}
	examples["schema"] = rules.Text
	s, err := server.New(rules, server.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ada, welcome, err := s.Connect(0, "Ada")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(rules, welcome, 0, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	bo, boWelcome, err := s.Connect(0, "Bo")
	if err != nil {
		t.Fatal(err)
	}
	now := clock.Time(0)
	var out server.Outbox
	tick := func() (forAda, forBo []byte) {
		now += clock.Time(s.Period())
		s.Begin(now)
		out.Reset()
		s.Encode(0, s.Clients(), &out)
		for i := range out.Len() {
			switch p, b := out.At(i); p {
			case ada:
				forAda = b
			case bo:
				forBo = b
			}
		}
		s.End()
		return forAda, forBo
	}
	// command is a datagram of a client that applied all that it was sent.
	command := func(session uint16, seq, acked wire.Seq, cmds ...game.Command) []byte {
		h := wire.Header{Session: session, Seq: seq, Stamp: now.Stamp() + 10_000, Elicits: true, HasAck: acked > 0, Ack: wire.Ack{Latest: acked, History: ^uint64(0)}}
		var w wire.BitWriter
		w.Reset(h.Append(nil))
		game.Uplink{}.Append(&w)
		game.AppendCommands(&w, rules.Command, cmds, acked)
		return w.Bytes()
	}
	pull := func(tick game.Tick, seen clock.TickFrac, newest wire.Seq, vals ...int64) game.Command {
		return game.Command{Tick: tick, Seen: seen, Newest: newest, Vals: vals}
	}
	show := func(name string, b []byte) {
		t.Helper()
		if b == nil {
			t.Fatalf("%s: there is no datagram", name)
		}
		d.start(b)
		d.down(rules)
		examples[name] = d.text()
		c.Receive(now, b)
		c.Frame(now)
		if err := d.agrees(c.Store()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	forAda, _ := tick()
	show("first sight", forAda)

	up := command(welcome.Session, 1, 1, pull(2, 0, 1, 0, 0, 0), pull(3, 300, 1, 15, 0, 0), pull(4, 560, 1, 15, 0, 1))
	d.start(up)
	d.up(rules)
	examples["commands"] = d.text()
	s.Receive(ada, now, command(welcome.Session, 1, 1, pull(2, 0, 1, 15, 0, 0), pull(3, 0, 1, 0, 0, 0), pull(4, 0, 1, 0, 0, 0)))
	s.Receive(bo, now, command(boWelcome.Session, 1, 1, pull(2, 0, 1, 6, -3, 0), pull(3, 0, 1, 0, 0, 1)))
	forAda, _ = tick()
	show("differences", forAda)

	s.Receive(ada, now, command(welcome.Session, 2, 2))
	forAda, _ = tick()
	show("teleport and event", forAda)

	s.Receive(ada, now, command(welcome.Session, 3, 3))
	s.Disconnect(bo)
	forAda, _ = tick()
	show("gone", forAda)
	if s.Drops() != (server.Drops{}) {
		t.Errorf("the server dropped datagrams: %+v", s.Drops())
	}

	if *update {
		for name, text := range examples {
			doc = replace(t, doc, name, text)
		}
		if err := os.WriteFile(document, []byte(doc), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, m := range blocks.FindAllStringSubmatch(doc, -1) {
		seen[m[1]] = true
		if want, ok := examples[m[1]]; !ok {
			t.Errorf("the document has an example %q that nothing makes", m[1])
		} else if m[2] != want {
			t.Errorf("the example %q is\n%swant\n%s", m[1], m[2], want)
		}
	}
	for name := range examples {
		if !seen[name] {
			t.Errorf("the document lacks the example %q", name)
		}
	}
}

var blocks = regexp.MustCompile("(?s)```example ([^\n]*)\n(.*?)```\n")

func replace(t *testing.T, doc, name, text string) string {
	begin := "```example " + name + "\n"
	before, rest, ok := strings.Cut(doc, begin)
	if !ok {
		t.Errorf("the document has no place for the example %q", name)
		return doc
	}
	_, after, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatalf("the example %q does not end", name)
	}
	return before + begin + text + "```\n" + after
}

// Limits that the document states are those of the code.
func TestNumbers(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|[^|]*\|$`).FindAllStringSubmatch(string(text), -1) {
		rows[m[1]] = m[2]
	}
	for name, want := range map[string]any{
		"datagram":                    wire.MaxDatagram,
		"acknowledgement window":      wire.Window,
		"slots":                       snapshot.Slots,
		"history":                     snapshot.HistoryTicks,
		"commands in a datagram":      game.MaxCommands,
		"properties of a kind":        schema.MaxProps,
		"groups of a kind":            schema.MaxGroups,
		"integers of a kind":          schema.MaxComps,
		"bytes of a text":             schema.MaxText,
		"texts by reference":          schema.MaxRefs - 1,
		"parts of a lane in flight":   lane.Window,
		"bytes of a part":             lane.PartSize,
		"bytes of a message":          lane.MaxMessage,
		"entities in sight":           game.DefaultSee,
		"keep-alive":                  server.KeepAlive,
		"client counts as gone after": server.Timeout,
		"states held by a client":     snapshot.HeldStates,

		"states held by a client at most": snapshot.MostStates,
	} {
		if got := rows[name]; got != fmt.Sprint(want) {
			t.Errorf("the document says %q of %q, the code %v", got, name, want)
		}
	}
	if client.KeepAlive != server.KeepAlive {
		t.Errorf("clients keep alive every %v, servers every %v", client.KeepAlive, server.KeepAlive)
	}
	var waits []string
	for c := range uint8(motion.Bounds) {
		waits = append(waits, fmt.Sprint(motion.Wait(c)))
	}
	if list := strings.Join(waits, ", ") + " ticks"; !strings.Contains(strings.Join(strings.Fields(string(text)), " "), list) {
		t.Errorf("the document does not say that the bounds are %s", list)
	}
	for d := wire.Due(1); d < wire.Quiet; d++ {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), fmt.Sprintf(" %d: %g ms", d, float64(d.Span().Microseconds())/1000)) {
			t.Errorf("the document does not say that next-due code %d is %v", d, d.Span())
		}
	}
}

// Codes of the document's table "Numbers" are what package wire writes.
func TestCodesOfTheDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile("(?m)^\\| (unsigned|signed) \\| ([0-9]+) \\| (-?[0-9]+) \\| `([01 ]+)` \\|$").FindAllStringSubmatch(string(text), -1) {
		k, _ := strconv.Atoi(m[2])
		v, _ := strconv.ParseInt(m[3], 10, 64)
		var w wire.BitWriter
		w.Reset(nil)
		if m[1] == "signed" {
			w.Varint(v, k)
		} else {
			w.Uvarint(uint64(v), k)
		}
		var r wire.BitReader
		bits := w.Len()
		r.Reset(w.Bytes())
		got := ""
		for range bits {
			got += strconv.Itoa(int(r.Bits(1)))
		}
		if want := strings.ReplaceAll(m[4], " ", ""); got != want {
			t.Errorf("%s of order %s, %s: %s, the document says %s", m[1], m[2], m[3], got, want)
		}
		n++
	}
	if n < 10 {
		t.Errorf("only %d codes found in the document", n)
	}
}

// class is a row of the document's table of classes.
type class struct {
	difference int // order; -1: by itself
	kind       string
	order      int
}

// dissector reads datagrams by the document and writes down what it reads.
type dissector struct {
	t       *testing.T
	classes map[string]class
	b       strings.Builder
	data    []byte
	body    string // bits
	r       wire.BitReader
	at      int // bits of body that are written down
	h       wire.Header
	slots   map[uint64]*held
	age     clock.Tick // of the datagram's usual baseline; 0: the newest held
	gap     clock.Tick // from the state before it to it
	lane    lane.Receiver
	tables  map[string]*codeTable
}

type held struct {
	id, kind uint64
	mine     bool
	states   map[int]map[clock.Tick][]int64 // by group
	bounds   map[int]map[clock.Tick]uint64
	cuts     map[int]map[clock.Tick]clock.Tick
}

func newDissector(t *testing.T, doc string) *dissector {
	d := &dissector{t: t, classes: map[string]class{}, slots: map[uint64]*held{}}
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z, ]+) \| ([0-9]+|-) \| (signed|unsigned|bits|range|disc|ticks|words|rotation)[^|]*?(?:, order ([0-9]+))? \|`).FindAllStringSubmatch(doc, -1) {
		c := class{difference: -1, kind: m[3]}
		if m[2] != "-" {
			c.difference, _ = strconv.Atoi(m[2])
		}
		c.order, _ = strconv.Atoi(m[4])
		for name := range strings.SplitSeq(m[1], ", ") {
			d.classes[name] = c
		}
	}
	for i := range schema.NumClasses {
		c := schema.Class(i)
		if _, ok := d.classes[c.String()]; !ok {
			t.Fatalf("the document's table of classes lacks %s", c)
		}
	}
	return d
}

func (d *dissector) start(data []byte) {
	d.data = slices.Clone(data)
	d.b.Reset()
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 24)
		fmt.Fprintf(&d.b, "%x\n", rest[:n])
		rest = rest[n:]
	}
	d.b.WriteString("\n")
}

func (d *dissector) text() string { return d.b.String() }

// header reads the header with its offsets from the document's table.
func (d *dissector) header() {
	h, n, err := wire.DecodeHeader(d.data)
	if err != nil {
		d.t.Fatal(err)
	}
	at := 0
	line := func(size int, format string, args ...any) {
		fmt.Fprintf(&d.b, "%-18s %s\n", hex.EncodeToString(d.data[at:at+size]), fmt.Sprintf(format, args...))
		at += size
	}
	flags := d.data[0]
	var names []string
	for i, name := range []string{"server", "elicits", "ack", "echo", "", "", "idle", "resync"} {
		if name != "" && flags>>i&1 != 0 {
			names = append(names, name)
		}
	}
	width := []int{0, 2, 4, 8}[flags>>4&3]
	if h.HasAck {
		names = append(names, fmt.Sprintf("history of %d bytes", width))
	}
	line(1, "flags: %s", strings.Join(names, ", "))
	line(2, "session %d", h.Session)
	line(2, "sequence number %d", h.Seq)
	line(4, "sent at %d us", h.Stamp)
	if h.HasAck {
		line(2, "newest packet applied: %d", h.Ack.Latest)
		if width > 0 {
			var missing []string
			for i := range 64 {
				if h.Ack.History>>i&1 == 0 {
					missing = append(missing, strconv.Itoa(int(h.Ack.Latest)-1-i))
				}
			}
			line(width, "of the 64 before not applied: %s", strings.Join(missing, " "))
		}
	}
	if h.HasEcho {
		line(4, "echo of the stamp %d us", h.Echo)
		line(3, "which arrived at %d us, modulo 2^24", h.EchoAt)
	}
	if h.Server {
		line(4, "tick %d", h.Tick)
		line(4, "its server time: %d us", h.Time)
		due := fmt.Sprintf("next packet within %g ms", float64(h.NextDue.Span().Microseconds())/1000)
		if h.NextDue == wire.Quiet {
			due = "silent until something changes"
		}
		if h.Heartbeat {
			due = "heartbeat"
		}
		line(1, "%s", due)
		if h.Period > 0 {
			line(3, "tick period %d us", h.Period.Microseconds())
		}
	}
	if at != n {
		d.t.Fatalf("the header has %d bytes, %d were taken apart", n, at)
	}
	d.h = h
	d.r.Reset(d.data[n:])
	d.at, d.body = 0, ""
	for _, b := range d.data[n:] {
		for i := range 8 {
			d.body += string('0' + rune(b>>i&1))
		}
	}
}

// note writes down the bits read since the last note.
func (d *dissector) note(format string, args ...any) {
	to := len(d.body) - d.r.Left()
	bits := d.body[d.at:to]
	if len(bits) > 32 {
		bits = fmt.Sprintf("%s..(%d bits)", bits[:16], len(bits))
	}
	if bits == "" {
		bits = "-"
	}
	fmt.Fprintf(&d.b, "%-32s %s\n", bits, fmt.Sprintf(format, args...))
	d.at = to
}

func (d *dissector) down(rules *game.Rules) {
	d.header()
	if d.r.Bool() {
		v := d.r.Varint(4)
		d.note("feedback: commands arrived up to tick %d", int64(d.h.Tick)-v)
	} else {
		d.note("feedback: no command has arrived")
	}
	if d.r.Bool() {
		v := d.r.Varint(5)
		d.note("feedback: the tightest new one was %d/16 ticks early", v)
	} else {
		d.note("feedback: no new one")
	}
	v := d.r.Bits(4)
	d.note("feedback: %d ticks without a command, modulo 16", v)
	d.entries(rules)
	if d.r.Bad() {
		d.t.Fatal("cut short")
	}
	rest := d.r.Rest()
	pad := len(d.body) - d.at - 8*len(rest)
	d.at += pad
	if pad > 0 {
		fmt.Fprintf(&d.b, "%-32s padding\n", d.body[d.at-pad:d.at])
	}
	if len(rest) > 0 {
		in := &d.lane
		n, err := in.Read(rest)
		if err != nil || n != len(rest) {
			d.t.Fatalf("lane section: %d bytes, %v", n, err)
		}
		fmt.Fprintf(&d.b, "%-32x lane section\n", rest)
		for m, ok := in.Next(); ok; m, ok = in.Next() {
			if m.Kind == snapshot.TextMessage {
				fmt.Fprintf(&d.b, "%-32x text %d is %q\n", m.Body, binary.LittleEndian.Uint16(m.Body), m.Body[2:])
				continue
			}
			k := rules.Events[m.Kind]
			fmt.Fprintf(&d.b, "%-32x event %s of tick %d by entity %d", m.Body, k.Name, m.Tick, m.Entity)
			d.r.Reset(m.Body)
			for i := range k.Props {
				for range k.Props[i].Comps {
					fmt.Fprintf(&d.b, ", %s %d", k.Props[i].Name, d.alone(&k.Props[i], false, m.Tick))
				}
			}
			d.b.WriteString("\n")
		}
	}
}

// groups returns the properties of each group that observers receive, from the schema alone.
func groups(k *schema.Kind) (g [][]*schema.Prop) {
	numbers := map[int]int{}
	for n := range schema.MaxGroups {
		for i := range k.Props {
			if p := &k.Props[i]; p.Audience == schema.Everyone && p.Group == n {
				if _, ok := numbers[n]; !ok {
					numbers[n] = len(g)
					g = append(g, nil)
				}
				g[numbers[n]] = append(g[numbers[n]], p)
			}
		}
	}
	return g
}

// owned returns the properties that an owner receives.
func owned(k *schema.Kind) (ps []*schema.Prop) {
	for i := range k.Props {
		if p := &k.Props[i]; p.Audience == schema.Everyone || p.Audience == schema.Owner {
			ps = append(ps, p)
		}
	}
	return ps
}

const ownerGroup = 4

func (d *dissector) entries(rules *game.Rules) {
	n := d.r.Uvarint(2)
	d.note("entries: %d", n)
	if n == 0 {
		return
	}
	order := int(d.r.Uvarint(0))
	d.note("distances of order %d", order)
	d.age, d.gap = 0, 0
	if d.r.Bool() {
		d.age = clock.Tick(d.r.Uvarint(2)) + 1
		d.gap = clock.Tick(d.r.Uvarint(1))
		d.note("the usual baseline: tick %d, before it %d", d.h.Tick-d.age, d.h.Tick-d.age-d.gap)
	} else {
		d.note("the usual baseline: the newest held")
	}
	slot := uint64(0)
	for range n {
		slot += d.r.Uvarint(order)
		d.entry(rules, slot)
		slot++
	}
}

// newest returns the newest state that is held of a group before a tick, 0 if there is none.
func (h *held) newest(g int, before clock.Tick) (newest clock.Tick) {
	for t := range h.states[g] {
		if t < before {
			newest = max(newest, t)
		}
	}
	return newest
}

func (d *dissector) entry(rules *game.Rules, n uint64) {
	d.note("entry for slot %d", n)
	ones := 0
	for ones < 5 && d.r.Bool() {
		ones++
	}
	ordinary := ones < 2
	if ones <= 2 {
		h := d.slots[n]
		if h == nil {
			d.t.Fatalf("an update of slot %d, which is empty, after\n%s", n, d.b.String())
		}
		k := rules.Kinds[h.kind]
		if ordinary {
			d.note("an ordinary update%s: entity %d", []string{"", " against another baseline"}[ones], h.id)
		} else {
			d.note("an update: entity %d", h.id)
		}
		set := []int{ownerGroup}
		if ordinary && !h.mine {
			set = []int{0}
			for g, props := range slices.Backward(groups(k)) {
				if slices.ContainsFunc(props, func(p *schema.Prop) bool { return p.Draw != schema.Step }) {
					set[0] = g
				}
			}
		} else if !h.mine {
			set = nil
			for g := range groups(k) {
				if d.r.Bool() {
					set = append(set, g)
				}
			}
			d.note("groups %v", set)
		}
		for _, g := range set {
			d.record(k, h, g, true, ordinary, ones == 1)
		}
		return
	}
	if ones == 5 {
		d.t.Fatal("groups to be forgotten, where no kind has limited ones")
	}
	if ones == 4 {
		d.note("gone: entity %d", d.slots[n].id)
		delete(d.slots, n)
		return
	}
	d.note("a first sight")
	h := &held{states: map[int]map[clock.Tick][]int64{}, bounds: map[int]map[clock.Tick]uint64{}, cuts: map[int]map[clock.Tick]clock.Tick{}}
	h.kind = d.r.Uvarint(3)
	d.note("kind %d: %s", h.kind, rules.Kinds[h.kind].Name)
	h.id = d.r.Uvarint(10)
	d.note("entity %d", h.id)
	h.mine = d.r.Bool()
	d.note("the client's own: %v", h.mine)
	d.slots[n] = h
	k := rules.Kinds[h.kind]
	if h.mine {
		d.record(k, h, ownerGroup, false, false, false)
		return
	}
	for g := range groups(k) {
		d.record(k, h, g, false, false, false)
	}
}

func (d *dissector) record(k *schema.Kind, h *held, g int, based, ordinary, oddly bool) {
	obs := g != ownerGroup
	props, name := owned(k), "its owner's record"
	moving := true
	if obs {
		props, name, moving = groups(k)[g], fmt.Sprint("record of group ", g), false
		for _, p := range props {
			moving = moving || p.Draw != schema.Step
		}
	}
	paced := false
	for _, p := range k.Props {
		paced = paced || obs && p.Draw != schema.Step && p.Audience == schema.Everyone
	}
	base, before, cut := clock.Tick(0), clock.Tick(0), clock.Tick(0)
	if based {
		age, gap := d.age, d.gap
		if oddly || !ordinary && d.r.Bool() {
			if age, gap = 0, 0; d.age == 0 || d.r.Bool() {
				age = clock.Tick(d.r.Uvarint(3)) + 1
				gap = clock.Tick(d.r.Uvarint(2))
			}
		}
		prior := clock.Tick(0)
		if base = d.h.Tick - age; age == 0 {
			base = h.newest(g, d.h.Tick)
			if prior = h.newest(g, base); d.h.Tick-prior > 63 {
				prior = 0
			}
		} else if gap != 0 {
			prior = base - gap
		}
		if prior != 0 && h.states[g][prior] == nil {
			d.t.Fatalf("a state of tick %d before the baseline, which is not held", prior)
		}
		before = prior
		d.note("%s, against tick %d, before it %d", name, base, prior)
	} else {
		d.note("%s", name)
	}
	if moving && !ordinary {
		if d.r.Bool() {
			jump, start := "", ""
			if d.r.Bool() {
				cut = d.h.Tick - clock.Tick(d.r.Uvarint(3))
				jump = fmt.Sprint(", teleported at tick ", cut)
			}
			if d.r.Bool() {
				start = fmt.Sprint(", moves since tick ", d.h.Tick-clock.Tick(d.r.Uvarint(3)))
			}
			d.note("special%s%s", jump, start)
		} else {
			d.note("nothing special")
		}
		rest := d.r.Bool()
		d.note("rests: %v", rest)
	}
	bound := uint64(0)
	if based {
		bound = h.bounds[g][base]
	}
	switch {
	case !paced || ordinary:
	case d.r.Bool():
		bound = d.r.Bits(4)
		d.note("bound class %d", bound)
	default:
		d.note("bound class %d still", bound)
	}
	delta := based && d.h.Tick-base < 128
	old := h.states[g][base]
	if based && old == nil {
		d.t.Fatalf("a record against tick %d, which is not held", base)
	}
	var vals []int64
	if delta {
		var prior []int64
		if before != 0 && cut == 0 && h.cuts[g][base] <= before {
			prior = h.states[g][before]
		}
		vals = d.changed(k, obs, props, old, prior, d.h.Tick-base, base-before)
	} else {
		vals = d.whole(obs, props, old)
	}
	if h.states[g] == nil {
		h.states[g], h.bounds[g], h.cuts[g] = map[clock.Tick][]int64{}, map[clock.Tick]uint64{}, map[clock.Tick]clock.Tick{}
	}
	h.states[g][d.h.Tick], h.bounds[g][d.h.Tick], h.cuts[g][d.h.Tick] = vals, bound, cut
}

// finer is how much higher the order is in simulation precision, by the document.
func finer(p *schema.Prop, obs bool) (n int) {
	if obs || p.SimTurn > 0 {
		return 0
	}
	for r := p.Sim / p.Obs; r >= 2; r /= 2 {
		n++
	}
	return n
}

func bitsFor(most int64) (n int) {
	for ; most > 0; most >>= 1 {
		n++
	}
	return n
}

func turn(p *schema.Prop, obs bool) int64 {
	if obs {
		return p.Turn
	}
	return p.SimTurn
}

// class is the row of the table that the property goes by.
func (d *dissector) class(p *schema.Prop, obs bool) class {
	if p.Ref && obs {
		return d.classes["ref"]
	}
	return d.classes[p.Class.String()]
}

// alone reads a value by itself.
func (d *dissector) alone(p *schema.Prop, obs bool, tick clock.Tick) int64 {
	c := d.class(p, obs)
	switch c.kind {
	case "signed":
		return d.r.Varint(c.order + finer(p, obs))
	case "unsigned":
		return int64(d.r.Uvarint(c.order))
	case "bits":
		if p.SimTurn > 0 {
			return int64(d.r.Bits(bitsFor(turn(p, obs) - 1)))
		}
		return int64(d.r.Bits(1))
	case "range":
		return p.Min + int64(d.r.Bits(bitsFor(p.Max-p.Min)))
	case "rotation":
		per := p.Sim
		if obs {
			per = p.Obs
		}
		return int64(d.r.Bits(bitsFor(int64(per)))) - int64(per)/2 + 1
	case "disc":
		return int64(d.r.Bits(bitsFor(2*int64(p.Sim)))) - int64(p.Sim)
	case "ticks":
		if d.r.Bool() {
			return 0
		}
		return int64(uint32(int64(tick) + d.r.Varint(c.order)))
	case "words":
		if p.Class == schema.Bytes {
			return int64(d.r.Bits(8 * ((int(p.Max) + p.Comps - 1) / p.Comps)))
		}
		return int64(d.r.Bits(32))
	}
	d.t.Fatalf("class %s", p.Class)
	return 0
}

// difference reads a value as the difference from another.
func (d *dissector) difference(p *schema.Prop, before int64, obs bool) int64 {
	c := d.class(p, obs)
	if c.difference < 0 {
		return d.alone(p, obs, 0)
	}
	v := before + d.r.Varint(c.difference+finer(p, obs))
	if p.SimTurn > 0 {
		t := turn(p, obs)
		v = (v%t + t) % t
	}
	return v
}

func (d *dissector) up(rules *game.Rules) {
	d.header()
	k := rules.Command
	d.note("away: %v", d.r.Bool())
	d.note("older commands may still come: %v", d.r.Bool())
	n := d.r.Uvarint(2)
	d.note("%d commands", n)
	if n == 0 {
		return
	}
	last := clock.Tick(d.r.Bits(32))
	d.note("the last of them of tick %d", last)
	vals := make([]int64, k.Sims)
	seen, newest := int64(0), wire.Seq(0)
	for i := range n {
		tick := last - clock.Tick(n-1-i)
		if d.r.Bool() {
			d.note("tick %d: the same", tick)
		} else {
			d.note("tick %d:", tick)
			for pi := range k.Props {
				p := &k.Props[pi]
				if d.r.Bool() {
					for c := p.At; c < p.At+p.Comps; c++ {
						vals[c] = d.alone(p, false, tick)
					}
					d.note("  %s %v", p.Name, vals[p.At:p.At+p.Comps])
				} else {
					d.note("  %s as before", p.Name)
				}
			}
		}
		switch {
		case seen > 0:
			seen += 256 + d.r.Varint(3)
			d.note("  seen at %d/256 ticks", seen)
		case d.r.Bool():
			seen = int64(tick)*256 - int64(d.r.Uvarint(12))
			d.note("  seen at %d/256 ticks", seen)
		default:
			d.note("  no picture")
		}
		if i == 0 {
			newest = d.h.Ack.Latest - wire.Seq(d.r.Bits(7))
		} else {
			newest += wire.Seq(d.r.Uvarint(0))
		}
		d.note("  with packet %d", newest)
	}
	if d.r.Bad() {
		d.t.Fatal("cut short")
	}
}

// agrees compares what was read by the document with what a client holds.
func (d *dissector) agrees(s *snapshot.Store) error {
	if len(s.Entities()) != len(d.slots) {
		return fmt.Errorf("%d entities by the document, a client holds %d", len(d.slots), len(s.Entities()))
	}
	for n, h := range d.slots {
		e := s.Find(uint32(h.id))
		if e == nil || e.Kind != int(h.kind) || e.Mine != h.mine {
			return fmt.Errorf("slot %d: %+v by the document, a client holds %+v", n, h, e)
		}
		for g, states := range h.states {
			newest := e.Groups[g].Newest()
			vals := newest.Vals
			if g == ownerGroup { // the client has places for what is not sent, too
				vals = vals[:len(states[newest.Tick])]
			}
			if !slices.Equal(vals, states[newest.Tick]) || uint64(newest.Bound) != h.bounds[g][newest.Tick] {
				return fmt.Errorf("slot %d group %d: %v by the document, a client holds %v", n, g, states, newest)
			}
		}
	}
	return nil
}
