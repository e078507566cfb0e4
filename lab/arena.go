package lab

import (
	"errors"
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/examples/arena"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/snapshot"
	"meanwhile/netsim"
	"meanwhile/server"
)

var (
	arenaExperiment = &experiment{
		name:  "arena",
		about: "whole matches of the arena, 12 bots on one kind of network: everything at once",
		notes: `Twelve bots play the arena, all on the profile's network. Three matches (seeds) are pooled. The
first ten seconds do not count, since clocks and delays settle in them. <b>view_error</b> is the distance between
what was drawn and the truth at the same playout time, <b>error_now</b> between what was drawn and the truth that
could be known at best (server time minus the path's floor and one send interval). <b>view_age</b> is how far behind
server time the drawn state was, the path's floor included. A <b>hitch</b> is more than 16.7 ms in which a moving
thing is drawn other than between two received records, and one more for each further 250 ms. Times in which nothing
arrived for half a second are outages, which are counted apart. A <b>jolt</b> is a drawn step of more than twice the
true one plus 5 cm. <b>agreement</b> is the share of predicted shots that the server decided with the same outcome.
Shots of late commands are honoured; interrupted ones (the shooter was killed or moved before) do not count.
<b>down</b> and <b>up</b> count 42 bytes for each datagram; <b>max_window_bits</b> is the most in any one second to
any player. At the end all bots stand still. Every client must then reach exactly the server's state
(<b>converged</b>), and afterwards no state bytes may flow (<b>state_bytes_at_rest</b>, in ten seconds).
<b>divergences</b> counts states that any client applied and that differed from the truth of their tick.
<b>clean_mispredictions</b> counts corrections of predictions that nothing outside had influenced. Policy send-30,
if asked for, is meanwhile with clients that send at most 30 packets with commands a second.`,
		takes:    byProfile | byPolicy | byTrace,
		profiles: netsim.Profiles(),
		policies: []string{ours},
		asked:    []string{halfUp},
		first: firstLook{metrics: "view_error_p95_cm view_age_ms hitches_per_min jolts_per_min agreement down_kbps " +
			"up_kbps"},
		run: runArena,
	}
	hundredExperiment = &experiment{
		name:  "hundred",
		about: "a hundred bots in one world on the ocean: no state that a client applies may ever differ",
		notes: `A hundred bots play in one world, all on the profile's network. Every state that any client applies
is compared with the server's history at that tick (<b>states_compared</b>). States whose tick the history no longer
has are <b>too_old</b>. <b>same_bytes</b> is 1 if a repetition, and another one with four workers encoding, sent
exactly the same bytes both ways.`,
		takes:    byProfile | byPolicy | bySpan,
		profiles: []netsim.Profile{netsim.Ocean},
		policies: []string{ours},
		run:      runHundred,
	}
)

// ours is the name of this project's own policy in every table.
const ours = "meanwhile"

// allUp sends a packet up in each frame with a command, halfUp in every other one.
const (
	allUp      = "send-60"
	halfUp     = "send-30"
	halfUpRate = 30
)

// newMatch returns a match of n bots on one kind of network.
func newMatch(rules *game.Rules, seed uint64, n, workers int, p netsim.Profile) (*gametest.Sim, error) {
	s, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		return nil, err
	}
	s.Workers = workers
	for i := range n {
		if _, err := s.Join(fmt.Sprint("bot", i), p, rules.Bot()); err != nil {
			return nil, err
		}
	}
	return s, nil
}

const (
	arenaBots = 12
	settle    = 15 * time.Second // until a world of bots that stand still is at rest: packs come back, the dead too
	catchUp   = 30 * time.Second // for the clients to know it, outages included
	restFor   = 10 * time.Second
	restTries = 12 // the arena's packs may disturb some
)

// matchResult is the result of one match.
type matchResult struct {
	q           gametest.Quality
	divergences uint64
	converged   error
	restBytes   uint64
	fault       error
}

func playArena(seed uint64, p netsim.Profile, cfg client.Config, span time.Duration) (res matchResult, err error) {
	rules, err := arena.Game.Rules()
	if err != nil {
		return res, err
	}
	s, err := newMatch(rules, seed, arenaBots, 1, p)
	if err != nil {
		return res, err
	}
	s.Client = cfg
	s.Run(gametest.Warmup)
	s.Measure()
	s.Run(span)
	res.q = s.Quality()
	s.Still()
	s.Run(settle)
	res.restBytes, res.converged = rest(s)
	res.divergences = s.Divergences()
	res.fault = s.Diverged()
	return res, nil
}

