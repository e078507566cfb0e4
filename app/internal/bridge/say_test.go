package bridge

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/session"
)

type remark struct {
	Loud int    `net:"int,0..9"`
	Text string `net:"text,20"`
	More string `net:"text,5"`
}

type dot struct {
	N int `net:"int,0..9"`
}

func talking() *game.Definition[dot] {
	dots, remarks := game.NewKind[dot]("dot"), game.NewMessage[remark]("remark", 5, 5)
	asks := game.NewRequest[dot, remark]("ask", 5, 5)
	return &game.Definition[dot]{Name: "talk", Kinds: game.Kinds(dots),
		Join: func(w *game.World, name string) game.ID { return dots.Spawn(w, dot{}) },
		Act:  func(w *game.World, me game.ID, c dot) {},
		Messages: game.Messages(
			remarks.On(func(w *game.World, from game.ID, r remark) { remarks.SendAll(w, nil, r) }),
			asks.On(func(w *game.World, from game.ID, d dot) (remark, error) {
				if d.N == 9 {
					return remark{}, errors.New("never \"9\"")
				}
				return remark{Loud: d.N, Text: "so"}, nil
			})),
	}
}

// What the page says reaches the rules with its texts, and what they say the page. What cannot be
// sent is refused with a sentence, whatever floats and texts the page passes.
func TestSayAndHear(t *testing.T) {
	w := newWorld(t, talking())
	p := w.page("ann", nil)
	const want = `"messages":[{"name":"remark","fields":[{"name":"loud","type":"number"},` +
		`{"name":"text","type":"text"},{"name":"more","type":"text"}]},` +
		`{"name":"ask","fields":[{"name":"n","type":"number"}],"answer":[`
	if layout := p.Layout(); !strings.Contains(layout, want) {
		t.Errorf("the layout is %s", layout)
	}
	w.run(2 * time.Second)
	for _, c := range []struct {
		message int
		floats  []float64
		texts   string
		want    string
	}{
		{0, []float64{7, 6, 2}, "ah ✓hi", ""},
		{1, []float64{3}, "", ""},
		{1, []float64{9}, "", ""},
		{2, nil, "", "There is no such message."},
		{-1, nil, "", "There is no such message."},
		{0, []float64{7, 5}, "hello", "A field of remark is missing."},
		{0, []float64{7, 0, 6}, "sixsix", "more is longer than 5 bytes, or no text."},
		{0, []float64{7, 21, 0}, strings.Repeat("x", 21), "text is longer than 20 bytes, or no text."},
		{0, []float64{7, 1, 0}, "\x00", "text is longer than 20 bytes, or no text."},
		{0, []float64{7, 1, 0}, "ż", "text is longer than 20 bytes, or no text."}, // half a letter
		{0, []float64{math.NaN(), math.Inf(1), math.Inf(-1)}, "", ""},
		{0, []float64{0, 0, 0}, "", ""},
		{0, []float64{0, 0, 0}, "", ""},
		{0, []float64{0, 0, 0}, "", ""},
		{0, []float64{0, 0, 0}, "", "remark is sent too often"},
	} {
		if _, refused := p.Say(c.message, c.floats, c.texts); refused != c.want {
			t.Errorf("message %d, %v, %q: %q, want %q", c.message, c.floats, c.texts, refused, c.want)
		}
	}
	w.run(time.Second)
	heard := p.Heard()
	for _, want := range []string{
		`{"message":0,"from":1,"tick":`, `"floats":[7,1,2],"texts":["","ah ✓","hi"]}`,
		`"call":1,"floats":[3,1,2],"texts":["","so",""]}`, `"call":2,"refused":"never \"9\""}`,
		`"floats":[0,1,2],"texts":["","",""]}`,
	} {
		if !strings.Contains(heard, want) {
			t.Errorf("%s is not in %s", want, heard)
		}
	}
	if again := p.Heard(); again != "" {
		t.Errorf("heard again: %s", again)
	}
}

// A request that waits when the connection is lost fails once the session cannot go on any more, and
// when the server sends the player away; until then it waits.
func TestRequestsEnd(t *testing.T) {
	w := newWorld(t, talking())
	p := w.page("ann", nil)
	w.run(2 * time.Second)
	ask := func() {
		t.Helper()
		if _, refused := p.Say(1, []float64{3}, ""); refused != "" {
			t.Fatal(refused)
		}
	}
	ask()
	p.welcome.Grace = 5 * time.Second
	p.Lost()
	w.run(4 * time.Second)
	if heard := p.Heard(); heard != "" {
		t.Errorf("within the grace: %s", heard)
	}
	w.run(2 * time.Second)
	if heard := p.Heard(); heard != `[{"message":1,"call":1,"refused":"The connection was lost."}]` {
		t.Errorf("after the grace: %s", heard)
	}
	b, err := session.Refusal{Code: session.Removed, Text: "enough"}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for call, refuse := range []func(){func() { p.Message(b) }, func() { p.Lost(); p.Welcome(b, p.now()) }} {
		p.joined = true
		ask()
		refuse()
		want := `[{"message":1,"call":` + string(rune('2'+call)) + `,"refused":"The connection was lost."}]`
		if heard := p.Heard(); heard != want {
			t.Errorf("sent away: %s, want %s", heard, want)
		}
	}
}

// A request that waits when the connection begins anew fails.
func TestRequestsEndWithTheConnection(t *testing.T) {
	w := newWorld(t, talking())
	p := w.page("ann", nil)
	w.run(2 * time.Second)
	call, refused := p.Say(1, []float64{3}, "")
	if refused != "" {
		t.Fatal(refused)
	}
	p.Lost()
	if _, refused := p.Say(1, []float64{3}, ""); refused != "You are not connected." {
		t.Errorf("without a connection: %q", refused)
	}
	_, welcome, err := w.srv.Connect(w.loop.Now(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	b, err := welcome.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if say := p.Welcome(b, p.now()).Refused; say != "" {
		t.Fatal(say)
	}
	next, refused := p.Say(1, []float64{4}, "")
	if refused != "" || next == call {
		t.Errorf("request %d after %d: %q", next, call, refused)
	}
	if heard := p.Heard(); heard != `[{"message":1,"call":1,"refused":"The connection was lost."}]` {
		t.Errorf("heard %s", heard)
	}
}
