package lab

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"meanwhile/gametest"
	"meanwhile/netsim"
)

var predictExperiment = &experiment{
	name:  "predict",
	about: "football and rockets: what a player's own hands do at once, and what is corrected",
	notes: `Eight bots play kick, all on the profile's network, and for the spawns six play the arena; the first
ten seconds do not count, and the seeds are pooled. <b>clean_mispredictions</b> counts states of the own
avatar and of what a client runs ahead that differed from its prediction although nothing can have influenced
them since the newest exact state that the client had: along the chain of contacts that lead there, in the
server's steps or in the client's, is no other avatar, nothing that another player's command or the referee
changed, and no tick in which the server ran another command of the player than the client predicted.
<b>half_known</b> is the part of them in which the chain leads to something that the client does not run ahead.
<b>judged</b> are all states that were compared, <b>touched_share</b> and <b>starved_share</b> those that were
influenced. <b>corrections</b> are of the avatar in such ticks, without cuts; <b>ball_corrections</b> of the
ball, which <b>ball_corrected_share</b> of its states needed. <b>ball_error</b> is the distance between the ball
as drawn and as the server had it at the tick that the frame shows, while it moves; <b>ball_step_max</b> is the
largest difference between how far the ball was drawn from one frame to the next and how far its drawn speed
takes it. <b>inside_share</b> is the share of frames in which the own avatar is drawn more than 40 cm inside the
ball, of those in which both are within 2 m of each other in the truth. <b>own_latency</b> (p95) is the time
from the frame that makes a command to the first that shows it, <b>touch_latency</b> (p95) to the first in which
a ball flies as it was kicked, with nobody else within 1.5 m and the ball within 10 cm of the truth before.
<b>spawn_latency</b> (p99, and the worst) is the time from the earliest moment of the press, that is the command
before, to the first frame with the rocket; <b>spawns_again</b> counts apart the rockets that came in place of
one the server had not made: a correction fires again while the trigger is pressed, or a press that was late
runs in another tick. <b>spawn_refused_share</b> is the share of those drawn at once that the server did not
make. <b>replay_ticks</b> are ticks that a correction ran again, in a frame. Policies: <b>none</b> predicts
nothing, <b>avatar-only</b> the avatar alone, <b>whole-scene</b> everything in sight, the other
avatars too, and puts all of it back and runs it again with every packet, as something differs each time.`,
	takes:    byProfile | byPolicy,
	profiles: predictProfiles(),
	policies: []string{ours, unpredicted, avatarOnly, wholeScene},
	first:    firstLook{metrics: "corrections_p99_cm ball_error_p95_cm inside_share own_latency_ms spawn_latency_ms"},
	run:      runPredict,
}

// handsExperiment is the long run behind the claim that no prediction is wrong by itself.
var handsExperiment = &experiment{
	name:     "hands",
	about:    "predict for ten times ten minutes, our own policy; takes hours, and is not part of all",
	notes:    "As predict, longer.",
	takes:    byProfile,
	profiles: predictProfiles(),
	policies: []string{ours},
	run:      func(r *run) error { return predictFor(r, 10, 10*time.Minute) },
}

// Policies of experiment predict.
const (
	unpredicted = "none"
	avatarOnly  = "avatar-only"
	wholeScene  = "whole-scene"
)

// loopback is a path without delay.
var loopback = netsim.Profile{Name: "loopback"}

func predictProfiles() []netsim.Profile {
	all := []netsim.Profile{loopback}
	for _, p := range netsim.Profiles() {
		if p.Name != netsim.Modem.Name {
			all = append(all, p)
		}
	}
	return all
}

const kickBots = 8

// kicked is what one match of kick gave.
type kicked struct {
	judged, byTouch, byStarving, clean, half int
	first                                    []string
	ownMoved, ballMoved, ballErrors          []float64
	replayed, ownLatency, touchLatency       []float64
	near, inside, kicks, missed, agreed      int
	steps, frames                            int
	stepMax                                  float64
	rockets                                  launched
	quality                                  gametest.Quality
	fault                                    error
}

func playKick(seed uint64, p netsim.Profile, policy string, span time.Duration) (k kicked, err error) {
	m, err := newFootball(seed, kickBots, p, policy)
	if err != nil {
		return k, err
	}
	m.run(span)
	for _, w := range m.players {
		k.judged, k.byTouch, k.byStarving = k.judged+w.judged, k.byTouch+w.byTouch, k.byStarving+w.byStarving
		k.clean, k.half = k.clean+w.clean, k.half+w.half
		k.first = append(k.first, w.first...)
		k.ownMoved, k.ballMoved = append(k.ownMoved, w.ownMoved...), append(k.ballMoved, w.ballMoved...)
		k.replayed = append(k.replayed, w.replayed...)
		k.ownLatency = append(k.ownLatency, w.ownLatency()...)
		k.near, k.inside = k.near+w.near, k.inside+w.inside
		k.stepMax, k.agreed = max(k.stepMax, w.stepMax), k.agreed+w.agreed
		k.steps, k.frames = k.steps+w.steps, k.frames+len(w.frames)
	}
	k.ballErrors = m.ballErrors()
	k.touchLatency, k.missed = m.touchLatency()
	k.kicks, k.quality, k.fault = len(k.touchLatency)+k.missed, m.sim.Quality(), m.sim.Diverged()
	k.rockets, err = playRockets(seed, p, policy, span)
	return k, err
}

