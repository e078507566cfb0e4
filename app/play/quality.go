package play

import (
	"fmt"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

const (
	// sampleEvery is the time between two samples of the counters, and samples how many are kept:
	// counts are those of about ten seconds.
	sampleEvery = 500 * time.Millisecond
	samples     = 20
)

// Quality is how well the game is carried, counts over the last ten seconds or so.
type Quality struct {
	Transport string        // "quic", "webtransport" or "websocket"
	Delay     time.Duration // how far in the past others are drawn
	Trip      time.Duration // to the server and back
	Stalls    int           // how often all others stood still, as nothing newer had arrived
	Loss      float64       // part of what the server sent that did not arrive, 0 to 1
	// Corrections is how often the own avatar was predicted wrongly, and Starved for how many ticks
	// the server had no command of the player's.
	Corrections, Starved int
	ClockError           time.Duration // how wrong the estimate of the server's clock can be
	Down, Up             int           // bytes a second
}

// A Row is one line of a panel about the connection.
type Row struct {
	Name, Value string
	Help        string // one sentence
	// Bad is how much it hurts the game: 0 not at all, 1 badly.
	Bad float64
}

// Quality returns how well the game is carried.
func (c *Client[C]) Quality() Quality {
	q := c.quality.quality()
	q.Transport = c.player.Conn().Name()
	return q
}

// Rows returns what a panel shows, in plain words.
func (q Quality) Rows() []Row {
	ms := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds()) }
	bad := func(v, most float64) float64 { return min(max(v/most, 0), 1) }
	return []Row{
		{"How late others are drawn", ms(q.Delay), "What arrives late or not at all is waited for so long.",
			bad(float64(q.Delay-150*time.Millisecond), float64(300*time.Millisecond))},
		{"Round trip", ms(q.Trip), "To the server and back.",
			bad(float64(q.Trip-150*time.Millisecond), float64(300*time.Millisecond))},
		{"Stalls", fmt.Sprint(q.Stalls), "Times in ten seconds that all others stood still: nothing newer had arrived.",
			bad(float64(q.Stalls), 3)},
		{"Lost on the way", fmt.Sprintf("%.1f %%", 100*q.Loss), "The part of what the server sent that did not arrive.",
			bad(q.Loss, 0.1)},
		{"Corrections", fmt.Sprint(q.Corrections), "Times in ten seconds that the server saw your moves otherwise.",
			bad(float64(q.Corrections), 20)},
		{"Late commands", fmt.Sprint(q.Starved), "Ticks in ten seconds for which your command came too late.",
			bad(float64(q.Starved), 20)},
		{
			"Clock error",
			fmt.Sprintf("± %.1f ms", float64(q.ClockError)/1e6),
			"How wrong the estimate of the server's clock can be.",
			bad(float64(q.ClockError), float64(50*time.Millisecond)),
		},
		{
			"Down, up",
			fmt.Sprintf("%d, %d kbit/s", q.Down/125, q.Up/125),
			"What you receive and send, over " + q.Transport + ".",
			0,
		},
	}
}

// sampler keeps counters of the last seconds.
type sampler struct {
	kept  [samples]sample
	count int
	now   sample
	seq   int // the newest packet's number, without wrapping
	last  wire.Seq
}

type sample struct {
	at    clock.Time
	stats client.Stats
	seq   int
}

func (s *sampler) reset() { *s = sampler{} }

// sample notes the counters of a frame.
func (s *sampler) sample(core *client.Client, now clock.Time) {
	if newest := core.NewestPacket(); s.now.at == 0 {
		s.last = newest
	} else {
		s.seq += int(newest - s.last)
		s.last = newest
	}
	s.now = sample{now, core.Stats(), s.seq}
	if s.count == 0 || now.Sub(s.kept[(s.count-1)%samples].at) >= sampleEvery {
		s.kept[s.count%samples] = s.now
		s.count++
	}
}

// quality compares the newest counters with the oldest that are kept.
func (s *sampler) quality() Quality {
	now := &s.now.stats
	q := Quality{Delay: max(now.Delay, 0), Trip: now.RTT, ClockError: now.Bound}
	if now.Estimated > 0 {
		q.ClockError = now.Estimated
	}
	if s.count == 0 {
		return q
	}
	old := &s.kept[0]
	if s.count > samples {
		old = &s.kept[s.count%samples]
	}
	was := &old.stats
	q.Stalls = int(now.Hitches - was.Hitches)
	q.Corrections = int(now.Prediction.Corrections - was.Prediction.Corrections)
	q.Starved = int(now.Starved - was.Starved)
	if sent := s.now.seq - old.seq; sent > 0 {
		q.Loss = min(max(1-float64(now.Received-was.Received)/float64(sent), 0), 1)
	}
	if d := s.now.at.Sub(old.at).Seconds(); d > 0 {
		q.Down = int(float64(now.ReceivedBytes-was.ReceivedBytes) / d)
		q.Up = int(float64(now.SentBytes-was.SentBytes) / d)
	}
	return q
}
