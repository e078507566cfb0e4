//go:build !js

// Package app makes a program of a game. Natively the program is a server with a page, bots and
// flags; compiled to WebAssembly it is the browser's client, which the page's library meanwhile.js
// drives.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"meanwhile/app/dev"
	"meanwhile/app/load"
	"meanwhile/app/site"
	"meanwhile/game"
	"meanwhile/host"
	"meanwhile/server"
)

// A Store keeps records beyond the process; host.Store says how.
type Store = host.Store

// A Handler answers requests over HTTP.
type Handler = http.Handler

// options are the flags of a game's program.
type options struct {
	Addr    string           `default:"127.0.0.1:8080" help:"HOST:PORT to listen on: the page on TCP, players on UDP."`
	Bots    int              `default:"${bots}" help:"How many bots to add to each room."`
	Room    string           `default:"${room}" help:"The room of players who name none."`
	Rooms   int              `default:"${rooms}" help:"How many rooms may be open at once."`
	Players int              `default:"${players}" help:"How many players a room admits."`
	Kbit    int              `default:"64" help:"Send each player at most so many kbit/s."`
	Total   int              `default:"0" help:"Send all players together at most so many kbit/s; 0: no such bound."`
	Web     string           `placeholder:"DIR" help:"The folder of the page; by default web beside the source or above."`
	Open    bool             `help:"Open the page in a browser."`
	Verbose bool             `short:"v" help:"Log what happens, not only warnings."`
	Version site.VersionFlag `help:"Print what this program was built from, its protocol and its schema."`
	DevDir  string           `hidden:"" help:"What dev has built; its orders come from standard input."`

	site.Door `embed:"" group:"For players on other machines"`
}

