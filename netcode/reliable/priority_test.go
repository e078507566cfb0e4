package reliable

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
)

// Kills before shots: when the queue is full, an urgent message replaces a less urgent one that has
// not been sent.
func TestPriority(t *testing.T) {
	m := func(name string, prio uint8) Message {
		return Message{Tick: 1, Kind: 1, Priority: prio, Body: []byte(name)}
	}
	for _, c := range []struct {
		name    string
		parts   int
		sent    int // messages that go out before the last one is queued
		queue   []Message
		last    Message
		dropped uint64
		want    string
	}{
		{"an urgent one takes the place of the oldest", 3, 0, []Message{m("s1", 0), m("s2", 0), m("s3", 0)},
			m("kill", 1), 1, "[s2 s3 kill]"},
		{"of the least urgent", 3, 0, []Message{m("a", 1), m("b", 0), m("c", 1)}, m("kill", 2), 1, "[a c kill]"},
		{"equals do not give way", 3, 0, []Message{m("a", 1), m("b", 1), m("c", 1)}, m("kill", 1), 0, "[a b c]"},
		{"what went out stays", 3, 2, []Message{m("s1", 0), m("s2", 0), m("s3", 0)}, m("kill", 1), 1, "[s1 s2 kill]"},
		{"all went out", 3, 3, []Message{m("s1", 0), m("s2", 0), m("s3", 0)}, m("kill", 1), 0, "[s1 s2 s3]"},
		{"a long one needs more", 4, 0, []Message{m("s1", 0), m("s2", 0), m("k", 1), m("s3", 0)},
			Message{Tick: 1, Kind: 1, Priority: 1, Body: body(2*PartSize + 1)}, 3, "[k 401]"},
		{"no use dropping some where not all fit", 4, 0, []Message{m("s1", 0), m("k", 1), m("k", 1), m("s2", 0)},
			Message{Tick: 1, Kind: 1, Priority: 1, Body: body(2*PartSize + 1)}, 0, "[s1 k k s2]"},
		{"a long one gives way as a whole", 4, 0, []Message{m("a", 1), {Tick: 1, Kind: 1, Body: body(PartSize + 1)},
			m("b", 1)}, m("kill", 2), 1, "[a b kill]"},
		{"room for all", 5, 0, []Message{m("s1", 0)}, m("kill", 1), 0, "[s1 kill]"},
	} {
		s, r := newSender(t, Config{MaxParts: c.parts}), new(Receiver)
		mustSend(t, s, c.queue...)
		var got []string
		note := func(b []byte) {
			if len(b) == 0 {
				return
			}
			for _, m := range take(t, r, b) {
				if len(m.Body) > 8 {
					got = append(got, fmt.Sprint(len(m.Body)))
				} else {
					got = append(got, string(m.Body))
				}
			}
		}
		if c.sent > 0 {
			note(s.Append(nil, 1, sectionHeader+c.sent*(maxPartHeader-6), 0, time.Second))
			if len(got) != c.sent {
				t.Fatalf("%s: %d went out, want %d", c.name, len(got), c.sent)
			}
		}
		err := s.Send(c.last)
		if refused := c.dropped == 0 && c.want[len(c.want)-2] != 'l'; refused != errors.Is(err, ErrFull) {
			t.Errorf("%s: %v", c.name, err)
		}
		note(s.Append(nil, 2, 1100, 0, time.Second))
		if fmt.Sprint(got) != c.want || s.Dropped() != c.dropped {
			t.Errorf("%s: %v arrive, %d dropped; want %s, %d", c.name, got, s.Dropped(), c.want, c.dropped)
		}
	}
}

// Messages of three priorities through a small queue and a bad network: all queued messages arrive,
// in order and unchanged, except the replaced ones, and none is replaced by one that is no more
// urgent.
func TestPriorityProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := NewSender(Config{MaxParts: rapid.IntRange(1, 90).Draw(t, "parts"), MaxBytes: MaxMessage})
		if err != nil {
			t.Fatal(err)
		}
		var r Receiver
		var queued, got []Message // queued: accepted, those that gave way included
		var flying []packet
		var now clock.Time
		seq := uint16(0)
		best := uint8(0) // the most urgent one so far
		arrive := func(i int) {
			p := flying[i]
			flying = append(flying[:i], flying[i+1:]...)
			if used, err := r.Read(p.b); err != nil || used != len(p.b) {
				t.Fatalf("Read = %d, %v", used, err)
			}
			s.Delivered(p.seq)
			for m, ok := r.Next(); ok; m, ok = r.Next() {
				m.Body = append([]byte(nil), m.Body...)
				got = append(got, m)
			}
		}
		send := func(room int) {
			now = now.Add(time.Millisecond)
			seq++
			if b := s.Append(nil, seq, room, now, rto); len(b) > 0 {
				flying = append(flying, packet{0, seq, b})
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				m := Message{Tick: clock.Tick(len(queued) + 1), Entity: uint32(len(queued) + 1),
					Priority: uint8(rapid.IntRange(0, 2).Draw(t, "priority")),
					Body: body(rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 1000),
						rapid.IntRange(0, 9000)).Draw(t, "size"))}
				pending, size, dropped := s.Pending(), s.bodyBytes(), s.Dropped()
				if err := s.Send(m); err != nil {
					if s.Pending() != pending || s.bodyBytes() != size || s.Dropped() != dropped {
						t.Fatal("a refused message changed the queue")
					}
					return
				}
				if s.Dropped() != dropped && m.Priority == 0 {
					t.Fatal("something gave way to the least urgent")
				}
				best = max(best, m.Priority)
				queued = append(queued, m)
			},
			"packet": func(t *rapid.T) { send(rapid.IntRange(0, 1100).Draw(t, "room")) },
			"arrive": func(t *rapid.T) {
				if len(flying) > 0 {
					arrive(rapid.IntRange(0, len(flying)-1).Draw(t, "which"))
				}
			},
			"lose": func(t *rapid.T) {
				if len(flying) > 0 {
					s.Lost(flying[0].seq)
					flying = flying[1:]
				}
			},
		})
		for range 10_000 {
			if s.Pending() == 0 {
				break
			}
			now = now.Add(2 * rto)
			send(1100)
			for len(flying) > 0 {
				arrive(0)
			}
		}
		if uint64(len(got))+s.Dropped() != uint64(len(queued)) || s.Pending() != 0 || s.bodyBytes() != 0 {
			t.Fatalf("%d queued, %d arrived, %d gave way, %d pending", len(queued), len(got), s.Dropped(),
				s.Pending())
		}
		at, urgent := 0, 0
		for _, m := range got {
			for at < len(queued) && queued[at].Entity != m.Entity {
				at++
			}
			if at == len(queued) || queued[at].Tick != m.Tick || string(queued[at].Body) != string(m.Body) {
				t.Fatalf("message %d arrives out of order or changed", m.Entity)
			}
			if queued[at].Priority == best {
				urgent++
			}
			at++
		}
		for _, m := range queued {
			if m.Priority == best {
				urgent--
			}
		}
		if urgent != 0 {
			t.Fatalf("%d of the most urgent messages are lost", -urgent)
		}
	})
}
