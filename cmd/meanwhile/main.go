// Command meanwhile shows, serves, loads and measures games made with Meanwhile.
//
//	meanwhile demo          start a server with bots, and a page that shows what netcode does
//	meanwhile new NAME      write a game that runs, to begin one of your own with
//	meanwhile dev [FOLDER]  play a game while you write it
//	meanwhile serve GAME    run a dedicated server
//	meanwhile doctor URL    check that players reach a server, and say what to mend
//	meanwhile top ADDRESS   show what a running server does
//	meanwhile replay FILE   replay what a room recorded, bit for bit
//	meanwhile load [URL]    play with many players over real sockets
//	meanwhile proxy SERVER  put a bad network between players and a server
//	meanwhile lab NAME      run experiments in virtual time
//	meanwhile bench NAME    measure what the engine costs
//	meanwhile vet [./...]   check the rules of games for what differs between machines or runs
//
// Exit status: 0 after success, 1 after a failure, 2 with one sentence if the command line is wrong.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis/unitchecker"

	"meanwhile/app/dev"
	"meanwhile/app/load"
	"meanwhile/app/site"
	"meanwhile/host"
	"meanwhile/lab"
	"meanwhile/netcode/playout"
	"meanwhile/session"
	"meanwhile/vet"
)

const name = "meanwhile"

type commands struct {
	Version site.VersionFlag `help:"Print what this program was built from."`

	Demo struct {
		Addr    string `default:"127.0.0.1:8080" help:"HOST:PORT to listen on: the page on TCP, players on UDP."`
		Game    string `default:"arena" help:"Play arena, invasion or plaza."`
		Bots    *int   `help:"How many bots to add to each room; by default 7 in arena, 150 in invasion and 200 in plaza."`
		Kbit    int    `default:"64" help:"Send each player at most so many kbit/s."`
		State   string `placeholder:"DIR" help:"The folder for what outlasts the program, such as the best players."`
		Open    bool   `help:"Open the page in a browser."`
		Verbose bool   `short:"v" help:"Log what happens, not only warnings."`

		PublicAddr string `placeholder:"HOST[:PORT]" help:"What others call this server, where --addr differs."`
	} `cmd:"" help:"Start a server with bots and a page on this machine, and print its address."`

	New newGame `cmd:"" help:"Write a game that runs, with rules, page, bot and test, into a folder of its name."`

	Dev struct {
		Args []string `arg:"" optional:"" passthrough:"" help:"The game's folder, and flags of the game's program."`
	} `cmd:"" passthrough:"" help:"Play a game while you write it: what is saved is built, and the world goes on."`

	Serve struct {
		Game    string        `arg:"" help:"Serve arena, invasion or plaza."`
		Addr    string        `default:":8080" help:"HOST:PORT to listen on: the page on TCP, players on UDP."`
		Bots    int           `default:"0" help:"How many bots to add to each room."`
		Players int           `default:"${players}" help:"How many players a room admits."`
		Kbit    int           `default:"64" help:"Send each player at most so many kbit/s."`
		Total   int           `default:"0" help:"Send all players together at most so many kbit/s; 0: no such bound."`
		Rooms   int           `default:"${rooms}" help:"How many rooms may be open at once."`
		Room    string        `default:"${room}" help:"The room of players who name none."`
		Grace   time.Duration `default:"${grace}" help:"How long a room without players stays open."`
		Verbose bool          `short:"v" help:"Log what happens, not only warnings."`

		site.Door `embed:"" group:"For players on other machines"`
	} `cmd:"" help:"Run a dedicated server."`

	Doctor doctor `cmd:"" help:"Check that players reach a server, and say what to mend."`

	Top top `cmd:"" help:"Show what a running server does, each second."`

	Replay struct {
		Args []string `arg:"" optional:"" passthrough:"" help:"A journal and flags; meanwhile replay --help lists them."`
	} `cmd:"" passthrough:"" help:"Replay what a room recorded, bit for bit."`

	Load struct {
		Args []string `arg:"" optional:"" passthrough:"" help:"An address and flags; meanwhile load --help lists them."`
	} `cmd:"" passthrough:"" help:"Play with many players over real sockets, and say how well they could play."`

	Proxy proxy `cmd:"" help:"Put a bad network between players and a server: delay, loss, capacity, cuts."`

	Lab struct {
		Args []string `arg:"" optional:"" passthrough:"" help:"Name an experiment; meanwhile lab list lists them."`
	} `cmd:"" passthrough:"" help:"Run experiments in virtual time."`

	Bench struct {
		Args []string `arg:"" optional:"" passthrough:"" help:"Name a benchmark; meanwhile bench list lists them."`
	} `cmd:"" passthrough:"" help:"Measure what the engine costs."`

	Vet struct {
		Args []string `arg:"" optional:"" passthrough:"" help:"Packages, ./... by default, and flags of go vet."`
	} `cmd:"" passthrough:"" help:"Check the rules of games for what differs between machines or runs (docs/VET.md)."`
}

