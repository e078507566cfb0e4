package weather

import (
	"fmt"
	"maps"
	"math"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
)

// The storm is a game that uses much of what there is: creatures that move, rest, jump, come and
// go, things that only a team may know of, details that end with distance, texts, shots at what
// players see, events, and words both ways.
type (
	walker struct {
		Pos   geom.Vec2  `net:"pos,others=1cm,4cm@30m,warp=20m"`
		Vel   geom.Vec2  `net:"vel,others=1cm/s"`
		Face  geom.Angle `net:"angle,1deg"`
		Team  int        `net:"int,0..3"`
		Name  string     `net:"text,12,ref"`
		Shots int        `net:"int,0..65535,to=owner"`
		Ready game.Tick  `net:"tick,to=owner"`
	}
	mote struct {
		Pos  geom.Vec2  `net:"pos,others=1cm,8cm@20m"`
		Dir  geom.Angle `net:"angle,1deg,server"`
		Tint int        `net:"int,0..7"`
		Mood int        `net:"int,0..1000,far=15m"`
		Tag  string     `net:"text,8,ref"`
	}
	spy struct {
		Pos  geom.Vec2 `net:"pos,others=1cm"`
		Team int       `net:"int,0..3"`
	}
	wish struct {
		Move geom.Vec2  `net:"stick,5bit"`
		Aim  geom.Angle `net:"angle,1deg"`
		Fire bool       `net:"press"`
	}
	bang struct {
		Number int `net:"int,0..1000000"`
	}
	shot struct {
		Victim game.ID `net:"handle"`
	}
	line struct {
		Life   int    `net:"int,0..1000"`
		Number int    `net:"int,0..1000000"`
		Text   string `net:"text,60"`
	}
)

// gaze is one run of a command: its player and its tick.
type gaze struct {
	me   game.ID
	tick game.Tick
}

// picture identifies what a command saw: places and what is always sent with them, and details that
// end with distance. none says that it did not run in the frame in which it was made.
type picture struct {
	places, details sum
	none            bool
}

// storm is one match of the game, and what the harness asks of it.
type storm struct {
	def     *game.Definition[wish]
	walkers game.Kind[walker]
	motes   game.Kind[mote]
	spies   game.Kind[spy]
	bangs   game.Event[bang]
	shots   game.Event[shot]
	says    game.Message[line]
	news    game.Message[line]

	servers *game.World
	calm    bool // nothing moves by itself any more
	spawn   int  // creatures to add in the next tick
	extra   int  // creatures of a burst to add in the next tick
	burst   []game.ID
	strike  bool // the burst goes in the next tick
	jump    bool // everything teleports in the next tick
	flicker int  // teams change every so many ticks; 0: they stay
	chatter int  // news in the next tick
	told    int  // newest news
	blasts  int  // newest bang

	panics func(me game.ID, tick game.Tick) bool // whether Act panics
	broken bool                                  // whether Referee panics

	judged, foreseen map[gaze]picture // what the first run of each command with a press saw
	heard            func(from game.ID, l line)
}

var ground = geom.Rect{Max: geom.Vec2{X: 70, Y: 70}}

func newStorm(p *Plan) *storm {
	s := &storm{walkers: game.NewKind[walker]("walker"), motes: game.NewKind[mote]("mote"),
		spies: game.NewKind[spy]("spy"), bangs: game.NewEvent[bang]("bang"), shots: game.NewEvent[shot]("shot"),
		says: game.NewMessage[line]("say", 4, 8), news: game.NewMessage[line]("news", 0, 0),
		judged: map[gaze]picture{}, foreseen: map[gaze]picture{}}
	s.def = &game.Definition[wish]{Name: "storm", Rate: p.Rate, Send: p.Send, See: p.See,
		Kinds: game.Kinds(s.walkers, s.motes, s.spies), Events: game.Events(s.bangs, s.shots),
		Messages: game.Messages(s.says.On(func(w *game.World, from game.ID, l line) {
			if s.heard != nil {
				s.heard(from, l)
			}
		}), s.news),
		Join: s.join, Act: s.act, Referee: s.referee, Bot: s.bot,
		ShownTo: func(w *game.World, id game.ID) uint64 {
			if s.spies.Has(w, id) {
				t := s.spies.Get(w, id).Team
				return 1<<t | 1<<((t+int(id)%2)%4) // one team, or two
			}
			return 15
		},
		Groups: func(w *game.World, me game.ID) uint64 { return 1 << s.walkers.Get(w, me).Team },
	}
	if p.Queued {
		s.def.Commands = game.Queued
	}
	return s
}

// begin makes the storm that of a world that has just begun.
func (s *storm) begin(things int) {
	s.spawn, s.burst, s.strike = things, nil, false
	clear(s.judged)
	clear(s.foreseen)
}

func (s *storm) join(w *game.World, name string) game.ID {
	return s.walkers.Spawn(w, walker{Pos: ground.Random(w.Rand()), Team: w.Rand().IntN(4), Name: name})
}

