package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/headless"
)

// spans collects those that a host makes.
type spans struct {
	mu   sync.Mutex
	list []Span
}

func (s *spans) add(x Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, x)
}

// of returns the spans of a name as text.
func (s *spans) of(name string) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.list {
		if x.Name == name {
			list = append(list, fmt.Sprint(x.Took, " ", x.Err, " ", x.Attrs))
		}
	}
	return list
}

// Whoever operates a server learns of ticks that are too long, of the store, of checkpoints and of
// admissions, and of nothing else.
func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got spans
		rules, _ := miners(t)
		store := &shelf{dawdle: 2 * time.Second}
		s := newStage(
			t,
			Config{Rules: rules, Store: store, Players: 1, Spans: got.add, Journal: filepath.Join(t.TempDir(), "j")},
		)
		ann := s.enter("ann", "", 1)
		time.Sleep(time.Second)
		_, err := headless.Join(context.Background(), s.dial(), headless.Config{Rules: rules, Clock: s.Clock()})
		if err == nil {
			t.Error("two players are in a room for one")
		}
		s.dial().Close("who never said hello")
		time.Sleep(35 * time.Second)
		store.set(func(s *shelf) { s.fail = errors.New("disk full") })
		ann.leave()
		<-ann.left
		time.Sleep(3 * time.Second)
		store.set(func(s *shelf) { s.fail = nil })
		s.end()
		check := func(name string, i int, want string) {
			t.Helper()
			list := got.of(name)
			if i < 0 {
				i = slices.IndexFunc(list, func(s string) bool { return strings.Contains(s, want) })
			}
			if i < 0 || i >= len(list) || !strings.Contains(list[i], want) {
				t.Errorf("%s: %q, want %q", name, list, want)
			}
		}
		check(SpanAdmission, 0, " <nil> [transport=memory room=lobby player=1]")
		check(SpanAdmission, 1, "[transport=memory code=room is full]")
		check(SpanLoad, 0, "0s <nil> []")
		check(SpanSave, 0, "2s <nil> [records=2]")
		check(SpanSave, -1, "2s disk full [records=")
		check(SpanCheckpoint, 0, "<nil> [room=lobby]")
		if list := got.of(SpanAdmission); len(list) != 2 {
			t.Errorf("%d admissions: %q", len(list), list)
		}
		if list := got.of(SpanTick); len(list) != 0 {
			t.Errorf("ticks that were in time: %q", list)
		}
		for _, x := range got.list {
			if ago := time.Since(x.Begin); ago < x.Took || ago > time.Minute {
				t.Errorf("%s began %v ago", x.Name, ago)
			}
		}
	})
}

// Each tick that takes longer than the game's period is a span, also once ticks have become longer.
func TestSpansOfLongTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got spans
		var takes atomic.Int64
		s := newStage(t, Config{Rules: slowRules(t, 20, &takes), Players: 4, Spans: got.add})
		ann := s.join("ann", "")
		time.Sleep(time.Second)
		takes.Store(int64(100 * time.Millisecond))
		time.Sleep(10 * time.Second)
		takes.Store(0)
		time.Sleep(time.Second)
		ann.leave()
		<-ann.left
		s.end()
		list := got.of(SpanTick)
		if len(list) < 85 || len(list) > 105 || !strings.HasPrefix(list[0], "100ms <nil> [room=lobby tick=") ||
			!strings.HasSuffix(list[0], " players=1 period=50ms]") {
			t.Errorf("%d spans, the first %q", len(list), list[0])
		}
	})
}
