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

// A logQueue is a slog.Handler that writes lines in a goroutine of its own while its Host runs, and
// in place before and after. Those made by WithAttrs and WithGroup share the queue.
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

	mu     sync.Mutex // held to send, so that no line is sent once nobody writes any more
	queued bool       // lines wait for the goroutine
}

type logLine struct {
	to     slog.Handler
	record slog.Record
}

func newLogQueue(to slog.Handler) *logQueue {
	return &logQueue{to, &logLines{lines: make(chan logLine, LogLines), stop: make(chan struct{}),
		rates: transport.NewRates[string](LogBurst, LogRefill)}}
}

// Log returns the logger of the host, which writes through Config.Log. While the host runs it never
// waits: lines that come too fast, or that nobody reads, are dropped and counted in
// Stats.LogDropped. Whatever players and strangers cause belongs there.
func (h *Host) Log() *slog.Logger { return h.log }

// Handle implements slog.Handler. It does not wait while lines are queued.
func (q *logQueue) Handle(ctx context.Context, r slog.Record) error {
	if !q.rates.Take(r.Message) {
		q.dropped.Add(1)
		return nil
	}
	q.mu.Lock()
	if !q.queued {
		q.mu.Unlock()
		return q.Handler.Handle(ctx, r)
	}
	defer q.mu.Unlock()
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

// start begins to queue lines.
func (q *logLines) start() {
	q.mu.Lock()
	q.queued = true
	q.mu.Unlock()
	q.wg.Go(func() {
		reported := uint64(0)
		write := func(l logLine) {
			_ = l.to.Handle(context.Background(), l.record)
			if n := q.dropped.Load(); n != reported && len(q.lines) == 0 {
				lost := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped", 0)
				lost.AddAttrs(slog.Uint64("lines", n-reported))
				_ = l.to.Handle(context.Background(), lost)
				reported = n
			}
		}
		for {
			select {
			case l := <-q.lines:
				write(l)
			case <-q.stop:
				for !q.drained() {
					write(<-q.lines)
				}
				return
			}
		}
	})
}

// drained reports whether no line waits, and then ends the queueing.
func (q *logLines) drained() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued = len(q.lines) > 0
	return !q.queued
}

// end writes what waits, for endPatience at most.
func (q *logLines) end() {
	close(q.stop)
	waitFor(&q.wg, endPatience)
}
