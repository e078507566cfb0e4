package gametest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/gametest"
	"meanwhile/netsim"
)

// noted is a test that keeps what it is failed with.
type noted struct {
	gametest.TB
	failures []string
}

func (n *noted) Errorf(format string, args ...any) {
	n.failures = append(n.failures, fmt.Sprintf(format, args...))
}

func TestMustBePlayable(t *testing.T) {
	m := gametest.New(t, &zap.Game, 7)
	for range 4 {
		m.Join("bot", netsim.HotelWiFi, zap.Bot)
	}
	m.Run(10 * time.Second)
	m.MustBePlayable(t)
	q := m.Quality()
	if text := q.String(); !strings.Contains(text, "agreement") || !strings.Contains(text, " kbit/s ") ||
		strings.Count(text, "\n") != 18 {
		t.Errorf("the table of a match:\n%s", text)
	}
	for line := range strings.Lines(q.String()) {
		if len(line) > 120 {
			t.Errorf("wider than 120 columns: %s", line)
		}
	}

	// On a network that loses most packets it must not.
	network := netsim.TrainLTE
	network.Down.Loss = netsim.Loss{InGood: 0.6, InBad: 0.6}
	bad := gametest.New(t, &zap.Game, 7)
	for range 4 {
		bad.Join("bot", network, zap.Bot)
	}
	bad.Run(20 * time.Second)
	n := &noted{TB: t}
	if bad.MustBePlayable(n); len(n.failures) != 1 || !strings.Contains(n.failures[0], "not playable: ") {
		t.Errorf("a match on a bad network: %q\n%s", n.failures, bad.Quality())
	}
}
