package bridge

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/server"
)

// A game of people with names who walk, teleport and shout.
type person struct {
	Pos    geom.Vec2 `net:"pos,others=1cm"`
	Name   string    `net:"text,16"`
	Secret int       `net:"int,0..9,server"`
	Pass   string    `net:"text,8,to=owner"`
	Legs   int       `net:"int,0..999,kept"`
}

type shout struct {
	Text string    `net:"text,12"`
	At   geom.Vec2 `net:"pos"`
}

type orders struct {
	Move  geom.Vec2 `net:"stick,5bit"`
	Leap  bool      `net:"press"`
	Shout bool      `net:"press"`
}

var (
	people = game.NewKind[person]("person")
	shouts = game.NewEvent[shout]("shout")
	crowd  = game.Definition[orders]{
		Name: "crowd", Rate: 30, Kinds: game.Kinds(people), Events: game.Events(shouts),
		Join: func(w *game.World, name string) game.ID {
			return people.Spawn(w, person{Pos: geom.Vec2{X: 10, Y: 10}, Name: name, Pass: "s3cret", Secret: 7})
		},
		Act: func(w *game.World, me game.ID, c orders) {
			p := people.Get(w, me)
			p.Pos = p.Pos.Add(c.Move.Mul(5 * w.Dt()))
			p.Legs = (p.Legs + 1) % 1000
			if c.Leap {
				p.Pos.X += 50
				w.Cut(me)
			}
			if c.Shout {
				shouts.Emit(w, me, p.Pos, shout{Text: "hey " + p.Name, At: p.Pos})
			}
		},
	}
)

// press lets a page press something once.
func (p *page) press(i int) {
	was := p.input
	p.input = func(me []float64) []float64 {
		p.input = was
		cmd := make([]float64, 4)
		cmd[i] = 1
		return cmd
	}
}

func (p *page) other() *entity {
	for i := range p.world["person"] {
		if e := &p.world["person"][i]; int(e.flags)&1 == 0 {
			return e
		}
	}
	return nil
}

func (p *page) text(v []float64) string {
	var list []string
	if err := json.Unmarshal([]byte(p.Texts()), &list); err != nil {
		p.w.t.Fatal(err)
	}
	if list[0] != "" {
		p.w.t.Fatalf("text 0 is %q", list[0])
	}
	return list[int(v[0])]
}

func TestTexts(t *testing.T) {
	w := newWorld(t, &crowd)
	ann, bob := w.page(`Ann "the" \x`, nil), w.page("Bob", nil)
	w.run(2 * time.Second)
	if got := fmt.Sprint(ann.layout.Kinds[0].Properties); got != "[{pos vec2} {name text} {pass text} {legs number}]" {
		t.Errorf("properties %s", got)
	}
	if got := bob.text(bob.other().props["name"]); got != `Ann "the" \x` {
		t.Errorf("bob reads %q", got)
	}
	if v := bob.other().props; !math.IsNaN(v["pass"][0]) || !math.IsNaN(v["legs"][0]) {
		t.Errorf("bob knows of ann %v", v)
	}
	var mine *entity
	for i := range ann.world["person"] {
		if e := &ann.world["person"][i]; int(e.flags)&1 != 0 {
			mine = e
		}
	}
	if ann.text(mine.props["pass"]) != "s3cret" || mine.props["legs"][0] < 30 {
		t.Errorf("ann knows of herself %v", mine.props)
	}
	version := ann.write.texts.version
	for i := range maxTexts { // names of people who came and went
		ann.write.texts.of([]float64{float64(i + 1)})
	}
	w.run(time.Second)
	if ann.write.texts.version <= version || len(ann.write.texts.list) > 10 {
		t.Errorf("%d texts are kept", len(ann.write.texts.list))
	}
	if got := ann.text(ann.other().props["name"]); got != "Bob" {
		t.Errorf("ann reads %q", got)
	}
}

