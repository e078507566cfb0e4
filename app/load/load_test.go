package load

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/app/offer"
	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/host"
	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/memory"
)

// A small game: who runs about, and may press a button.
type runner struct {
	Pos geom.Vec2 `net:"pos,1cm"`
}

type act struct {
	Move geom.Vec2  `net:"stick,5bit"`
	Aim  geom.Angle `net:"angle,1deg"`
	Kind int        `net:"int,-3..5"`
	Fire bool       `net:"press"`
	Duck bool       `net:"bool"`
}

// rules returns the rules of the small game, whose bot is optional.
func rules(t *testing.T, bot func(w *game.World, me game.ID) act) *game.Rules {
	t.Helper()
	runners := game.NewKind[runner]("runner")
	def := game.Definition[act]{
		Name: "small", Rate: 30, Kinds: game.Kinds(runners), Bot: bot,
		Join: func(w *game.World, _ string) game.ID { return runners.Spawn(w, runner{}) },
		Act: func(w *game.World, me game.ID, c act) {
			r := runners.Get(w, me)
			r.Pos = r.Pos.Add(c.Move.Mul(0.2))
		},
	}
	r, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func around(*game.World, game.ID) act { return act{Move: geom.Vec2{X: 1}} }

// serve runs a host of a game within a bubble, until stop.
func serve(t *testing.T, cfg host.Config) (s *memory.Listener, stop func()) {
	t.Helper()
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	if s, err = memory.Listen(memory.Config{Client: now, Server: h.Clock()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx, s) }()
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// newTestSwarm returns players who dial.
func newTestSwarm(t *testing.T, f *flags, rules *game.Rules, dial dialFunc) *swarm {
	t.Helper()
	f.Transport, f.Profile = offer.QUIC, noNetwork
	if f.Ramp == 0 {
		f.Ramp = 100
	}
	if f.FPS == 0 {
		f.FPS = 60
	}
	w, err := f.swarm()
	if err != nil {
		t.Fatal(err)
	}
	w.rules, w.dial = rules, func(*seat) (dialFunc, error) { return dial, nil }
	return w
}

// What players of a load send and get, in virtual time, where it does not depend on the machine.
func TestRates(t *testing.T) {
	for _, random := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bot := around
			if random {
				bot = nil
			}
			rules := rules(t, bot)
			server, stop := serve(t, host.Config{Rules: rules, Seed: 1})
			defer stop()
			f := &flags{Players: 3, For: 10 * time.Second, Seed: 7}
			r := newTestSwarm(
				t,
				f,
				rules,
				func(context.Context) (transport.Conn, error) { return server.Dial() },
			).play(
				t.Context(),
			)
			r.judge(&f.Limits)
			// Until a path has shown that it loses nothing, presses go out twice.
			if !r.OK || r.Joined != 3 || r.Error != "" || r.Seconds != 10 || r.UpHz.Mean < 29 || r.UpHz.Mean > 45 ||
				r.DownHz.Mean < 19 || r.DownHz.Mean > 31 || r.Delay.P99 > 140 || r.Delay.P50 <= 0 || r.Starved.Worst > 0 {
				t.Errorf("%+v", *r)
			}
			want := "bot"
			if random {
				want = "random"
			}
			if r.Commands != want || len(r.Groups) != 1 || r.Groups[0].Players != 3 {
				t.Errorf("%s commands, want %s; %+v", r.Commands, want, r.Groups)
			}
		})
	}
}

// Players whose connections are lost come back, and those who cannot are lost, which fails the load
// unless so many may be lost.
func TestLostPlayers(t *testing.T) {
	for _, back := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			rules := rules(t, around)
			server, stop := serve(t, host.Config{Rules: rules, Seed: 1})
			defer stop()
			var mu sync.Mutex
			var conns []transport.Conn
			cut := false
			dial := func(context.Context) (transport.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				if cut && !back {
					return nil, errors.New("no way")
				}
				c, err := server.Dial()
				conns = append(conns, c)
				return c, err
			}
			time.AfterFunc(5*time.Second, func() {
				mu.Lock()
				defer mu.Unlock()
				cut = true
				for _, c := range conns[:2] {
					c.Close("")
				}
			})
			f := &flags{Players: 3, For: 10 * time.Second}
			r := newTestSwarm(t, f, rules, dial).play(t.Context())
			r.judge(&f.Limits)
			if back && (r.Returned != 2 || r.Lost != 0 || !r.OK) {
				t.Errorf("%+v", *r)
			}
			if !back && (r.Returned != 0 || r.Lost != 2 || r.OK || !strings.Contains(r.Verdict, "2 of 3 players were not in")) {
				t.Errorf("nobody comes back: %+v", *r)
			}
			if r.judge(&limits{Lost: 2}); !r.OK {
				t.Errorf("two may be lost: %s", r.Verdict)
			}
		})
	}
}

