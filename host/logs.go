package host

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/transport"
)

const (
	// LogLines is how many log lines wait to be written. Further ones are dropped and counted: a
	// log that nobody reads must not stop the world.
	LogLines = 1024
	// LogBurst is how many lines with the same message are written at once, and LogRefill in which
	// time as many again.
	LogBurst  = 200
	LogRefill = 10 * time.Second
)

// A logQueue writes log lines in a goroutine of its own. It is a slog.Handler; those made by
// WithAttrs and WithGroup share the queue.
type logQueue struct {
	slog.Handler // that writes
	*logLines
}

type logLines struct {
	lines   chan logLine
	rates   *transport.Rates[string]
	dropped atomic.Uint64
	stop    chan struct{}
	wg      sync.WaitGroup
}

type logLine struct {
	to     slog.Handler
	record slog.Record
}

func newLogQueue(to slog.Handler) *logQueue {
	return &logQueue{to, &logLines{lines: make(chan logLine, LogLines), stop: make(chan struct{}),
		rates: transport.NewRates[string](LogBurst, LogRefill)}}
}

// Handle implements slog.Handler. It never waits.
func (q *logQueue) Handle(_ context.Context, r slog.Record) error {
	if !q.rates.Take(r.Message) {
		q.dropped.Add(1)
		return nil
	}
	select {
	case q.lines <- logLine{q.Handler, r.Clone()}:
	default:
		q.dropped.Add(1)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (q *logQueue) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logQueue{q.Handler.WithAttrs(attrs), q.logLines}
}

// WithGroup implements slog.Handler.
func (q *logQueue) WithGroup(name string) slog.Handler {
	return &logQueue{q.Handler.WithGroup(name), q.logLines}
}

// start begins to write.
func (q *logLines) start() {
	q.wg.Go(func() {
		reported := uint64(0)
		write := func(l logLine) {
			_ = l.to.Handle(context.Background(), l.record)
			if n := q.dropped.Load(); n != reported && len(q.lines) == 0 {
				lost := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped", 0)
				lost.Add("lines", n-reported)
				_ = l.to.Handle(context.Background(), lost)
				reported = n
			}
		}
		for {
			select {
			case l := <-q.lines:
				write(l)
			case <-q.stop:
				for {
					select {
					case l := <-q.lines:
						write(l)
					default:
						return
					}
				}
			}
		}
	})
}

// end writes what waits, for endPatience at most.
func (q *logLines) end() {
	close(q.stop)
	waitFor(&q.wg, endPatience)
}