// Each event is drawn once, with a key of its own, and at once by the player who caused it.
func TestEvents(t *testing.T) {
	w := newWorld(t, &crowd)
	ann, bob := w.page("Ann", nil), w.page("Bob", nil)
	w.run(2 * time.Second)
	for range 5 {
		ann.press(3)
		ann.events = nil
		w.run(80 * time.Millisecond)
		if len(ann.events) != 1 || ann.events[0].flags != flagMine {
			t.Fatalf("80 ms after she shouted ann has heard %+v", ann.events)
		}
		w.run(time.Second)
		if len(ann.events) != 1 {
			t.Fatalf("ann has heard %+v", ann.events)
		}
	}
	if len(bob.events) != 5 {
		t.Fatalf("bob has heard %d of 5", len(bob.events))
	}
	keys := map[float64]bool{}
	for _, e := range bob.events {
		keys[e.key] = true
		if e.name != "shout" || e.flags != 0 || e.entity != bob.other().id || bob.text(e.fields["text"]) != "hey Ann" ||
			math.Abs(e.fields["at"][0]-10) > 0.01 {
			t.Errorf("bob has heard %+v, %q", e, bob.text(e.fields["text"]))
		}
	}
	if len(keys) != 5 {
		t.Errorf("keys %v", keys)
	}
	// Events of the time in which a tab was hidden are not drawn.
	bob.hidden = true
	bob.Set("away", 1)
	for range 5 {
		ann.press(3)
		w.run(2 * time.Second)
	}
	bob.events = nil
	bob.hidden = false
	bob.Set("away", 0)
	w.run(time.Second)
	if len(bob.events) > 1 {
		t.Errorf("after his return bob hears %d shouts", len(bob.events))
	}
	// A draw that did not fit consumes nothing.
	bob.events = nil
	ann.press(3)
	w.run(40 * time.Millisecond)
	for range 60 {
		bob.Frame(bob.now(), bob.now())
		if f := bob.Draw(); f[6] == 1 {
			if again := slices.Clone(bob.Draw()); again[6] != 1 {
				t.Error("the event is gone before it was drawn")
			}
			bob.take()
			break
		}
		w.run(10 * time.Millisecond)
	}
	if len(bob.events) != 1 {
		t.Errorf("bob has heard %d", len(bob.events))
	}
}

// A teleport is flagged in the frame in which it shows and in no other, and nobody is drawn on the
// way.
func TestCut(t *testing.T) {
	for _, interpolate := range []float64{1, 0} {
		w := newWorld(t, &crowd)
		ann, bob := w.page("Ann", nil), w.page("Bob", map[string]float64{"interpolate": interpolate})
		ann.input = func([]float64) []float64 { return []float64{0, math.Sin(ann.now() / 500), 0, 0} }
		w.run(3 * time.Second)
		jumps, cuts, between, held := 0, 0, 0, 0
		x := bob.other().props["pos"][0]
		bob.each = func() {
			e := bob.other()
			now := e.props["pos"][0]
			if math.Abs(now-x) > 10 {
				jumps++
				if int(e.flags)&int(flagCut) == 0 {
					t.Errorf("a jump by %v without a flag", now-x)
				}
			}
			if int(e.flags)&int(flagCut) != 0 {
				cuts++
			}
			if int(e.flags)&int(flagStalled) != 0 {
				held++
			}
			if math.Mod(now, 50) > 11 {
				between++
			}
			x = now
		}
		for range 4 {
			w.run(1300 * time.Millisecond)
			ann.press(2)
		}
		w.run(time.Second)
		if jumps != 4 || cuts != 4 || between != 0 {
			t.Errorf("interpolate %v: %d jumps, %d flags, %d pictures on the way", interpolate, jumps, cuts, between)
		}
		if held > 3 {
			t.Errorf("interpolate %v: %d pictures past the newest record on a perfect network", interpolate, held)
		}
		// Nor without one if playout was past it when it became known, after an outage.
		bob.Set("outageMs", 2500)
		w.run(1300 * time.Millisecond)
		ann.press(2)
		w.run(3 * time.Second)
		if jumps != 5 || cuts != 5 {
			t.Errorf("interpolate %v, after an outage: %d jumps, %d flags", interpolate, jumps, cuts)
		}
		held = 0
		bob.Set("lossPct", 100)
		w.run(700 * time.Millisecond)
		if interpolate == 1 && held < 10 {
			t.Errorf("%d pictures past the newest record while nothing arrives", held)
		}
	}
}

