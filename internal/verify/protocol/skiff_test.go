package protocol_test

import (
	"testing"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
	"meanwhile/server"
)

// Skiff is what the players of the later examples are: not everything of it is for everyone.
type Skiff struct {
	Pos  geom.Vec2 `net:"pos,1cm,others=1cm,4cm@30m,wire=near"`
	Side uint8     `net:"enum,none|red|blue,team"`
	Hold int       `net:"int,0..99,to=team"`
	Flag int       `net:"int,0..9,far=40m"`
}

var (
	skiffs = game.NewKind[Skiff]("skiff")

	skiffGame = game.Definition[Pull]{
		Name: "skiffs", Rate: 30, Send: 30, Kinds: game.Kinds(skiffs),
		Join: func(w *game.World, name string) game.ID {
			n := float64(skiffs.Len(w))
			return skiffs.Spawn(w, Skiff{Pos: geom.Vec2{X: 1000 + 10*n, Y: 500}, Side: uint8(1 + len(name)%2), Hold: 7, Flag: 3})
		},
		Act: func(w *game.World, me game.ID, c Pull) {
			s := skiffs.Get(w, me)
			s.Pos = s.Pos.Add(c.Move)
			if c.Reel {
				s.Pos.X += 60
			}
		},
	}
)

// skiffExamples are datagrams to a player among others: one is of its team, one is not, and goes
// away.
func skiffExamples(t *testing.T, examples map[string]string) {
	rules, err := skiffGame.Rules()
	if err != nil {
		t.Fatal(err)
	}
	d := newReader(t, rules.Text)
	examples["schema of skiffs"] = rules.Text
	s, err := server.New(rules, server.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	join := func(name string) (server.PlayerID, *client.Client) {
		p, welcome, err := s.Connect(0, name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(rules, welcome, 0, client.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return p, c
	}
	ada, c := join("Ada")
	now, seq, got := clock.Time(0), wire.Seq(0), wire.Seq(0)
	var out server.Outbox
	tick := func(name string) {
		t.Helper()
		now += clock.Time(s.Period())
		s.Begin(now)
		out.Reset()
		s.Encode(0, s.Clients(), &out)
		for i := range out.Len() {
			p, b := out.At(i)
			if p != ada {
				continue
			}
			text := told(t, d, b, d.Down)
			if name != "" {
				examples[name] = text
			}
			c.Receive(now, b)
			c.Frame(now)
			if err := agrees(d, c.Store(), rules.Kinds); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got = wire.Seq(d.Head.Seq)
			name = ""
		}
		if name != "" {
			t.Errorf("%s: there is no datagram", name)
		}
		s.End()
	}
	say := func(p server.PlayerID, seq, acked wire.Seq, cmds ...packet.Command) {
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
		s.Receive(p, now, w.Bytes())
	}
	acked := func() {
		seq++
		say(ada, seq, got)
	}

	tick("")
	acked()
	join("Cyd") // as many letters: the same side
	bo, _ := join("Bo")
	tick("near")
	acked()
	say(bo, 1, 1, packet.Command{Tick: s.Tick() + 1, Newest: 1, Vals: []int64{0, 0, 1}})
	tick("forget")
	acked()
	tick("level")
}
