package crowd

import (
	"math"

	"meanwhile/netcode/clock"
)

// The scenes of Travel.
const (
	Enter    = "enter"    // players join a running crowd
	Ride     = "ride"     // they cross it at 30 m/s, back and forth
	Teleport = "teleport" // they jump to four places in it, three seconds apart
)

// Goals are what players wait for: that all of so many nearest are known and drawn, or the last
// one, that nine of ten of Near-1 are.
var Goals = [...]string{"20", "100", "200", "90_percent"}

// Travelled is what Travel found.
type Travelled struct {
	// Seconds is how long each player waited for each of Goals, after joining or a jump; Horizon
	// where it waited in vain.
	Seconds [len(Goals)][]float64
	Horizon float64
	// Unknown is the share of what was within 20 m of riders and not known.
	Unknown float64
}

const (
	settle = 400 // ticks until the crowd knows itself

	rideSpeed = 150     // cm a tick: 30 m/s
	rideReach = 15_000  // cm from the centre at which riders turn round
	rideTicks = 24 * 20 // measured
	closeBy   = 2000    // cm

	jumps     = 4
	jumpEvery = 3 * Rate // ticks

	enterTicks = 30 * Rate
)

// Travel lets the viewers of cfg enter or travel through its crowd. Nobody else has a client: what
// one client is sent hangs on no other client.
func Travel(cfg Config, scene string) (t Travelled, err error) {
	cfg.Alone = true
	if scene == Enter {
		cfg.late, cfg.Viewers = cfg.Viewers, 0
	}
	r, err := New(cfg)
	if err != nil {
		return t, err
	}
	if scene == Ride {
		r.scene.detour = r.ride
	}
	for range settle {
		if err := r.Tick(nil); err != nil {
			return t, err
		}
	}
	switch scene {
	case Enter:
		err = t.enter(r)
	case Ride:
		err = t.ride(r)
	case Teleport:
		err = t.teleport(r)
	}
	return t, err
}

// waits follows players until they reach their goals.
type waits struct {
	q    Quality
	from []clock.Time // by viewer: when it began to wait
	got  [][len(Goals)]float64
}

// begin notes that the newest viewer, or an old one, begins to wait.
func (w *waits) begin(i int, now clock.Time) {
	for len(w.from) <= i {
		w.from, w.got = append(w.from, 0), append(w.got, [len(Goals)]float64{})
	}
	w.from[i], w.got[i] = now, [len(Goals)]float64{}
}

// look notes which goals viewer i has reached in the frame at now.
func (w *waits) look(r *Run, i int, near []neighbour, now clock.Time) {
	v, drawn, all := r.viewers[i], 0, true
	waited := now.Sub(w.from[i]).Seconds()
	reach := func(goal int) {
		if w.got[i][goal] == 0 {
			w.got[i][goal] = max(waited, 0.001)
		}
	}
	for n, o := range near {
		d := v.drawn[o.walker].frame == v.frames
		if d {
			drawn++
		}
		all = all && d
		for goal, want := range [...]int{20, 100, 200} {
			if all && n+1 == min(want, len(near)) {
				reach(goal)
			}
		}
	}
	if len(near) > 0 && drawn*10 >= len(near)*9 {
		reach(len(Goals) - 1)
	}
}

// run advances for some ticks, frame by frame.
func (w *waits) run(r *Run, ticks int) error {
	near := make([][]neighbour, len(w.from))
	r.looks = func(i, frame int, now clock.Time) {
		if frame == 0 {
			near[i] = append(near[i][:0], w.q.nearest(r, r.viewers[i])...)
		}
		w.look(r, i, near[i], now)
	}
	defer func() { r.looks = nil }()
	for range ticks {
		if err := r.Tick(nil); err != nil {
			return err
		}
	}
	return nil
}

// end adds what was waited, with horizon where a goal was not reached.
func (t *Travelled) end(w *waits, horizon float64) {
	t.Horizon = horizon
	for _, got := range w.got {
		for g, s := range got {
			if s == 0 {
				s = horizon
			}
			t.Seconds[g] = append(t.Seconds[g], s)
		}
	}
}

// enter lets those who are late join, one every other tick.
func (t *Travelled) enter(r *Run) error {
	var w waits
	for i := range r.cfg.late {
		if err := r.connect(r.cfg.Walkers-1-i, true); err != nil {
			return err
		}
		w.begin(i, r.now)
		if err := w.run(r, 2); err != nil {
			return err
		}
	}
	if err := w.run(r, enterTicks-2*r.cfg.late); err != nil {
		return err
	}
	t.end(&w, (enterTicks * tick).Seconds())
	return nil
}

// teleport lets viewers jump within the crowd's disc, or anywhere where there is none.
func (t *Travelled) teleport(r *Run) error {
	where, chance := map[int][2]int32{}, random(r.cfg.Seed)
	r.scene.detour = func(i int) (x, y int32, ok bool) {
		at, ok := where[i]
		return at[0], at[1], ok
	}
	for range jumps {
		var w waits
		for i, v := range r.viewers {
			walker := walker{hot: r.cfg.Hot}
			x, y := walker.place(&chance)
			where[v.peer.walker] = [2]int32{int32(x), int32(y)}
			r.scene.jumped = append(r.scene.jumped, int32(v.peer.walker))
			w.begin(i, r.now.Add(tick)) // it is there at the next tick
		}
		if err := w.run(r, jumpEvery); err != nil {
			return err
		}
		t.end(&w, (jumpEvery * tick).Seconds())
	}
	return nil
}

// ride is the detour of riders: through the centre, each in a direction of its own.
func (r *Run) ride(i int) (x, y int32, ok bool) {
	for n, v := range r.viewers {
		if v.peer.walker != i {
			continue
		}
		const lap = 4 * rideReach
		at := (int(r.tick)*rideSpeed + n*lap/len(r.viewers)) % lap
		along := float64(rideReach - abs(at-lap/2))
		turn := math.Pi * float64(n) / float64(len(r.viewers))
		return side/2 + int32(along*math.Cos(turn)), side/2 + int32(along*math.Sin(turn)), true
	}
	return 0, 0, false
}

func abs(v int) int { return max(v, -v) }

// ride measures what riders do not know.
func (t *Travelled) ride(r *Run) error {
	var q Quality
	near, unknown := 0, 0
	r.looks = func(i, frame int, _ clock.Time) {
		if frame != 0 {
			return
		}
		v := r.viewers[i]
		for _, n := range q.nearest(r, v) {
			if n.dist2 > closeBy*closeBy {
				break
			}
			near++
			if _, _, known := v.holds(r, n.walker); !known {
				unknown++
			}
		}
	}
	for range rideTicks {
		if err := r.Tick(nil); err != nil {
			return err
		}
	}
	t.Unknown = float64(unknown) / float64(max(near, 1))
	return nil
}
