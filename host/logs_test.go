package host

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A stuckLog is a log that nobody reads.
type stuckLog struct{ free chan struct{} }

func (l stuckLog) Write(b []byte) (int, error) {
	<-l.free
	return len(b), nil
}

// A log that nobody reads does not stop a world, and does not keep the host from ending.
func TestStuckLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := stuckLog{make(chan struct{})}
		s := newStage(t, Config{Log: slog.New(slog.NewTextHandler(stuck, nil))})
		ann := s.join("ann", "")
		for i := range 2 * LogLines {
			s.Host.log.Info("line", "i", i)
			s.Host.log.Info(strings.Repeat("x", i%16))
		}
		time.Sleep(time.Second)
		before := s.Stats().Ticks
		time.Sleep(time.Second)
		st := s.Stats()
		if st.Ticks < before+25 || st.LogDropped < LogLines {
			t.Errorf("%d ticks in a second, %d lines dropped", st.Ticks-before, st.LogDropped)
		}
		ann.leave()
		<-ann.left
		s.end()
		close(stuck.free)
	})
}

// Lines of one message are bounded in rate, and others pass; what was dropped is counted.
func TestLogRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var book logBook
		q := newLogQueue(slog.NewTextHandler(&book, nil))
		q.start()
		log := slog.New(q).With("room", "one")
		for i := range 3 * LogBurst {
			log.Info("again and again", "i", i)
			synctest.Wait()
		}
		log.Info("another")
		time.Sleep(LogRefill)
		log.Info("again and again", "i", "later")
		q.end()
		text := book.String()
		if n := strings.Count(text, "again and again"); n != LogBurst+1 {
			t.Errorf("%d lines of one message, want %d", n, LogBurst+1)
		}
		for _, want := range []string{"msg=another room=one", "i=later", `"log lines were dropped" room=one lines=400`} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing", want)
			}
		}
		if q.Enabled(context.Background(), slog.LevelDebug) {
			t.Error("the level of the handler below does not count")
		}
	})
}

// Lines before a host runs and after it ended are written in place: nobody else would write them.
func TestLogOfAHostAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var book logBook
		q := newLogQueue(slog.NewTextHandler(&book, nil))
		log := slog.New(q)
		log.Info("before")
		if !strings.Contains(book.String(), "msg=before") {
			t.Error("a line before the start waits")
		}
		q.start()
		log.Info("meanwhile")
		q.end()
		log.Info("after")
		for _, want := range []string{"msg=meanwhile\n", "msg=after\n"} {
			if !strings.Contains(book.String(), want) {
				t.Errorf("%q is missing", want)
			}
		}
	})
}
