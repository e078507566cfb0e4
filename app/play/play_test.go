package play_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"meanwhile/app/play"
	"meanwhile/app/site"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/host"
	"meanwhile/session"
)

// patience is how long anything may take. Nothing is measured by it.
const patience = time.Minute

// serve runs a server of zap at an address of this machine until stop.
func serve(addr string) (s *site.Site, stop func(), err error) {
	return serveAs(addr, host.Config{})
}

// serveAs is serve with the host's configuration.
func serveAs(addr string, cfg host.Config) (s *site.Site, stop func(), err error) {
	rules, err := zap.Game.Rules()
	if err != nil {
		return nil, nil, err
	}
	program, err := site.NewProgram([]byte("\x00asm"), nil, []byte("// wasm_exec.js"))
	if err != nil {
		return nil, nil, err
	}
	cfg.Rules, cfg.Log = rules, slog.New(slog.NewTextHandler(io.Discard, nil))
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) { // until the former server's port is free
		s, err = site.Listen(site.Config{Addr: addr, Host: cfg})
		if err == nil || strings.HasSuffix(addr, ":0") || time.Since(begun) > patience {
			break
		}
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, program) }()
	return s, func() { cancel(); <-done }, nil
}

func start(t *testing.T) *site.Site {
	t.Helper()
	s, stop, err := serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

func dial(t *testing.T, address string, o play.Options) *play.Client[zap.Cmd] {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := play.Dial(ctx, &zap.Game, address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// until runs frames until something is so.
func until(t *testing.T, what string, frame func() error, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(4 * time.Millisecond) {
		if err := frame(); err != nil {
			t.Fatal(err)
		}
		if time.Since(begun) > patience {
			t.Fatalf("in %v never: %s", patience, what)
		}
	}
}

// mine returns the player's own avatar as it is drawn.
func mine(c *play.Client[zap.Cmd]) (p zap.Pilot, ok bool) {
	for e, p := range zap.Pilots.Drawn(c) {
		if e.Mine {
			return p, true
		}
	}
	return p, false
}

// Two players, one over QUIC and one where UDP does not pass, see each other in the game's own
// types.
func TestPlayersSeeEachOther(t *testing.T) {
	s := start(t)
	a := dial(t, s.URL(), play.Options{Name: "Ada", Transport: "quic"})
	b := dial(t, s.URL(), play.Options{Name: "Bo", Transport: "websocket"})
	var cmd zap.Cmd
	var shots []play.ShownInfo
	var seen []zap.Zap
	frame := func() error {
		err := errors.Join(a.Frame(cmd), b.Frame(zap.Cmd{}))
		cmd.Fire = false
		for e := range zap.Zaps.Shown(a) {
			shots = append(shots, e)
		}
		for e, z := range zap.Zaps.Shown(b) {
			if e.Mine {
				t.Error("a shot of the other one is called ours")
			}
			seen = append(seen, z)
		}
		return err
	}
	other := func() (p zap.Pilot, ok bool) {
		for e, p := range zap.Pilots.Drawn(b) {
			if e.ID == a.Me() && !e.Mine && !e.Predicted {
				return p, true
			}
		}
		return p, false
	}
	until(t, "each sees the other", frame, func() bool {
		_, ok := other()
		return ok && b.Me() != 0 && a.Me() != 0
	})
	if a.Quality().Transport != "quic" || b.Quality().Transport != "websocket" {
		t.Errorf("connected over %s and %s", a.Quality().Transport, b.Quality().Transport)
	}

	// One goes to the middle of the field, and the other sees that.
	middle := geom.Vec2{X: 20, Y: 12}
	until(t, "the way to the middle", frame, func() bool {
		p, _ := mine(a)
		way := middle.Sub(p.Pos)
		cmd.Move, cmd.Aim = way.Unit(), 1
		q, _ := other()
		return way.Len() < 2 && q.Pos.Sub(middle).Len() < 3
	})
	cmd.Move = geom.Vec2{}
	gems := 0
	for range zap.Gems.Drawn(b) {
		gems++
	}
	if gems == 0 {
		t.Error("no gems are drawn")
	}

	// A click is a shot that both see, the shooter as its own. One that came too late is made again.
	shots, seen = nil, nil
	var clicked time.Time
	until(t, "the shot is seen", frame, func() bool {
		if len(seen) == 0 && time.Since(clicked) > 5*time.Second {
			cmd.Fire, clicked = true, time.Now()
		}
		return len(seen) > 0
	})
	if len(shots) == 0 || !shots[0].Mine {
		t.Errorf("the shooter is shown %+v", shots)
	}
	if way := seen[0].To.Sub(seen[0].From); way.Len() > 30.1 || seen[0].From.Sub(middle).Len() > 8 {
		t.Errorf("the shot goes from %v to %v", seen[0].From, seen[0].To)
	}

	checkPanel(t, a)
	turn := 0.0
	checkNetwork(t, a, func() error { // who stands still sends and hears nothing
		turn += 0.05
		cmd.Move = geom.Vec2{X: math.Cos(turn), Y: math.Sin(turn)}
		return frame()
	})
}

// checkNetwork checks that a player's simulated network delays packets both ways, and that techniques
// are switched; later connections keep both.
func checkNetwork(t *testing.T, c *play.Client[zap.Cmd], frame func() error) {
	t.Helper()
	if err := c.SetNetwork("carrier-pigeon"); err == nil || !strings.Contains(err.Error(), "ocean") {
		t.Errorf("an unknown network: %v", err)
	}
	if err := c.SetNetwork("ocean"); err != nil || c.Network() != "ocean" {
		t.Fatalf("network %q: %v", c.Network(), err)
	}
	far := func() bool { return c.Quality().Trip >= 140*time.Millisecond && c.Quality().Loss > 0 }
	until(t, "packets take as long as across an ocean, and some are lost", frame, far)
	c.SetTechniques(play.Techniques{NoPrediction: true})
	until(t, "the own avatar waits for the server", frame, func() bool {
		for e := range zap.Pilots.Drawn(c) {
			if e.Mine {
				return !e.Predicted
			}
		}
		return false
	})
	conn := c.Player().Conn()
	conn.Close("the cable is pulled")
	until(t, "another connection over the same network", frame, func() bool { return c.Player().Conn() != conn && far() })
	until(t, "the own avatar still waits for the server", frame, func() bool {
		for e := range zap.Pilots.Drawn(c) {
			if e.Mine {
				return !e.Predicted
			}
		}
		return false
	})
	c.SetTechniques(play.Techniques{})
	if err := c.SetNetwork(""); err != nil || c.Network() != "" {
		t.Fatalf("network %q: %v", c.Network(), err)
	}
	until(t, "the network is the player's own again, and the avatar is predicted", frame, func() bool {
		for e := range zap.Pilots.Drawn(c) {
			if e.Mine {
				return e.Predicted && c.Quality().Trip < 100*time.Millisecond
			}
		}
		return false
	})
}

// checkPanel checks what a panel would show of a player who plays.
func checkPanel(t *testing.T, c *play.Client[zap.Cmd]) {
	t.Helper()
	for _, r := range c.Quality().Rows() {
		if r.Name == "" || r.Value == "" || !strings.HasSuffix(r.Help, ".") || r.Bad < 0 || r.Bad > 1 {
			t.Errorf("a line of the panel is %+v", r)
		}
	}
}

// A player finds a server again that was restarted, and reads that it was.
func TestServerRestarts(t *testing.T) {
	s, stop, err := serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s.URL(), play.Options{Name: "Ada"})
	frame := func() error { return c.Frame(zap.Cmd{}) }
	drawn := func() bool { _, ok := mine(c); return ok }
	until(t, "the avatar is drawn", frame, drawn)
	page, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	until(t, "the loss is noticed", frame, func() bool { return strings.Contains(c.Notice(), "lost") })
	<-stopped
	_, stop, err = serve(page.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	until(
		t,
		"the player is in again",
		frame,
		func() bool { return c.Notice() == "The server has restarted." },
	)
	until(t, "the avatar is drawn again", frame, func() bool { return c.Me() != 0 && drawn() })
}

// A server that ends sends a player to the next one, as it does pages: the player goes on there.
func TestDrainToAnotherServer(t *testing.T) {
	next := start(t)
	s, stop, err := serveAs("127.0.0.1:0", host.Config{Drain: 2 * time.Second, DrainTo: next.URL()})
	if err != nil {
		t.Fatal(err)
	}
	there := dial(t, next.URL(), play.Options{Name: "Bo"})
	c := dial(t, s.URL(), play.Options{Name: "Ada"})
	frame := func() error { return errors.Join(c.Frame(zap.Cmd{}), there.Frame(zap.Cmd{})) }
	until(t, "the avatar is drawn", frame, func() bool { _, ok := mine(c); return ok })
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	until(t, "the end is announced", frame,
		func() bool { return strings.HasPrefix(c.Notice(), "This server is about to end.") })
	until(t, "the player is on the next server", frame, func() bool {
		for e := range zap.Pilots.Drawn(there) {
			if !e.Mine && e.ID == c.Me() {
				_, ok := mine(c)
				return ok
			}
		}
		return false
	})
	<-stopped
	for range 60 { // it stays
		if err := frame(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Millisecond)
	}
}

// refuse dials and returns the error.
func refuse[C any](t *testing.T, def *game.Definition[C], address string, o play.Options) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := play.Dial(ctx, def, address, o)
	if err == nil {
		c.Close()
		t.Fatal("it got in")
	}
	return err
}

func TestRefusals(t *testing.T) {
	s := start(t)
	other := zap.Game
	other.Name = "zip"
	newer := zap.Game
	newer.Kinds = game.Kinds(zap.Pilots)
	for _, c := range []struct {
		name    string
		def     *game.Definition[zap.Cmd]
		address string
		want    string
	}{
		{"another game", &other, s.URL(), "plays zap, this program zip"},
		{"other rules", &newer, s.URL(), "plays another version of zap: "},
		{"no address", &zap.Game, "ftp://x", `"ftp://x" is no address of a server; it looks like`},
		{"nobody there", &zap.Game, "127.0.0.1:1", "no server answers at http://127.0.0.1:1"},
	} {
		if err := refuse(t, c.def, c.address, play.Options{}); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	var r session.Refusal
	if err := refuse(t, &newer, s.URL(), play.Options{}); !errors.As(err, &r) || r.Code != session.WrongSchema {
		t.Errorf("the refusal is not in %v", err)
	}
}

// The right fingerprint lets a player in, a wrong one is named, and so is an authority that is not
// known.
func TestCertificates(t *testing.T) {
	s := start(t)
	prints, err := s.Fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s.URL(), play.Options{Fingerprint: prints[0].String()})
	if over := c.Quality().Transport; over != "quic" {
		t.Errorf("over %s, which proves nothing", over)
	}
	wrong := strings.Repeat("0", 64)
	if err := refuse(t, &zap.Game, s.URL(), play.Options{Fingerprint: wrong}); !strings.Contains(err.Error(),
		"is not that of Options.Fingerprint") {
		t.Errorf("a wrong fingerprint: %v", err)
	}
	if err := refuse(t, &zap.Game, s.URL(), play.Options{Fingerprint: "12"}); !strings.Contains(err.Error(), "64 hex") {
		t.Errorf("half a fingerprint: %v", err)
	}

	page := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"game": "none"}`)
	}))
	page.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	defer page.Close()
	nobody := x509.NewCertPool()
	if err := refuse(t, &zap.Game, page.URL, play.Options{Roots: nobody}); !strings.Contains(
		err.Error(),
		"Options.Roots",
	) {
		t.Errorf("an authority that is not known: %v", err)
	}
	// On this machine any certificate will do.
	if err := refuse(t, &zap.Game, page.URL, play.Options{}); !strings.Contains(err.Error(), "plays none") {
		t.Errorf("a certificate of its own on this machine: %v", err)
	}
}