// When the bandwidth limit spreads entities over several packets, lateMs says how much later some
// are drawn, and intervalMs how often records of each come.
//
// seeds: R34
func TestLate(t *testing.T) {
	w := newWorldOf(t, &crowd, server.Config{Seed: 1, Secret: 2, Budget: 1000})
	var pages []*page
	for i := range 44 {
		p := w.page("P", nil)
		p.input = func([]float64) []float64 {
			return []float64{math.Sin(p.now()/400 + float64(i)), math.Cos(p.now()/300 + float64(i)), 0, 0}
		}
		pages = append(pages, p)
	}
	w.run(6 * time.Second)
	late, most, seldom, often := 0, 0, 0.0, math.Inf(1)
	for _, e := range pages[0].world["person"] {
		mine := int(e.flags)&int(flagMine) != 0
		if mine != (e.interval == 0) {
			t.Errorf("mine %v: a record every %v ms", mine, e.interval)
		}
		if !mine {
			seldom, often = max(seldom, e.interval), min(often, e.interval)
		}
		if ms := int(e.flags) / int(lateUnit); ms > 0 {
			if late++; mine {
				t.Errorf("the own avatar is drawn %d ms late", ms)
			}
			most = max(most, ms)
		}
	}
	if late == 0 || most < 15 || most > 1000 {
		t.Errorf("%d of %d are drawn later, by up to %d ms", late, len(pages[0].world["person"]), most)
	}
	if often < 100 || seldom > 1500 { // some packets a second carry all
		t.Errorf("records come every %.0f to %.0f ms", often, seldom)
	}
}

// A teleport of the own avatar that the server decided is flagged too.
func TestOwnCut(t *testing.T) {
	def := crowd
	leap := false
	def.Referee = func(w *game.World) {
		if leap {
			for id, p := range people.All(w) {
				p.Pos.X += 30
				w.Cut(id)
			}
			leap = false
		}
	}
	w := newWorld(t, &def)
	p := w.page("Ann", nil)
	p.input = func([]float64) []float64 { return []float64{0, math.Sin(p.now() / 500), 0, 0} }
	w.run(3 * time.Second)
	jumps, cuts := 0, 0
	x := p.world["person"][0].props["pos"][0]
	p.each = func() {
		e := p.world["person"][0]
		if int(e.flags)&int(flagCut) != 0 {
			cuts++
		}
		if now := e.props["pos"][0]; math.Abs(now-x) > 10 {
			jumps++
			x = now
			if int(e.flags)&int(flagCut) == 0 {
				t.Errorf("a jump to %v without a flag", now)
			}
		}
	}
	for range 3 {
		leap = true
		w.run(2 * time.Second)
	}
	if jumps != 3 || cuts != 3 {
		t.Errorf("%d jumps, %d flags", jumps, cuts)
	}
}

