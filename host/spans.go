package host

import (
	"context"
	"log/slog"
	"time"

	"meanwhile/netcode/clock"
)

// Names of spans.
const (
	// SpanAdmission is from the connection of a player until it is in a room, or refused.
	SpanAdmission = "admission"
	// SpanTick is a tick of a room that took longer than the game's period. Shorter ones make no
	// span.
	SpanTick = "tick"
	// SpanLoad and SpanSave are calls of Config.Store.
	SpanLoad = "load"
	SpanSave = "save"
	// SpanCheckpoint is a whole world that is copied for its journal, which its tick waits for.
	SpanCheckpoint = "checkpoint"
)

// A Span is something that took time and that an operator may ask about.
type Span struct {
	Name  string // one of the constants
	Begin time.Time
	Took  time.Duration
	Err   error // nil: it succeeded
	// Attrs have the names that they have in the log: room, player, transport, code, records.
	Attrs []slog.Attr
}

// span hands a span that ends now to Config.Spans.
func (h *Host) span(name string, began clock.Time, err error, attrs ...slog.Attr) {
	if h.cfg.Spans != nil {
		took := max(h.clock().Sub(began), 0)
		h.cfg.Spans(Span{name, time.Now().Add(-took), took, err, attrs})
	}
}

// A timedStore makes spans of the calls of a Store. The key of a record is in none of them.
type timedStore struct {
	Store
	h *Host
}

// Load implements Store.
func (s timedStore) Load(ctx context.Context, key string) ([]byte, error) {
	began := s.h.clock()
	record, err := s.Store.Load(ctx, key)
	s.h.span(SpanLoad, began, err)
	return record, err
}

// Save implements Store.
func (s timedStore) Save(ctx context.Context, records map[string][]byte) error {
	began := s.h.clock()
	err := s.Store.Save(ctx, records)
	s.h.span(SpanSave, began, err, slog.Int("records", len(records)))
	return err
}
