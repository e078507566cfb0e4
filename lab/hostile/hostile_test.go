package hostile

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"meanwhile/app/site"
	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport/cert"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// A siege is a server under attack, as app.Main starts it, and honest players in it.
type siege struct {
	*Target
	host   *host.Host
	honest []*headless.Player
	calm   int // goroutines without an attack
}

// newSiege starts a server. Its honest players join with what issue returns, which is nil where
// there is no login.
func newSiege(t *testing.T, cfg host.Config, issue func(context.Context) ([]byte, error)) *siege {
	t.Helper()
	rules, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	cfg.Rules, cfg.Seed, cfg.Clock, cfg.Resume = rules, 1, now, time.Second
	s, err := site.Listen(site.Config{Addr: "127.0.0.1:0", Host: cfg, Door: site.Door{TrustProxy: []string{"127.0.0.1"}},
		Pages: []fs.FS{fstest.MapFS{"big.bin": {Data: make([]byte, 4<<20)}}}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	prints, err := s.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	g := &siege{host: s.Host(), Target: &Target{Rules: rules, Clock: now, Page: page.Host, QUIC: s.QUIC(),
		Trust: cert.Pin(prints...), File: "/big.bin"}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for _, over := range Transports {
		conn, err := g.Dial(ctx, over)
		if err != nil {
			t.Fatal(err)
		}
		p, err := headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: now, Name: over, Bot: rules.Bot(),
			Token: issue})
		if err != nil {
			t.Fatal(err)
		}
		left := make(chan error, 1)
		playing, leave := context.WithCancel(ctx)
		go func() { left <- p.Run(playing) }()
		t.Cleanup(func() {
			leave()
			if err := <-left; err != nil {
				t.Errorf("the honest player over %s: %v", over, err)
			}
		})
		g.honest = append(g.honest, p)
	}
	g.playOn(t)
	for range 20 { // handshakes end in goroutines of their own
		time.Sleep(20 * time.Millisecond)
		if n := runtime.NumGoroutine(); g.calm == 0 || n < g.calm {
			g.calm = n
		}
	}
	return g
}

// until waits until what returns "".
func until(t *testing.T, what func() string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		lack := what()
		if lack == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(lack)
		}
	}
}

// playOn waits until the commands of each honest player run, tick after tick.
func (g *siege) playOn(t *testing.T) {
	t.Helper()
	for _, p := range g.honest {
		stats := func() (s client.Stats) {
			p.Do(func(c *client.Client) { s = c.Stats() })
			return s
		}
		before := stats()
		until(t, func() string {
			if err := p.Conn().Err(); err != nil {
				t.Fatalf("an honest player over %s was disturbed: %v", p.Conn().Name(), err)
			}
			now := stats()
			if now.Starved > before.Starved {
				before = now
			}
			if now.Prediction.Confirmed >= before.Prediction.Confirmed+10 {
				return ""
			}
			return fmt.Sprintf("an honest player over %s: %+v after %+v", p.Conn().Name(), now, before)
		})
	}
}

// settle waits until nothing is left of an attack.
func (g *siege) settle(t *testing.T) {
	t.Helper()
	const slack = 2 // goroutines that come and go in peace
	defer func() {
		if t.Failed() {
			var stacks bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Logf("%s", &stacks)
		}
	}()
	until(t, func() string {
		st, n := g.host.Stats(), runtime.NumGoroutine()
		if st.Players == len(g.honest) && st.Absent == 0 && st.Greeting == 0 && len(st.Rooms) == 1 && n <= g.calm+slack {
			return ""
		}
		return fmt.Sprintf("%d players, %d absent, %d greeted, %d rooms, %d goroutines; want %d, 0, 0, 1, %d",
			st.Players, st.Absent, st.Greeting, len(st.Rooms), n, len(g.honest), g.calm)
	})
}

// A blow is one attack over one transport, and what became of it.
type blow struct {
	*Attack
	over   string
	result Result
	err    error
}

// run attacks in all these ways at once, and checks what holds of every attack: clients are ended
// by the name that they should be, no rule fails, nothing stays, and honest players play on. Its
// attacks are too small to reach the bounds on visitors and rooms, which have tests of their own.
func (g *siege) run(t *testing.T, attacks []Attack) {
	before := g.host.Stats()
	var blows []*blow
	for i := range attacks {
		for _, over := range attacks[i].Over {
			blows = append(blows, &blow{Attack: &attacks[i], over: over})
		}
	}
	var striking sync.WaitGroup
	for i, b := range blows {
		striking.Go(func() {
			bounds := Bounds{For: patience, Steps: 60}
			if b.Ends != "" {
				bounds = Bounds{For: patience, Ended: 1}
			}
			b.result, b.err = b.Run(t.Context(), g.Target, b.over, uint64(i), bounds)
		})
	}
	striking.Wait()
	g.settle(t)
	after := g.host.Stats()
	for _, b := range blows {
		if b.err != nil || b.result.Steps == 0 {
			t.Errorf("%s over %s: %d steps, %v", b.Name, b.over, b.result.Steps, b.err)
		}
		if b.Ends != "" && b.result.Ends[b.Ends] == 0 && after.Flooded[b.Ends] == before.Flooded[b.Ends] {
			t.Errorf("%s over %s: after %d steps clients ended with %v, want %q", b.Name, b.over, b.result.Steps,
				b.result.Ends, b.Ends)
		}
	}
	if after.Faults != before.Faults || after.Failed != before.Failed {
		t.Errorf("%d callbacks panicked, %d rooms failed", after.Faults-before.Faults, after.Failed-before.Failed)
	}
	g.playOn(t)
}