func (s *storm) act(w *game.World, me game.ID, c wish) {
	if s.panics != nil && s.panics(me, w.Tick()) {
		panic("weather: these rules panic")
	}
	p := s.walkers.Get(w, me)
	p.Face, p.Vel = c.Aim, p.Vel.Toward(c.Move.Mul(6), 40*w.Dt())
	p.Pos = ground.Clamp(p.Pos.Add(p.Vel.Mul(w.Dt())))
	if !c.Fire {
		return
	}
	h, details := sum(firstSum), sum(firstSum)
	var victim game.ID
	best := 99.0
	for id, m := range s.motes.Seen(w, me) {
		h.add(float64(id), m.Pos.X, m.Pos.Y, float64(m.Tint))
		details.add(float64(id), float64(m.Mood))
		details.text(m.Tag)
		if d := m.Pos.Sub(p.Pos).Len(); d < best {
			best, victim = d, id
		}
	}
	for id, m := range s.spies.Seen(w, me) {
		h.add(float64(id), m.Pos.X, m.Pos.Y, float64(m.Team))
	}
	for id, o := range s.walkers.Seen(w, me) {
		h.add(float64(id), o.Pos.X, o.Pos.Y, o.Vel.X, o.Vel.Y, float64(o.Face), float64(o.Team))
		details.text(o.Name)
	}
	if w.Tick() >= p.Ready {
		p.Ready, p.Shots = w.Tick()+6, (p.Shots+1)%65536
		s.shots.Emit(w, me, p.Pos, shot{victim})
	}
	// Later runs of a command are by newer records than its player had on the screen.
	runs := s.foreseen
	if w == s.servers {
		runs = s.judged
	}
	k := gaze{me, w.Tick()}
	if _, ok := runs[k]; !ok {
		runs[k] = picture{places: h, details: details}
	}
}

// sum is a hash of numbers (FNV-1a, a word at a time).
type sum uint64

const firstSum = 14695981039346656037

func (h *sum) add(vals ...float64) {
	for _, v := range vals {
		*h = (*h ^ sum(math.Float64bits(v))) * 1099511628211
	}
}

func (h *sum) text(s string) {
	for i := range len(s) {
		*h = (*h ^ sum(s[i])) * 1099511628211
	}
}

// referee moves what no player commands.
func (s *storm) referee(w *game.World) {
	s.servers = w
	if s.broken {
		panic("weather: this referee panics")
	}
	s.populate(w)
	t := int(w.Tick())
	for ; s.chatter > 0; s.chatter-- {
		s.told++
		s.news.SendAll(w, nil, line{Number: s.told, Text: "the wind turns to the north west"[:1+s.told%30]})
	}
	if s.calm {
		return
	}
	for id, m := range s.motes.All(w) {
		r := geom.NewRand(uint64(id), uint64(t/25), 5)
		if r.IntN(3) == 0 || id%4 == 1 && t/300%2 == 0 { // rests, some for longer than the server remembers
			continue
		}
		m.Dir = r.Angle()
		m.Pos = ground.Clamp(m.Pos.Add(m.Dir.Dir().Mul(5 * w.Dt())))
		if (t+int(id))%40 == 0 {
			m.Mood = r.IntN(1000)
		}
		if s.jump || (t+int(id)*7)%300 == 0 {
			m.Pos = ground.Random(w.Rand())
			w.Cut(id)
		}
		if (t+int(id)*13)%500 == 0 {
			m.Tag = fmt.Sprint("n", r.IntN(40))
		}
	}
	for id, x := range s.spies.All(w) {
		r := geom.NewRand(uint64(id), uint64(t/30))
		x.Pos = ground.Clamp(x.Pos.Add(r.Dir().Mul(4 * w.Dt())))
		// Some come and go within what a packet takes.
		if every := [...]int{61, 13, 5, 3, 2}[id%5]; (t+int(id))%every == 0 {
			x.Team = (x.Team + 1) % 4
		}
	}
	for id, p := range s.walkers.All(w) {
		if s.flicker > 0 && t%s.flicker == 0 {
			p.Team = (p.Team + 1) % 4
		}
		if s.jump {
			p.Pos = ground.Random(w.Rand())
			w.Cut(id)
		}
	}
	s.jump = false
	if t%10 == 0 {
		s.blasts++
		s.bangs.Emit(w, 0, ground.Random(w.Rand()), bang{s.blasts})
	}
}

// populate adds and removes creatures.
func (s *storm) populate(w *game.World) {
	add := func() game.ID {
		return s.motes.Spawn(w, mote{Pos: ground.Random(w.Rand()), Tint: w.Rand().IntN(8), Mood: w.Rand().IntN(1000),
			Tag: fmt.Sprint("m", w.Rand().IntN(20))})
	}
	for ; s.spawn > 0; s.spawn-- {
		if add(); s.spawn%4 == 0 {
			s.spies.Spawn(w, spy{Pos: ground.Random(w.Rand()), Team: w.Rand().IntN(4)})
		}
	}
	for ; s.extra > 0; s.extra-- {
		s.burst = append(s.burst, add())
	}
	if s.strike {
		for _, id := range s.burst {
			w.Despawn(id)
		}
		s.burst, s.strike = s.burst[:0], false
	}
}

// bot runs about and shoots.
func (s *storm) bot(w *game.World, me game.ID) wish {
	r := geom.NewRand(uint64(me), uint64(w.Tick())/20)
	every := 1 + 2*(uint64(me)%4)
	return wish{Move: r.Dir(), Aim: r.Angle(), Fire: (uint64(w.Tick())+uint64(me))%every == 0}
}

// forget drops pictures of long ago.
func (s *storm) forget(before clock.Tick) {
	for _, m := range []map[gaze]picture{s.judged, s.foreseen} {
		maps.DeleteFunc(m, func(k gaze, _ picture) bool { return k.tick < engine.Tick(before) })
	}
}
