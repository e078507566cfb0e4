package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"meanwhile/app/offer"
	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/quic"
	"meanwhile/transport/relay"
	"meanwhile/transport/websocket"
	"meanwhile/transport/webtransport"
)

var transports = []string{offer.QUIC, offer.WebTransport, offer.WebSocket}

const (
	// decisions is how often a second each player decides, about as people do.
	decisions = 10
	// lookEvery is the time between two looks at each player.
	lookEvery = time.Second
	// calmBefore is how long before the end nothing happens to players any more, or half of the
	// time if that is shorter: they are to be in at the end.
	calmBefore = 20 * time.Second
	// leastCut and mostCut bound how long a player is cut off.
	leastCut = 300 * time.Millisecond
	mostCut  = 9 * time.Second
	// mostPause is how long a place stays empty at most when a player has left.
	mostPause = 5 * time.Second
	// sharers is how many players without a network of their own share a UDP socket: what the server
	// sends them all at once fits the socket's buffer many times over.
	sharers = 16
	// beats is into how many moments of a frame the players' frames fall. Those that share one are
	// run in a row, which costs less than waking for each.
	beats = 8
	// nextTries is how often the player after it tries to join.
	nextTries = 4
)

// A dialFunc connects to the server.
type dialFunc func(context.Context) (transport.Conn, error)

// A swarm is all players of a load.
type swarm struct {
	flags    *flags
	rules    *game.Rules
	networks mixture
	seats    []*seat
	began    time.Time
	dial     func(s *seat) (dialFunc, error)

	begun chan struct{} // closed when measuring begins
	calm  time.Time     // from when on nothing happens to players; set before begun is closed

	mu       sync.Mutex
	sockets  map[int]*quic.Shared
	returned int // how often a player came back over another connection
	left     int // how often one left and another one came
	err      error
}

func newSwarm(f *flags) *swarm {
	return &swarm{flags: f, began: time.Now(), begun: make(chan struct{}), sockets: make(map[int]*quic.Shared)}
}

// socket returns a socket that players share.
func (w *swarm) socket(n int) (*quic.Shared, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.sockets[n]; s != nil {
		return s, nil
	}
	s, err := quic.Share()
	if err != nil {
		return nil, err
	}
	w.sockets[n] = s
	return s, nil
}

// closeSockets closes what players shared. They must have left.
func (w *swarm) closeSockets() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sockets {
		s.Close()
	}
}

// waitForBeat waits until the frames of a player begin.
func (w *swarm) waitForBeat(ctx context.Context, number int) {
	frame := time.Second / time.Duration(w.flags.FPS)
	due := frame * time.Duration(number%beats) / beats
	wait(ctx, (due-time.Since(w.began)%frame+frame)%frame)
}

// clock is the clock of all connections.
func (w *swarm) clock() clock.Time { return clock.Time(time.Since(w.began)) }

// fail keeps the newest error.
func (w *swarm) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

// sendsUDP reports whether any player connects over UDP.
func (w *swarm) sendsUDP() bool {
	return slices.ContainsFunc(w.seats, func(s *seat) bool { return s.over != offer.WebSocket })
}

// A seat is the place of one player, and of those who come after it left.
type seat struct {
	swarm   *swarm
	number  int
	over    string          // transport
	network *netsim.Profile // nil: none
	room    string          // "": the server chooses

	relay *relay.Relay // nil: none. It belongs to the goroutine of run
	rng   *rand.Rand   // likewise, and to the one of meet

	mu     sync.Mutex
	player *headless.Player // nil: not in
	joined bool             // the first one came in

	core   *client.Client // of the last look
	before client.Stats
	tally  tally
}

// networkName is what the seat's network is called.
func (s *seat) networkName() string {
	if s.network == nil {
		return noNetwork
	}
	return s.network.Name
}

