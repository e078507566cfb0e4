package gametest

import (
	"math"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
	"meanwhile/server"
)

// Quality is how well a match could be played.
type Quality struct {
	// Agreement is the share of predicted events of players' own commands (shots and the like) that the server
	// decided too, with the same outcome: what the shooter was shown is what happened. Names, numbers and flags of
	// the payload must be equal, places lie within 30 cm. Shots whose command came late are honoured within 250 ms with the
	// view they were fired at; LateShots counts those. Queued commands are decided in other ticks than their own, by which
	// this looks for them: of such games it says too little.
	Agreement float64
	Shots     int // predicted events that count for Agreement
	LateShots int
	// Interrupted are predicted events that do not count: before the server ran the command, someone else had
	// killed, moved or otherwise changed the player, which no client can foresee.
	Interrupted int
	// CutOff are predicted events that do not count because less than a second before, nothing had come from the
	// player for server.RepeatFor, after which its avatar is no longer carried on, or nothing to it for 500 ms. OutageShare is the share of drawn time in which nothing came to it for as long.
	CutOff      int
	OutageShare float64
	// HitchesPerMin is how many hitches (playout.Stall) there were per minute in which a moving thing was drawn.
	// Outages are left out.
	HitchesPerMin float64
	// ViewErrorP95 is between what was drawn and the truth at the same playout time, ErrorNowP95 between it and the
	// truth at the time that could be known at best (server time minus the path's floor and one send interval), in
	// metres. ViewAge is how far behind server time the picture was. What rides on something (the word parent) is not measured.
	ViewErrorP95, ErrorNowP95 float64
	ViewAge                   time.Duration
	// JoltsPerMin counts frames in which a thing was drawn to move more than twice as far as the truth did over
	// the same advance of playout time, plus 5 cm, without a cut.
	JoltsPerMin float64
	// CleanMispredictions are corrections without outside influence: they must not happen in rules that go by the own avatar, what does not
	// move and Seen. Who goes by where others are now (Get, All, World.On) is corrected: a client knows only their newest record.
	CleanMispredictions    int
	Corrections            int
	CorrectionP99          float64 // metres
	ReplayP99              int     // ticks
	StarvedShare           float64 // of confirmed states
	TouchedShare           float64
	DownKbps, UpKbps       float64 // datagrams with wire.Overhead each, mean per player
	MaxWindowBits          int     // most bits down to any player in any one second
	Starved, Late, Clamped uint64
	Resyncs                uint64
	Samples                int
	Events                 int
}

type quality struct {
	since       clock.Time
	base        clock.Tick // newest command that was confirmed
	told        clock.Tick // the server's tick of the state that confirmed it
	start       client.Stats
	startServer server.PlayerStats

	agreed, disagreed int
	late              int
	interrupted       int
	cutOff            int
	outage            time.Duration
	drawn             time.Duration
	events            int
	clean             int
	confirmed         int
	starvedConfirms   int
	touchedConfirms   int
	corrections       []float64
	replayed          []int

	view, now []float64
	age       time.Duration
	ages      int
	hitches   int
	moving    time.Duration
	jolts     int
	tracks    map[game.ID]*track
}

type track struct {
	stall  playout.Stall
	x, y   float64
	tx, ty float64 // truth at the same playout time
	seen   uint64  // frame
	cut    clock.Tick
}

// look measures one frame: what is drawn against the truth.
func (p *Player) look(sample bool) {
	s, c, q := p.sim, p.Client, &p.q
	if q.tracks == nil {
		q.tracks = map[game.ID]*track{}
	}
	t := c.Playout()
	if t == 0 {
		return
	}
	h := s.Server.History()
	floor := p.Profile.Down.Delay
	best := s.Server.Now().Add(s.Loop.Now().Sub(s.Server.Now()) - floor - time.Second/time.Duration(s.Rules.Send))
	bestFrac := clock.TickFrac(int64(best) * clock.FracPerTick / int64(s.Server.Period()))
	nowFrac := s.Server.Tick().Frac() + clock.TickFrac(int64(s.Loop.Now().Sub(s.Server.Now()))*clock.FracPerTick/int64(s.Server.Period()))
	q.drawn += frame
	out := c.Stats().Age > outage
	if out {
		q.outage += frame
	}
	p.vals = c.Draw(p.vals, func(e *client.Entity) {
		k := s.Rules.Kinds[e.Kind]
		if e.Mine || k.PlaceX < 0 || !k.Groups[0].Moving {
			return
		}
		if k.Parent >= 0 && e.Drawn[k.Props[k.Parent].ObsAt] != 0 { // drawn in the world, while its truth is relative
			delete(q.tracks, e.ID)
			return
		}
		i, ok := h.Find(uint32(e.ID))
		if !ok {
			return
		}
		g := groupOf(k)
		t, _ := c.TimeOf(e.Held)
		if sample {
			q.age += time.Duration(int64(nowFrac-t) * int64(s.Server.Period()) / clock.FracPerTick)
			q.ages++
		}
		x := float64(e.Drawn[k.PlaceX]) / schema.SubSteps * k.PlaceMM / 1000
		y := float64(e.Drawn[k.PlaceX+1]) / schema.SubSteps * k.PlaceMM / 1000
		tx, ty, moving, ok := truth(s.Server, i, k, g, t)
		if !ok {
			return
		}
		tr := q.tracks[e.ID]
		if tr == nil {
			tr = &track{}
			q.tracks[e.ID] = tr
		}
		ent := h.At(i)
		cut, _ := ent.TimesAt(g, t.Tick()) // the newest teleport that is drawn by now
		if tr.seen+1 == p.frames && cut == tr.cut {
			d := math.Hypot(x-tr.x, y-tr.y)
			if want := math.Hypot(tx-tr.tx, ty-tr.ty); d > 2*want+0.05 {
				q.jolts++
			}
		}
		tr.x, tr.y, tr.tx, tr.ty, tr.seen, tr.cut = x, y, tx, ty, p.frames, cut
		newest := e.Held.Groups[g].Newest()
		if moving && !out {
			q.moving += frame
			if newest.Tick.Frac() < t {
				if tr.stall.Add(frame) {
					q.hitches++
				}
			} else {
				tr.stall.End()
			}
		}
		if sample {
			q.view = append(q.view, math.Hypot(x-tx, y-ty))
			if bx, by, _, ok := truth(s.Server, i, k, g, bestFrac); ok {
				q.now = append(q.now, math.Hypot(x-bx, y-by))
			}
		}
	})
}

