package game

import (
	"strings"
	"testing"
)

type gossip struct {
	Text string `net:"text,255"`
}

type pebble struct {
	X int `net:"int,0..9"`
}

type told struct {
	Secret int `net:"int,0..9,server"`
}

type wordy struct {
	Say string `net:"text,8"`
}

// Mistakes in messages, and texts in commands, are refused at the start, with a sentence that says
// what to do.
func TestMistakesInMessages(t *testing.T) {
	pebbles, events := NewKind[pebble]("pebble"), NewEvent[pebble]("fall")
	hear := func(w *World, from ID, g gossip) {}
	good, quiet := NewMessage[gossip]("gossip", 2, 5), NewMessage[gossip]("news", 0, 0)
	ask := NewRequest[pebble, gossip]("ask", 1, 1)
	for want, list := range map[string][]anyMessage{
		"": {good.On(hear), quiet, ask.On(func(w *World, from ID, p pebble) (gossip, error) { return gossip{}, nil })},
		"players may send it, and nobody handles it":                          {good},
		`"ask": players may send it, and nobody handles it`:                   {ask},
		"has a handler, but players may send 0 a second":                      {quiet.On(hear)},
		"101 a second and 5 at once are outside (0, 100] and [1, 100]":        {NewMessage[gossip]("fast", 101, 5).On(hear)},
		"1 a second and 0 at once are outside":                                {NewMessage[gossip]("none", 1, 0).On(hear)},
		"an event has that name":                                              {NewMessage[gossip]("fall", 0, 0)},
		"names are 1 to 32 lower-case letters, digits and dashes, and differ": {quiet, NewMessage[gossip]("news", 0, 0)},
		"Secret has an audience of its own":                                   {NewMessage[told]("told", 0, 0)},
		"Messages[0] was not made by NewMessage or NewRequest":                {Message[gossip]{}},
		"Messages[1] was not made by NewMessage or NewRequest":                {quiet, nil},
	} {
		d := Definition[pebble]{Name: "talk", Kinds: Kinds(pebbles), Events: Events(events), Messages: Messages(list...),
			Join: func(w *World, name string) ID { return 0 }, Act: func(w *World, me ID, c pebble) {}}
		_, err := d.Rules()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	d := Definition[wordy]{Name: "talk", Kinds: Kinds(pebbles),
		Join: func(w *World, name string) ID { return 0 }, Act: func(w *World, me ID, c wordy) {}}
	if _, err := d.Rules(); err == nil || !strings.Contains(err.Error(), "the command's field Say is a text") ||
		!strings.Contains(err.Error(), "game.NewMessage") {
		t.Errorf("a text in a command: %v", err)
	}
	// Rates are part of what server and client agree on.
	hash := func(m Message[gossip]) uint64 {
		d := Definition[pebble]{Name: "talk", Kinds: Kinds(pebbles), Messages: Messages(m.On(hear)),
			Join: func(w *World, name string) ID { return 0 }, Act: func(w *World, me ID, c pebble) {}}
		r, err := d.Rules()
		if err != nil {
			t.Fatal(err)
		}
		return r.Hash
	}
	if a, b := hash(NewMessage[gossip]("gossip", 2, 5)), hash(NewMessage[gossip]("gossip", 2, 6)); a == b {
		t.Error("the hash of the schema does not cover the rate")
	}
}