// dialer returns what connects the seat's players, over a network of its own if it has one.
func (s *seat) dialer(target *offer.Server) (dialFunc, error) {
	if s.network != nil || s.swarm.flags.Trouble > 0 {
		host, err := target.HostOf(s.over)
		if err != nil {
			return nil, err
		}
		if s.relay, err = relay.New("127.0.0.1"); err != nil {
			return nil, err
		}
		if err := s.relay.To(host); err != nil {
			return nil, err
		}
		if err := s.impair(); err != nil {
			return nil, err
		}
		target = target.Via(s.relay.Addr())
	}
	now := s.swarm.clock
	if s.over == offer.WebSocket {
		return func(ctx context.Context) (transport.Conn, error) {
			return websocket.Dial(ctx, target.Socket, websocket.DialConfig{Clock: now, TLS: target.SocketTrust})
		}, nil
	}
	from := func(ctx context.Context) context.Context { return ctx }
	if s.relay == nil { // else the server sees its address change
		socket, err := s.swarm.socket(s.number / sharers)
		if err != nil {
			return nil, err
		}
		from = socket.With
	}
	if s.over == offer.WebTransport {
		return func(ctx context.Context) (transport.Conn, error) {
			return webtransport.Dial(from(ctx), target.Session.String(),
				webtransport.DialConfig{Clock: now, TLS: target.Trust})
		}, nil
	}
	return func(ctx context.Context) (transport.Conn, error) {
		return quic.Dial(from(ctx), target.Session.Host, quic.DialConfig{Clock: now, TLS: target.Trust})
	}, nil
}

// impair gives the seat's relay the weather of its network.
func (s *seat) impair() error {
	if s.network == nil {
		return nil
	}
	return s.relay.Impair(relay.Weather{Profile: *s.network, Seed: s.rng.Uint64()})
}

// run plays until ctx ends. tried is called once, when the first player is in or could not join.
func (s *seat) run(ctx context.Context, tried func()) {
	w := s.swarm
	s.rng = rand.New(rand.NewPCG(w.flags.Seed, uint64(s.number)))
	dial, err := w.dial(s)
	if s.relay != nil {
		defer s.relay.Close()
	}
	var p *headless.Player
	if err == nil {
		p, err = s.join(ctx, dial)
	}
	tried()
	for err == nil {
		visit, leave := context.WithCancel(ctx)
		var meeting sync.WaitGroup
		if w.flags.Trouble > 0 {
			meeting.Go(func() {
				s.meet(visit, p)
				leave()
			})
		}
		w.waitForBeat(visit, s.number)
		err = p.Run(visit)
		leave()
		meeting.Wait()
		s.mu.Lock()
		s.player = nil
		s.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			w.mu.Lock()
			w.left++
			w.mu.Unlock()
			p, err = s.joinNext(ctx, dial)
		}
	}
	if ctx.Err() == nil {
		w.fail(err)
	}
}

// joinNext lets another player in after a while. People try again.
func (s *seat) joinNext(ctx context.Context, dial dialFunc) (p *headless.Player, err error) {
	for range nextTries {
		wait(ctx, time.Duration(s.rng.Int64N(int64(mostPause))))
		if p, err = s.join(ctx, dial); err == nil || ctx.Err() != nil {
			break
		}
	}
	return p, err
}

