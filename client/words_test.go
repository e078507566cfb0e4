package client

import (
	"errors"
	"testing"

	"meanwhile/game"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
)

type pebble struct {
	N int `net:"int,0..9"`
}

// A program that does not fetch what arrives loses messages, but no answer: each request has one,
// and no more are open or unfetched than may be at once.
func TestNoAnswerIsLost(t *testing.T) {
	pebbles, calls := game.NewKind[pebble]("pebble"), game.NewMessage[pebble]("call", 0, 0)
	asks := game.NewRequest[pebble, pebble]("ask", 100, 100)
	def := game.Definition[pebble]{Name: "talk", Kinds: game.Kinds(pebbles),
		Join: func(w *game.World, name string) game.ID { return pebbles.Spawn(w, pebble{}) },
		Act:  func(w *game.World, me game.ID, c pebble) {},
		Messages: game.Messages(calls, asks.On(
			func(w *game.World, from game.ID, p pebble) (pebble, error) { return p, errors.New("no") })),
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{rules: rules}
	if err := c.words.init(c); err != nil {
		t.Fatal(err)
	}
	q := &c.words
	for range 2 * maxWords {
		q.hear(&reliable.Message{Kind: packet.FirstMessage, Body: []byte{3}})
	}
	ask := func() error { return q.say(1, []int64{3}, &c.time, 0, true) }
	for i := range maxOpen {
		if err := ask(); err != nil {
			t.Fatal(i, err)
		}
		if i%2 == 0 {
			q.hear(&reliable.Message{Kind: packet.FirstMessage + 1,
				Body: packet.Request(q.calls).AppendRefused(nil, "no")})
		}
	}
	if err := ask(); err == nil {
		t.Error("one more request than may be open or unfetched")
	}
	c.RefuseOpen("over")
	answers, words := map[string]int{}, c.Words()
	for _, w := range words {
		if w.Answer && w.Refused {
			answers[w.Refusal]++
		}
	}
	if len(words) != maxWords+maxOpen || answers["no"] != maxOpen/2 || answers["over"] != maxOpen/2 ||
		c.stats.WordsLost != maxWords || c.stats.Malformed > 0 {
		t.Errorf("%d words with %v answers, %d lost, %d malformed", len(words), answers, c.stats.WordsLost, c.stats.Malformed)
	}
	if err := ask(); err != nil {
		t.Error("after all was fetched:", err)
	}
}