// Who cannot join is named with the reason.
func TestNobodyJoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flags{Players: 2, For: time.Second}
		zero := 0.0
		f.Limits.Hitches = &zero
		r := newTestSwarm(t, f, rules(t, nil), func(context.Context) (transport.Conn, error) {
			return nil, errors.New("no way")
		}).play(t.Context())
		r.judge(&f.Limits)
		const want = "not ok: 2 of 2 players could not join (no way); 2 of 2 players were not in at the end, 0 may be"
		if r.OK || r.Verdict != want {
			t.Errorf("%q, want %q", r.Verdict, want)
		}
	})
}

// Random commands keep to the schema, last a while, press buttons once, and follow from the seed.
func TestRandomCommands(t *testing.T) {
	kind := rules(t, nil).Command
	one, again, other := randomly(kind, 1), randomly(kind, 1), randomly(kind, 2)
	a, b, c := make([]int64, kind.Sims), make([]int64, kind.Sims), make([]int64, kind.Sims)
	changes, differ := 0, false
	var last [2]int64
	pressed, held := 0, false
	kinds := map[int64]bool{}
	for range 5000 {
		one(nil, 0, a)
		again(nil, 0, b)
		other(nil, 0, c)
		clamped := append([]int64(nil), a...)
		kind.Clamp(clamped)
		for i := range a {
			if a[i] != b[i] || a[i] != clamped[i] {
				t.Fatalf("%v, with the same seed %v, within its bounds %v", a, b, clamped)
			}
			differ = differ || a[i] != c[i]
		}
		if move := [2]int64(a[:2]); move != last {
			changes++
			last = move
		}
		kinds[a[3]] = true
		if fire := a[4] == 1; fire {
			if pressed++; held {
				t.Fatal("a button is pressed for two decisions")
			}
			held = true
		} else {
			held = false
		}
	}
	if changes < 5000/mostHold || changes > 5000/leastHold || !differ || pressed < changes/6 || pressed > changes/2 ||
		len(kinds) != 9 {
		t.Errorf("%d commands, %d presses, choices %v, another seed differs %v", changes, pressed, kinds, differ)
	}
}

// A mixture gives each player its own, in turn, by weights.
func TestMixtures(t *testing.T) {
	names := []string{"a", "b", "c", noNetwork}
	for _, c := range []struct{ text, want string }{
		{"b", "b b b b b b b"},
		{"mixed", "a b c a b c a"},
		{"a=3,b", "a a b a a a b"},
		{"a,b=2", "b a b b a b b"},
		{"none", "none none none none none none none"},
		{"a,none", "a none a none a none a"},
	} {
		m, err := mix("profile", c.text, names)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var got []string
		for i := range 7 {
			got = append(got, m.pick(i))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.text, got, c.want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"d", `--profile: there is no profile "d"; there are a, b, c, none, and mixed`},
		{"", `--profile: there is no profile ""; there are a, b, c, none, and mixed`},
		{"a=0", `--profile a=0: the weight "0" is not a whole number in [1, 100]`},
		{"a=x", `--profile a=x: the weight "x" is not a whole number in [1, 100]`},
		{"a=101,b", `--profile a=101,b: the weight "101" is not a whole number in [1, 100]`},
	} {
		if _, err := mix("profile", c.text, names); err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

// Every transport meets every network.
func TestMixturesMeet(t *testing.T) {
	f := &flags{Players: 30, For: time.Second, Ramp: 1, FPS: 60, Transport: mixed, Profile: mixed}
	w, err := f.swarm()
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]int{}
	for _, s := range w.seats {
		met[s.over+" "+s.networkName()]++
	}
	if len(met) != 3*10 {
		t.Errorf("%d pairs of 30: %v", len(met), met)
	}
}

// Mistakes in the command line are named with their bounds, before anybody is asked anything.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-n 0", "x: --players 0 is outside [1, 2000]"},
		{"-n 2001", "x: --players 2001 is outside [1, 2000]"},
		{"--ramp 0", "x: --ramp 0 is outside (0, 1000] players a second"},
		{"--ramp NaN", "x: --ramp NaN is outside (0, 1000] players a second"},
		{"--for 0s", "x: --for 0s is outside (0, 24h0m0s]"},
		{"--for 25h", "x: --for 25h0m0s is outside (0, 24h0m0s]"},
		{"--fps 241", "x: --fps 241 is outside [1, 240]"},
		{"--rooms 2 --room a", "x: --rooms 2 spreads players over rooms of its own; leave --room a out"},
		{"--transport pigeon", `x: --transport: there is no transport "pigeon"; there are quic, webtransport, websocket, ` +
			"and mixed"},
		{"--trouble 1ms", "x: --trouble 1ms is neither 0 nor within [1s, 24h0m0s]"},
		{"--max-hitches -1", "x: --max-hitches -1 is below 0"},
		{"--max-rtt 0s", "x: --max-rtt 0s is not above 0"},
		{"--max-delay -1s", "x: --max-delay -1s is not above 0"},
		{"--lost -1", "x: --lost -1 is outside [0, 2000]"},
		{"--kbit -1", "x: --kbit -1 is outside [0, 33554]"},
		{"ftp://127.0.0.1/", `x: "ftp://127.0.0.1/" is not an address such as http://127.0.0.1:8080/`},
		{"example.com", "x: example.com is not this machine; use --remote if you may load it"},
		{"--via 8090", `x: --via "8090" is not HOST:PORT, such as 127.0.0.1:8090`},
	} {
		var out, errs bytes.Buffer
		code := Main(t.Context(), "x", nil, strings.Fields(c.args), &out, &errs)
		if got := strings.TrimSpace(errs.String()); code != 2 || got != c.want || out.Len() > 0 {
			t.Errorf("%s: status %d, %q; want %q", c.args, code, got, c.want)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"--max-starved 2", "is not a share in [0%, 100%], such as 0.1%"},
		{"--max-starved much", "is not a share in [0%, 100%], such as 0.1%"},
	} {
		var out, errs bytes.Buffer
		if code := Main(t.Context(), "x", nil, strings.Fields(c.args), &out, &errs); code != 2 ||
			!strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: status %d, %q; want %q", c.args, code, errs.String(), c.want)
		}
	}
}

