package journal_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// Every call that changes a world is in its journal: without one of them the replay would differ,
// but for Dropped, whose effect here is what is sent anyway.
func TestEveryCall(t *testing.T) {
	rules := zapRules(t)
	var chunks []journal.Chunk
	s, err := journal.New(rules, server.Config{Seed: 1, Secret: 2}, journal.Header{}, func(c journal.Chunk) bool {
		chunks = append(chunks, c)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	now, period := clock.Time(0), s.Period()
	var ids []server.PlayerID
	var clients []*client.Client
	for _, name := range []string{"ann", "bob", "cem", "dan"} {
		id, w, err := s.Connect(now, name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(rules, w, now, client.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ids, clients = append(ids, id), append(clients, c)
	}
	var out server.Outbox
	for n := range 240 {
		now = now.Add(period)
		switch n {
		case 20:
			s.SetLimits(ids[0], server.Limits{Budget: server.MinBudget, Send: 3})
		case 60:
			period = 50 * time.Millisecond
		case 90:
			s.Suspend(ids[1], now)
		case 120:
			w, _ := s.Resume(ids[1], now, false)
			if clients[1], err = client.New(rules, w, now, client.Config{}); err != nil {
				t.Fatal(err)
			}
		case 151, 152, 153, 154: // the transport dropped the packet of a tick before
			s.Dropped(ids[2], clients[2].NewestPacket()+1)
		case 180:
			s.Disconnect(ids[3])
		}
		s.SetPeriod(period)
		s.Begin(now)
		if n > 30 {
			s.Beat(ids[0], now.Add(time.Millisecond), 400)
		}
		s.LeaveAt(now.Add(time.Duration(n%7) * time.Millisecond))
		out.Reset()
		s.Encode(0, 2, &out)
		s.Encode(2, s.Clients(), &out)
		s.End()
		for i := range out.Len() {
			to, data := out.At(i)
			if to == ids[2] && n >= 150 && n < 154 {
				continue
			}
			clients[to-ids[0]].Receive(now.Add(time.Millisecond), data)
		}
		for i, c := range clients {
			for range c.Frame(now.Add(2 * time.Millisecond)) {
				if err := c.Think(rules.Bot()); err != nil {
					t.Fatal(err)
				}
			}
			if d := c.Encode(now.Add(2 * time.Millisecond)); d != nil {
				s.Receive(ids[i], now.Add(3*time.Millisecond), d)
			}
		}
	}
	s.Flush()
	r, err := journal.NewReplay(rules, parsed(t, written(t, &journal.Header{Format: "meanwhile journal 2", Game: "zap",
		Hash: rules.Hash, Settings: journal.Settings{Seed: 1, Secret: 2}}, chunks[1:])))
	if err != nil {
		t.Fatal(err)
	}
	for ; err == nil; _, err = r.Step() {
	}
	if !errors.Is(err, io.EOF) || r.Differs != nil || r.Server.Tick() != s.Tick() {
		t.Errorf("replayed to tick %d of %d: %v, %v", r.Server.Tick(), s.Tick(), err, r.Differs)
	}
}

// Heartbeats that were sent while nothing was recorded are in no later block.
func TestBeatsWhileNotRecorded(t *testing.T) {
	rules := zapRules(t)
	var chunks []journal.Chunk
	full := true
	s, err := journal.New(rules, server.Config{Seed: 1, Secret: 2}, journal.Header{}, func(c journal.Chunk) bool {
		if !full {
			chunks = append(chunks, c)
		}
		return !full
	})
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := s.Connect(0, "ann")
	if err != nil {
		t.Fatal(err)
	}
	now := clock.Time(0)
	var out server.Outbox
	tick := func() {
		now = now.Add(s.Period())
		s.Begin(now)
		for range 50 {
			if full {
				s.Beat(id, now, 400)
			}
		}
		s.LeaveAt(now)
		out.Reset()
		s.Encode(0, s.Clients(), &out)
		s.End()
	}
	for range 60 {
		tick()
	}
	full = false
	if err := s.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		tick()
	}
	s.Flush()
	size := 0
	for _, c := range chunks {
		if c.Kind == journal.KindLog {
			size += len(c.Payload)
		}
	}
	if size > 60*100 {
		t.Errorf("60 ticks of one idle player take %d bytes", size)
	}
	r, err := journal.Restore(rules, parsed(t, written(t, &journal.Header{Format: "meanwhile journal 2", Game: "zap",
		Hash: rules.Hash, Settings: journal.Settings{Seed: 1, Secret: 2}}, chunks[1:])))
	if err != nil || r.Server.Tick() != s.Tick() {
		t.Errorf("restored to tick %d of %d: %v", r.Server.Tick(), s.Tick(), err)
	}
}
