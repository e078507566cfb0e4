package bench

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"time"

	"meanwhile/client"
	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/gametest"
	"meanwhile/host/journal"
	"meanwhile/lab"
	"meanwhile/netsim"
	"meanwhile/server"
)

// recordPlayers are the players of Record, on Wi-Fi.
const recordPlayers = 20

// Record measures what recording costs a room, on its loop and beside it, how long a checkpoint
// takes, and how fast the room is replayed. It records half a minute of a match, and replays that in
// turns without recording and recorded again: both make the same calls of the world.
func Record(quick bool) ([]lab.Row, error) {
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	rules, err := arena.Game.Rules()
	if err != nil {
		return nil, err
	}
	span, turns := 29*time.Second, 9 // before the first checkpoint
	if quick {
		span, turns = 6*time.Second, 3
	}
	b, packing, err := recordMatch(rules, 1, recordPlayers, span)
	if err != nil {
		return nil, err
	}
	f, err := journal.Parse(b)
	if err != nil {
		return nil, err
	}
	var plain, again least
	var firsts, checkpoints []float64
	size := 0
	put := func(c journal.Chunk) bool {
		if c.Kind == journal.KindCheckpoint {
			size = len(c.Payload)
		}
		return true
	}
	for range turns {
		r, err := journal.NewReplay(rules, f)
		if err != nil {
			return nil, err
		}
		if err := plain.steps(r); err != nil {
			return nil, err
		}
		if r, err = journal.Again(rules, f, put); err != nil {
			return nil, err
		}
		if err := again.steps(r); err != nil {
			return nil, err
		}
		for i := range 6 {
			began := threadTime()
			if err := r.Checkpoint(); err != nil {
				return nil, err
			}
			if took := ms(threadTime() - began); i == 0 {
				firsts = append(firsts, took) // it makes memory for the others
			} else {
				checkpoints = append(checkpoints, took)
			}
		}
	}
	slices.Sort(checkpoints)
	alone, recorded, ticks := plain.sum(), again.sum(), float64(len(plain))
	return []lab.Row{{Experiment: "record", Policy: "meanwhile",
		Params: lab.Values{{Name: "game", V: "arena"}, {Name: "players", V: recordPlayers}},
		Metrics: lab.Values{{Name: "tick_us", V: alone / ticks * 1e6},
			{Name: "record_share", V: (recorded - alone) / alone},
			{Name: "pack_us", V: packing.Seconds() / ticks * 1e6},
			{Name: "first_checkpoint_p50_ms", V: Median(firsts)},
			{Name: "checkpoint_p50_ms", V: Median(checkpoints)},
			{Name: "checkpoint_max_ms", V: checkpoints[len(checkpoints)-1]},
			{Name: "checkpoint_kb", V: float64(size) / 1000},
			{Name: "log_kb_per_s", V: float64(len(b)) / 1000 / span.Seconds()},
			{Name: "replay_x", V: span.Seconds() / alone}}}}, nil
}

// recordMatch plays a match and returns its journal, and how long it took to compress it.
func recordMatch(rules *game.Rules, seed uint64, players int, span time.Duration) (b []byte, packing time.Duration,
	err error) {
	sim, err := gametest.NewSim(rules, seed, server.Config{})
	if err != nil {
		return nil, 0, err
	}
	var failed error
	err = sim.Record(func(c journal.Chunk) bool {
		began := threadTime()
		packed, err := c.Append(nil)
		packing += threadTime() - began
		failed = errors.Join(failed, err)
		b = append(b, packed...)
		return true
	})
	for range players {
		if err == nil {
			_, err = sim.Join("bot", netsim.HotelWiFi, client.BotFunc(rules.Bot()))
		}
	}
	if err == nil {
		sim.Run(span)
		err = errors.Join(failed, sim.Diverged())
	}
	return bytes.Clone(b), packing, err
}

// least is the least time that each tick took in any turn: others use this machine, too.
type least []time.Duration

func (l least) sum() (seconds float64) {
	for _, d := range l {
		seconds += d.Seconds()
	}
	return seconds
}

// steps replays to the end.
func (l *least) steps(r *journal.Replay) error {
	runtime.GC()
	for i := 0; ; i++ {
		began := threadTime()
		_, err := r.Step()
		took := threadTime() - began
		switch {
		case errors.Is(err, io.EOF) && r.Differs != nil:
			return r.Differs
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		l.note(i, took)
	}
}

// note notes how long tick i took in one more turn.
func (l *least) note(i int, took time.Duration) {
	if i == len(*l) {
		*l = append(*l, took)
	}
	(*l)[i] = min((*l)[i], took)
}
