package client

import (
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
)

// pitch is a game in which players push balls and throw darts.
type pitch struct {
	near   bool
	refuse func(w *game.World, me game.ID) bool // a throw, on the server
}

type kicker struct {
	Pos   geom.Vec2 `net:"pos,others=1cm"`
	Darts int       `net:"int,0..99"`
}

type ball struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`
}

type dart struct {
	Pos geom.Vec2 `net:"pos,others=1cm"`
	Vel geom.Vec2 `net:"vel,others=1cm/s"`
	Age int       `net:"int,0..99"`
}

type kickerCmd struct {
	Move  geom.Vec2 `net:"stick"`
	Throw bool      `net:"press"`
}

type thud struct {
	N int `net:"int,0..9999"`
}

func (p *pitch) rules(t testing.TB) (*game.Rules, game.Kind[ball], game.Kind[dart]) {
	t.Helper()
	kickers := game.NewKind[kicker]("kicker")
	how := game.Predicted
	if p.near {
		how = game.Near(3)
	}
	balls := game.NewKind[ball]("ball", how)
	darts := game.NewKind[dart]("dart", game.Near(2))
	thuds := game.NewEvent[thud]("thud")
	throws := game.NewEvent[thud]("throw")
	def := game.Definition[kickerCmd]{
		Name: "pitch", Rate: 60, Kinds: game.Kinds(kickers, balls, darts), Events: game.Events(throws, thuds),
		Join: func(w *game.World, name string) game.ID {
			if balls.Len(w) == 0 {
				balls.Spawn(w, ball{Pos: geom.Vec2{X: 2}})
			}
			return kickers.Spawn(w, kicker{Pos: geom.Vec2{X: 40 * float64(kickers.Len(w))}, Darts: 99})
		},
		Act: func(w *game.World, me game.ID, c kickerCmd) {
			k := kickers.Get(w, me)
			k.Pos = k.Pos.Add(c.Move.Mul(float64(5 * w.Dt())))
			if c.Throw && k.Darts > 0 && !(p.refuse != nil && p.refuse(w, me)) {
				k.Darts--
				darts.Spawn(w, dart{Pos: k.Pos, Vel: geom.Vec2{X: 12, Y: 3}})
				throws.Emit(w, me, k.Pos, thud{k.Darts})
			}
		},
		Step: func(w *game.World) {
			for _, b := range balls.All(w) {
				for _, k := range kickers.All(w) {
					if d := b.Pos.Sub(k.Pos); d.Len() < 0.6 {
						b.Vel = d.Unit().Mul(6)
					}
				}
				b.Vel = b.Vel.Mul(0.98)
				if b.Vel.Len() < 0.05 {
					b.Vel = geom.Vec2{}
				}
				b.Pos = b.Pos.Add(b.Vel.Mul(w.Dt()))
			}
			for id, x := range darts.All(w) {
				x.Pos = x.Pos.Add(x.Vel.Mul(w.Dt()))
				if x.Age++; x.Age >= 40 {
					thuds.Emit(w, id, x.Pos, thud{x.Age})
					w.Despawn(id)
				}
			}
		},
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r, balls, darts
}

// A ball that nobody else touches is predicted exactly, and answers in the tick of the touch.
func TestBallIsPredictedExactly(t *testing.T) {
	rules, balls, _ := (&pitch{}).rules(t)
	d := newDuo(t, rules)
	a := d.join(60*ms, Config{})
	truth := map[clock.Tick]ball{}
	d.watch = func() {
		for _, b := range balls.All(d.s.World()) {
			truth[d.s.Tick()] = *b
		}
	}
	n := 0
	a.play = func() []int64 {
		v := make([]int64, rules.Command.Sims)
		n++
		v[0] = int64(1-n/60%2*2) * 15
		return v
	}
	compared, moved := 0, 0
	a.frame = func() {
		base := a.c.Confirmed()
		s := a.c.own.ring.State(base)
		want, ok := truth[base]
		if s == nil || !ok || base < 100 {
			return
		}
		compared++
		m := s.Find(1)
		if m == nil {
			t.Fatalf("tick %d: the ball is not predicted: %+v", base, s.Members)
		}
		if want.Vel != (geom.Vec2{}) {
			moved++
		}
		k := rules.Kinds[m.Kind]
		vals := k.AppendExact(nil, nil, s.Of(m, k), 65536)
		if vals[0] != want.Pos.X || vals[1] != want.Pos.Y {
			t.Fatalf("tick %d: predicted %v, want %+v", base, vals, want)
		}
	}
	d.run(10 * time.Second)
	if compared < 100 || moved < 50 || a.corrections != 0 {
		t.Errorf("%d compared, %d moved, %d corrections", compared, moved, a.corrections)
	}
	if st := a.c.Stats(); st.Prediction.Replayed > 100 {
		t.Errorf("%+v", st)
	}
}
