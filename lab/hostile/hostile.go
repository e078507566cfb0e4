// Package hostile attacks a server on this machine as strangers and players do who mean ill: over
// real sockets, at a bounded rate, repeatable by a seed. Tests run its attacks beside players, and
// meanwhile bench hostile measures them.
package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/game"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/quic"
	"meanwhile/transport/websocket"
	"meanwhile/transport/webtransport"
)

// A Target is the server that is attacked. It must be on this machine.
type Target struct {
	Rules *game.Rules
	Clock transport.Clock
	// Page is where the server listens for the page and WebSocket, "host:port", and QUIC its UDP
	// address, of WebTransport too.
	Page, QUIC string
	// Trust trusts the certificate at QUIC.
	Trust *tls.Config
	// File is the path of a large file of the page, such as its program.
	File string
}

// Transports are those that players use. Attacks also name "udp" and "http".
var Transports = []string{"quic", "webtransport", "websocket"}

// local returns an error unless the target is on this machine.
func (t *Target) local() error {
	for _, a := range []string{t.Page, t.QUIC} {
		if ap, err := netip.ParseAddrPort(a); err != nil || !ap.Addr().IsLoopback() {
			return fmt.Errorf("hostile: %q is not an address of this machine", a)
		}
	}
	return nil
}

// Dial connects to the server over one of Transports.
func (t *Target) Dial(ctx context.Context, over string) (transport.Conn, error) {
	return t.dial(ctx, over, t.QUIC, t.Page)
}

// dial is Dial by way of other addresses.
func (t *Target) dial(ctx context.Context, over, udp, page string) (transport.Conn, error) {
	switch over {
	case "quic":
		return quic.Dial(ctx, udp, quic.DialConfig{Clock: t.Clock, TLS: t.Trust})
	case "webtransport":
		return webtransport.Dial(ctx, "https://"+udp+transport.Path,
			webtransport.DialConfig{Clock: t.Clock, TLS: t.Trust})
	case "websocket":
		return websocket.Dial(ctx, "ws://"+page+transport.Path, websocket.DialConfig{Clock: t.Clock})
	}
	return nil, fmt.Errorf("hostile: there is no transport %q", over)
}

// An Attack is one way to harm a server.
type Attack struct {
	Name  string
	About string   // one sentence
	Over  []string // Transports, "udp" or "http"
	// Ends is why the server ends the attack's clients, as they or its counters say; "" where it
	// bears or answers them.
	Ends string
	// Away says that what counts is whom places come from, so that newcomers must come from
	// addresses of their own, by a Proxy.
	Away bool
	rate int // steps a second, of all clients together
	act  func(r *raid)
}

// Bounds end an attack, whichever comes first. Zeros are no bound, but For must be set.
type Bounds struct {
	For   time.Duration
	Steps int // datagrams, messages, connections or requests
	Ended int // clients that the server ended for the reason of the attack
}

// A Result is what became of an attack.
type Result struct {
	Steps int
	Ends  map[string]int // how often clients were ended or refused, by the reason
	// Sent and Got count bytes on UDP from addresses that were never proved, where the attack does.
	Sent, Got int64
}

// Find returns the attack of a name.
func Find(name string) (*Attack, error) {
	var names []string
	for i := range Attacks {
		if Attacks[i].Name == name {
			return &Attacks[i], nil
		}
		names = append(names, Attacks[i].Name)
	}
	return nil, fmt.Errorf("there is no attack %q; there are %s", name, strings.Join(names, ", "))
}

// Run attacks t until a bound is met or ctx ends, and returns when all of the attack has ended.
func (a *Attack) Run(ctx context.Context, t *Target, over string, seed uint64, most Bounds) (Result, error) {
	if err := t.local(); err != nil {
		return Result{}, err
	}
	if !slices.Contains(a.Over, over) || most.For <= 0 {
		return Result{}, fmt.Errorf("hostile: %s over %q for %v is no attack", a.Name, over, most.For)
	}
	ctx, stop := context.WithTimeout(ctx, most.For)
	defer stop()
	r := &raid{Target: t, ctx: ctx, stop: stop, over: over, seed: seed, most: most, rate: a.rate, named: a.Ends,
		ends: map[string]int{}}
	a.act(r)
	r.wg.Wait()
	return Result{Steps: int(r.steps.Load()), Ends: r.ends, Sent: r.sent.Load(), Got: r.got.Load()}, nil
}

// A raid is an attack that runs.
type raid struct {
	*Target
	ctx   context.Context
	stop  context.CancelFunc
	over  string
	seed  uint64
	most  Bounds
	rate  int
	first sync.Once
	began time.Time // of the first turn
	wg    sync.WaitGroup

	turns, steps, sent, got atomic.Int64

	named string // the reason of the attack

	mu   sync.Mutex
	ends map[string]int
}

// comeBack is how long a client waits that was ended until it comes again.
const comeBack = 200 * time.Millisecond

// again runs n clients, each anew whenever it has ended, until the raid ends.
func (r *raid) again(n int, client func(rnd *rand.Rand) error) {
	for i := range n {
		rnd := rand.New(rand.NewPCG(r.seed, uint64(i)))
		r.wg.Go(func() {
			for r.ctx.Err() == nil {
				r.end(client(rnd))
				wait(r.ctx, comeBack)
			}
		})
	}
}

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// turn waits until the raid's rate allows a further step, counts it, and reports whether the raid
// goes on.
func (r *raid) turn() bool {
	r.first.Do(func() { r.began = time.Now() })
	due := r.began.Add(time.Duration(r.turns.Add(1)) * time.Second / time.Duration(r.rate))
	if ahead := time.Until(due); ahead > 0 {
		wait(r.ctx, ahead)
	}
	return r.count()
}

// count counts a step, and reports whether the raid goes on.
func (r *raid) count() bool {
	if n := r.steps.Add(1); r.most.Steps > 0 && n >= int64(r.most.Steps) {
		r.stop()
	}
	return r.ctx.Err() == nil
}

// end counts the end of a client, unless it is that of the raid.
func (r *raid) end(err error) {
	if err == nil || r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	why := reason(err)
	if r.ends[why]++; why == r.named && r.most.Ended > 0 && r.ends[why] >= r.most.Ended {
		r.stop()
	}
}

// maxReason cuts reasons, in bytes.
const maxReason = 70

// reason returns why a client ended, without what differs from one to the next.
func reason(err error) string {
	var (
		refusal session.Refusal
		closed  *transport.CloseError
		network net.Error
	)
	text := ""
	switch {
	case errors.As(err, &refusal):
		text = refusal.Code.String()
	case errors.As(err, &closed):
		text = closed.Reason
	case errors.As(err, &network) && network.Timeout():
		return "no answer"
	default:
		for next := err; next != nil; next = errors.Unwrap(next) {
			text = next.Error()
		}
	}
	if strings.HasPrefix(text, "connection lost") || strings.Contains(text, "reset by peer") ||
		strings.Contains(text, "broken pipe") {
		return "connection lost"
	}
	return text[:min(len(text), maxReason)]
}
