package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/snapshot"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

type many struct {
	A, B, C, D geom.Vec3 `net:"pos"`
}
type few struct {
	P geom.Vec2 `net:"pos"`
}
type rcmd struct {
	Move geom.Vec2 `net:"stick"`
}

// A server that claims two avatars of different kinds for one player must not confuse the client:
// the newest counts.
func TestTwoAvatarsOfAHostileServer(t *testing.T) {
	a, b := game.NewKind[many]("many"), game.NewKind[few]("few")
	def := game.Definition[rcmd]{Name: "x", Kinds: game.Kinds(a, b), Join: func(w *game.World,
		n string) game.ID {
		return 0
	}, Act: func(w *game.World, me game.ID, c rcmd) {}}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	period := time.Second / 30
	c, err := New(r, session.Welcome{Session: 1, Tick: 1, ServerTime: clock.Time(time.Second), Period: period,
		History: snapshot.HistoryTicks, Game: "x"}, 0, Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := snapshot.NewHistory(r.Coders)
	v := snapshot.NewView(h)
	var log wire.Log
	var i, j int32
	for n := 1; n <= 6; n++ {
		tick := clock.Tick(n + 1)
		h.Begin(tick)
		if n == 1 {
			i, j = h.Add(1, 0, true), h.Add(2, 1, true)
			v.Enter(i, snapshot.Mine)
			v.Enter(j, snapshot.Mine)
		}
		x, y := make([]int64, 12), make([]int64, 2)
		x[0] = int64((n) / 2)
		y[0] = int64((n - 1) / 2)
		h.Record(i, x, false)
		h.Record(j, y, false)
		now := clock.Time(time.Second) + clock.Time(tick)*clock.Time(period)
		p := log.Sent(now, tick, v.Missing)
		hd := wire.Header{Seq: p.Seq, Server: true, Tick: tick, HasTime: true, Time: now.Stamp(), Stamp: now.Stamp()}
		var w wire.BitWriter
		w.Reset(nil)
		hd.Append(&w, wire.Known{})
		w.Bits(0, 6)
		new(snapshot.Writer).All(&w, v, v.Pending(now, time.Hour, nil), p, now)
		v.Delivered(p)
		c.Receive(clock.Time(n)*clock.Time(period), w.Bytes())
		c.Frame(clock.Time(n)*clock.Time(period) + 1)
		if c.own.me != 2 || c.own.kind != 1 {
			t.Fatalf("packet %d: avatar %d of kind %d, want 2 of kind 1", n, c.own.me, c.own.kind)
		}
	}
}
