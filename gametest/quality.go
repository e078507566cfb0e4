package gametest

import (
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/server"
)

// Quality is how well a match could be played, over all players.
type Quality struct {
	// Agreement is the share of Shots that the server decided with the same outcome: what the
	// shooter was shown is what happened. Names, numbers and flags of the event must be equal,
	// places lie within 30 cm. In a game with queued commands it is too low, as the server decides
	// them in other ticks than their own.
	Agreement float64
	// Shots is how many events were predicted and count for Agreement: those that Act emitted with
	// its own player as the actor, such as shots, and also kicks.
	Shots int
	// LateShots is how many of them agreed although the command came late: it then runs up to 250
	// ms later, with the view that the player had.
	LateShots int
	// Interrupted is how many predicted events do not count because others had killed, moved or
	// changed the player before the command ran, which no client can foresee.
	Interrupted int
	// CutOff is how many predicted events do not count because of an outage less than a second
	// before: nothing had come from the player for server.RepeatFor, or nothing to it for 500 ms.
	CutOff int
	// OutageShare is the share of drawn time in which nothing had come to the player for 500 ms.
	OutageShare float64

	// HitchesPerMin is how often a moving thing was drawn for more than 16.7 ms without a record
	// after the drawn moment, per minute of drawing a moving thing. Each further 250 ms count
	// again. Outages are left out.
	HitchesPerMin float64
	// JoltsPerMin is how often a thing was drawn to move more than twice as far as it did, plus 5
	// cm, per minute of drawing a moving thing. Teleports are left out.
	JoltsPerMin float64
	// ViewErrorP95 is the distance in metres between what was drawn and the truth at the same
	// playout time. Entities with a parent are left out here and in all that follows.
	ViewErrorP95 float64
	// ErrorNowP95 is the distance in metres between what was drawn and the newest truth that the
	// client could know: that of the path's shortest delay and one send interval ago. A teleport
	// counts with its whole length until it is drawn.
	ErrorNowP95 float64
	// ViewAge is how far behind the server's present the drawn moment was.
	ViewAge time.Duration

	// CleanMispredictions is how many predictions were wrong without outside influence. It must be
	// 0 in rules that depend on the player's own avatar, on what does not move, and on Seen. See
	// Sim.Mispredicted.
	CleanMispredictions int
	// Corrections is how many predictions were wrong, for any reason.
	Corrections int
	// CorrectionP99 is how far corrections moved the avatar, in metres. Teleports, such as
	// respawns, are left out.
	CorrectionP99 float64
	// StarvedShare is the share of confirmed states before which a command had not arrived in time.
	StarvedShare float64
	// TouchedShare is the share of confirmed states before which others had changed the player, or
	// it them.
	TouchedShare float64

	DownKbps, UpKbps float64 // kbit/s of datagrams, each with wire.Overhead; mean over players
	MaxWindowBits    int     // most bits that any player was sent in one second

	denied string // the events that the server disagreed with, and how many it agreed with
}

// quality is what was measured of one player.
type quality struct {
	start       client.Stats // when measuring began
	startServer server.PlayerStats

	shots       shots
	corrections corrections
	view        view
}

// add adds the measurements of one player to those of others.
func (q *quality) add(o *quality) {
	s, os := &q.shots, &o.shots
	s.agreed, s.disagreed, s.late = s.agreed+os.agreed, s.disagreed+os.disagreed, s.late+os.late
	s.interrupted, s.cutOff = s.interrupted+os.interrupted, s.cutOff+os.cutOff
	c, oc := &q.corrections, &o.corrections
	c.confirmed, c.starved, c.touched = c.confirmed+oc.confirmed, c.starved+oc.starved, c.touched+oc.touched
	c.corrected, c.clean = c.corrected+oc.corrected, c.clean+oc.clean
	c.moved = append(c.moved, oc.moved...)
	v, ov := &q.view, &o.view
	v.errors, v.errorsNow = append(v.errors, ov.errors...), append(v.errorsNow, ov.errorsNow...)
	v.age, v.ages = v.age+ov.age, v.ages+ov.ages
	v.hitches, v.jolts, v.moving = v.hitches+ov.hitches, v.jolts+ov.jolts, v.moving+ov.moving
	v.outage, v.drawn = v.outage+ov.outage, v.drawn+ov.drawn
}

// Quality returns how well the match could be played since Measure, over all players.
func (s *Sim) Quality() Quality {
	var all quality
	var r Quality
	span := s.Loop.Now().Sub(s.measure).Seconds()
	for _, p := range s.players {
		all.add(&p.q)
		if p.Client == nil {
			continue
		}
		cs := p.Client.Stats()
		ss, _ := s.Server.Stats(p.ID)
		n := float64(len(s.players)) * span * 1000 / 8
		r.DownKbps += float64(ss.SentBytes-p.q.startServer.SentBytes) / n
		r.UpKbps += float64(cs.SentBytes-p.q.start.SentBytes) / n
		r.MaxWindowBits = max(r.MaxWindowBits, ss.MaxWindow*8)
	}
	shots, c, v := &all.shots, &all.corrections, &all.view
	r.Shots = shots.agreed + shots.disagreed
	r.Agreement = ratio(shots.agreed, r.Shots, 1)
	r.denied = s.denied()
	r.LateShots, r.Interrupted, r.CutOff = shots.late, shots.interrupted, shots.cutOff
	if v.drawn > 0 {
		r.OutageShare = v.outage.Seconds() / v.drawn.Seconds()
	}
	if v.moving > 0 {
		r.HitchesPerMin = float64(v.hitches) / v.moving.Minutes()
		r.JoltsPerMin = float64(v.jolts) / v.moving.Minutes()
	}
	r.ViewErrorP95, r.ErrorNowP95 = percentile(v.errors, 0.95), percentile(v.errorsNow, 0.95)
	if v.ages > 0 {
		r.ViewAge = v.age / time.Duration(v.ages)
	}
	r.CleanMispredictions, r.Corrections = c.clean, c.corrected
	r.CorrectionP99 = percentile(c.moved, 0.99)
	r.StarvedShare, r.TouchedShare = ratio(c.starved, c.confirmed, 0), ratio(c.touched, c.confirmed, 0)
	return r
}

func ratio(a, b int, none float64) float64 {
	if b == 0 {
		return none
	}
	return float64(a) / float64(b)
}

// percentile returns the q-quantile of v, which it sorts; 0 for none.
func percentile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(int(q*float64(len(v))), len(v)-1)]
}
