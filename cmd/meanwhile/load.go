package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/netcode/clock"
	engine "meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
	"meanwhile/transport/webtransport"
)

// Bounds of a load.
const (
	maxLoad     = 2000
	maxLoadTime = time.Hour
	maxAsked    = 1000 // packets a second
	maxFPS      = 240
	// loadDecisions is how often a second each player decides, about as people do.
	loadDecisions = 10
	// joinEvery is the time between two players that join: a server greets only so many at once.
	joinEvery = 10 * time.Millisecond
	// joinTimeout is how long a player may take to join.
	joinTimeout = 15 * time.Second
)

// load holds the flags of meanwhile load.
type load struct {
	URL       string        `arg:"" optional:"" default:"http://127.0.0.1:8080/" help:"The page, by default ${default}."`
	Players   int           `short:"n" default:"10" help:"How many players join, at most ${loadmax}."`
	For       time.Duration `default:"10s" help:"How long to play after the last has joined."`
	Transport string        `default:"quic" help:"Connect over quic, webtransport or websocket."`
	Room      string        `help:"Play in this room; by default the server chooses."`
	Kbit      int           `help:"Ask the server for so many kbit/s each; by default for what it allows."`
	Packets   int           `help:"Ask for so many packets a second; by default for what the server allows."`
	FPS       int           `default:"60" help:"Frames a second of each player, and at most so many datagrams it sends."`
	Remote    bool          `help:"Allow a server on another machine; you must be allowed to load it."`
	JSON      bool          `name:"json" help:"Print one JSON object."`
}

// loadResult is what a load prints. Rates are means over all players.
type loadResult struct {
	Game      string  `json:"game"`
	Room      string  `json:"room"`
	Transport string  `json:"transport"`
	Players   int     `json:"players"` // asked for
	Joined    int     `json:"joined"`
	Lost      int     `json:"lost"`     // those who were not in at the end any more
	Returned  int     `json:"returned"` // how often one came back over another connection
	Seconds   float64 `json:"seconds"`
	UpHz      float64 `json:"up_hz"` // datagrams a second of each player
	DownHz    float64 `json:"down_hz"`
	UpKbps    float64 `json:"up_kbps"` // with 42 bytes of headers a datagram
	DownKbps  float64 `json:"down_kbps"`
	RTT50     float64 `json:"rtt_p50_ms"`
	RTT99     float64 `json:"rtt_p99_ms"`
	Delay50   float64 `json:"playout_delay_p50_ms"`
	Delay99   float64 `json:"playout_delay_p99_ms"`
	Hitches   float64 `json:"hitches_per_min"`
	Starved   float64 `json:"starved_per_min"`
	Confirmed uint64  `json:"confirmed"` // own states that the server sent
	Corrected uint64  `json:"corrected"` // those that differed from the prediction
	Error     string  `json:"error,omitempty"`
}

