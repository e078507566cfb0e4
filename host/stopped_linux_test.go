package host

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/examples/zap"
	"meanwhile/headless"
	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/cert"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
)

// serving is the environment variable that makes this test program a server of zap.
const serving = "HOST_TEST_SERVES"

// served is where such a server listens.
type served struct {
	UDP, Web string
	Prints   []string
}

func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		if err := serveZap(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveZap serves until standard input ends.
func serveZap() error {
	r, err := zap.Game.Rules()
	if err != nil {
		return err
	}
	h, err := New(Config{Rules: r, Seed: 1})
	if err != nil {
		return err
	}
	certificate, err := cert.NewSelfSigned(cert.Config{})
	if err != nil {
		return err
	}
	udp, err := quic.Listen(quic.Config{Clock: h.Clock(), Certificate: certificate.GetCertificate})
	if err != nil {
		return err
	}
	tcp, err := websocket.NewServer(websocket.Config{Clock: h.Clock()})
	if err != nil {
		return err
	}
	web := httptest.NewServer(tcp)
	defer web.Close()
	prints, err := certificate.Fingerprints()
	if err != nil {
		return err
	}
	at := served{UDP: udp.Addr(), Web: web.URL}
	for _, p := range prints {
		at.Prints = append(at.Prints, hex.EncodeToString(p[:]))
	}
	if err := json.NewEncoder(os.Stdout).Encode(at); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return h.Run(ctx, udp, tcp)
}

// A server whose process stands still for seconds, as when its machine is paused, goes on with its
// players: over QUIC and WebSocket they keep their connections, notice the hang, and few of the
// ticks after it starve. A player that did not notice would be deaf for most of the time of the
// hang.
func TestProcessStandsStill(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: a server stands still for six seconds")
	}
	const hang = 6 * time.Second
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serving+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	playing, leave := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() {
		leave() // before the server ends: its goodbye would be an error
		running.Wait()
		stdin.Close()
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var at served
	if err := json.Unmarshal(line, &at); err != nil {
		t.Fatal(err)
	}
	var prints []cert.Fingerprint
	for _, p := range at.Prints {
		var f cert.Fingerprint
		if _, err := hex.Decode(f[:], []byte(p)); err != nil {
			t.Fatal(err)
		}
		prints = append(prints, f)
	}
	began := time.Now()
	local := func() clock.Time { return clock.Time(time.Since(began)) }
	r := rules(t)
	var players []*headless.Player
	for _, dial := range []func() (transport.Conn, error){
		func() (transport.Conn, error) {
			return quic.Dial(t.Context(), at.UDP, quic.DialConfig{Clock: local, TLS: cert.Pin(prints...)})
		},
		func() (transport.Conn, error) {
			return websocket.Dial(t.Context(), strings.Replace(at.Web, "http", "ws", 1)+transport.Path,
				websocket.DialConfig{Clock: local})
		},
	} {
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		p, err := headless.Join(t.Context(), conn, headless.Config{Rules: r, Clock: local, Bot: r.Bot()})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := p.Run(playing); err != nil && playing.Err() == nil {
				t.Errorf("%s: %v", conn.Name(), err)
			}
		})
		players = append(players, p)
	}
	// reaches waits until a player has the server's answers to commands of n more ticks.
	reaches := func(p *headless.Player, n clock.Tick) (st client.Stats) {
		var goal clock.Tick
		p.Do(func(c *client.Client) { goal = c.Confirmed() + n })
		until(t, fmt.Sprintf("%s plays %d ticks", p.Conn().Name(), n), func() (err error) {
			p.Do(func(c *client.Client) {
				if st = c.Stats(); c.Confirmed() < goal || !st.Synced {
					err = fmt.Errorf("%+v", st)
				}
			})
			return err
		})
		return st
	}
	for _, p := range players {
		reaches(p, 60)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(hang) // what is to be survived, not what is waited for
	before := make([]client.Stats, len(players))
	for i, p := range players {
		p.Do(func(c *client.Client) { before[i] = c.Stats() })
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	ticks := clock.Tick(hang.Seconds() * float64(r.Rate))
	for i, p := range players {
		st := reaches(p, ticks)
		t.Logf("%s: %d of %d ticks starved", p.Conn().Name(), st.Starved-before[i].Starved, ticks)
		if st.Hangs == before[i].Hangs {
			t.Errorf("%s: the hang was not noticed", p.Conn().Name())
		}
		if starved := st.Starved - before[i].Starved; starved > uint64(ticks)/2 {
			t.Errorf("%s: %d of %d ticks starved after a hang of %v", p.Conn().Name(), starved, ticks, hang)
		}
	}
}
