package gametest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netsim"
)

// A talk is a game in which players say things, buy and are answered.
type talk struct {
	lines game.Message[line]
	shop  game.Request[want, got]
	news  game.Message[line]
	folk  game.Kind[speaker]
	order []string // what the server's rules heard
	flood int      // news in each tick
}

type line struct {
	Text string  `net:"text,255"`
	Team int     `net:"int,0..3"`
	Who  game.ID `net:"handle"`
}

type want struct {
	Item int       `net:"enum,sword|shield|moon"`
	When game.Tick `net:"tick"`
}

type got struct {
	Gold int    `net:"int,0..1000"`
	Note string `net:"text,40"`
}

type speaker struct {
	Pos  geom.Vec2 `net:"pos"`
	Team int       `net:"int,0..3"`
	Gold int       `net:"int,0..1000,to=owner"`
}

type stroll struct {
	Move geom.Vec2 `net:"stick"`
}

func newTalk() (*talk, *game.Definition[stroll]) {
	g := &talk{
		lines: game.NewMessage[line]("line", 2, 5), shop: game.NewRequest[want, got]("buy", 5, 10),
		news: game.NewMessage[line]("news", 0, 0), folk: game.NewKind[speaker]("speaker"),
	}
	def := &game.Definition[stroll]{Name: "talk", Kinds: game.Kinds(g.folk),
		Messages: game.Messages(g.lines.On(g.say), g.shop.On(g.buy), g.news),
		Join: func(w *game.World, name string) game.ID {
			if strings.HasPrefix(name, "ghost") {
				return 0
			}
			g.news.SendAll(w, nil, line{Text: name + " joined"})
			return g.folk.Spawn(w, speaker{Team: len(name) % 4, Gold: 100})
		},
		Act: func(w *game.World, me game.ID, c stroll) {
			p := g.folk.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(w.Dt()))
			for range g.flood {
				g.news.SendAll(w, nil, line{Text: strings.Repeat("long ", 50)})
			}
		},
	}
	return g, def
}

func (g *talk) say(w *game.World, from game.ID, l line) {
	g.order = append(g.order, l.Text)
	if l.Team != 0 {
		g.lines.SendAll(w, func(p game.ID) bool { return p != 0 && g.folk.Get(w, p).Team == l.Team }, l)
		return
	}
	if l.Who != 0 {
		g.lines.Send(w, l.Who, l)
		return
	}
	g.lines.SendAll(w, nil, l)
}

func (g *talk) buy(w *game.World, from game.ID, v want) (got, error) {
	if v.Item == 2 {
		return got{}, errors.New("the moon is not for sale")
	}
	p := g.folk.Get(w, from)
	if p.Gold < 30 {
		return got{}, errors.New("not enough gold")
	}
	p.Gold -= 30
	return got{Gold: p.Gold, Note: "żądło " + strconv.Itoa(v.Item)}, nil
}

