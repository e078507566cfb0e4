package site

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A log that nobody reads holds up nobody: lines wait, then they are dropped and counted. When it is
// read again, it goes on with those that waited.
func TestLogThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		log := Logger(w, true)
		const n = logWaiting + 300
		for i := range n {
			log.Info("line", "i", i)
			time.Sleep(time.Second / logRate)
		}
		began := time.Now()
		flush(log)
		if took := time.Since(began); took != logPatience {
			t.Errorf("flushing took %v, want %v", took, logPatience)
		}
		var got bytes.Buffer
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(&got, r)
		}()
		flush(log)
		log.Info("last")
		flush(log)
		w.Close()
		<-read
		text := got.String()
		for _, want := range []string{"i=0\n", fmt.Sprintf("i=%d\n", logWaiting), "msg=last\n",
			fmt.Sprintf("lines of this log were dropped\" lines=%d\n", n-logWaiting-1)} { // one was under way
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in the log", want)
			}
		}
		if strings.Contains(text, fmt.Sprintf("i=%d\n", logWaiting+1)) {
			t.Error("more lines waited than may")
		}
	})
}

// Lines that come too fast are dropped, and do not displace warnings.
func TestLogHasARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got journal
		log := Logger(&got, true)
		log = log.With("from", "test").WithGroup("more")
		count := func() int { return strings.Count(got.String(), "msg=flood") }
		for range 3 * logBurst {
			log.Info("flood")
		}
		log.Warn("important")
		flush(log)
		if n := count(); n != logBurst {
			t.Errorf("%d lines of a flood, want %d", n, logBurst)
		}
		for _, want := range []string{"msg=important from=test", fmt.Sprintf("dropped\" lines=%d", 2*logBurst)} {
			if !strings.Contains(got.String(), want) {
				t.Errorf("there is no %q in the log", want)
			}
		}
		time.Sleep(2 * time.Second)
		for range logBurst {
			log.Info("flood")
		}
		flush(log)
		if n := count() - logBurst; n != 2*logRate {
			t.Errorf("%d lines two seconds later, want %d", n, 2*logRate)
		}
	})
}

// Without -v only warnings are logged.
func TestLogLevels(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		var got journal
		log := Logger(&got, verbose)
		log.Log(t.Context(), slog.LevelInfo, "detail")
		log.Warn("warning")
		flush(log)
		if strings.Contains(got.String(), "detail") != verbose || !strings.Contains(got.String(), "warning") {
			t.Errorf("verbose %v: %s", verbose, got.String())
		}
	}
}