// Whatever players and strangers do, on every transport: honest players play on, and nothing stays.
// With -short many attack at once.
func TestHostile(t *testing.T) {
	g := newSiege(t, host.Config{}, nil)
	for rest := Attacks; len(rest) > 0; {
		n := 1
		if testing.Short() {
			n = min(len(rest), 8)
		}
		t.Run(rest[0].Name, func(t *testing.T) { g.run(t, rest[:n]) })
		rest = rest[n:]
	}
}

// Tokens that are mutated, cut, forged, expired, for elsewhere, or used are refused on every
// transport, and players with good ones play on.
func TestForgedTokens(t *testing.T) {
	issuers := make([]*token.Issuer, 2)
	for i := range issuers {
		var err error
		if issuers[i], err = token.NewIssuer(bytes.Repeat([]byte{byte(i)}, 32), crand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	login, err := host.NewLogin("here", issuers[0].PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	var player atomic.Uint64
	issue := func(by int, audience string, ago time.Duration) []byte {
		b, err := issuers[by].Issue(token.Grant{Player: player.Add(1), Audience: audience}, time.Now().Add(-ago), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	g := newSiege(t, host.Config{Login: login}, func(context.Context) ([]byte, error) { return issue(0, "here", 0), nil })
	for _, over := range Transports {
		r := &raid{Target: g.Target, ctx: t.Context(), over: over}
		rnd := rand.New(rand.NewPCG(1, 2))
		try := func(name string, tok []byte, want string) {
			conn, err := g.Dial(t.Context(), over)
			if err != nil {
				t.Fatal(err)
			}
			h := session.Hello{Schema: g.Rules.Hash, Name: "eve", Token: tok}
			b, err := h.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := r.greet(conn, b); err != nil {
				got = reason(err)
			}
			if got != want {
				t.Errorf("over %s, a token that is %s: %q, want %q", over, name, got, want)
			}
			conn.Close(session.Goodbye)
			<-conn.Done()
		}
		bad := session.BadToken.String()
		for range 20 {
			tok := issue(0, "here", 0)
			bit := rnd.IntN(8 * len(tok))
			tok[bit/8] ^= 1 << (bit % 8)
			try("mutated", tok, bad)
			tok = issue(0, "here", 0)
			try("cut", tok[:1+rnd.IntN(len(tok)-1)], bad)
		}
		try("another's", issue(1, "here", 0), bad)
		try("expired", issue(0, "here", time.Hour), bad)
		try("for elsewhere", issue(0, "there", 0), bad)
		good := issue(0, "here", 0)
		try("good", good, "")
		try("used", good, bad)
	}
	g.settle(t)
	g.playOn(t)
}

// What connections, rooms and returning players take is given back: attacks that come again and
// again fill no memory.
func TestMemoryReturns(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the heap after one and the same attacks, four times")
	}
	g := newSiege(t, host.Config{}, nil)
	var attacks []Attack
	for _, name := range []string{"stammering", "rooms", "returning"} {
		a, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		attacks = append(attacks, *a)
	}
	var live []uint64
	for range 4 {
		g.run(t, attacks)
		var m runtime.MemStats
		for range 2 { // what finalizers hold goes with the second
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		live = append(live, m.HeapAlloc)
	}
	const most = 4 << 20 // buffers of the world and of its players grow for a while; 1,000 connections came
	if live[3] > live[1]+most {
		t.Errorf("bytes of the heap after each time: %v", live)
	}
	t.Log(live)
}

// No attack leaves this machine.
func TestOnlyHere(t *testing.T) {
	for _, target := range []Target{
		{Page: "192.0.2.1:80", QUIC: "127.0.0.1:80"}, {Page: "127.0.0.1:80", QUIC: "[2001:db8::1]:80"},
		{Page: "game.example:80", QUIC: "127.0.0.1:80"},
	} {
		for i := range Attacks {
			a := &Attacks[i]
			if _, err := a.Run(t.Context(), &target, a.Over[0], 1, Bounds{For: time.Second}); err == nil ||
				!strings.Contains(err.Error(), "not an address of this machine") {
				t.Errorf("%s of %v: %v", a.Name, target, err)
			}
		}
	}
}

// docs/security.md names tests that there are, and every attack.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests bytes.Buffer // all of them
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		tests.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllSubmatch(page, -1)
	for _, name := range names {
		if !bytes.Contains(tests.Bytes(), fmt.Appendf(nil, "\nfunc %s(t *testing.T)", name[1])) {
			t.Errorf("there is no %s", name[1])
		}
	}
	for _, a := range Attacks {
		if !regexp.MustCompile(`\(\*[^)]*\b` + a.Name + `\b[^)]*\*\)`).Match(page) {
			t.Errorf("the page says nothing of *%s*", a.Name)
		}
	}
	if len(names) < 60 {
		t.Errorf("only %d names were found", len(names))
	}
}

// Every attack has one name, one sentence, and transports.
func TestAttacks(t *testing.T) {
	names := map[string]bool{}
	for _, a := range Attacks {
		names[a.Name] = true
		if found, err := Find(a.Name); err != nil || found.Name != a.Name || a.About == "" || len(a.Over) == 0 {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if _, err := Find("kindness"); err == nil || len(names) != len(Attacks) {
		t.Errorf("%v, %v", slices.Sorted(maps.Keys(names)), err)
	}
}
