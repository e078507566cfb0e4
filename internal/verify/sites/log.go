package sites

import (
	"log/slog"
	"strings"
	"sync"
)

// A Log keeps what a server logs.
type Log struct {
	mu sync.Mutex
	b  strings.Builder
}

// Logger returns a logger that writes here, without what is for debugging.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// Write keeps a line.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// String returns what was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