// A teleport of the own avatar by an own command is flagged once, in the frame that draws it, and
// the avatar is drawn nowhere on the way.
func TestOwnLeap(t *testing.T) {
	w := newWorld(t, &crowd)
	p := w.page("Ann", nil)
	p.input = func([]float64) []float64 { return []float64{0, math.Sin(p.now() / 500), 0, 0} }
	w.run(3 * time.Second)
	jumps, cuts := 0, 0
	x := p.world["person"][0].props["pos"][0]
	p.each = func() {
		e := p.world["person"][0]
		flagged := int(e.flags)&int(flagCut) != 0
		if flagged {
			cuts++
		}
		off := math.Abs(e.props["pos"][0] - x)
		if x = e.props["pos"][0]; off > 1 {
			if jumps++; !flagged || math.Abs(off-50) > 1 {
				t.Errorf("a jump by %v, flagged %v", off, flagged)
			}
		}
	}
	for range 4 {
		p.press(2)
		w.run(time.Second)
	}
	if jumps != 4 || cuts != 4 {
		t.Errorf("%d jumps, %d flags", jumps, cuts)
	}
}

// A frame allocates next to nothing.
func TestFramesDoNotAllocate(t *testing.T) {
	w := newWorld(t, &zap.Game)
	p := w.page("ann", map[string]float64{"autopilot": 1})
	for range 7 {
		w.page("bot", map[string]float64{"autopilot": 1})
	}
	w.run(60 * time.Second)
	var before, after runtime.MemStats
	var allocs, bytes, frames uint64
	arrive := p.Bridge
	cmd := make([]float64, 4)
	p.frozen = true // this test calls
	for range 300 {
		w.run(time.Second / 60)
		runtime.ReadMemStats(&before)
		for range arrive.Frame(p.now(), p.now()) {
			arrive.Me(0)
			arrive.Tick(cmd, 0)
		}
		arrive.Draw()
		arrive.Drawn()
		runtime.ReadMemStats(&after)
		allocs += after.Mallocs - before.Mallocs
		bytes += after.TotalAlloc - before.TotalAlloc
		frames++
	}
	t.Logf("%.2f allocations, %.0f bytes a frame", float64(allocs)/float64(frames), float64(bytes)/float64(frames))
	if allocs > 2*frames { // those of this test among them
		t.Errorf("%.1f allocations a frame", float64(allocs)/float64(frames))
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, n := range []int{8, 32} {
		b.Run(fmt.Sprintf("players=%d", n), func(b *testing.B) {
			w := newWorld(b, &zap.Game)
			p := w.page("ann", map[string]float64{"autopilot": 1})
			for range n - 1 {
				w.page("bot", map[string]float64{"autopilot": 1})
			}
			w.run(5 * time.Second)
			p.frozen = true
			cmd := make([]float64, 4)
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				w.run(time.Second / 60)
				b.StartTimer()
				for range p.Frame(p.now(), p.now()) {
					p.Me(0)
					p.Tick(cmd, 0)
				}
				p.Draw()
				p.Drawn()
			}
		})
	}
}

// When frames are called late and unevenly, with datagrams in between, movement is still even,
// since the display's own time counts.
func TestDrawnEvenly(t *testing.T) {
	def := crowd
	def.Act = func(w *game.World, me game.ID, c orders) {
		p := people.Get(w, me)
		p.Pos.X += 9 * w.Dt()
	}
	w := newWorld(t, &def)
	p := w.page("Ann", nil)
	w.page("Bob", nil)
	w.run(5 * time.Second)
	p.frozen = true
	late := geom.NewRand(7)
	var last, most float64
	for i := range 600 {
		shown := p.now()
		delay := time.Duration(late.Range(0, 7) * 1e6)
		w.run(delay)
		for range p.Frame(p.now(), shown) {
			p.Tick(make([]float64, 4), 0)
		}
		p.take()
		x := 0.0
		for _, e := range p.world["person"] {
			if int(e.flags)&1 != 0 {
				x = e.props["pos"][0]
			}
		}
		if step := math.Abs(x - last - 9./60); i > 60 {
			most = max(most, step)
		}
		last = x
		w.run(time.Second/60 - delay)
	}
	t.Logf("steps of 15 cm are wrong by up to %.2f cm", 100*most)
	if most > 0.004 {
		t.Errorf("steps of 15 cm are wrong by up to %.1f cm", 100*most)
	}
}
