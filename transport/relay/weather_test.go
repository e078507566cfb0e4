package relay

import (
	"bytes"
	"io"
	"math/bits"
	"net"
	"testing"
	"time"

	"meanwhile/netsim"
)

func newWeather(t *testing.T, w Weather) (r *Relay, from chan string) {
	t.Helper()
	server, from := echo(t)
	r = newRelay(t, server)
	if err := r.Impair(w); err != nil {
		t.Fatal(err)
	}
	return r, from
}

// ask sends a datagram and returns the answer, after as many tries as it takes.
func ask(t *testing.T, c net.Conn, b []byte) []byte {
	t.Helper()
	answer := make([]byte, 2048)
	for range 50 {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		if n, err := c.Read(answer); err == nil {
			return answer[:n]
		}
	}
	t.Fatal("no answer to 50 datagrams")
	return nil
}

// Datagrams and bytes arrive no sooner than the profile lets them, and bytes arrive whole and in
// order although segments are lost.
func TestWeather(t *testing.T) {
	const delay = 20 * time.Millisecond
	link := netsim.LinkConfig{Delay: delay, Jitter: netsim.Uniform(5 * time.Millisecond), Loss: netsim.Bursts(0.05, 2)}
	r, _ := newWeather(t, Weather{Profile: netsim.Profile{Name: "bad", Down: link, Up: link}, Seed: 1})
	c := dial(t, "udp", r.Addr())
	begun := time.Now()
	if b := ask(t, c, []byte("hello")); string(b) != "hello" || time.Since(begun) < 2*delay {
		t.Errorf("%q came back after %v", b, time.Since(begun))
	}

	sent := bytes.Repeat([]byte("0123456789abcdef"), 8<<10)
	s := dial(t, "tcp", r.Addr())
	go func() {
		s.Write(sent)
		s.(*net.TCPConn).CloseWrite()
	}()
	begun = time.Now()
	got, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(got, sent) || time.Since(begun) < 2*delay {
		t.Errorf("%d bytes of %d came back after %v: %v", len(got), len(sent), time.Since(begun), err)
	}
}

// Each client draws its own numbers, and one bit of each datagram changes.
func TestCorruptDatagrams(t *testing.T) {
	r, _ := newWeather(t, Weather{Corrupt: 1, MTU: 1300})
	sent := bytes.Repeat([]byte{0x55}, 1300)
	var answers [2][]byte
	for i := range answers {
		c := dial(t, "udp", r.Addr())
		answers[i] = ask(t, c, sent)
		flipped := 0
		for j, b := range answers[i] {
			flipped += bits.OnesCount8(b ^ sent[j])
		}
		if len(answers[i]) != len(sent) || flipped != 2 && flipped != 0 { // once each way
			t.Errorf("%d bytes came back, %d bits changed", len(answers[i]), flipped)
		}
	}
	if bytes.Equal(answers[0], answers[1]) {
		t.Error("two clients met the same faults")
	}
	c := dial(t, "udp", r.Addr())
	c.Write(append(sent, 0))
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := c.Read(sent); err == nil {
		t.Errorf("%d bytes came back of a datagram above the MTU", n)
	}
}

// A link that loses everything ends no program: Close ends what waits.
func TestLostForGood(t *testing.T) {
	link := netsim.LinkConfig{Delay: time.Second, Loss: netsim.Loss{InGood: 1}}
	r, _ := newWeather(t, Weather{Profile: netsim.Profile{Name: "dead", Down: link, Up: link}})
	c := dial(t, "tcp", r.Addr())
	c.Write([]byte("hello"))
	if n, err := c.Read(make([]byte, 8)); err == nil {
		t.Errorf("%d bytes came back", n)
	}
	dial(t, "udp", r.Addr()).Write([]byte("hello"))
	r.Close()
}

func TestImpairRefuses(t *testing.T) {
	r, _ := newWeather(t, Weather{})
	for _, w := range []Weather{{Corrupt: 1.1}, {Corrupt: -1}, {MTU: 100}, {MTU: 1 << 20},
		{Profile: netsim.Profile{Up: netsim.LinkConfig{Delay: -1}}}} {
		if err := r.Impair(w); err == nil {
			t.Errorf("%+v is accepted", w)
		}
	}
}
