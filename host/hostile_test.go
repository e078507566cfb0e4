package host

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// A player that sends more than the world reads displaces only its own datagrams, and rubbish
// changes nothing. One that floods is put out, by name.
func TestHostilePlayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		ann := s.join("ann", "")
		eve := s.greet(session.Hello{})
		time.Sleep(time.Second)
		before := s.Stats()
		for i := range 60 {
			for range 40 { // in one tick
				eve.Send(slices.Repeat([]byte{byte(i)}, transport.MinDatagram+i))
			}
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(time.Second)
		st := s.Stats()
		if st.Displaced < 1400 || st.Drops.Malformed+st.Drops.Duplicate < 100 {
			t.Errorf("%+v", st.Totals)
		}
		if st.Faults != before.Faults || st.Players != 2 {
			t.Errorf("%d players, %d faults", st.Players, st.Faults)
		}
		sent := 0
		for ; eve.Err() == nil && sent < 10_000; sent++ {
			eve.Send(slices.Repeat([]byte{1}, 100))
		}
		<-eve.Done()
		if err := eve.Err(); !strings.Contains(err.Error(), transport.TooManyDatagrams) {
			t.Errorf("after %d datagrams at once: %v", sent, err)
		}
		time.Sleep(2 * time.Second)
		ann.Do(func(c *client.Client) {
			if q := c.Stats(); q.Starved > 3 {
				t.Errorf("another player starved %d times", q.Starved)
			}
		})
		if n := s.Stats().Players; n != 1 {
			t.Errorf("%d players, want 1", n)
		}
		ann.leave()
		<-ann.left
	})
}

// Nothing is sent reliably after the hello, so the 17th message that nobody asked for ends its
// player.
func TestStrayMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		eve := s.greet(session.Hello{})
		for i := range 100 {
			if err := eve.SendMessage([]byte("hello?")); err != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
			if i == 15 && eve.Err() != nil {
				t.Errorf("16 stray messages ended the connection: %v", eve.Err())
			}
		}
		<-eve.Done()
		time.Sleep(time.Second + time.Millisecond)
		if st := s.Stats(); st.Players != 0 || st.StrayMessages != 17 {
			t.Errorf("%d players, %d stray messages; want 0 and 17", st.Players, st.StrayMessages)
		}
	})
}

// A player from whom nothing arrives is removed after server.Timeout, with a second's patience; one
// who plays stays.
func TestSilentPlayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{})
		defer s.end()
		ann := s.join("ann", "")
		start := time.Now()
		mute := s.greet(session.Hello{})
		select {
		case <-mute.Done():
		case <-time.After(2 * server.Timeout):
			mute.Close("")
			<-mute.Done()
		}
		if d := time.Since(start); d < server.Timeout || d > server.Timeout+2*lookEvery {
			t.Errorf("removed after %v, want %v", d, server.Timeout)
		}
		if err := mute.Err(); err == nil || !strings.Contains(err.Error(), "nothing was heard from you") {
			t.Errorf("the silent player's connection says %v", err)
		}
		time.Sleep(2 * lookEvery)
		if st := s.Stats(); st.Silent != 1 || st.Players != 1 {
			t.Errorf("%d removed for silence, %d players; want 1 and 1", st.Silent, st.Players)
		}
		ann.leave()
		<-ann.left
	})
}

// Rules that panic at every tick do not flood the log: the first fault is logged at once, then what
// gathered, every five seconds.
func TestFaultLog(t *testing.T) {
	var book logBook
	f := faultLog{log: slog.New(slog.NewTextHandler(&book, nil))}
	var at []string
	lines := 0
	for ms := 0; ms <= 12000; ms += 100 {
		now := clock.Time(time.Hour) + clock.Time(ms)*clock.Time(time.Millisecond)
		f.add(errors.New("as the test asked"), now)
		f.flush(now)
		if n := strings.Count(book.String(), "as the test asked"); n != lines {
			lines = n
			at = append(at, fmt.Sprintf("%d ms", ms))
		}
	}
	if got := fmt.Sprint(at); got != "[0 ms 5000 ms 10000 ms]" {
		t.Errorf("lines at %s, want one at once and one every 5 s", got)
	}
	if !strings.Contains(book.String(), "times=50") {
		t.Errorf("the log does not count what gathered:\n%s", &book)
	}
}