// Main runs a game: the server with its page and bots, as the flags and at most one Options say,
// until it is interrupted. Compiled for the browser it is the page's engine. It does not return.
func Main[C any](def *game.Definition[C], opts ...Options) {
	ctx, stop := site.Interrupted()
	rules, err := def.Rules()
	if err == nil {
		err = rules.Unlisted()
	}
	code := run(ctx, def.Name, rules, err, opts, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// limitsOf returns the first Options' LimitsOf as a host calls it; nil where there is none.
func limitsOf(o *Options) func(v host.Visitor) server.Limits {
	if o.LimitsOf == nil {
		return nil
	}
	return func(v host.Visitor) server.Limits {
		l := o.LimitsOf(Visitor{Name: v.Name, Room: v.Room})
		return server.Limits{Budget: l.Kbit * 1000 / 8, Send: l.Packets, Rewind: l.Rewind, RewindTotal: l.RewindTotal}
	}
}

// authenticate returns the first Options' Authenticate as a site calls it; nil where there is none.
func authenticate(o *Options) func(site.Applicant) (site.Account, error) {
	if o.Authenticate == nil {
		return nil
	}
	return func(a site.Applicant) (site.Account, error) {
		account, err := o.Authenticate(Applicant(a))
		return site.Account(account), err
	}
}

// run is Main with an exit status: 0, 1 if something failed, 2 if the program is used or written
// wrongly.
func run(
	ctx context.Context, name string, rules *game.Rules, err error, opts []Options, args []string,
	stdout, stderr io.Writer,
) int {
	say := func(err error) { fmt.Fprintln(stderr, site.Sentence(name, err)) }
	if err != nil {
		say(err)
		return 2
	}
	if len(args) > 0 {
		switch args[0] {
		case "vet":
			return site.VetGame(ctx, name, args[1:], stdout, stderr)
		case "replay":
			return site.ReplayGame(ctx, rules, args[1:], stdout, stderr)
		case "load":
			return load.Main(ctx, name, only(rules), args[1:], stdout, stderr)
		case "dev":
			return dev.Own(ctx, name, args[1:], stdout, stderr)
		}
	}
	var o options
	var how Options
	if len(opts) > 0 {
		how = opts[0]
	}
	bots := 3
	if rules.Bot() == nil {
		bots = 0
	}
	vars := map[string]string{"room": host.DefaultRoom, "rooms": fmt.Sprint(host.DefaultRooms),
		"players": fmt.Sprint(host.DefaultPlayers), "bots": fmt.Sprint(bots), "version": site.VersionOf(name, rules)}
	_, code, done := site.Parse(&o, name, about(name), vars, args, stdout, stderr)
	if done {
		return code
	}
	if err := site.CheckBudgets(o.Kbit, o.Total); err != nil {
		say(err)
		return 2
	}

	var pages []fs.FS
	source, sourceErr := site.FindSource()
	web := o.Web
	if web == "" && sourceErr == nil {
		web, _ = source.Web()
	}
	if web != "" {
		root, err := os.OpenRoot(web)
		if err != nil {
			say(fmt.Errorf("the folder of the page cannot be read: %w", err))
			return 2
		}
		defer root.Close()
		pages = append(pages, root.FS())
		if !hasPage(root.FS()) {
			fmt.Fprintf(stderr, "%s: the folder %s has neither index.html nor game.js, so its page stays empty\n", name, web)
		}
	}
	cfg := site.Config{
		Addr: o.Addr, Door: o.Door, Pages: pages, Handlers: how.Handlers, Authenticate: authenticate(&how), Develop: true,
		Host: host.Config{Rules: rules, Bots: o.Bots, Room: o.Room, Rooms: o.Rooms, Players: o.Players,
			Budget: o.Kbit * 1000 / 8, TotalBudget: o.Total * 1000 / 8, LimitsOf: limitsOf(&how),
			Store: how.Store, Rewind: how.Rewind, RewindTotal: how.RewindTotal,
			Log: site.Logger(stderr, o.Verbose)},
	}
	if o.DevDir != "" {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		develop(&cfg, o.DevDir, end)
	}
	s, err := site.Listen(cfg)
	if err != nil {
		say(err)
		return site.Status(err)
	}
	program, err := client(ctx, rules.Name, pages, source, sourceErr, o.DevDir, stderr)
	if err != nil {
		s.Close()
		if ctx.Err() != nil {
			return 0
		}
		say(err)
		return 1
	}
	if len(pages) == 0 {
		fmt.Fprintf(stderr, "%s: no page: no folder web with game.js was found from %s up; name one with --web\n",
			name, source.Main)
	}
	return site.Run(ctx, s, program, name, o.Open, stdout, stderr)
}

// develop makes a server one that dev runs: its rooms outlast it, and it follows orders.
func develop(cfg *site.Config, dir string, end func()) {
	cfg.Dev = &site.Dev{Dir: dir, Orders: os.Stdin, End: end, Exit: func() { os.Exit(0) }}
	cfg.Door.KeepRooms, cfg.Door.Drain = true, 0
	if cfg.Door.State == "" {
		cfg.Door.State = filepath.Join(dir, "state")
	}
}

// hasPage reports whether a folder has a page, or the script of the page that the library brings.
func hasPage(tree fs.FS) bool {
	for _, name := range []string{"index.html", "game.js"} {
		if info, err := fs.Stat(tree, name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// only finds the rules of one game.
func only(rules *game.Rules) func(name string) (*game.Rules, error) {
	return func(name string) (*game.Rules, error) {
		if name != rules.Name {
			return nil, fmt.Errorf("this program plays %s, not %s", rules.Name, name)
		}
		return rules, nil
	}
}

func about(name string) string {
	return "A game made with Meanwhile. \"" + name + " dev\" plays it and builds it anew whenever a file is saved. " +
		"\"" + name + " vet ./...\" checks its rules (docs/VET.md), \"" + name + " replay FILE\" replays what a room " +
		"recorded (docs/reliability.md), \"" + name + " load URL\" plays with many players and says how well a server " +
		"serves them (docs/deploy.md)."
}

// client returns the program for browsers: that of dev, the one beside the page, or one built from
// the source.
func client(
	ctx context.Context, name string, pages []fs.FS, source site.Source, sourceErr error, devDir string, stderr io.Writer,
) (*site.Program, error) {
	if devDir != "" {
		p, err := site.Prebuilt(os.DirFS(devDir), name)
		if err != nil {
			return nil, err
		}
		return p.Plain(), nil
	}
	for _, tree := range pages {
		p, err := site.Prebuilt(tree, name)
		switch {
		case err == nil:
			fmt.Fprintf(stderr, "using the %s.wasm beside the page\n", name)
			return p, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if sourceErr != nil {
		return nil, fmt.Errorf("%w; start this program in the folder of its source (built with -trimpath it does not know "+
			"where that is), or put %s.wasm and wasm_exec.js into the folder of --web", sourceErr, name)
	}
	p, err := site.Build(ctx, source.Main, name, stderr)
	var failed *site.BuildError
	if errors.As(err, &failed) {
		fmt.Fprintln(stderr, failed.Output)
		return nil, fmt.Errorf("building %s for the browser failed", filepath.Base(source.Main))
	}
	return p, err
}