func (k *kicked) add(o *kicked) {
	k.judged, k.byTouch, k.byStarving = k.judged+o.judged, k.byTouch+o.byTouch, k.byStarving+o.byStarving
	k.clean, k.half = k.clean+o.clean, k.half+o.half
	k.first = append(k.first, o.first...)
	k.ownMoved, k.ballMoved = append(k.ownMoved, o.ownMoved...), append(k.ballMoved, o.ballMoved...)
	k.ballErrors = append(k.ballErrors, o.ballErrors...)
	k.replayed = append(k.replayed, o.replayed...)
	k.ownLatency = append(k.ownLatency, o.ownLatency...)
	k.touchLatency = append(k.touchLatency, o.touchLatency...)
	k.near, k.inside, k.kicks, k.missed = k.near+o.near, k.inside+o.inside, k.kicks+o.kicks, k.missed+o.missed
	k.stepMax, k.agreed = max(k.stepMax, o.stepMax), k.agreed+o.agreed
	k.steps, k.frames = k.steps+o.steps, k.frames+o.frames
	l := &k.rockets
	l.delays = append(l.delays, o.rockets.delays...)
	l.ahead, l.refused = l.ahead+o.rockets.ahead, l.refused+o.rockets.refused
	l.again += o.rockets.again
}

func share(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func runPredict(r *run) error { return predictFor(r, 3, time.Minute) }

func predictFor(r *run, matches int, span time.Duration) error {
	seeds := r.seeds(matches)
	if r.quick {
		span, seeds = 6*time.Second, seeds[:1]
	}
	var failed []error
	var drawn []kicked // of our own policy
	for i := range len(r.profiles) * len(r.chosen) {
		p, policy := r.profiles[i/len(r.chosen)], r.chosen[i%len(r.chosen)]
		got, err := each(len(seeds), func(i int) (kicked, error) { return playKick(seeds[i], p, policy, span) })
		if err != nil {
			return err
		}
		var k kicked
		var all []gametest.Quality
		for j := range got {
			k.add(&got[j])
			all = append(all, got[j].quality)
			if policy == ours && got[j].fault != nil {
				failed = append(failed, fmt.Errorf("lab: predict on %s, seed %d: %w", p.Name, seeds[j], got[j].fault))
			}
		}
		if policy == ours && k.clean > 0 {
			failed = append(failed, fmt.Errorf("lab: predict on %s: %d predictions were wrong although nothing had "+
				"influenced them:\n  %s", p.Name, k.clean, strings.Join(k.first[:min(len(k.first), 5)], "\n  ")))
		}
		if r.drawing && policy == ours {
			drawn = append(drawn, k)
		}
		q := pool(all)
		r.emit(Row{r.name, p.Name, policy, r.seed,
			r.params(Value{"seeds", len(seeds)}, Value{"players", kickBots}, Value{"match_s", int(span.Seconds())}),
			Values{
				{"clean_mispredictions", k.clean}, {"half_known", k.half}, {"judged", k.judged},
				{"starved_share", share(k.byStarving, k.judged)}, {"touched_share", share(k.byTouch, k.judged)},
				{"corrections_p50_cm", quantile(k.ownMoved, 0.5)}, {"corrections_p99_cm", quantile(k.ownMoved, 0.99)},
				{"ball_corrections_p95_cm", quantile(k.ballMoved, 0.95)},
				{"ball_corrected_share", share(len(k.ballMoved), len(k.ballMoved)+k.agreed)},
				{"ball_error_p95_cm", quantile(k.ballErrors, 0.95)},
				{"ball_step_max_cm", 100 * k.stepMax}, {"ball_steps_share", share(k.steps, k.frames)},
				{"inside_share", share(k.inside, k.near)}, {"near_frames", k.near},
				{"own_latency_ms", quantile(k.ownLatency, 0.95)},
				{"touch_latency_ms", quantile(k.touchLatency, 0.95)}, {"kicks", k.kicks}, {"kicks_missed", k.missed},
				{"spawn_latency_ms", quantile(k.rockets.delays, 0.99)}, {"spawn_latency_max_ms", quantile(k.rockets.delays, 1)},
				{"spawns", len(k.rockets.delays)}, {"spawns_again", k.rockets.again},
				{"spawn_refused_share", share(k.rockets.refused, k.rockets.ahead)},
				{"replay_ticks_p99", quantile(k.replayed, 0.99)},
				{"down_kbps", q.DownKbps}, {"up_kbps", q.UpKbps},
			}})
	}
	if r.drawing && len(drawn) == len(r.profiles) {
		path, err := pathFigure(r.seed)
		if err != nil {
			return err
		}
		r.figures = append(r.figures, correctionFigure(r.profiles, drawn), path)
	}
	return errors.Join(failed...)
}
