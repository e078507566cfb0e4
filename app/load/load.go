// Package load plays a game with many players without a screen, over real sockets and whatever
// network is asked for, and says how well they could play: the command load of every game's
// program.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"meanwhile/app/offer"
	"meanwhile/app/site"
	"meanwhile/game"
	"meanwhile/netsim"
	"meanwhile/server"
)

// Bounds of a load.
const (
	maxPlayers = 2000
	maxTime    = 24 * time.Hour
	maxRate    = 1000 // packets a second that a player asks for
	maxFPS     = 240
	maxRamp    = 1000 // players a second
	maxRooms   = 1000
	minTrouble = time.Second
	// joinTimeout is how long a player may take to join.
	joinTimeout = 15 * time.Second
)

// flags are those of the command load.
type flags struct {
	URL       string        `arg:"" optional:"" default:"http://127.0.0.1:8080/" help:"The server's page: ${default}"`
	Players   int           `short:"n" default:"10" help:"How many players join, at most ${most}."`
	Ramp      float64       `default:"100" help:"How many of them join in a second."`
	For       time.Duration `default:"10s" help:"How long to measure after the last has joined."`
	Rooms     int           `help:"Spread players over so many rooms, load-1 and on; else the server chooses."`
	Room      string        `help:"Play in this room."`
	Transport string        `default:"quic" help:"${transports}; mixed, or weights such as quic=3,websocket=1."`
	Profile   string        `default:"none" help:"Each player's network: none, ${profiles}; mixed, or weights."`
	Trouble   time.Duration `help:"So often a player is cut off, roams, is disconnected, or leaves; others come."`
	FPS       int           `name:"fps" default:"60" help:"Frames a second, and datagrams each sends at most."`
	Random    bool          `help:"Play random commands, as for a game without a bot, although this has one."`
	Watch     bool          `help:"Watch in place of playing, as --spectators of the server allows."`
	Seed      uint64        `default:"1" help:"Of all that is drawn: networks, random commands, trouble."`
	Kbit      int           `help:"Ask the server for so many kbit/s each; by default for what it allows."`
	Packets   int           `help:"Ask for so many packets a second; by default for what it allows."`
	Via       string        `placeholder:"HOST:PORT" help:"Connect there, not where the server says: to a proxy."`
	Remote    bool          `help:"Allow a server on another machine; you must be allowed to load it."`
	JSON      bool          `name:"json" help:"Print one JSON object."`

	Limits limits `embed:"" group:"Exit status 1 where these are not met"`
}

// limits are what a load must keep to.
type limits struct {
	Hitches *float64       `name:"max-hitches" placeholder:"N" help:"A minute, as the mean of all players."`
	Starved *share         `name:"max-starved" placeholder:"SHARE" help:"Of ticks, such as 0.1%; mean of players."`
	RTT     *time.Duration `name:"max-rtt" placeholder:"TIME" help:"Round trip of 99 of 100 players, such as 5ms."`
	Delay   *time.Duration `name:"max-delay" placeholder:"TIME" help:"Playout delay of 99 of 100 players."`
	Lost    int            `default:"0" help:"How many players may fail to join, or be gone at the end."`
}

// A share is a part of a whole, in [0, 1]. As a text it may be per cent.
type share float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *share) UnmarshalText(b []byte) error {
	text, percent := strings.CutSuffix(string(b), "%")
	v, err := strconv.ParseFloat(text, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("%q is not a share in [0%%, 100%%], such as 0.1%%", b)
	}
	*s = share(v)
	return nil
}

// A usageError is a mistake in the command line: exit status 2.
type usageError struct{ error }

func badUsage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errShort is a load whose players were not served as was asked for; its verdict has been printed.
var errShort = errors.New("the verdict says it")

// Main is the command load of a program called name. find returns the rules of a game. It returns
// the exit status: 0; 1 where the players were not served as the flags ask for; 2 where the command
// line is wrong.
func Main(
	ctx context.Context, name string, find func(game string) (*game.Rules, error), args []string,
	stdout, stderr io.Writer,
) int {
	var f flags
	vars := map[string]string{"most": fmt.Sprint(maxPlayers), "profiles": strings.Join(profileNames(), ", "),
		"transports": strings.Join(transports, ", ")}
	about := "Play with many players without a screen, and say how well they could play."
	if _, code, done := site.Parse(&f, name+" load", about, vars, args, stdout, stderr); done {
		return code
	}
	switch err := f.run(ctx, find, stdout, stderr); {
	case err == nil:
		return 0
	case errors.Is(err, errShort):
		return 1
	default:
		fmt.Fprintln(stderr, site.Sentence(name, err))
		if errors.As(err, new(usageError)) {
			return 2
		}
		return 1
	}
}

