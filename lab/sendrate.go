package lab

import (
	"time"

	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/geom"
	"meanwhile/netsim"
	"meanwhile/server"
)

var sendrateExperiment = &experiment{
	name:  "sendrate",
	about: "packets a second, each way, from 2 to 60 at 64 ticks a second: what stays the same, and what becomes late",
	notes: `Two players run about, 64 ticks a second, and turn at any time. <b>way</b> says whose packets
are fewer: those with commands or those with records; the others keep 60 and 20 a second.
<b>corrections_per_min</b> counts own states of a player that differed from its prediction, <b>starved_per_min</b>
the ticks for which the server had no command of a player in time, out of 3840. <b>lead_ms</b> is how far ahead of the
server commands are made, <b>behind_ms</b> how far behind it the other player is drawn, both with the path's own
delay. <b>up_kbps</b> and <b>down_kbps</b> count 42 bytes for each datagram.`,
	takes:    byProfile | byRate,
	profiles: []netsim.Profile{netsim.Fiber, netsim.HotelWiFi},
	policies: []string{ours},
	rates:    []int{2, 5, 10, 20, 30, 60},
	run:      runSendrate,
}

const (
	sendTicks = 64 // a second
	usualUp   = 60 // packets a second
	usualDown = 20

	roamSettle = 20 * time.Second // at two packets a second, too
)

type (
	roamer struct {
		Pos geom.Vec2 `net:"pos,1mm"`
		Vel geom.Vec2 `net:"vel,1mm/s,to=owner"`
	}
	roamerCommand struct {
		Go geom.Vec2 `net:"stick"`
	}
)

// roaming is what came of a run of sendrate.
type roaming struct {
	q       gametest.Quality
	lead    float64 // ms
	behind  float64 // ms
	starved float64 // a minute and player
}

// roam lets two players run about with so many packets a second, each way.
func roam(seed uint64, p netsim.Profile, up, down int, span time.Duration) (res roaming, err error) {
	roamers := game.NewKind[roamer]("roamer")
	def := game.Definition[roamerCommand]{
		Name: "roam", Rate: sendTicks, Send: down, Kinds: game.Kinds(roamers),
		Join: func(w *game.World, _ string) game.ID { return roamers.Spawn(w, roamer{}) },
		Act: func(w *game.World, me game.ID, c roamerCommand) {
			r := roamers.Get(w, me)
			r.Vel = r.Vel.Mul(0.9).Add(c.Go.Mul(0.6)) // up to 6 m/s, with inertia
			r.Pos = r.Pos.Add(r.Vel.Mul(w.Dt()))
		},
		Bot: func(w *game.World, me game.ID) roamerCommand {
			r := geom.NewRand(uint64(me), uint64(w.Tick())/(sendTicks/4))
			return roamerCommand{Go: r.Dir()}
		},
	}
	rules, err := def.Rules()
	if err != nil {
		return res, err
	}
	s, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		return res, err
	}
	if s.Client.SendRate = up; up == usualUp {
		s.Client.SendRate = 0 // as many as it makes
	}
	var lead, behind mean
	for _, name := range []string{"one", "two"} {
		player, err := s.Join(name, p, rules.Bot())
		if err != nil {
			return res, err
		}
		player.OnFrame = func() {
			if st := player.Client.Stats(); s.Loop.Now().Sub(0) > roamSettle {
				lead.add(ms(st.Lead))
				behind.add(ms(st.Delay))
			}
		}
	}
	s.Run(roamSettle)
	s.Measure()
	starved := func() (n uint64) {
		for _, p := range s.Players() {
			st, _ := s.Server.Stats(p.ID)
			n += st.Starved
		}
		return n
	}
	before := starved()
	s.Run(span)
	res = roaming{s.Quality(), lead.get(), behind.get(), float64(starved()-before) / 2 / span.Minutes()}
	return res, s.Diverged()
}

func runSendrate(r *run) error {
	span := 2 * time.Minute
	if r.quick {
		span = 20 * time.Second
	}
	type way struct {
		name     string
		up, down int
	}
	for _, p := range r.profiles {
		var ways []way
		for _, rate := range r.rates {
			ways = append(ways, way{"commands", rate, usualDown})
		}
		for _, rate := range r.rates {
			ways = append(ways, way{"records", usualUp, rate})
		}
		got, err := each(len(ways), func(i int) (roaming, error) {
			return roam(r.seed, p, ways[i].up, ways[i].down, span)
		})
		if err != nil {
			return err
		}
		lead, behind := line{name: "lead of commands"}, line{name: "delay of others"}
		for i, w := range ways {
			g, rate := &got[i], w.up
			if w.name == "records" {
				rate = w.down
			}
			r.emit(Row{r.name, p.Name, ours, r.seed, r.params(Value{"way", w.name}, Value{"send_hz", rate},
				Value{"rate_hz", sendTicks}, Value{"run_s", int(span.Seconds())}), Values{
				{"lead_ms", g.lead}, {"behind_ms", g.behind},
				{"corrections_per_min", float64(g.q.Corrections) / 2 / span.Minutes()}, {"starved_per_min", g.starved},
				{"up_kbps", g.q.UpKbps}, {"down_kbps", g.q.DownKbps},
			}})
			if w.name == "commands" {
				lead.at = append(lead.at, xy{float64(rate), g.lead})
			} else {
				behind.at = append(behind.at, xy{float64(rate), g.behind})
			}
		}
		if !r.drawing {
			continue
		}
		f := figure{
			title: "What fewer packets cost, " + p.Name + ", 64 ticks a second", x: "packets a second", y: "ms", dots: true,
			lines:   []line{lead, behind},
			answers: answers{predictionArticle, "sending 64 and 2 times a second"},
			caption: "Fewer packets make commands earlier and others later, by about the time between two packets. Own " +
				"movement is at once at any rate, and its corrections stay rare: the table counts them.",
		}
		if p.Name == netsim.HotelWiFi.Name {
			f.file = "sendrate"
		}
		r.figures = append(r.figures, f)
	}
	return nil
}
