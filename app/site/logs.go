package site

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Bounds of the log. Strangers cause most of its lines, and rooms write some between two ticks.
const (
	// logRate and logBurst are how many lines a second there may be, and how many at once. Warnings
	// and errors have as many for themselves.
	logRate  = 50
	logBurst = 500
	// logWaiting is how many lines wait for a reader that is slow.
	logWaiting = 2000
	// logPatience is how long flushing waits for that reader.
	logPatience = time.Second
)

// Logger returns a logger of text for people. It never waits for w: lines that come too fast, or that w
// does not accept in time, are dropped and counted in a line of their own. A Site waits a moment at its
// end until w has the others.
func Logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	l := &lines{to: w, now: time.Now}
	l.idle.L = &l.mu
	return slog.New(&limited{slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}), l})
}

// flush waits, for a bounded time, until the reader of a log has what was logged.
func flush(log *slog.Logger) {
	if h, ok := log.Handler().(*limited); ok {
		h.lines.flush()
	}
}

// limited is a handler of log records that come at a bounded rate.
type limited struct {
	slog.Handler
	lines *lines
}

// Handle implements slog.Handler.
func (h *limited) Handle(ctx context.Context, r slog.Record) error {
	if !h.lines.allow(r.Level >= slog.LevelWarn) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &limited{h.Handler.WithAttrs(attrs), h.lines}
}

// WithGroup implements slog.Handler.
func (h *limited) WithGroup(name string) slog.Handler {
	return &limited{h.Handler.WithGroup(name), h.lines}
}

// lines passes lines on to a writer without waiting for it: a goroutine writes as long as there are any.
type lines struct {
	to  io.Writer
	now func() time.Time

	mu      sync.Mutex
	idle    sync.Cond // of the goroutine's end
	busy    bool      // the goroutine runs
	waiting [][]byte
	dropped int
	budgets [2]budget // of lines in general, and of warnings and errors
}

// A budget is how many lines may come at once, as of an instant. A new one is full.
type budget struct {
	used float64
	at   time.Time
}

// allow takes a line from a budget, or drops the line.
func (l *lines) allow(urgent bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.budgets[0]
	if urgent {
		b = &l.budgets[1]
	}
	now := l.now()
	b.used, b.at = max(0, b.used-logRate*now.Sub(b.at).Seconds()), now
	if b.used+1 > logBurst {
		l.dropped++
		return false
	}
	b.used++
	return true
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= logWaiting {
		l.dropped++
		return len(b), nil
	}
	l.waiting = append(l.waiting, append([]byte(nil), b...))
	if !l.busy {
		l.busy = true
		go l.pass()
	}
	return len(b), nil
}

// pass writes what waits, until nothing does.
func (l *lines) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 {
		list := l.waiting
		l.waiting = nil
		if l.dropped > 0 {
			list = append(list, fmt.Appendf(nil, "time=%s level=WARN msg=\"lines of this log were dropped\" lines=%d\n",
				l.now().Format(time.RFC3339), l.dropped))
			l.dropped = 0
		}
		l.mu.Unlock()
		for _, line := range list {
			_, _ = l.to.Write(line) // there is nobody to complain to
		}
		l.mu.Lock()
	}
	l.busy = false
	l.idle.Broadcast()
}

func (l *lines) flush() {
	late := false
	timer := time.AfterFunc(logPatience, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = true
		l.idle.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.busy && !late {
		l.idle.Wait()
	}
}