func groupOf(k *schema.Kind) int {
	for g := range k.Groups {
		if k.PlaceX >= k.Groups[g].At && k.PlaceX < k.Groups[g].At+k.Groups[g].N {
			return g
		}
	}
	return 0
}

// truth returns where an entity was at tick time t, between its states of two ticks, and whether it moved.
func truth(s *server.Server, i int32, k *schema.Kind, g int, t clock.TickFrac) (x, y float64, moving, ok bool) {
	h := s.History()
	var bufA, bufB [schema.MaxComps]int64
	t = min(t, h.Tick().Frac())
	a, okA := h.Values(i, g, t.Tick(), bufA[:0])
	if !okA {
		return 0, 0, false, false
	}
	b, okB := h.Values(i, g, min(t.Tick()+1, h.Tick()), bufB[:0])
	if !okB {
		b = a
	}
	c := k.PlaceX - k.Groups[g].At
	u := float64(t.Part()) / clock.FracPerTick
	if e := h.At(i); e.Cut() == t.Tick()+1 {
		u = 0
	}
	at := func(c int) float64 { return (float64(a[c]) + (float64(b[c])-float64(a[c]))*u) * k.PlaceMM / 1000 }
	return at(c), at(c + 1), a[c] != b[c] || a[c+1] != b[c+1], true
}

// Quality returns how well players could play since Measure, all together.
func (s *Sim) Quality() Quality {
	var r Quality
	var agreed, disagreed, confirmed, starved, touched, hitches, jolts int
	var view, now, corr []float64
	var replays []int
	var moving, age, out, drawn time.Duration
	var ages int
	span := s.Loop.Now().Sub(s.measure).Seconds()
	for _, p := range s.players {
		q := &p.q
		agreed, disagreed = agreed+q.agreed, disagreed+q.disagreed
		confirmed, starved, touched = confirmed+q.confirmed, starved+q.starvedConfirms, touched+q.touchedConfirms
		hitches, jolts, moving = hitches+q.hitches, jolts+q.jolts, moving+q.moving
		view, now, corr = append(view, q.view...), append(now, q.now...), append(corr, q.corrections...)
		replays = append(replays, q.replayed...)
		age, ages = age+q.age, ages+q.ages
		r.CleanMispredictions += q.clean
		r.Events += q.events
		r.Interrupted += q.interrupted
		r.LateShots += q.late
		r.CutOff += q.cutOff
		out, drawn = out+q.outage, drawn+q.drawn
		if p.Client == nil {
			continue
		}
		cs := p.Client.Stats()
		ss, _ := s.Server.Stats(p.ID)
		n := float64(len(s.players)) * span * 1000 / 8
		r.DownKbps += float64(ss.SentBytes-q.startServer.SentBytes) / n
		r.UpKbps += float64(cs.SentBytes-q.start.SentBytes) / n
		r.MaxWindowBits = max(r.MaxWindowBits, ss.MaxWindow*8)
		r.Starved += ss.Starved - q.startServer.Starved
		r.Late += ss.Late - q.startServer.Late
		r.Clamped += ss.Clamped - q.startServer.Clamped
		r.Resyncs += cs.NoBaseline - q.start.NoBaseline
	}
	r.Shots = agreed + disagreed
	r.Agreement = ratio(agreed, r.Shots, 1)
	if drawn > 0 {
		r.OutageShare = out.Seconds() / drawn.Seconds()
	}
	if moving > 0 {
		r.HitchesPerMin = float64(hitches) / moving.Minutes()
		r.JoltsPerMin = float64(jolts) / moving.Minutes()
	}
	r.ViewErrorP95, r.ErrorNowP95 = Percentile(view, 0.95), Percentile(now, 0.95)
	if ages > 0 {
		r.ViewAge = age / time.Duration(ages)
	}
	r.Corrections, r.CorrectionP99 = len(corr), Percentile(corr, 0.99)
	slices.Sort(replays)
	if len(replays) > 0 {
		r.ReplayP99 = replays[len(replays)*99/100]
	}
	r.StarvedShare, r.TouchedShare = ratio(starved, confirmed, 0), ratio(touched, confirmed, 0)
	r.Samples = len(view)
	return r
}

func ratio(a, b int, none float64) float64 {
	if b == 0 {
		return none
	}
	return float64(a) / float64(b)
}

// Percentile returns the q-quantile of v, which it sorts; 0 for none.
func Percentile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

// Overhead is what is charged for each datagram beyond its bytes.
const Overhead = wire.Overhead