// Figures are those of each player over the whole time, and of what its client did since a look.
func TestFigures(t *testing.T) {
	var a, b tally
	a.add(&client.Stats{Sent: 100, SentBytes: 9000, Received: 50, ReceivedBytes: 40000, Hitches: 1, Starved: 10,
		Prediction: client.Prediction{Confirmed: 1000, Corrections: 7}},
		&client.Stats{Sent: 340, SentBytes: 25000, Received: 170, ReceivedBytes: 80000, Hitches: 3, Starved: 16,
			Prediction: client.Prediction{Confirmed: 1200, Corrections: 9}, RTT: 20 * time.Millisecond,
			Delay: 80 * time.Millisecond, Synced: true}, 4*time.Second)
	b.add(&client.Stats{}, &client.Stats{Sent: 80, SentBytes: 8000, Received: 40, ReceivedBytes: 10000,
		RTT: 30 * time.Millisecond, Delay: 90 * time.Millisecond, Age: time.Second, Synced: true}, 4*time.Second)
	f := figuresOf([]*tally{&a, {}, &b}, 30) // one was never in
	for _, c := range []struct {
		name        string
		got         spread
		mean, worst float64
	}{
		{"hitches", f.Hitches, 15, 30}, {"starved", f.Starved, 0.025, 0.05}, {"rtt", f.RTT, 25, 30},
		{"delay", f.Delay, 85, 90}, {"outage", f.Outage, 0.5, 1}, {"corrected", f.Corrected, 0.005, 0.01},
		{"down kbps", f.DownKbps, 50, 80}, {"up kbps", f.UpKbps, 24, 32}, {"down", f.DownHz, 20, 30},
		{"up", f.UpHz, 40, 60},
	} {
		if math.Abs(c.got.Mean-c.mean) > 1e-9 || math.Abs(c.got.Worst-c.worst) > 1e-9 {
			t.Errorf("%s: %+v, want a mean of %v, at worst %v", c.name, c.got, c.mean, c.worst)
		}
	}
}

// The verdict names what falls short and by how much, and the table fits 120 columns.
func TestVerdict(t *testing.T) {
	r := &result{Game: "small", Address: "127.0.0.1:8080", Room: "main", Players: 200, Joined: 200, Seconds: 60, FPS: 60,
		CPU: 114, Cores: 2, Commands: "bot",
		figures: figures{Hitches: spread{1.416, 1, 9, 12345.67}, Starved: spread{0.002, 0, 0.03, 1},
			RTT: spread{4, 3, 7.5, 12345.67}, Delay: spread{60, 60, 80.26, 12345.67}},
		Groups: []*group{
			{Transport: offer.WebTransport, Network: "burst-loss", Players: 100},
			{Transport: offer.QUIC, Players: 100},
		},
	}
	var l limits
	if r.judge(&l); !r.OK || r.Verdict != "ok" {
		t.Errorf("without limits: %s", r.Verdict)
	}
	hitches, starved, rtt, delay := 1.0, share(0.001), 5*time.Millisecond, 80*time.Millisecond
	l = limits{Hitches: &hitches, Starved: &starved, RTT: &rtt, Delay: &delay}
	r.judge(&l)
	const want = "not ok: 1.42 hitches a minute, at most 1.00 were asked for; " +
		"0.200 % of ticks starved, at most 0.100 % were asked for; " +
		"a round trip of 7.50 ms for 99 of 100 players, at most 5.00 were asked for; " +
		"a playout delay of 80.3 ms for 99 of 100 players, at most 80.0 were asked for"
	if r.OK || r.Verdict != want {
		t.Errorf("got  %s\nwant %s", r.Verdict, want)
	}
	var b bytes.Buffer
	if err := r.write(&b, &l); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, line := range lines[:len(lines)-1] {
		if len(line) > 120 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if !strings.Contains(b.String(), "short of CPU itself") || !strings.Contains(b.String(), "mean <= 0.1") {
		t.Errorf("%s", b.String())
	}
	hitches, starved, rtt, delay = 1.5, 0.002, 7500*time.Microsecond, 81*time.Millisecond
	if r.judge(&l); !r.OK {
		t.Errorf("within limits: %s", r.Verdict)
	}
}
