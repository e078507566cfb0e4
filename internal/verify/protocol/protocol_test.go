package protocol_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/internal/verify/golden"
	"meanwhile/internal/verify/protocol"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/transport"
)

const document = "../../../docs/PROTOCOL.md"

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

// The document's examples are what a server and a client really send, and taken apart by the
// document's own tables they say what a real client understands.
func TestExamples(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	rules, err := kiteGame.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newReader(t, rules.Text)
	examples := map[string]string{}

	headerExamples(t, examples, rules.Text)

	examples["schema"] = rules.Text
	handshakeExamples(t, examples)
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
	bo, _, err := s.Connect(0, "Bo")
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
	command := func(seq, acked wire.Seq, cmds ...packet.Command) []byte {
		h := wire.Header{
			Seq:     seq,
			Stamp:   now.Stamp() + 10_000,
			Elicits: true,
			HasAck:  acked > 0,
			Ack:     wire.Ack{Latest: acked, History: ^uint64(0)},
		}
		var w wire.BitWriter
		w.Reset(nil)
		h.Append(&w, wire.Known{Ack: acked - min(acked, 1)})
		packet.Uplink{}.Append(&w)
		packet.AppendCommands(&w, rules.Command, cmds, h.Ack)
		return w.Bytes()
	}
	pull := func(tick game.Tick, seen clock.TickFrac, newest wire.Seq, vals ...int64) packet.Command {
		return packet.Command{Tick: tick, Seen: seen, Newest: newest, Vals: vals}
	}
	show := func(name string, b []byte) {
		t.Helper()
		if b == nil {
			t.Fatalf("%s: there is no datagram", name)
		}
		examples[name] = told(t, d, b, d.Down)
		c.Receive(now, b)
		c.Frame(now)
		if err := agrees(d, c.Store(), rules.Kinds); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	forAda, _ := tick()
	show("first sight", forAda)

	up := command(1, 1, pull(2, 0, 1, 0, 0, 0), pull(3, 300, 1, 15, 0, 0), pull(4, 560, 1, 15, 0, 1))
	examples["commands"] = told(t, d, up, d.Up)
	s.Receive(
		ada,
		now,
		command(1, 1, pull(2, 0, 1, 15, 0, 0), pull(3, 0, 1, 0, 0, 0), pull(4, 0, 1, 0, 0, 0)),
	)
	s.Receive(bo, now, command(1, 1, pull(2, 0, 1, 6, -3, 0), pull(3, 0, 1, 0, 0, 1)))
	forAda, _ = tick()
	show("differences", forAda)

	s.Receive(ada, now, command(2, 2))
	forAda, _ = tick()
	show("teleport and event", forAda)

	s.Receive(ada, now, command(3, 3))
	s.Disconnect(bo)
	forAda, _ = tick()
	show("gone", forAda)
	skiffExamples(t, examples)
	if s.Drops() != (server.Drops{}) {
		t.Errorf("the server dropped datagrams: %+v", s.Drops())
	}

	if golden.Updating() {
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

// headerExamples makes those of headers. The reader has applied packets 298 and 300 of the server,
// of ticks 590 and 596.
func headerExamples(t *testing.T, examples map[string]string, schemaText string) {
	for i, h := range []wire.Header{
		{Seq: 1, Stamp: 20_000_000, Elicits: true},
		{Seq: 900, Stamp: 20_050_000, Elicits: true, HasAck: true, Ack: wire.Ack{Latest: 300, History: ^uint64(0) &^ 1},
			HasEcho: true, Echo: 19_990_000 & 0xffff0, EchoAt: 20_031_000 & 0xffff0},
		{Seq: 301, Stamp: 20_060_000, Elicits: true, Server: true, Tick: 601, HasAck: true,
			Ack: wire.Ack{Latest: 899, History: ^uint64(0)}, NextDue: 7},
		{Seq: 302, Stamp: 26_900_000, Server: true, Tick: 800, HasAck: true,
			Ack:     wire.Ack{Latest: 905, History: ^uint64(0)},
			HasTime: true, Time: 26_840_000, NextDue: wire.Quiet, Period: 40 * time.Millisecond},
		{Stamp: 27_000_000, Server: true, Heartbeat: true, Tick: 800, HasTime: true, Time: 26_840_000,
			Period: 40 * time.Millisecond},
	} {
		d := newReader(t, schemaText)
		var w wire.BitWriter
		w.Reset(nil)
		if h.Server {
			d.Applied(298, 590, 895)
			d.Applied(300, 596, 897)
			h.Append(&w, wire.Known{Tick: 590, Ack: 895})
			examples[fmt.Sprint("header ", i+1)] = told(t, d, w.Bytes(), d.StartDown)
			if d.Head.Tick != int64(h.Tick) || d.Head.Latest != uint16(h.Ack.Latest) || d.Head.Stamp != uint32(h.Stamp) {
				t.Errorf("header %d is read as %+v", i+1, d.Head)
			}
			continue
		}
		if h.HasAck {
			d.Applied(300, 596, 897)
		}
		h.Append(&w, wire.Known{Ack: 297})
		examples[fmt.Sprint("header ", i+1)] = told(t, d, w.Bytes(), d.StartUp)
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

// The reader knows nothing but the document and the files that it names.
func TestReaderImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if n++; strings.HasPrefix(i.Path.Value, `"meanwhile/`) || strings.Contains(i.Path.Value, ".") {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
	}
	if n == 0 {
		t.Error("no file was looked at")
	}
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
		"datagram":                             wire.MaxDatagram,
		"acknowledgement window":               wire.Window,
		"slots":                                snapshot.Slots,
		"history":                              snapshot.HistoryTicks,
		"commands in a datagram":               packet.MaxCommands,
		"properties of a kind":                 schema.MaxProps,
		"groups of a kind":                     schema.MaxGroups,
		"integers of a kind":                   schema.MaxComps,
		"bytes of a text":                      schema.MaxText,
		"texts by reference":                   schema.MaxRefs - 1,
		"parts of reliable messages in flight": reliable.Window,
		"bytes of a part":                      reliable.PartSize,
		"bytes of a message":                   reliable.MaxMessage,
		"bytes of a text of a message":         schema.MaxLine,
		"messages and requests of a game":      packet.MaxMessages,
		"entities in sight":                    engine.MaxSee,
		"keep-alive":                           packet.KeepAlive,
		"client counts as gone after":          server.Timeout,
		"states held by a client":              snapshot.HeldStates,

		"states held by a client at most": snapshot.MostStates,

		"bytes of a message on the stream":         transport.MaxMessage,
		"bytes of such a message before admission": transport.MaxEarlyMessage,
		"least bytes of a datagram":                transport.MinDatagram,
		"bytes of a reason":                        transport.MaxReason,
		"time until a client is admitted":          transport.HelloTimeout,
		"silence that ends a connection":           transport.IdleTimeout,
		"time for the last messages":               transport.Linger,
	} {
		if got := rows[name]; got != fmt.Sprint(want) {
			t.Errorf("the document says %q of %q, the code %v", got, name, want)
		}
	}
	var waits []string
	for c := range uint8(motion.Bounds) {
		waits = append(waits, fmt.Sprint(motion.Wait(c)))
	}
	if list := strings.Join(waits, ", ") + " ticks"; !strings.Contains(
		strings.Join(strings.Fields(string(text)), " "),
		list,
	) {
		t.Errorf("the document does not say that the bounds are %s", list)
	}
	for d := wire.Due(1); d < wire.Quiet; d++ {
		if !strings.Contains(
			strings.Join(strings.Fields(string(text)), " "),
			fmt.Sprintf(" %d: %g ms", d, float64(d.Span().Microseconds())/1000),
		) {
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
	row := regexp.MustCompile("(?m)^\\| (unsigned|signed) \\| ([0-9]+) \\| (-?[0-9]+) \\| `([01 ]+)` \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
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

// newReader returns a reader of what a schema text describes, with what the document says.
func newReader(t *testing.T, schemaText string) *protocol.Reader {
	var files [2]string
	for i, name := range []string{document, "../../../netcode/codec/tables.txt"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = string(b)
	}
	s, err := protocol.ParseSchema(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	r, err := protocol.NewReader(files[0], files[1], s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told returns what a reader says of a datagram.
func told(t *testing.T, r *protocol.Reader, data []byte, read func([]byte) error) string {
	t.Helper()
	r.Out = &strings.Builder{}
	defer func() { r.Out = nil }()
	if err := read(data); err != nil {
		t.Fatalf("%v, after\n%s", err, r.Out)
	}
	return r.Out.String()
}

// agrees compares what was read by the document with what a client holds: all entities, and every
// state that both hold.
func agrees(r *protocol.Reader, s *snapshot.Store, kinds []*schema.Kind) error {
	alive := 0
	for n, h := range r.Slots {
		if h == nil || !h.Alive {
			continue
		}
		alive++
		e := s.Find(uint32(h.ID))
		if e == nil || e.Kind != h.Kind || e.Mine != h.Mine || e.Exact != h.Exact {
			return fmt.Errorf("slot %d: %+v by the document, a client holds %+v", n, h, e)
		}
		for g := range h.Groups {
			if (g == schema.OwnerGroup) != h.Exact {
				continue // a client keeps what it had of the entity in another slot, for drawing
			}
			var owned []int // a client has places for what is not sent, too
			if g == schema.OwnerGroup {
				for _, i := range kinds[h.Kind].Owned {
					p := &kinds[h.Kind].Props[i]
					for c := range p.Comps {
						owned = append(owned, p.At+c)
					}
				}
			}
			if err := agree(h.Groups[g].States, &e.Groups[g], owned); err != nil {
				return fmt.Errorf("slot %d group %d: %w", n, g, err)
			}
		}
	}
	if len(s.Entities()) != alive {
		return fmt.Errorf("%d entities by the document, a client holds %d", alive, len(s.Entities()))
	}
	return nil
}

func agree(states []protocol.State, g *snapshot.Group, owned []int) error {
	newest := g.Newest()
	if newest == nil || len(states) == 0 {
		if newest != nil || len(states) != 0 {
			return fmt.Errorf("%v by the document, a client holds %v", states, newest)
		}
		return nil
	}
	if got := states[len(states)-1].Tick; got != int64(newest.Tick) {
		return fmt.Errorf("newest is tick %d by the document, a client holds %d", got, newest.Tick)
	}
	for i := len(states) - 1; i >= 0; i-- {
		s := &states[i]
		e, _ := g.Since(clock.Tick(s.Tick))
		if e == nil || int64(e.Tick) != s.Tick {
			break // forgotten
		}
		vals := e.Vals
		if owned != nil {
			vals = nil
			for _, at := range owned {
				vals = append(vals, e.Vals[at])
			}
		}
		same := protocol.State{
			Tick:  int64(e.Tick),
			Cut:   int64(e.Cut),
			Start: int64(e.Start),
			Rest:  e.Rest,
			Bound: int(e.Bound),
			Level: int(e.Level),
			Vals:  vals,
		}
		if !reflect.DeepEqual(*s, same) {
			return fmt.Errorf("%+v by the document, a client holds %+v", *s, same)
		}
	}
	return nil
}