func main() {
	if vettool(os.Args[1:]) {
		unitchecker.Main(vet.Analyzer) // does not return
	}
	ctx, stop := site.Interrupted()
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with an exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c commands
	vars := map[string]string{"players": fmt.Sprint(host.DefaultPlayers), "rooms": fmt.Sprint(host.DefaultRooms),
		"room":    host.DefaultRoom,
		"version": fmt.Sprintf("%s %s, protocol %d", name, site.Version(), session.Version),
		"grace":   host.DefaultGrace.String(), "profiles": profileNames()}
	parsed, code, done := site.Parse(&c, name, "Netcode for Go: a demonstration, servers, load and measurements.",
		vars, args, stdout, stderr)
	if done {
		return code
	}
	err := site.CheckBudgets(c.Demo.Kbit, 0)
	if err == nil {
		err = site.CheckBudgets(c.Serve.Kbit, c.Serve.Total)
	}
	if err != nil {
		fmt.Fprintln(stderr, site.Sentence(name, err))
		return 2
	}
	switch parsed.Command() {
	case "demo":
		d := &c.Demo
		return serve(ctx, d.Game, d.Bots, d.Open, site.Config{
			Addr: d.Addr, Door: site.Door{State: d.State, PublicAddr: d.PublicAddr, Spectators: demoSpectators}, Truth: true,
			// The page has a slider for the playout delay: shots of those who move it count, too.
			Host: host.Config{Budget: d.Kbit * 1000 / 8, Playout: playout.MaxDelay, Log: site.Logger(stderr, d.Verbose)},
		}, stdout, stderr)
	case "serve <game>":
		s := &c.Serve
		return serve(ctx, s.Game, &s.Bots, false, site.Config{
			Addr: s.Addr, Door: s.Door,
			Host: host.Config{Budget: s.Kbit * 1000 / 8, Players: s.Players, Rooms: s.Rooms, Room: s.Room, Grace: s.Grace,
				TotalBudget: s.Total * 1000 / 8, Log: site.Logger(stderr, s.Verbose)},
		}, stdout, stderr)
	case "dev", "dev <args>":
		return dev.In(ctx, name, c.Dev.Args, stdout, stderr)
	case "new <folder>":
		err = c.New.run(stdout)
	case "doctor <address>":
		err = c.Doctor.run(ctx, stdout)
	case "top <address>":
		err = c.Top.run(ctx, stdout)
	case "replay", "replay <args>":
		return site.Replay(ctx, name, findRules, c.Replay.Args, stdout, stderr)
	case "load", "load <args>":
		return load.Main(ctx, name, findRules, c.Load.Args, stdout, stderr)
	case "proxy <server>":
		err = c.Proxy.run(ctx, stdout)
	case "lab", "lab <args>":
		defer context.AfterFunc(ctx, func() { os.Exit(130) })() // experiments compute, and wait for nothing
		return lab.Main(c.Lab.Args, stdout, stderr)
	case "bench", "bench <args>":
		err = runBench(ctx, c.Bench.Args, stdout, stderr)
	case "vet", "vet <args>":
		var self string
		if self, err = os.Executable(); err == nil {
			return site.Vet(ctx, self, c.Vet.Args, stdout, stderr)
		}
	default:
		panic("meanwhile: no code for the command " + parsed.Command())
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, site.Sentence(name, err))
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

// demoSpectators is how many may watch a room of the demo.
const demoSpectators = 8

// vettool reports whether the arguments are those that go vet gives to a tool: it asks for the
// version and the flags, and then names a file for each package.
func vettool(args []string) bool {
	return len(args) > 0 && (args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg"))
}

// serve serves a game until ctx ends, and returns the exit status. Without a number of bots it adds
// as many as the game shows itself with.
func serve(
	ctx context.Context, which string, bots *int, open bool, cfg site.Config, stdout, stderr io.Writer,
) int {
	say := func(err error) { fmt.Fprintln(stderr, site.Sentence(name, err)) }
	g, err := findGame(which)
	if err != nil {
		say(err)
		return 2
	}
	rules, err := g.rules()
	if err != nil {
		say(err)
		return 1
	}
	if cfg.Host.Bots = g.bots; bots != nil {
		cfg.Host.Bots = *bots
	}
	s, err := g.listen(rules, cfg)
	if err != nil {
		say(err)
		return site.Status(err)
	}
	program, err := g.program(ctx, rules, stderr)
	if err != nil {
		s.Close()
		if ctx.Err() != nil {
			return 0
		}
		say(err)
		return 1
	}
	return site.Run(ctx, s, program, name, open, stdout, stderr)
}
