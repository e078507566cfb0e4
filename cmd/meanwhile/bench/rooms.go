package bench

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/host/journal"
	"meanwhile/lab"
)

const (
	rooms       = 50
	roomPlayers = 8
	roomsWarm   = 5 * time.Second
)

// Rooms measures what a server computes for many small rooms: 50 matches of zap with 8 players each
// are recorded, and then replayed together, a tick of each in turn. A replay makes the calls of a
// room, so the CPU time is that of engine, rules and records, without transports.
func Rooms(quick bool) ([]lab.Row, error) {
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	rules, err := zap.Game.Rules()
	if err != nil {
		return nil, err
	}
	span, turns := 25*time.Second, 3
	if quick {
		span, turns = 10*time.Second, 1
	}
	var files []*journal.File
	for seed := range rooms {
		b, _, err := recordMatch(rules, uint64(seed+1), roomPlayers, span)
		if err != nil {
			return nil, err
		}
		f, err := journal.Parse(b)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	var took least
	for range turns {
		all := make([]*journal.Replay, rooms)
		for i, f := range files {
			if all[i], err = journal.NewReplay(rules, f); err != nil {
				return nil, err
			}
		}
		if err := took.rounds(all); err != nil {
			return nil, err
		}
	}
	took = took[int(roomsWarm.Seconds())*rules.Rate:]
	sum, period := took.sum(), 1/float64(rules.Rate)
	slices.Sort(took)
	return []lab.Row{{Experiment: "rooms", Policy: "meanwhile",
		Params: lab.Values{{Name: "game", V: "zap"}, {Name: "rooms", V: rooms}, {Name: "players", V: roomPlayers},
			{Name: "rate_hz", V: float64(rules.Rate)}},
		Metrics: lab.Values{{Name: "core_share", V: sum / float64(len(took)) / period},
			{Name: "all_rooms_mean_ms", V: sum / float64(len(took)) * 1e3},
			{Name: "all_rooms_p99_ms", V: ms(took[len(took)*99/100])},
			{Name: "tick_us", V: sum / float64(len(took)*rooms) * 1e6}}}}, nil
}

// rounds replays a tick of each in turn, to the end of the shortest.
func (l *least) rounds(all []*journal.Replay) error {
	runtime.GC()
	for i := 0; ; i++ {
		began := threadTime()
		for _, r := range all {
			switch _, err := r.Step(); {
			case errors.Is(err, io.EOF) && r.Differs != nil:
				return r.Differs
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
		}
		l.note(i, threadTime()-began)
	}
}
