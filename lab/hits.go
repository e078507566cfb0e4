package lab

import (
	"slices"
	"time"

	"meanwhile/lab/shooting"
	"meanwhile/netsim"
)

var hitsExperiment = &experiment{
	name:  "hits",
	about: "what the shooter's screen showed against the server's verdict, shot by shot, beside what others do",
	notes: `Twelve shooters and 27 targets, all shooters on the profile's network; <b>ocean-13k</b> is ocean with 13
kbit/s to each shooter, who knows 60 of 120 men. Targets run, strafe, jump, crouch, teleport, die, appear, ride on
platforms and walk behind moving doors; shooters run too. Every shot is aimed within 30 cm of the edge of a
target's hull, in or out. A player clicks while a frame is on the screen, and what that frame shows decides
whether the shot hits: the eye and everybody else as the client drew them. <b>agreement</b> is the share of
shots for which the server comes to the same verdict, about the same target. Shots that were late (run at a
later tick than made for, or lost), clamped (judged by another moment than was stated) or refused count against
it even where the verdict is the same; <b>same_verdict</b> leaves those in. <b>wrong_hits</b> and
<b>wrong_misses</b> were judged in time and as stated. <b>view_error</b> is the distance between the target on
the screen and as the server judged it, 500 cm where one side saw none; <b>eye_error</b> the same of the
shooter's eye; both leave out clamped and lost shots. <b>behind_cover</b> is for how long the victims of hits
had been out of the shooter's sight in the server's world. A shot is about teleports, spawns, deaths or crouches
if its target did that within 200 ms of the moment on the screen. <b>by_</b> columns say why shots count
against. <b>none</b> judges by the server's present. <b>article</b> draws 100 ms behind the newest snapshot and
rewinds by half the round trip and 100 ms, <b>article-rtt</b> by the whole round trip; <b>mirror</b> by half the
round trip alone, among captures 100 ms apart; <b>lightyear</b> to the moment that the client states, among the
ticks of the server. Others draw the same records as ours at the moments that their own rules choose, aim by
what they draw, are given the shooter's eye exactly, and interpolate what was, not what arrived.`,
	takes: byProfile | byPolicy,
	profiles: []netsim.Profile{netsim.LAN, netsim.Fiber, netsim.HotelWiFi, netsim.EVDO, netsim.Ocean, netsim.CityLTE,
		thinOcean},
	policies: shooting.Policies(),
	first:    firstLook{metrics: "agreement wrong_hits wrong_misses clamped late view_error_p99_cm behind_cover_p99_ms"},
	run:      runHits,
}

// thinOcean is ocean with 13 kbit/s to each shooter, who knows 60 of 120 men.
var thinOcean = func() netsim.Profile { p := netsim.Ocean; p.Name = "ocean-13k"; return p }()

const (
	hitsShots    = 100_000
	hitsPart     = 25_000 // shots of one match
	hitsShooters = 12
	hitsTargets  = 27

	hitsPerSec = 7 // of one shooter, at least
)

func runHits(r *run) error {
	parts, span := hitsShots/hitsPart, time.Duration(hitsPart)*time.Second/(hitsShooters*hitsPerSec)
	if r.quick {
		parts, span = 2, 10*time.Second
	}
	seeds := r.seeds(parts)
	for _, p := range r.profiles {
		cfg := shooting.Config{Profile: p, Shooters: hitsShooters, Targets: hitsTargets,
			Alone: !slices.ContainsFunc(r.chosen, func(p string) bool { return p != ours && p != "none" })}
		if p.Name == thinOcean.Name {
			cfg.Budget, cfg.InSight, cfg.Targets = 13_000, 60, 120-hitsShooters
		}
		got, err := each(len(seeds), func(i int) (*shooting.Range, error) {
			cfg := cfg
			cfg.Seed = seeds[i]
			g, err := shooting.New(cfg)
			if err != nil {
				return nil, err
			}
			return g, g.Run(span)
		})
		if err != nil {
			return err
		}
		var lines []line
		for _, policy := range r.chosen {
			var all shooting.Tally
			for _, g := range got {
				all.Add(g.Tally(policy))
			}
			r.emit(hitsRow(r, p, policy, len(seeds), &all))
			lines = append(lines, viewErrors(policy, all.ViewErrors))
		}
		if r.drawing && p.Name == netsim.Ocean.Name {
			r.figures = append(r.figures, figure{file: "hits-view-error", log: true,
				title: "Where the target was judged, from where the screen showed it (ocean)",
				x:     "cm", y: "share of shots judged farther off", lines: lines,
				caption: "Less is better. Ours has no line where no shot is as far off."})
		}
	}
	return nil
}

// viewErrors returns the share of errors, in millimetres, that are greater than some.
func viewErrors(policy string, mm []float64) line {
	l := line{name: policy}
	s := slices.Sorted(slices.Values(mm))
	for _, cm := range []float64{0.1, 1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 125, 150} {
		at, _ := slices.BinarySearch(s, 10*cm)
		if left := len(s) - at; left > 0 {
			l.at = append(l.at, xy{cm, float64(left) / float64(len(s))})
		}
	}
	return l
}

func hitsRow(r *run, p netsim.Profile, policy string, seeds int, t *shooting.Tally) Row {
	share := func(n int) float64 { return float64(n) / float64(max(t.Shots, 1)) }
	params := r.params(Value{"seeds", seeds})
	m := Values{
		{"shots", t.Shots}, {"agreement", share(t.Agreed)}, {"same_verdict", share(t.Same)},
		{"wrong_hits", t.WrongHits}, {"wrong_misses", t.WrongMisses},
		{"clamped", t.Clamped}, {"refused", t.Refused}, {"late", t.Late},
		{"view_error_p99_cm", quantile(t.ViewErrors, 0.99) / 10},
		{"eye_error_p99_cm", quantile(t.EyeErrors, 0.99) / 10},
		{"behind_cover_p99_ms", quantile(t.BehindCover, 0.99) * 1000 / shooting.Rate},
	}
	for k := range shooting.Matters {
		m = append(m, Value{k.String(), t.Matters[k]}, Value{k.String() + "_wrong", t.MattersWrong[k]})
	}
	for c := range shooting.Causes {
		m = append(m, Value{"by_" + c.String(), t.Against[c]})
	}
	return Row{r.name, p.Name, policy, r.seed, params, m}
}