// rest runs a match whose bots stand still until every client has exactly the server's state, and
// then for restFor, in which the world does not change by itself (in the arena packs come back and
// rounds end). It returns why the clients did not reach that state, and the bytes, with Overhead,
// of the datagrams that carried records meanwhile.
func rest(s *gametest.Sim) (bytes uint64, err error) {
	for range restTries {
		for wait := time.Duration(0); ; wait += time.Second / 2 {
			if err = s.Converged(); err == nil || wait >= catchUp {
				break
			}
			s.Run(time.Second / 2)
		}
		if err != nil {
			return 0, err
		}
		before := fingerprint(s)
		changed := false
		bytes = 0
		records, sent := make([]uint64, len(s.Players())), make([]uint64, len(s.Players()))
		for t := time.Duration(0); t <= restFor && !changed; t += s.Server.Period() {
			for i, p := range s.Players() {
				st, _ := s.Server.Stats(p.ID)
				if t > 0 && st.Records > records[i] {
					bytes += st.SentBytes - sent[i]
				}
				records[i], sent[i] = st.Records, st.SentBytes
			}
			s.Run(s.Server.Period())
			changed = fingerprint(s) != before
		}
		if !changed {
			return bytes, nil
		}
	}
	return bytes, fmt.Errorf("lab: the world never was at rest for %v", restFor)
}

// fingerprint identifies the state of the whole world as clients may know it.
func fingerprint(s *gametest.Sim) uint64 {
	const prime = 1099511628211
	h := s.Server.History()
	sum := uint64(14695981039346656037)
	var buf [schema.MaxComps]int64
	for i := range int32(h.Len()) {
		e := h.At(i)
		if !e.Alive() {
			continue
		}
		sum = (sum ^ uint64(e.ID)) * prime
		for g := range snapshot.OwnerGroup + 1 {
			if g < len(h.Kind(e).Groups) || g == snapshot.OwnerGroup && e.Owned {
				vals, _ := h.Values(i, g, h.Tick(), buf[:0])
				for _, v := range vals {
					sum = (sum ^ uint64(v)) * prime
				}
			}
		}
	}
	return sum
}

func runArena(r *run) error {
	span, seeds := time.Minute, r.seeds(3)
	if r.quick {
		span, seeds = 10*time.Second, seeds[:1]
	}
	var failed []error
	for i := range len(r.profiles) * len(r.chosen) {
		p, policy, cfg := r.profiles[i/len(r.chosen)], r.chosen[i%len(r.chosen)], client.Config{}
		if policy == halfUp {
			cfg.SendRate = halfUpRate
		}
		got, err := each(len(seeds), func(i int) (matchResult, error) { return playArena(seeds[i], p, cfg, span) })
		if err != nil {
			return err
		}
		var all []gametest.Quality
		var divergences, rest uint64
		converged := true
		for i, m := range got {
			all = append(all, m.q)
			divergences += m.divergences
			rest += m.restBytes
			converged = converged && m.converged == nil
			if err := errors.Join(m.fault, m.converged); err != nil {
				failed = append(failed,
					fmt.Errorf("lab: arena on %s, seed %d: %w; replay: meanwhile lab arena --profile %s --seed %d",
						p.Name, seeds[i], err, p.Name, seeds[i]))
			}
		}
		q := pool(all)
		r.emit(Row{r.name, p.Name, policy, r.seed,
			r.params(Value{"seeds", len(seeds)}, Value{"players", arenaBots}, Value{"match_s", int(span.Seconds())}),
			Values{
				{"view_error_p95_cm", q.ViewErrorP95 * 100}, {"error_now_p95_cm", q.ErrorNowP95 * 100},
				{"view_age_ms", ms(q.ViewAge)},
				{"hitches_per_min", q.HitchesPerMin}, {"outage_share", q.OutageShare},
				{"jolts_per_min", q.JoltsPerMin},
				{"shots", q.Shots}, {"agreement", q.Agreement}, {"late_shots", q.LateShots},
				{"interrupted", q.Interrupted}, {"cut_off", q.CutOff},
				{"down_kbps", q.DownKbps}, {"up_kbps", q.UpKbps}, {"max_window_bits", q.MaxWindowBits},
				{"clean_mispredictions", q.CleanMispredictions}, {"corrections_p99_cm", q.CorrectionP99 * 100},
				{"starved_share", q.StarvedShare}, {"touched_share", q.TouchedShare},
				{"divergences", divergences}, {"converged", number(converged)}, {"state_bytes_at_rest", rest},
			}})
	}
	return errors.Join(failed...)
}

