package routes

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
)

// table is a store with one record.
type table struct {
	record []byte
	err    error
}

func (s table) Load(_ context.Context, key string) ([]byte, error) {
	if key != "arena/room/lobby" {
		return nil, nil
	}
	return s.record, s.err
}

func (s table) Save(context.Context, map[string][]byte) error { return nil }

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		store  table
		status int
		body   string
	}{
		{table{record: []byte(`{"Rows":[]}`)}, 200, `{"Rows":[]}`},
		{table{}, 404, "404 page not found\n"},
		{table{err: errors.New("gone")}, 502, "the store does not answer\n"},
	} {
		h := Options(c.store).Handlers["GET /best.json"]
		for range 2 {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequest("GET", "/best.json", nil)); w.Code != c.status || w.Body.String() != c.body {
				t.Errorf("%d, %q instead of %d, %q", w.Code, w.Body, c.status, c.body)
			}
		}
	}
}
