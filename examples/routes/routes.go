//go:build !js

// Package routes answers requests over HTTP of a game's own, beside its page.
package routes

import (
	"net/http"
	"sync"
	"time"

	"meanwhile/app"
)

// Newest answers requests with what a store has of one key, such as "arena/room/lobby": the record
// of a room. Whoever reaches the page can ask, so the store is asked once a second at most.
type Newest struct {
	Store app.Store
	Key   string

	mu     sync.Mutex
	record []byte
	asked  time.Time
}

// ServeHTTP implements app.Handler.
func (n *Newest) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.asked) > time.Second {
		record, err := n.Store.Load(r.Context(), n.Key)
		if err != nil {
			http.Error(w, "the store does not answer", http.StatusBadGateway)
			return
		}
		n.record, n.asked = record, time.Now()
	}
	if n.record == nil {
		http.NotFound(w, r) // nothing was saved yet
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(n.record)
}

// Options are those of a game whose table of the best is at /best.json.
func Options(store app.Store) app.Options {
	return app.Options{
		Store:    store,
		Handlers: map[string]app.Handler{"GET /best.json": &Newest{Store: store, Key: "arena/room/lobby"}},
	}
}