// number returns a yes or no as 1 or 0.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// pool joins the qualities of several equally long matches. Quantiles are averaged, the worst
// second is the worst of all.
func pool(all []gametest.Quality) (sum gametest.Quality) {
	n := float64(len(all))
	agreed := 0.0
	for _, q := range all {
		agreed += q.Agreement * float64(q.Shots)
		sum.Shots += q.Shots
		sum.LateShots += q.LateShots
		sum.Interrupted += q.Interrupted
		sum.CutOff += q.CutOff
		sum.OutageShare += q.OutageShare / n
		sum.HitchesPerMin += q.HitchesPerMin / n
		sum.JoltsPerMin += q.JoltsPerMin / n
		sum.ViewErrorP95 += q.ViewErrorP95 / n
		sum.ErrorNowP95 += q.ErrorNowP95 / n
		sum.ViewAge += q.ViewAge / time.Duration(len(all))
		sum.CleanMispredictions += q.CleanMispredictions
		sum.CorrectionP99 += q.CorrectionP99 / n
		sum.StarvedShare += q.StarvedShare / n
		sum.TouchedShare += q.TouchedShare / n
		sum.DownKbps += q.DownKbps / n
		sum.UpKbps += q.UpKbps / n
		sum.MaxWindowBits = max(sum.MaxWindowBits, q.MaxWindowBits)
	}
	sum.Agreement = 1
	if sum.Shots > 0 {
		sum.Agreement = agreed / float64(sum.Shots)
	}
	return sum
}

const (
	crowdBots   = 100
	crowdRepeat = 5 * time.Second // of virtual time that is played three times for same_bytes
)

func runHundred(r *run) error {
	seeds, span := r.seeds(3), time.Minute
	if r.quick {
		span, seeds = 5*time.Second, seeds[:1]
	}
	if r.span > 0 {
		span = r.span
	}
	rules, err := zap.Game.Rules()
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range r.profiles {
		same := true
		hashes, err := each(3, func(i int) (uint64, error) {
			s, err := newMatch(rules, seeds[0], crowdBots, []int{1, 1, 4}[i], p)
			if err != nil {
				return 0, err
			}
			s.Run(crowdRepeat)
			return s.Hash(), nil
		})
		if err != nil {
			return err
		}
		same = hashes[0] == hashes[1] && hashes[1] == hashes[2]
		if !same {
			failed = append(failed, fmt.Errorf("lab: %s on %s, seed %d: bytes hash to %x, again to %x, with 4 "+
				"workers to %x", r.name, p.Name, seeds[0], hashes[0], hashes[1], hashes[2]))
		}
		type result struct {
			compared, old, divergences, hash uint64
			bits                             int
			fault                            error
		}
		got, err := each(len(seeds), func(i int) (res result, err error) {
			s, err := newMatch(rules, seeds[i], crowdBots, 1, p)
			if err != nil {
				return res, err
			}
			s.Run(span)
			res.compared, res.old = s.Checked()
			res.divergences, res.fault, res.hash = s.Divergences(), s.Diverged(), s.Hash()
			for _, pl := range s.Players() {
				st, _ := s.Server.Stats(pl.ID)
				res.bits = max(res.bits, st.MaxWindow*8)
			}
			return res, nil
		})
		if err != nil {
			return err
		}
		for i, m := range got {
			if m.fault != nil {
				failed = append(failed,
					fmt.Errorf("lab: %s on %s, seed %d: %w; replay: meanwhile lab %s --profile %s --seed %d",
						r.name, p.Name, seeds[i], m.fault, r.name, p.Name, seeds[i]))
			}
			r.emit(Row{r.name, p.Name, ours, seeds[i],
				r.params(Value{"game", rules.Name}, Value{"players", crowdBots},
					Value{"match_s", int(span.Seconds())}),
				Values{
					{"states_compared", m.compared}, {"too_old", m.old}, {"divergences", m.divergences},
					{"max_window_bits", m.bits},
					{"same_bytes", number(same)}, {"bytes_hash", m.hash >> 32},
				}})
		}
	}
	return errors.Join(failed...)
}
