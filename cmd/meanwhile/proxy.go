package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"meanwhile/netsim"
	"meanwhile/transport/relay"
)

// proxy holds the flags of meanwhile proxy.
type proxy struct {
	Server string `arg:"" help:"HOST:PORT of the server, TCP and UDP."`
	Addr   string `default:"127.0.0.1:8090" help:"IP:PORT to listen on, TCP and UDP."`

	Profile   string        `default:"lan" help:"The network: ${profiles}, or none."`
	TraceDown string        `placeholder:"FILE" help:"Its capacity towards clients, recorded by mahimahi."`
	TraceUp   string        `placeholder:"FILE" help:"The same, towards the server."`
	Delay     time.Duration `help:"Add so much delay, each way."`
	Loss      float64       `help:"Lose so many per cent of datagrams, each way, in place of the profile's loss."`
	Kbit      int           `help:"Let through so many kbit/s, each way, in place of the profile's capacity."`
	Duplicate float64       `help:"Double so many per cent of datagrams, each way."`
	Corrupt   float64       `help:"Change a bit in so many per cent of datagrams, each way."`
	MTU       int           `name:"mtu" help:"Drop UDP payloads above so many bytes."`
	Seed      uint64        `default:"1" help:"Of all that is drawn."`

	Cut   time.Duration `help:"Cut the network for so long, again and again."`
	Every time.Duration `default:"30s" help:"The time from one cut, move or reset to the next."`
	Move  bool          `help:"Give clients new ports towards the server then, as a router that forgot them."`
	Reset bool          `help:"Reset all TCP connections then."`
	For   time.Duration `help:"Stop after so long; by default when interrupted."`
}

// maxPercent bounds flags that are shares.
const maxPercent = 100

func (p *proxy) run(ctx context.Context, stdout io.Writer) error {
	w, err := p.weather()
	if err != nil {
		return usageError{err}
	}
	addr, err := netip.ParseAddrPort(p.Addr)
	if err != nil {
		return usageError{fmt.Errorf("--addr %q is not IP:PORT", p.Addr)}
	}
	r, err := relay.Listen(addr)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Impair(w); err != nil {
		return usageError{err}
	}
	if err := r.To(p.Server); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "http://%s/ leads to %s over %s. Start that server with --public-addr %s,\n"+
		"or players find a way around.\n", r.Addr(), p.Server, p.name(), r.Addr())
	if p.For > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, p.For)
		defer stop()
	}
	p.disturb(ctx, r)
	up, down, lost := r.Passed()
	fmt.Fprintf(stdout, "%d datagrams to the server, %d to clients; %d were lost to cuts\n", up, down, lost)
	return nil
}

// disturb cuts, moves and resets until ctx ends.
func (p *proxy) disturb(ctx context.Context, r *relay.Relay) {
	if p.Cut == 0 && !p.Move && !p.Reset {
		<-ctx.Done()
		return
	}
	ticker := time.NewTicker(p.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if p.Move {
			r.Move()
		}
		if p.Reset {
			r.Reset()
		}
		if p.Cut > 0 {
			r.Cut(true)
			select {
			case <-ctx.Done():
			case <-time.After(p.Cut):
			}
			r.Cut(false)
		}
	}
}

// name is what the weather is called.
func (p *proxy) name() string {
	if p.TraceDown != "" || p.TraceUp != "" {
		return p.Profile + " with recorded capacity"
	}
	return p.Profile
}

// weather makes the weather that the flags ask for.
func (p *proxy) weather() (w relay.Weather, err error) {
	if p.Profile != "none" {
		if w.Profile, err = netsim.ByName(p.Profile); err != nil {
			return w, err
		}
	}
	for _, f := range []struct {
		name  string
		share float64
	}{{"--loss", p.Loss}, {"--duplicate", p.Duplicate}, {"--corrupt", p.Corrupt}} {
		if f.share < 0 || f.share > maxPercent {
			return w, fmt.Errorf("%s %v is outside [0, %d] per cent", f.name, f.share, maxPercent)
		}
	}
	if p.Every <= 0 || p.Cut < 0 || p.Cut >= p.Every || p.For < 0 || p.Delay < 0 || p.Kbit < 0 {
		return w, fmt.Errorf("--every %v must be positive and above --cut %v; --for %v, --delay %v and --kbit %d must "+
			"not be negative", p.Every, p.Cut, p.For, p.Delay, p.Kbit)
	}
	down, err := readTrace(p.TraceDown)
	if err != nil {
		return w, err
	}
	up, err := readTrace(p.TraceUp)
	if err != nil {
		return w, err
	}
	w.Profile = w.Profile.WithTraces(down, up)
	for _, l := range []*netsim.LinkConfig{&w.Profile.Down, &w.Profile.Up} {
		l.Delay += p.Delay
		if p.Loss > 0 {
			l.Loss = netsim.Loss{InGood: p.Loss / maxPercent}
		}
		if p.Duplicate > 0 {
			l.Duplicate = p.Duplicate / maxPercent
		}
		if p.Kbit > 0 {
			l.Rate, l.Cell, l.Trace = int64(p.Kbit)*1000, netsim.Cell{}, nil
		}
	}
	w.Seed, w.Corrupt, w.MTU = p.Seed, p.Corrupt/maxPercent, p.MTU
	return w, w.Validate()
}

// readTrace reads a recorded capacity; "" is none.
func readTrace(name string) (*netsim.Trace, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := netsim.ReadTrace(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// profileNames lists the networks that netsim knows.
func profileNames() string {
	var names []string
	for _, p := range netsim.Profiles() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