func (l *load) run(ctx context.Context, stdout io.Writer) error {
	if l.Players < 1 || l.Players > maxLoad {
		return usageError{fmt.Errorf("--players %d is outside [1, %d]", l.Players, maxLoad)}
	}
	if l.For <= 0 || l.For > maxLoadTime {
		return usageError{fmt.Errorf("--for %v is outside (0, %v]", l.For, maxLoadTime)}
	}
	if l.Kbit < 0 || l.Kbit > engine.MaxBudget*8/1000 || l.Packets < 0 || l.Packets > maxAsked {
		return usageError{fmt.Errorf("--kbit %d is outside [0, %d], or --packets %d outside [0, %d]", l.Kbit,
			engine.MaxBudget*8/1000, l.Packets, maxAsked)}
	}
	if l.FPS < 1 || l.FPS > maxFPS {
		return usageError{fmt.Errorf("--fps %d is outside [1, %d]", l.FPS, maxFPS)}
	}
	if l.Transport != "quic" && l.Transport != "webtransport" && l.Transport != "websocket" {
		return usageError{fmt.Errorf("there is no transport %q; there are quic, webtransport and websocket",
			l.Transport)}
	}
	base, err := url.Parse(l.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return usageError{fmt.Errorf("%q is not an address such as http://127.0.0.1:8080/", l.URL)}
	}
	if !l.Remote && !loopback(base.Hostname()) {
		return usageError{fmt.Errorf("%s is not this machine; use --remote if you may load it", base.Hostname())}
	}
	asking, cancel := context.WithTimeout(ctx, joinTimeout)
	target, err := askServer(asking, base, l.Room, nil)
	cancel()
	if err != nil {
		return err
	}
	g, err := findGame(target.Game)
	if err != nil {
		return fmt.Errorf("the server plays %s, which this program does not know; "+
			"for players of your own game see go doc meanwhile/headless", target.Game)
	}
	rules, err := g.rules()
	if err != nil {
		return err
	}
	start := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(start)) }
	dial, err := l.dialer(target, now)
	if err != nil {
		return err
	}
	r := l.play(ctx, rules, now, dial)
	r.Game, r.Room, r.Transport, r.Players = target.Game, target.Room, l.Transport, l.Players
	r.print(stdout, l)
	return r.failed()
}

// failed returns an error unless all players joined and were in at the end.
func (r *loadResult) failed() error {
	switch {
	case r.Joined == 0:
		return fmt.Errorf("nobody could join: %s", r.Error)
	case r.Joined < r.Players || r.Lost > 0:
		return fmt.Errorf("%d of %d players could not join, and %d were lost: %s", r.Players-r.Joined, r.Players, r.Lost,
			r.Error)
	}
	return nil
}

// loopback reports whether a host name is this machine.
func loopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// A dialFunc connects to the server.
type dialFunc func(context.Context) (transport.Conn, error)

// dialer returns the dialFunc of the transport that the flags choose.
func (l *load) dialer(s *server, now transport.Clock) (dialFunc, error) {
	if l.Transport == "websocket" {
		return func(ctx context.Context) (transport.Conn, error) {
			return websocket.Dial(ctx, s.socket, websocket.DialConfig{Clock: now})
		}, nil
	}
	if s.session == nil {
		return nil, errors.New("the server offers WebSocket alone; use --transport websocket")
	}
	if l.Transport == "webtransport" {
		return func(ctx context.Context) (transport.Conn, error) {
			return webtransport.Dial(ctx, s.session.String(), webtransport.DialConfig{Clock: now, TLS: s.trust})
		}, nil
	}
	return func(ctx context.Context) (transport.Conn, error) {
		return quic.Dial(ctx, s.session.Host, quic.DialConfig{Clock: now, TLS: s.trust})
	}, nil
}

// play lets the players join and play, and returns what they measured.
func (l *load) play(ctx context.Context, rules *game.Rules, now transport.Clock, dial dialFunc) *loadResult {
	r := &loadResult{}
	playing, stop := context.WithCancel(ctx)
	defer stop()
	var (
		mu      sync.Mutex
		players []*headless.Player
		gone    = make(map[*headless.Player]bool)
		running sync.WaitGroup
		joining sync.WaitGroup
	)
	ticker := time.NewTicker(joinEvery)
	defer ticker.Stop()
	for i := range l.Players {
		joining.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, joinTimeout)
			defer cancel()
			conn, err := dial(bounded)
			var p *headless.Player
			if err == nil {
				p, err = headless.Join(bounded, conn, headless.Config{
					Rules: rules, Clock: now, Name: fmt.Sprintf("load %d", i+1), Room: l.Room, Bot: rules.Bot(), FrameRate: l.FPS,
					Decisions: loadDecisions,
					Limits:    session.Limits{BudgetDown: uint32(l.Kbit) * 1000, SendRate: uint16(l.Packets)},
					Dial:      dial,
					OnReturn: func(session.Welcome, bool) {
						mu.Lock()
						defer mu.Unlock()
						r.Returned++
					},
				})
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Error = err.Error()
				return
			}
			players = append(players, p)
			running.Go(func() {
				if err := p.Run(playing); err != nil {
					mu.Lock()
					defer mu.Unlock()
					gone[p] = true
					r.Error = err.Error()
				}
			})
		})
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	joining.Wait()
	look := func() []client.Stats {
		all := make([]client.Stats, len(players))
		for i, p := range players {
			p.Do(func(c *client.Client) { all[i] = c.Stats() })
		}
		return all
	}
	before, began := look(), time.Now()
	select {
	case <-time.After(l.For):
	case <-ctx.Done():
	}
	after, span := look(), time.Since(began)
	mu.Lock()
	for _, p := range players {
		if err := p.Conn().Err(); err != nil && !gone[p] { // it still tries to come back
			gone[p] = true
			r.Error = err.Error()
		}
	}
	r.Lost = len(gone)
	mu.Unlock()
	stop()
	running.Wait()
	r.Joined, r.Seconds = len(players), span.Seconds()
	r.sum(before, after)
	return r
}

