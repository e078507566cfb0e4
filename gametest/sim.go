package gametest

import (
	"sync"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/netsim"
	"meanwhile/server"
	"meanwhile/session"
)

// Sim is a match in virtual time: a real server, and real clients on simulated networks. One seed
// gives one result, byte for byte.
type Sim struct {
	Loop    netsim.Loop
	Rules   *game.Rules
	Server  *server.Server
	Workers int           // how many goroutines encode for clients at the same time; 0 means 1
	Client  client.Config // of players who join from now on
	// OnTick is called at the end of each tick. It may be nil.
	OnTick func()

	calls   calls // Server, or what records it
	journal *journal.Server
	cfg     server.Config
	seed    uint64
	joined  uint64 // players, those who left included
	players []*Player
	byID    map[server.PlayerID]*Player
	outs    []server.Outbox // one for each worker
	hash    uint64          // of every byte sent
	started bool
	beat    beat
	measure clock.Time    // when measuring began; 0: not yet
	hung    clock.Time    // until when the server's process stands still, see Hang
	slept   time.Duration // by which the server's clock is behind Loop, see Sleep
	woke    clock.Time    // the server's clock when it slept last
	faults  []error       // of the server, of clients, and of rules

	shots  verdicts
	states comparison
	wrong  []string // the first clean mispredictions

	mistakes []string // of the rules, as clients reported them, each once
}

// calls are the calls of a server that change it.
type calls interface {
	Connect(now clock.Time, name string) (server.PlayerID, session.Welcome, error)
	Receive(id server.PlayerID, arrival clock.Time, data []byte)
	Begin(now clock.Time)
	Encode(from, to int, out *server.Outbox)
	End()
	SetPeriod(d time.Duration)
	LeaveAt(now clock.Time)
	Beat(id server.PlayerID, now clock.Time, size int) bool
	Suspend(id server.PlayerID, now clock.Time)
	Resume(id server.PlayerID, now clock.Time, kept bool) (session.Welcome, bool)
	Disconnect(id server.PlayerID)
}

// NewSim returns a match without players. cfg.Seed and cfg.Secret follow from seed where they are
// 0.
func NewSim(rules *game.Rules, seed uint64, cfg server.Config) (*Sim, error) {
	if cfg.Seed == 0 {
		cfg.Seed = seed*2 + 1
	}
	if cfg.Secret == 0 {
		cfg.Secret = seed*2 + 2
	}
	srv, err := server.New(rules, cfg)
	if err != nil {
		return nil, err
	}
	return &Sim{Rules: rules, Server: srv, calls: srv, cfg: cfg, seed: seed, byID: map[server.PlayerID]*Player{},
		hash: 14695981039346656037, shots: verdicts{pending: map[clock.Tick][]predicted{}}}, nil
}

// Record records the match from its start, before the first Join: put gets the chunks of a journal
// and returns false where it has no room.
func (s *Sim) Record(put func(journal.Chunk) bool) error {
	j, err := journal.New(s.Rules, s.cfg, journal.Header{}, put)
	if err == nil {
		s.Server, s.calls, s.journal = j.Server, j, j
	}
	return err
}

// GoOn puts another server in the place of the match's own, between two ticks: one that is in the
// same state. It is not recorded.
func (s *Sim) GoOn(srv *server.Server) { s.Server, s.calls, s.journal = srv, srv, nil }

// Players returns the players in the order of Join. Those who left are among them if something was
// being measured then, since they count.
func (s *Sim) Players() []*Player { return s.players }

// Hash identifies every byte that was sent so far, in both directions.
func (s *Sim) Hash() uint64 { return s.hash }

// mix adds sent bytes to the hash (FNV-1a).
func (s *Sim) mix(data []byte) {
	h := s.hash
	for _, b := range data {
		h = (h ^ uint64(b)) * 1099511628211
	}
	s.hash = h
}

// Run lets virtual time pass.
func (s *Sim) Run(d time.Duration) { s.Loop.Run(s.Loop.Now().Add(d)) }

// Measure begins to measure now and forgets what was measured before.
func (s *Sim) Measure() {
	s.measure = s.Loop.Now()
	clear(s.shots.pending)
	s.shots.counts = make([]eventCount, len(s.Rules.Events))
	s.wrong = nil
	for _, p := range s.players {
		p.q = quality{corrections: corrections{base: p.q.corrections.base, confirmedAt: p.q.corrections.confirmedAt}}
		if p.Client != nil {
			p.q.start = p.Client.Stats()
		}
		p.q.startServer, _ = s.Server.Stats(p.ID)
	}
}

func (s *Sim) measuring() bool { return s.measure != 0 }

// Still stops all bots: from now on their players command nothing.
func (s *Sim) Still() {
	for _, p := range s.players {
		p.still = true
	}
}

// encode writes and sends the datagrams of a tick.
func (s *Sim) encode(now clock.Time) {
	n := max(s.Workers, 1)
	for len(s.outs) < n {
		s.outs = append(s.outs, server.Outbox{})
	}
	total := s.Server.Clients()
	var wg sync.WaitGroup
	for i := range n {
		s.outs[i].Reset()
		from, to := total*i/n, total*(i+1)/n
		if n == 1 {
			s.calls.Encode(from, to, &s.outs[i])
			continue
		}
		wg.Go(func() { s.calls.Encode(from, to, &s.outs[i]) })
	}
	wg.Wait()
	for i := range n {
		for j := range s.outs[i].Len() {
			to, data := s.outs[i].At(j)
			if p := s.byID[to]; p != nil {
				p.send(p.down, now, data)
			}
		}
	}
}
