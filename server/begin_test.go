package server

import (
	"fmt"
	"testing"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// The worlds whose recording is measured.
type (
	// pilgrim has what a walker of a crowd commonly has.
	pilgrim struct {
		Pos    geom.Vec2  `net:"pos,1cm"`
		Yaw    geom.Angle `net:"angle,8bit"`
		Health int        `net:"int,0..255,group=1"`
		Anim   int        `net:"int,0..2,group=1"`
		Name   string     `net:"text,10,ref"`
	}
	// settler is a pilgrim with 25 properties, 19 of which change now and then.
	settler struct {
		Pos    geom.Vec2  `net:"pos,1cm"`
		Yaw    geom.Angle `net:"angle,8bit"`
		Health int        `net:"int,0..255,group=1"`
		Anim   int        `net:"int,0..2,group=1"`
		Name   string     `net:"text,10,ref"`

		P0  int `net:"int,0..255,group=3"`
		P1  int `net:"int,0..255,group=3"`
		P2  int `net:"int,0..255,group=3"`
		P3  int `net:"int,0..255,group=3"`
		P4  int `net:"int,0..255,group=3"`
		P5  int `net:"int,0..255,group=3"`
		P6  int `net:"int,0..255,group=3"`
		P7  int `net:"int,0..255,group=3"`
		P8  int `net:"int,0..255,group=3"`
		P9  int `net:"int,0..255,group=3"`
		P10 int `net:"int,0..255,group=3"`
		P11 int `net:"int,0..255,group=3"`
		P12 int `net:"int,0..255,group=3"`
		P13 int `net:"int,0..255,group=3"`
		P14 int `net:"int,0..255,group=3"`
		P15 int `net:"int,0..255,group=3"`
		P16 int `net:"int,0..255,group=3"`
		P17 int `net:"int,0..255,group=3"`
		P18 int `net:"int,0..255,group=3"`
	}
)

// slow returns the n-th slow property.
func (p *settler) slow(n int) *int {
	return [...]*int{&p.P0, &p.P1, &p.P2, &p.P3, &p.P4, &p.P5, &p.P6, &p.P7, &p.P8, &p.P9, &p.P10, &p.P11, &p.P12, &p.P13,
		&p.P14, &p.P15, &p.P16, &p.P17, &p.P18}[n]
}

// stage is a game of n entities of one kind and of players who only watch: make returns the state
// of one of them at the beginning, step runs for each in every tick unless it is nil.
func stage[T any](t testing.TB, n int, make func(i int) T, step func(w *game.World, id game.ID, p *T)) *Server {
	t.Helper()
	kind := game.NewKind[T]("actor")
	d := game.Definition[stroll]{
		Name: "stage", Rate: 20, Kinds: game.Kinds(kind),
		Join: func(*game.World, string) game.ID { return 0 },
		Act:  func(*game.World, game.ID, stroll) {},
		Referee: func(w *game.World) {
			for i := kind.Len(w); i < n; i++ {
				kind.Spawn(w, make(i))
			}
		},
	}
	if step != nil {
		d.Step = func(w *game.World) {
			for id, p := range kind.All(w) {
				step(w, id, p)
			}
		}
	}
	rules, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(rules, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Server) tickTimes(t testing.TB, ticks int) {
	for range ticks {
		s.Begin(clock.Time(s.Tick()+1) * clock.Time(s.Period()))
		s.End()
	}
	if f := s.Faults(); len(f) > 0 {
		t.Fatal(f)
	}
}

// walkOn moves a walker as those of a crowd move: 5 m/s on average, one in ten stands still.
func walkOn(w *game.World, id game.ID, pos *geom.Vec2, yaw *geom.Angle) {
	turn := uint64(id)*7 + uint64(w.Tick())/40
	if turn%10 == 0 {
		return
	}
	a := float64(turn * 2654435761 % 7)
	pos.X += geom.Cos(a) * 0.25
	pos.Y += geom.Sin(a) * 0.25
	*yaw = geom.Angle(a)
}

func actorName(i int) string { return fmt.Sprintf("actor%05d", i) }

func pilgrimAt(i int) pilgrim {
	return pilgrim{Pos: geom.Vec2{X: float64(i % 100 * 10), Y: float64(i / 100 * 10)}, Name: actorName(i)}
}

// beginners are those worlds, by name.
var beginners = []struct {
	name string
	make func(t testing.TB) *Server
}{
	{"walkers=1000", func(t testing.TB) *Server {
		return stage(t, 1000, pilgrimAt, func(w *game.World, id game.ID, p *pilgrim) {
			walkOn(w, id, &p.Pos, &p.Yaw)
			if r := uint64(id)*31 + uint64(w.Tick()); r%100 == 0 {
				p.Health = int(r % 256)
			}
		})
	}},
	{"settlers=1000", func(t testing.TB) *Server {
		return stage(t, 1000, func(i int) settler {
			return settler{Pos: pilgrimAt(i).Pos, Name: actorName(i)}
		}, func(w *game.World, id game.ID, p *settler) {
			walkOn(w, id, &p.Pos, &p.Yaw)
			if r := uint64(id)*31 + uint64(w.Tick()); r%100 < 19 {
				*p.slow(int(r % 100)) = int(r % 256)
			}
		})
	}},
	{"resting=10000", func(t testing.TB) *Server { return stage(t, 10000, pilgrimAt, nil) }},
	{"visited=10000", func(t testing.TB) *Server { // rules look at all of them in each tick
		return stage(t, 10000, pilgrimAt, func(*game.World, game.ID, *pilgrim) {})
	}},
}

// BenchmarkBegin is a tick of the rules and its recording.
func BenchmarkBegin(b *testing.B) {
	for _, c := range beginners {
		b.Run(c.name, func(b *testing.B) {
			s := c.make(b)
			s.tickTimes(b, 200)
			b.ReportAllocs()
			for b.Loop() {
				s.tickTimes(b, 1)
			}
		})
	}
}

// Whose name found no number gets one when others have left, though nothing about it changes.
func TestNamelessForAWhile(t *testing.T) {
	const many = schema.MaxRefs + 3
	type named struct {
		Name string `net:"text,8,ref"`
	}
	s := stage(t, many, func(i int) named { return named{fmt.Sprint(i)} }, nil)
	s.tickTimes(t, 2)
	_, sims := s.eng.Sims(many)
	last, _ := s.hist.Find(many)
	name := func() string {
		vals, _ := s.hist.Values(last, 0, s.tick, nil)
		for c := range vals {
			vals[c] *= schema.SubSteps
		}
		s.hist.Spell(s.rules.Kinds[0], vals)
		if vals[0] == sims[0]*schema.SubSteps && vals[1] == sims[1]*schema.SubSteps {
			return "its own"
		}
		return fmt.Sprint(vals)
	}
	if got := name(); s.hist.TextRefOverflow() != 8 || got != "[0 0]" {
		t.Fatalf("%d times no number, the last one is called %s", s.hist.TextRefOverflow(), got)
	}
	for id := range game.ID(4) {
		s.eng.Leave(id + 1)
	}
	s.tickTimes(t, 1)
	if got := name(); got != "its own" {
		t.Errorf("the last one is called %s", got)
	}
	over := s.hist.TextRefOverflow()
	s.tickTimes(t, 3)
	if s.hist.TextRefOverflow() > over+4 {
		t.Errorf("%d times no number", s.hist.TextRefOverflow()-over)
	}
}