// sum fills in means and percentiles.
func (r *loadResult) sum(before, after []client.Stats) {
	if len(after) == 0 || r.Seconds <= 0 {
		return
	}
	per := 1 / (r.Seconds * float64(len(after)))
	var rtts, delays []float64
	for i, a := range after {
		b := before[i]
		if a.Sent < b.Sent {
			b = client.Stats{} // it began anew
		}
		r.UpHz += float64(a.Sent-b.Sent) * per
		r.DownHz += float64(a.Received-b.Received) * per
		r.UpKbps += float64(a.SentBytes-b.SentBytes) * per * 8 / 1000
		r.DownKbps += float64(a.ReceivedBytes-b.ReceivedBytes) * per * 8 / 1000
		r.Hitches += float64(a.Hitches-b.Hitches) * per * 60
		r.Starved += float64(a.Starved-b.Starved) * per * 60
		r.Confirmed += a.Prediction.Confirmed - b.Prediction.Confirmed
		r.Corrected += a.Prediction.Corrections - b.Prediction.Corrections
		rtts = append(rtts, a.RTT.Seconds()*1000)
		delays = append(delays, a.Delay.Seconds()*1000)
	}
	at := func(list []float64, q float64) float64 {
		slices.Sort(list)
		return list[int(q*float64(len(list)-1)+0.5)]
	}
	r.RTT50, r.RTT99 = at(rtts, 0.5), at(rtts, 0.99)
	r.Delay50, r.Delay99 = at(delays, 0.5), at(delays, 0.99)
}

func (r *loadResult) print(w io.Writer, l *load) {
	if l.JSON {
		_ = json.NewEncoder(w).Encode(r)
		return
	}
	fmt.Fprintf(w, "%d of %d players joined room %s of %s over %s, %d came back, %d were lost\n", r.Joined, r.Players,
		r.Room, r.Game, r.Transport, r.Returned, r.Lost)
	if r.Joined == 0 {
		return
	}
	fmt.Fprintf(w, "for %.1f s, each   up  %6.1f datagrams/s %7.1f kbit/s\n", r.Seconds, r.UpHz, r.UpKbps)
	fmt.Fprintf(w, "                  down %6.1f datagrams/s %7.1f kbit/s\n", r.DownHz, r.DownKbps)
	fmt.Fprintf(w, "round trip         p50 %6.2f ms, p99 %.2f ms\n", r.RTT50, r.RTT99)
	fmt.Fprintf(w, "playout delay      p50 %6.1f ms, p99 %.1f ms\n", r.Delay50, r.Delay99)
	fmt.Fprintf(w, "hitches %.2f a minute, starved ticks %.2f a minute, %d of %d own states corrected\n", r.Hitches,
		r.Starved, r.Corrected, r.Confirmed)
	if r.Error != "" {
		fmt.Fprintf(w, "last error: %s\n", r.Error)
	}
}