func (f *flags) run(
	ctx context.Context, find func(game string) (*game.Rules, error), stdout, stderr io.Writer,
) error {
	s, err := f.swarm()
	if err != nil {
		return err
	}
	base, err := f.address()
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, joinTimeout)
	target, err := offer.Ask(asking, base, f.Room, nil)
	cancel()
	if err != nil {
		return err
	}
	if s.rules, err = find(target.Game); err != nil {
		return fmt.Errorf("the server plays %s, whose rules this program does not have; the program of that game has a "+
			"command load, too", target.Game)
	}
	if p := target.Around(base); p != "" && f.Via == "" && s.sendsUDP() {
		fmt.Fprintf(stderr, "The server at %s sends players to UDP %s. If a proxy is at the former address, they go "+
			"around it; --via %[1]s sends them through it.\n", base.Host, p)
	}
	target = target.Via(f.Via)
	for _, seat := range s.seats {
		if _, err := target.HostOf(seat.over); err != nil {
			return err
		}
	}
	s.dial = func(seat *seat) (dialFunc, error) { return seat.dialer(target) }
	r := s.play(ctx)
	r.Game, r.Room, r.Address = target.Game, target.Room, base.Host
	r.judge(&f.Limits)
	if f.JSON {
		err = r.writeJSON(stdout)
	} else {
		err = r.write(stdout, &f.Limits)
	}
	if err == nil && !r.OK {
		err = errShort
	}
	return err
}

// check checks the numbers of the command line.
func (f *flags) check() error {
	for _, n := range []struct {
		name           string
		v, least, most int
	}{
		{"players", f.Players, 1, maxPlayers}, {"rooms", f.Rooms, 0, maxRooms}, {"fps", f.FPS, 1, maxFPS},
		{"kbit", f.Kbit, 0, server.MaxBudget * 8 / 1000}, {"packets", f.Packets, 0, maxRate},
		{"lost", f.Limits.Lost, 0, maxPlayers},
	} {
		if n.v < n.least || n.v > n.most {
			return badUsage("--%s %d is outside [%d, %d]", n.name, n.v, n.least, n.most)
		}
	}
	switch {
	case !(f.Ramp > 0 && f.Ramp <= maxRamp):
		return badUsage("--ramp %v is outside (0, %d] players a second", f.Ramp, maxRamp)
	case f.For <= 0 || f.For > maxTime:
		return badUsage("--for %v is outside (0, %v]", f.For, maxTime)
	case f.Trouble != 0 && (f.Trouble < minTrouble || f.Trouble > maxTime):
		return badUsage("--trouble %v is neither 0 nor within [%v, %v]", f.Trouble, minTrouble, maxTime)
	case f.Limits.Hitches != nil && !(*f.Limits.Hitches >= 0):
		return badUsage("--max-hitches %v is below 0", *f.Limits.Hitches)
	case f.Limits.RTT != nil && *f.Limits.RTT <= 0:
		return badUsage("--max-rtt %v is not above 0", *f.Limits.RTT)
	case f.Limits.Delay != nil && *f.Limits.Delay <= 0:
		return badUsage("--max-delay %v is not above 0", *f.Limits.Delay)
	case f.Rooms > 0 && f.Room != "":
		return badUsage("--rooms %d spreads players over rooms of its own; leave --room %s out", f.Rooms, f.Room)
	}
	return nil
}

// swarm returns the players that the flags ask for.
func (f *flags) swarm() (*swarm, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	over, err := mix("transport", f.Transport, transports)
	if err != nil {
		return nil, usageError{err}
	}
	networks, err := mix("profile", f.Profile, append(profileNames(), noNetwork))
	if err != nil {
		return nil, usageError{err}
	}
	s := newSwarm(f)
	s.networks = networks
	for i := range f.Players {
		seat := &seat{swarm: s, number: i, room: f.Room, over: over.pick(i)}
		// Every transport meets every network.
		if name := networks.pick(i/over.sum + i%over.sum); name != noNetwork {
			p, err := netsim.ByName(name)
			if err != nil {
				return nil, usageError{err}
			}
			seat.network = &p
		}
		if f.Rooms > 0 {
			seat.room = fmt.Sprintf("load-%d", i%f.Rooms+1)
		}
		s.seats = append(s.seats, seat)
	}
	return s, nil
}

// address returns the address of the page, which must be this machine's unless --remote is given.
func (f *flags) address() (*url.URL, error) {
	text := f.URL
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, badUsage("%q is not an address such as http://127.0.0.1:8080/", f.URL)
	}
	if !f.Remote && !offer.Loopback(base.Hostname()) {
		return nil, badUsage("%s is not this machine; use --remote if you may load it", base.Hostname())
	}
	if f.Via != "" {
		if host, _, err := net.SplitHostPort(f.Via); err != nil || host == "" {
			return nil, badUsage("--via %q is not HOST:PORT, such as 127.0.0.1:8090", f.Via)
		}
	}
	return base, nil
}

// noNetwork is the profile of players who connect straight to the server.
const noNetwork = "none"

func profileNames() (names []string) {
	for _, p := range netsim.Profiles() {
		names = append(names, p.Name)
	}
	return names
}
