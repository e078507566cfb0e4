package bridge

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"meanwhile/server"
	"meanwhile/session"
)

// world is a server and pages in virtual time.
type world struct {
	t     testing.TB
	loop  netsim.Loop
	rules *game.Rules
	srv   *server.Server
	out   server.Outbox
	pages map[server.PlayerID]*page
}

// page stands for the browser: it calls the bridge as meanwhile.js does, and reads the answers.
type page struct {
	*Bridge
	w      *world
	id     server.PlayerID
	offset clock.Time // the page's clock minus the server's
	delay  time.Duration
	hidden bool // no frames are drawn
	frozen bool // nothing runs at all
	gone   bool
	layout layout
	input  func(me []float64) []float64 // the command; nil: nothing
	sent   int

	stats    map[string]float64
	world    map[string][]entity
	events   []happened
	flown    [][]float64
	frames   int
	each     func()   // after each drawn frame
	warnings []string // on the console
	messages [][]byte // on the reliable stream
}

type layout struct {
	Game  string
	Rate  int
	Kinds []struct {
		Name       string
		Properties []field
	}
	Events []struct {
		Name   string
		Fields []field
	}
	Command  []field
	Stats    []string
	Profiles []struct {
		Name, Title                string
		DelayMs, JitterMs, LossPct float64
	}
}

type field struct{ Name, Type string }

type entity struct {
	id, flags, interval float64
	props               map[string][]float64
}

type happened struct {
	name               string
	key, entity, flags float64
	fields             map[string][]float64
}

func newWorld(t testing.TB, def interface{ Rules() (*game.Rules, error) }) *world {
	return newWorldOf(t, def, server.Config{Seed: 1, Secret: 2})
}

func newWorldOf(t testing.TB, def interface{ Rules() (*game.Rules, error) }, cfg server.Config) *world {
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(rules, cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rules: rules, srv: srv, pages: map[server.PlayerID]*page{}}
	w.loop.Every(clock.Time(srv.Period()), srv.Period(), func() bool {
		now := w.loop.Now()
		srv.Begin(now)
		w.out.Reset()
		srv.Encode(0, srv.Clients(), &w.out)
		for i := range w.out.Len() {
			to, d := w.out.At(i)
			if p := w.pages[to]; p != nil && !p.gone {
				d := slices.Clone(d)
				w.loop.At(now.Add(p.delay), func() { p.arrive(to, d) })
			}
		}
		srv.End()
		for _, err := range srv.Faults() {
			t.Error(err)
		}
		return true
	})
	return w
}

