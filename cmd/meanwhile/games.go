package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"meanwhile/app/site"
	"meanwhile/demo"
	"meanwhile/docs"
	"meanwhile/examples/arena"
	"meanwhile/examples/invasion"
	invasionweb "meanwhile/examples/invasion/web"
	"meanwhile/examples/plaza"
	plazaweb "meanwhile/examples/plaza/web"
	"meanwhile/game"
	"meanwhile/host"
	engine "meanwhile/server"
)

// A gameEntry is a game that this program can serve.
type gameEntry struct {
	name     string
	rules    func() (*game.Rules, error)
	pages    []fs.FS
	handlers map[string]http.Handler
	client   string // folder of the client's package main, below the module's root
	bots     int    // of a demo that asks for no number
	choice   int    // kbit/s up to which a person in a demo may choose the budget; 0: as all others
	// embedded returns the client that is embedded in this program, if there is one, and the schema
	// hash that it was built with. Nil if none ever is: the game then needs its source.
	embedded func() (br, exec []byte, schema string, ok bool)
}

// games are the games that this program can serve.
var games = []gameEntry{{
	name: "arena", rules: arena.Game.Rules, pages: []fs.FS{demo.Files, docs.Guides},
	handlers: arenaHandlers(), client: "demo/client", bots: 7, embedded: demo.Client,
}, {
	name: "invasion", rules: invasion.Game.Rules, pages: []fs.FS{invasionweb.Files},
	client: "examples/invasion/cmd/invasion", bots: 150, choice: 256,
}, {
	name: "plaza", rules: plaza.Game.Rules, pages: []fs.FS{plazaweb.Files},
	client: "examples/plaza/cmd/plaza", bots: 200,
}}

// arenaHandlers serve what the arena's page needs beside its files: the map, and the rules to read.
func arenaHandlers() map[string]http.Handler {
	all := map[string]http.Handler{"GET /arena/map.json": site.Static("application/json", arena.MapJSON())}
	files, _ := arena.Source.ReadDir(".")
	for _, file := range files {
		text, _ := arena.Source.ReadFile(file.Name())
		all["GET /source/"+file.Name()] = site.Static("text/plain; charset=utf-8", text)
	}
	return all
}

// A usageError is a mistake in the command line: exit status 2.
type usageError struct{ error }

// findGame returns the game of a name.
func findGame(name string) (*gameEntry, error) {
	var names []string
	for i := range games {
		if games[i].name == name {
			return &games[i], nil
		}
		names = append(names, games[i].name)
	}
	return nil, usageError{fmt.Errorf("there is no game %q; there is %s", name, strings.Join(names, ", "))}
}

// findRules returns the rules of the game of a name.
func findRules(name string) (*game.Rules, error) {
	g, err := findGame(name)
	if err != nil {
		return nil, err
	}
	return g.rules()
}

// listen opens the site of a game with these rules; cfg says how.
func (g *gameEntry) listen(rules *game.Rules, cfg site.Config) (*site.Site, error) {
	cfg.Host.Rules, cfg.Pages, cfg.Handlers = rules, g.pages, g.handlers
	if g.choice > 0 && cfg.Truth { // in a demo
		most := max(g.choice*1000/8, cfg.Host.Budget)
		cfg.Host.LimitsOf = func(host.Visitor) engine.Limits { return engine.Limits{Budget: most} }
		first := fmt.Appendf(nil, `{"downKbps": %d}`, cfg.Host.Budget*8/1000) // what the page asks for at first
		cfg.Handlers = map[string]http.Handler{"GET /budget.json": site.Static("application/json", first)}
	}
	return site.Listen(cfg)
}

// program returns the client of a game for browsers. It builds the client from the source, which
// always fits these rules; without source or toolchain it returns the embedded one if that fits.
func (g *gameEntry) program(ctx context.Context, rules *game.Rules, stderr io.Writer) (*site.Program, error) {
	source, err := site.FindSource()
	if err == nil {
		var p *site.Program
		dir := filepath.Join(source.Root, filepath.FromSlash(g.client))
		if p, err = site.Build(ctx, dir, g.name, stderr); err == nil {
			return p, nil
		}
	}
	var failed *site.BuildError
	if errors.As(err, &failed) {
		fmt.Fprintln(stderr, failed.Output)
		return nil, err
	}
	if g.embedded == nil {
		return nil, err
	}
	if br, exec, schema, ok := g.embedded(); ok && schema == fmt.Sprintf("%016x", rules.Hash) {
		return site.NewProgram(nil, br, exec)
	}
	return nil, err
}