// What players say arrives once, in order and at those it is for, on a path that loses and
// reorders. Answers name their request. One seed gives one result.
func TestWordsArriveOnceInOrder(t *testing.T) {
	hash := func() (hash uint64, order []string) {
		g, def := newTalk()
		m := New(t, def, 5)
		heard := map[string][]string{}
		answers := map[uint8]string{}
		asked := map[uint8]string{}
		players := map[string]*Player{}
		for _, name := range []string{"ann", "bob", "carol", "ghost"} {
			p := m.Join(name, netsim.TrainLTE, func(w *game.World, me game.ID) stroll { return stroll{Move: geom.Vec2{X: 1}} })
			players[name] = p
			last := game.Tick(0)
			p.OnWord = func(w *client.Word) {
				if l, ok := client.Heard(p.Client, w, g.lines); ok {
					heard[name] = append(heard[name], l.Text)
				} else if a, ok := client.Answered(p.Client, w, g.shop); ok {
					answers[w.Call] = strconv.Itoa(a.Gold) + " " + a.Note
				} else if w.Refused {
					answers[w.Call] = w.Refusal
				}
				if w.Tick < last || w.Tick > m.Sim.Server.Tick() {
					t.Errorf("a word of tick %d after one of %d", w.Tick, last)
				}
				last = w.Tick
			}
		}
		m.Run(time.Second)
		ann, bob := players["ann"], players["bob"]
		for i := range 40 {
			if err := client.Say(ann.Client, g.lines, line{Text: "to all " + strconv.Itoa(i)}); err != nil {
				t.Fatalf("line %d: %v", i, err)
			}
			item := i % 3
			call, err := client.Ask(bob.Client, g.shop, want{Item: item, When: m.Sim.Server.Tick()})
			if err != nil {
				t.Fatal(err)
			}
			asked[call] = "the moon is not for sale"
			if item < 2 {
				asked[call] = "not enough gold"
			}
			if n := i/3*2 + item; item < 2 && n < 3 {
				asked[call] = strconv.Itoa(70-30*n) + " żądło " + strconv.Itoa(item)
			}
			m.Run(500 * time.Millisecond)
		}
		quiet := []line{{Text: "to team 1", Team: 1}, {Text: "to ann", Who: ann.Me()}, {Text: "to nobody", Who: 999}}
		for _, say := range quiet {
			if err := client.Say(bob.Client, g.lines, say); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Say(players["ghost"].Client, g.lines, line{Text: "boo"}); err != nil {
			t.Fatal(err)
		}
		m.Run(5 * time.Second)
		for _, name := range []string{"ann", "bob", "carol", "ghost"} {
			var want []string
			for i := range 40 {
				want = append(want, "to all "+strconv.Itoa(i))
			}
			if name == "carol" {
				want = append(want, "to team 1")
			}
			if name == "ann" {
				want = append(want, "to ann")
			}
			want = append(want, "boo")
			got := slices.DeleteFunc(slices.Clone(heard[name]), func(s string) bool { return s == "" })
			slices.Sort(got[40:])
			slices.Sort(want[40:])
			if !slices.Equal(got, want) {
				t.Errorf("%s heard %q, want %q", name, got, want)
			}
		}
		if len(answers) != len(asked) {
			t.Errorf("%d answers to %d requests", len(answers), len(asked))
		}
		for call, want := range asked {
			if answers[call] != want {
				t.Errorf("request %d was answered %q, want %q", call, answers[call], want)
			}
		}
		return m.Sim.Hash(), g.order
	}
	a, x := hash()
	b, y := hash()
	if a != b || !slices.Equal(x, y) {
		t.Error("two matches of one seed differ")
	}
}

// Who sends more often than the game allows gets an error, and nothing is sent.
func TestSayHasARate(t *testing.T) {
	g, def := newTalk()
	m := New(t, def, 3)
	p := m.Join("ann", netsim.LAN, nil)
	m.Run(time.Second)
	sent := 0
	var last error
	for range 100 {
		if last = client.Say(p.Client, g.lines, line{Text: "x"}); last == nil {
			sent++
		}
	}
	if sent != 5 || last == nil || !strings.Contains(last.Error(), "too often") {
		t.Errorf("%d messages were sent at once, %v; want 5", sent, last)
	}
	for range 21 {
		m.Run(100 * time.Millisecond)
		for client.Say(p.Client, g.lines, line{Text: "y"}) == nil {
			sent++
		}
	}
	m.Run(time.Second)
	if sent != 9 || len(g.order) != sent {
		t.Errorf("%d messages were sent in two seconds more, of which the rules heard %d; want 9", sent, len(g.order))
	}
	if err := client.Say(p.Client, g.news, line{}); err == nil {
		t.Error("a player sent what only rules send")
	}
}

// Who does not receive is sent away, and the others play on.
func TestTheDeafAreSentAway(t *testing.T) {
	g, def := newTalk()
	m := New(t, def, 3)
	p := m.Join("ann", netsim.LAN, nil)
	m.Run(time.Second)
	bob := m.Join("bob", netsim.LAN, nil)
	m.Run(time.Second)
	p.Cut(20 * time.Second)
	g.flood = 1
	for range 100 {
		m.Run(100 * time.Millisecond)
		for _, e := range m.Sim.Server.Ends() {
			if e.Player != p.ID || !strings.Contains(e.Why, "did not get through") {
				t.Fatalf("%+v ends, want player %d", e, p.ID)
			}
			m.Sim.Server.Disconnect(e.Player)
			g.flood = 0
		}
	}
	if g.flood != 0 {
		t.Error("the queue of who does not receive has no end")
	}
	if st, _ := m.Sim.Server.Stats(bob.ID); st.Told == 0 || bob.Client.Stats().WordsLost > 0 {
		t.Errorf("%+v", st.WordStats)
	}
}