// join lets a player in.
func (s *seat) join(ctx context.Context, dial dialFunc) (*headless.Player, error) {
	w := s.swarm
	bounded, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	conn, err := dial(bounded)
	if err != nil {
		return nil, err
	}
	bot := w.rules.Bot()
	if bot == nil || w.flags.Random {
		bot = randomly(w.rules.Command, s.rng.Uint64())
	}
	p, err := headless.Join(bounded, conn, headless.Config{
		Rules: w.rules, Clock: w.clock, Name: fmt.Sprintf("load %d", s.number+1), Room: s.room, Bot: bot,
		Watch:     w.flags.Watch,
		FrameRate: w.flags.FPS, Decisions: decisions, Dial: dial,
		Limits: session.Limits{BudgetDown: uint32(w.flags.Kbit) * 1000, SendRate: uint16(w.flags.Packets)},
		OnReturn: func(session.Welcome, bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.returned++
		},
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.player, s.joined = p, true
	return p, nil
}

// meet lets things happen to a player, one after the other. It returns when the player is to leave,
// or when ctx ends.
func (s *seat) meet(ctx context.Context, p *headless.Player) {
	w := s.swarm
	select {
	case <-w.begun:
	case <-ctx.Done():
		return
	}
	for {
		d := time.Duration(min(s.rng.ExpFloat64(), 5) * float64(w.flags.Trouble))
		if time.Until(w.calm) < d {
			<-ctx.Done()
			return
		}
		if !wait(ctx, d) {
			return
		}
		switch n := s.rng.IntN(16); {
		case n < 5:
			s.relay.Cut(true)
			wait(ctx, leastCut+time.Duration(s.rng.Int64N(int64(mostCut-leastCut))))
			s.relay.Cut(false)
		case n < 9:
			s.roam()
		case n < 13:
			p.Conn().Close("") // and nobody says goodbye
		default:
			return
		}
	}
}

// roam moves the player to another network, from another address.
func (s *seat) roam() {
	w := s.swarm
	if name := w.networks.pick(s.rng.IntN(w.networks.sum)); name != noNetwork {
		if p, err := netsim.ByName(name); err == nil {
			s.network = &p
		}
	}
	if err := s.impair(); err != nil {
		w.fail(err)
	}
	s.relay.Move()
	s.relay.Reset()
}

// wait waits; false if ctx ended before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// look counts what the player met since the last look, that long ago; zero only begins to count.
func (s *seat) look(ago time.Duration) {
	s.mu.Lock()
	p := s.player
	s.mu.Unlock()
	if p == nil {
		return
	}
	var core *client.Client
	var now client.Stats
	p.Do(func(c *client.Client) { core, now = c, c.Stats() })
	if core != s.core {
		s.core, s.before = core, client.Stats{}
	}
	if ago > 0 {
		s.tally.add(&s.before, &now, ago)
	}
	s.before = now
}

// in reports whether the seat's player is in, with a connection.
func (s *seat) in() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.player != nil && s.player.Conn().Err() == nil
}

// play lets the players join and play, and returns what they measured.
func (w *swarm) play(ctx context.Context) *result {
	playing, stop := context.WithCancel(ctx)
	defer stop()
	var running, joining sync.WaitGroup
	ticker := time.NewTicker(time.Duration(float64(time.Second) / w.flags.Ramp))
	defer ticker.Stop()
	for _, s := range w.seats {
		joining.Add(1)
		running.Go(func() { s.run(playing, joining.Done) })
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	joining.Wait()
	networks := make([]string, len(w.seats)) // before they move
	for i, s := range w.seats {
		networks[i] = s.networkName()
		s.look(0)
	}
	began, spent := time.Now(), cpuTime()
	end := began.Add(w.flags.For)
	w.calm = end.Add(-min(calmBefore, w.flags.For/2))
	close(w.begun)
	timing, timed := context.WithCancel(ctx)
	defer timed()
	lateness := make(chan float64, 1)
	running.Go(func() { lateness <- wakes(timing) })
	for last := began; ctx.Err() == nil && time.Now().Before(end); {
		wait(ctx, min(lookEvery, time.Until(end)))
		now := time.Now()
		for _, s := range w.seats {
			s.look(now.Sub(last))
		}
		last = now
	}
	timed()
	r := w.sum(networks, time.Since(began), cpuTime()-spent)
	r.Late = <-lateness
	stop()
	running.Wait()
	w.closeSockets()
	return r
}

// wakes returns by how many milliseconds this program's timers were late until ctx ended: 99 of 100
// of them by no more.
func wakes(ctx context.Context) float64 {
	const every = 20 * time.Millisecond
	var counts [1000]int // of lateness in ms
	n := 0
	for ctx.Err() == nil {
		due := time.Now().Add(every)
		if !wait(ctx, every) {
			break
		}
		counts[min(max(time.Since(due).Milliseconds(), 0), int64(len(counts)-1))]++
		n++
	}
	for ms, sum := 0, 0; ms < len(counts); ms++ {
		if sum += counts[ms]; sum*100 >= n*99 {
			return float64(ms)
		}
	}
	return 0
}