func (w *world) page(name string, settings map[string]float64) *page {
	w.t.Helper()
	p := &page{w: w, offset: clock.Time(3 * time.Second), delay: 5 * time.Millisecond}
	seed := geom.NewRand(uint64(len(w.pages)) + 1)
	b, err := New(w.rules, Config{Game: w.rules.Name, Name: name, Send: p.send,
		Random: func(b []byte) {
			for i := range b {
				b[i] = byte(seed.Uint64())
			}
		},
		Complain: func(s string) { w.t.Error(s) },
		Warn:     func(s string) { p.warnings = append(p.warnings, s) },
		Message:  func(b []byte) { p.messages = append(p.messages, bytes.Clone(b)) },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	p.Bridge = b
	if err := json.Unmarshal([]byte(b.Layout()), &p.layout); err != nil {
		w.t.Fatalf("%v in %s", err, b.Layout())
	}
	for name, v := range settings {
		if refused := b.Set(name, v); refused != "" {
			w.t.Fatal(refused)
		}
	}
	p.connect()
	w.loop.Every(w.loop.Now(), time.Second/60, p.frame)
	return p
}

func (p *page) now() float64 { return millis(p.w.loop.Now() + p.offset) }

// connect lets the page in as a new player.
func (p *page) connect() {
	p.w.t.Helper()
	hello, err := session.DecodeHello(p.Hello([]byte{7, 8}, "7f212k"))
	if err != nil {
		p.w.t.Fatal(err)
	}
	if hello.Schema != p.w.rules.Hash {
		p.w.t.Fatal("the hello has another schema")
	}
	id, welcome, err := p.w.srv.Connect(p.w.loop.Now(), hello.Name)
	if err != nil {
		p.w.t.Fatal(err)
	}
	msg, err := welcome.Append(nil)
	if err != nil {
		p.w.t.Fatal(err)
	}
	if a := p.Welcome(msg, p.now()); a.Refused != "" {
		p.w.t.Fatal(a.Refused)
	}
	p.id = id
	p.w.pages[id] = p
}

func (p *page) send(d []byte, releaseMs float64, stamped bool) {
	p.sent++
	d, id, at := slices.Clone(d), p.id, p.w.loop.Now()
	if release := instant(releaseMs) - p.offset; release > at {
		at = release
	}
	if !stamped {
		wire.PatchStamp(d, (at + p.offset).Stamp())
	}
	p.w.loop.At(at.Add(p.delay), func() { p.w.srv.Receive(id, p.w.loop.Now(), d) })
}

func (p *page) arrive(to server.PlayerID, d []byte) {
	if to == p.id {
		p.Receive(d, p.now())
	}
}

// frame does what meanwhile.js does.
func (p *page) frame() bool {
	if p.gone {
		return false
	}
	now := p.now()
	if p.frozen {
		return true
	}
	if p.hidden && p.frames%60 != 0 {
		p.frames++
		return true
	}
	p.frames++
	for due := p.Frame(now, now-2); due > 0; due-- {
		cmd := make([]float64, p.w.rules.Command.Floats())
		if me := p.Me(0); len(me) > 0 && p.input != nil {
			copy(cmd, p.input(me[3:]))
		}
		p.Tick(cmd, 0)
	}
	if !p.hidden {
		p.take()
	}
	return true
}

// take reads one Draw as docs/BRIDGE.md describes it.
func (p *page) take() {
	f := p.Draw()
	t := p.w.t
	head := []float64{Version, float64(len(f)), f[2], f[3], float64(len(p.layout.Stats)), float64(len(p.layout.Kinds))}
	if !slices.Equal(f[:6], head) {
		t.Fatalf("head %v of %d floats", f[:8], len(f))
	}
	at := 8
	p.stats, p.world = map[string]float64{}, map[string][]entity{}
	for _, s := range p.layout.Stats {
		p.stats[s] = f[at]
		at++
	}
	props := func(fields []field) map[string][]float64 {
		m := map[string][]float64{}
		for _, field := range fields {
			n := map[string]int{"vec2": 2, "vec3": 3}[field.Type]
			n = max(n, 1)
			m[field.Name] = slices.Clone(f[at : at+n])
			at += n
		}
		return m
	}
	for _, k := range p.layout.Kinds {
		n := int(f[at])
		at++
		last := 0.0
		for range n {
			e := entity{id: f[at], flags: f[at+1], interval: f[at+2]}
			at += 3
			e.props = props(k.Properties)
			if e.id <= last {
				t.Fatalf("%s %v follows %v", k.Name, e.id, last)
			}
			last = e.id
			p.world[k.Name] = append(p.world[k.Name], e)
		}
	}
	for range int(f[6]) {
		k := p.layout.Events[int(f[at])]
		h := happened{name: k.Name, key: f[at+1], entity: f[at+2], flags: f[at+3]}
		at += 4
		h.fields = props(k.Fields)
		p.events = append(p.events, h)
	}
	for range int(f[7]) {
		p.flown = append(p.flown, slices.Clone(f[at:at+4]))
		at += 4
	}
	if at != len(f) {
		t.Fatalf("%d of %d floats read", at, len(f))
	}
	p.Drawn()
	if p.each != nil {
		p.each()
	}
}

func (p *page) mine() *entity {
	for i := range p.world["pilot"] {
		if e := &p.world["pilot"][i]; int(e.flags)&1 != 0 {
			return e
		}
	}
	return nil
}

func (w *world) run(d time.Duration) { w.loop.Run(w.loop.Now().Add(d)) }

func TestLayout(t *testing.T) {
	p := newWorld(t, &zap.Game).page("ann", nil)
	var b strings.Builder
	line := func(name string, fields []field) {
		b.WriteString(name)
		for _, f := range fields {
			b.WriteString(" " + f.Name + ":" + f.Type)
		}
		b.WriteString("\n")
	}
	for _, k := range p.layout.Kinds {
		line(k.Name, k.Properties)
	}
	for _, k := range p.layout.Events {
		line(k.Name, k.Fields)
	}
	line("command", p.layout.Command)
	const want = "pilot pos:vec2 vel:vec2 aim:angle score:number ammo:number ready:number\n" +
		"gem pos:vec2\nzap from:vec2 to:vec2\n" +
		"receipt target:number hit:bool seen:vec3 used:vec3 offMm:number reason:enum\n" +
		"command move:vec2 aim:angle fire:press\n"
	if b.String() != want || p.layout.Game != "zap" || p.layout.Rate != 30 {
		t.Errorf("%s at %d: %s, want %s", p.layout.Game, p.layout.Rate, b.String(), want)
	}
	for _, o := range p.layout.Profiles {
		if refused := p.SetText("profile", o.Name); refused != "" || o.Title == "" {
			t.Errorf("profile %+v: %s", o, refused)
		}
	}
}

// Two pages see each other and themselves. A value that one may not know of the other is NaN.
func TestTwoPages(t *testing.T) {
	w := newWorld(t, &zap.Game)
	ann, bob := w.page("ann", nil), w.page("bob", nil)
	ann.input = func([]float64) []float64 { return []float64{1, math.Sin(ann.now() / 200), 0.5, 0} }
	w.run(4 * time.Second)
	if x := ann.mine().props["pos"][0]; x < 30 {
		t.Errorf("ann went to the right for seconds and is at %v", x)
	}
	for _, p := range []*page{ann, bob} {
		if len(p.world["pilot"]) != 2 || len(p.world["gem"]) < 11 || p.mine() == nil {
			t.Fatalf("%d pilots, %d gems", len(p.world["pilot"]), len(p.world["gem"]))
		}
		for _, e := range p.world["pilot"] {
			if mine := e.flags == 1+4; mine == math.IsNaN(e.props["ammo"][0]) || math.IsNaN(e.props["score"][0]) {
				t.Errorf("flags %v: ammo %v, score %v", e.flags, e.props["ammo"], e.props["score"])
			}
		}
	}
	if aim := ann.mine().props["aim"][0]; math.Abs(aim-0.5) > math.Pi/180 {
		t.Errorf("ann aims at %v, not at 0.5", aim)
	}
	if v := bob.mine().props["vel"]; v[0] != 0 || v[1] != 0 {
		t.Errorf("bob stands still at %v m/s", v)
	}
	s := ann.stats
	if s["state"] != float64(playing) || s["rttMs"] < 10 || s["rttMs"] > 60 || s["tick"] < 100 ||
		math.Abs(s["periodMs"]-1000/30.) > 0.001 {
		t.Errorf("%v", s)
	}
	if now := ann.now() - 2; math.Abs(s["serverMs"]-now) > 20 || s["commandMs"] < now+5 || s["playoutMs"] > now-5 ||
		s["newestMs"] > now || s["newestMs"] < now-150 {
		t.Errorf("at %v: %v", now, s)
	}
	if s["downBps"] < 300 || s["upBps"] < 300 {
		t.Errorf("%v bytes down and %v up in a second", s["downBps"], s["upBps"])
	}
}

// A key takes effect in the next frame of its own page, whatever the simulated network is like.
func TestOwnMovementIsImmediate(t *testing.T) {
	for _, delay := range []float64{0, 200, 300} {
		w := newWorld(t, &zap.Game)
		p := w.page("ann", map[string]float64{"delayMs": delay})
		w.run(5 * time.Second)
		if rtt := p.stats["rttMs"]; rtt < 2*delay+9 || rtt > 2*delay+60 {
			t.Errorf("round trip of %v ms on a path of %v", rtt, 2*delay+10)
		}
		before := p.mine().props["pos"][1]
		p.input = func([]float64) []float64 { return []float64{0, 12 - before, 0, 0} }
		w.run(100 * time.Millisecond)
		if now := p.mine().props["pos"][1]; now == before {
			t.Errorf("100 ms after the key the avatar is still at %v", now)
		}
		w.run(3 * time.Second)
		if n := p.stats["corrections"]; n > 3 {
			t.Errorf("%v corrections of a walk that nobody disturbs", n)
		}
	}
}

// walker returns a page that lists its packets and whose player walks to and fro.
func walker(t *testing.T) (*world, *page) {
	w := newWorld(t, &zap.Game)
	p := w.page("ann", map[string]float64{"packets": 1})
	p.input = func([]float64) []float64 { return []float64{math.Sin(p.now() / 300), 0, p.now() / 100, 0} }
	w.run(3 * time.Second)
	return w, p
}

// The simulated network lies outside the stamps, so the client takes its delay and loss for the
// path's own.
func TestSimulatedNetwork(t *testing.T) {
	w, p := walker(t)
	if rtt := p.stats["rttMinMs"]; rtt < 9 || rtt > 30 {
		t.Fatalf("round trip of %v ms on a path of 10", rtt)
	}
	p.Set("delayMs", 100)
	p.flown = nil
	w.run(20 * time.Second)
	if rtt := p.stats["rttMs"]; rtt < 200 || rtt > 260 {
		t.Errorf("round trip of %v ms on a path of 210", rtt)
	}
	var down, up, lost int
	for _, f := range p.flown {
		way := f[2] - f[1]
		switch {
		case math.IsNaN(f[2]):
			lost++
		case f[0] == 0:
			if down++; way < 80 || way > 140 {
				t.Fatalf("a datagram took %v ms down", way)
			}
		default:
			if up++; way < 80 || way > 140 {
				t.Fatalf("a datagram took %v ms up", way)
			}
		}
	}
	if down < 300 || up < 20 || lost != 0 {
		t.Errorf("%d down, %d up, %d lost", down, up, lost)
	}

	p.Set("lossPct", 30)
	p.flown = nil
	w.run(20 * time.Second)
	down, up, lost = 0, 0, 0
	for _, f := range p.flown {
		if math.IsNaN(f[2]) {
			lost++
		} else {
			up++
		}
	}
	if share := float64(lost) / float64(lost+up); share < 0.25 || share > 0.35 {
		t.Errorf("%v of the datagrams were lost, want 0.3", share)
	}
	if ms := p.stats["silentMs"]; ms > 1000 {
		t.Errorf("silent for %v ms", ms)
	}

	p.Set("delayMs", 0)
	p.Set("lossPct", 0)
	w.run(42 * time.Second)
	if rtt := p.stats["rttMs"]; rtt > 60 {
		t.Errorf("round trip of %v ms long after the panel was cleared", rtt)
	}
}

// In an outage nothing gets through; the page learns of the silence, and of its end.
func TestOutage(t *testing.T) {
	w, p := walker(t)
	p.Set("outageMs", 1000)
	p.flown = nil
	first := 0.0
	p.each = func() {
		if first == 0 && p.stats["state"] == float64(silent) {
			first = p.stats["silentMs"]
		}
	}
	w.run(950 * time.Millisecond)
	if first <= 700 || first > 717 { // a frame later at most
		t.Errorf("the page learns of the silence after %v ms", first)
	}
	for _, f := range p.flown {
		if !math.IsNaN(f[2]) && f[1] > p.now()-900 {
			t.Errorf("%v got through an outage", f)
		}
	}
	if ms := p.stats["silentMs"]; ms < 700 || p.stats["state"] != float64(silent) {
		t.Errorf("silent for %v ms in an outage, state %v", ms, p.stats["state"])
	}
	// Others stand still at the newest record, so the playout delay is its age.
	delay, age := p.stats["delayMs"], p.stats["ageMs"]
	if age < 900 || delay < age || p.stats["playoutMs"] > p.stats["newestMs"] {
		t.Errorf("in an outage others are drawn as %v ms ago, and the newest record is %v ms old", delay, age)
	}
	w.run(time.Second)
	if p.stats["state"] != float64(playing) {
		t.Errorf("state %v after an outage", p.stats["state"])
	}
}

// The measurements follow the network: small on the server's own machine, larger on LTE on a train.
func TestMeasures(t *testing.T) {
	w := newWorld(t, &zap.Game)
	p := w.page("ann", nil)
	w.page("bob", nil).input = func([]float64) []float64 {
		return []float64{math.Sin(p.now() / 300), math.Cos(p.now() / 700), 0, 0}
	}
	w.run(20 * time.Second)
	near := maps.Clone(p.stats)
	if near["clockBoundMs"] <= 0 || near["clockBoundMs"] >= 8 || near["delayMs"] <= 0 || near["delayMs"] >= 150 ||
		near["targetMs"] >= 150 || near["ageMs"] >= 100 || near["leadMs"] >= 100 {
		t.Errorf("on a path of 10 ms: %v", near)
	}
	p.SetText("profile", "lte-c")
	w.run(time.Minute)
	train := p.stats
	for _, s := range []map[string]float64{near, train} {
		if s["clockEstimatedMs"] <= 0 || s["clockEstimatedMs"] > s["clockBoundMs"] {
			t.Errorf("the clock is known to %v ms, %v at most", s["clockEstimatedMs"], s["clockBoundMs"])
		}
	}
	if train["rttMs"] <= near["rttMs"]+40 || train["clockBoundMs"] <= 8 || train["ageMs"] <= 20 ||
		train["delayMs"] <= near["delayMs"]+60 || train["delayMs"] <= 170 || train["delayMs"] >= 600 {
		t.Errorf("in a train: %v, before: %v", train, near)
	}
}

// Who chooses another network starts anew on it: two seconds after a bad one was switched off, others
// are drawn as on a path of which nothing is known, and soon as before.
func TestBadNetworkIsForgotten(t *testing.T) {
	for _, bad := range netsim.Presets() {
		t.Run(bad.Name, func(t *testing.T) {
			w := newWorld(t, &zap.Game)
			p := w.page("ann", nil)
			stroll := func([]float64) []float64 {
				return []float64{math.Sin(p.now() / 300), math.Cos(p.now() / 700), 0, 0}
			}
			p.input, w.page("bob", nil).input = stroll, stroll
			w.run(20 * time.Second)
			near := p.stats["delayMs"]
			p.SetText("profile", bad.Name)
			w.run(5 * time.Second) // later the server sends less, until the page connects anew
			worse, lead := p.stats["delayMs"], p.stats["leadMs"]
			p.SetText("profile", "")
			w.run(2 * time.Second)
			if got := p.stats["delayMs"]; got > 150 || worse < near+30 {
				t.Errorf("2 s after %s others are drawn %v ms late; before %v, on it %v", bad.Name, got, near, worse)
			}
			if got := p.stats["leadMs"]; got > max(lead/2, 100) {
				t.Errorf("2 s after %s the lead is %v ms; on it %v", bad.Name, got, lead)
			}
			w.run(4 * time.Second)
			if got := p.stats["delayMs"]; got > near+20 {
				t.Errorf("6 s after %s others are drawn %v ms late; before %v", bad.Name, got, near)
			}
		})
	}
}

func TestSettingsRefuse(t *testing.T) {
	known := ""
	for _, p := range netsim.Profiles() {
		known += " " + p.Name
	}
	p := newWorld(t, &zap.Game).page("ann", nil)
	for _, c := range []struct {
		got, want string
	}{
		{p.Set("nonsense", 1), `There is no setting "nonsense".`},
		{p.Set("delayMs", -1), "delayMs -1 is outside 0 to 5000."},
		{p.Set("delayMs", math.NaN()), "delayMs NaN is outside 0 to 5000."},
		{p.Set("lossPct", 101), "lossPct 101 is outside 0 to 100."},
		{p.Set("away", 2), "away 2 is outside 0 to 1."},
		{p.SetText("delayMs", "many"), `delayMs "many" is not a number.`},
		{p.SetText("delayMs", "50"), ""},
		{p.SetText("profile", "moon"), `There is no network "moon". There are:` + known + "."},
		{p.SetText("profile", "ocean"), ""},
		{p.Set("lossPct", 100), ""},
		{p.SetText("profile", ""), ""},
		{p.Set("playoutMs", 120), ""},
		{p.Set("predict", 0), ""},
		{p.Set("replayMs", 101), "replayMs 101 is outside 0 to 100."},
		{p.Set("replayMs", 2), ""},
		{p.Set("downKbps", -1), "downKbps -1 is outside 0 to 100000."},
		{p.Set("downHz", 1001), "downHz 1001 is outside 0 to 1000."},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
