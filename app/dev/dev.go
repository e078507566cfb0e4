// Package dev is the command "dev": it plays a game while somebody writes it. It builds the game
// anew whenever a file is saved, and the game goes on with its world as it was.
package dev

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"meanwhile/app/site"
)

const (
	// pollEvery is how often the files are looked at. What was saved is built when nothing has
	// changed for as long: editors write several files at once.
	pollEvery = 200 * time.Millisecond
	// endPatience is how long the program may take to write its rooms to the disk, and to end.
	endPatience = 20 * time.Second
	// secondPlayer is the address of a second player, on a network across an ocean.
	secondPlayer = "?profile=ocean&name=second"
)

const help = `Usage: %s [flags of the game]

Plays a game while you write it: builds it anew whenever a file is saved, and goes on with the world as it was.
Pages load the new program by themselves. A page shows what the compiler says, over the game, which goes on as it
was. A world whose state has another form begins anew. With --open it opens two windows, the second one on a bad
network, with --addr 127.0.0.1:9000 it listens there; the other flags of the game work, too.
`

// Own is the command dev of the program of a game. It returns the exit status.
func Own(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	if helps(args) {
		fmt.Fprintf(stdout, help, name+" dev")
		return 0
	}
	source, err := site.FindSource()
	if err != nil {
		fmt.Fprintln(stderr, site.Sentence(name, fmt.Errorf("%w; start dev in its folder", err)))
		return 2
	}
	return (&session{source: source, name: name, args: args, stdout: stdout, stderr: stderr}).run(ctx)
}

// In is the command dev of the program called name, for the game in a folder: the first of args if
// that is no flag, otherwise the working directory.
func In(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	if helps(args) {
		fmt.Fprintf(stdout, help, name+" dev [FOLDER]")
		return 0
	}
	dir := "."
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		dir, args = args[0], args[1:]
	}
	source, err := site.SourceIn(dir)
	if err != nil {
		fmt.Fprintln(stderr, site.Sentence(name, err))
		return 2
	}
	return (&session{source: source, name: name, args: args, stdout: stdout, stderr: stderr}).run(ctx)
}

func helps(args []string) bool {
	return slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// A session is one run of dev. Its methods run in one goroutine.
type session struct {
	source         site.Source
	name           string
	args           []string // of the game's program
	stdout, stderr io.Writer

	open   bool   // a browser
	web    string // folder of the page, or ""
	dir    string // of what was built, and the state of the game
	status site.DevStatus
	child  *child // nil: none runs
	build  int    // number of the newest build
	schema string // of the program that ran last, "" before any
	shown  bool   // the addresses were printed
}

// A child is the program of the game.
type child struct {
	program string // its file
	cmd     *exec.Cmd
	orders  io.WriteCloser
	url     chan string // gets the address of the page, once
	done    chan error
}

// A built is a build that has ended.
type built struct {
	source  string // fingerprint of what was built
	program string // file
	game    string
	schema  string
	err     error
}

// run plays until ctx ends.
func (s *session) run(ctx context.Context) int {
	fail := func(err error) int {
		fmt.Fprintln(s.stderr, site.Sentence(s.name, err))
		return 1
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "meanwhile-dev"); err != nil {
		return fail(err)
	}
	defer os.RemoveAll(s.dir)
	s.open = slices.Contains(s.args, "--open")
	s.args = slices.DeleteFunc(slices.Clone(s.args), func(a string) bool { return a == "--open" })
	s.web, _ = s.source.Web()
	defer s.stop("")

	var (
		code, page = s.fingerprints()
		running    = ""                    // what runs, or could not be built
		done       chan built              // of the build that runs; nil: none
		building                      = "" // what it builds
		cancel     context.CancelFunc = func() {}
	)
	defer func() {
		cancel()
		if done != nil {
			<-done
		}
	}()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	first := true
	for {
		var ended chan error
		if s.child != nil {
			ended = s.child.done
		}
		select {
		case <-ctx.Done():
			return 0
		case err := <-ended:
			s.child = nil
			if !s.shown {
				return status(err)
			}
			fmt.Fprintf(s.stderr, "%s: the game has ended (%v); save a file to start it again\n", s.name, err)
		case b := <-done:
			done, running = nil, b.source
			cancel()
			if ctx.Err() != nil {
				return 0
			}
			if err := s.use(ctx, b); err != nil {
				return fail(err)
			}
		case <-poll.C:
			c, p := s.fingerprints()
			still := c == code && p == page // since the last look
			if p != page {
				s.status.Page++
				s.say()
			}
			code, page = c, p
			if (!still && !first) || code == running || code == building && done != nil {
				continue
			}
			first = false
			if done != nil { // of older files
				cancel()
				<-done
			}
			done, building = make(chan built, 1), code
			cancel = s.begin(ctx, code, done)
		}
	}
}

// status is the exit status of a program that ended with err.
func status(err error) int {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed) && failed.ExitCode() > 0:
		return failed.ExitCode()
	}
	return 1
}

// begin begins to build what has a fingerprint.
func (s *session) begin(ctx context.Context, source string, done chan<- built) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	s.build++
	s.status.State = "Building…"
	if s.build == 1 {
		fmt.Fprintln(s.stderr, "building the server and the browser's half; the first time takes up to a minute")
	}
	s.say()
	go s.make(ctx, s.build, source, done)
	return cancel
}

// make builds both halves of the game, and asks the program who it is, which checks its rules.
func (s *session) make(ctx context.Context, number int, source string, done chan<- built) {
	b := built{source: source, program: filepath.Join(s.dir, fmt.Sprintf("game-%d.exe", number))}
	defer func() { done <- b }()
	began := time.Now()
	type half struct {
		program *site.Program
		err     error
	}
	browsers := make(chan half, 1)
	go func() {
		p, err := site.BuildPlain(ctx, s.source.Main, "dev", io.Discard)
		browsers <- half{p, err}
	}()
	b.err = site.BuildNative(ctx, s.source.Main, b.program)
	other := <-browsers
	if b.err == nil {
		b.err = other.err
	}
	if b.err != nil {
		return
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, b.program, "--version")
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(errs.Bytes()))
		if errs.Len() > 0 {
			b.err = errors.New(strings.TrimSpace(errs.String()))
		}
		return
	}
	words := strings.Fields(out.String())
	if len(words) < 2 {
		b.err = fmt.Errorf("%s --version says %q", b.program, out.String())
		return
	}
	b.game, b.schema = words[0], words[len(words)-1]
	b.err = other.program.Write(s.dir, b.game)
	fmt.Fprintf(s.stderr, "built %s in %v\n", b.game, time.Since(began).Round(10*time.Millisecond))
}

// use goes on with a build, or says why there is none. Its error ends dev.
func (s *session) use(ctx context.Context, b built) error {
	s.status.State = ""
	if b.err != nil {
		_ = os.Remove(b.program)
		s.status.Error = b.err.Error()
		var failed *site.BuildError
		if errors.As(b.err, &failed) {
			s.status.Error = failed.Output
		}
		fmt.Fprintf(s.stderr, "%s\n", s.status.Error)
		s.say()
		return nil
	}
	s.stop("exit\n")
	s.status.Error, s.status.Note = "", ""
	if s.schema != "" && s.schema != b.schema {
		s.status.Note = "The state of the game has another form now, so its world began anew."
		fmt.Fprintln(s.stderr, s.status.Note)
	}
	s.schema = b.schema
	s.status.Build++
	s.say()
	if err := s.start(b.program); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case err := <-s.child.done: // it has said why
		s.child.done <- err
	case url := <-s.child.url:
		s.show(url)
	}
	return nil
}

// start starts a program.
func (s *session) start(program string) error {
	args := slices.Clone(s.args)
	if s.web != "" && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--web") }) {
		args = append(args, "--web", s.web)
	}
	cmd := exec.Command(program, append(args, "--dev-dir", s.dir)...)
	cmd.Stderr = s.stderr
	orders, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c := &child{program: program, cmd: cmd, orders: orders, url: make(chan string, 1), done: make(chan error, 1)}
	s.child = c
	go func() {
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			c.url <- lines.Text()
		}
		_, _ = io.Copy(io.Discard, out)
		c.done <- cmd.Wait()
	}()
	return nil
}

// stop gives the program an order, "exit" if another one is to go on with its rooms, and waits for
// its end.
func (s *session) stop(order string) {
	c := s.child
	if c == nil {
		return
	}
	s.child = nil
	_, _ = io.WriteString(c.orders, order)
	_ = c.orders.Close()
	select {
	case <-c.done:
	case <-time.After(endPatience):
		fmt.Fprintf(s.stderr, "%s: the game does not end, and is killed; its world may begin anew\n", s.name)
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	_ = os.Remove(c.program)
}

// show prints the addresses, once.
func (s *session) show(url string) {
	if s.shown {
		return
	}
	s.shown = true
	fmt.Fprintln(s.stdout, url)
	fmt.Fprintf(
		s.stderr,
		"A second player, on a bad network: %s\nSave a file, and the game goes on with it.\n",
		url+secondPlayer,
	)
	if s.open {
		for _, u := range []string{url, url + secondPlayer} {
			if err := site.OpenBrowser(u); err != nil {
				fmt.Fprintf(s.stderr, "%s: no browser could be opened: %v\n", s.name, err)
				return
			}
		}
	}
}

// say writes down what pages are shown.
func (s *session) say() {
	b, err := json.Marshal(&s.status)
	work := filepath.Join(s.dir, site.DevStatusFile)
	if err == nil {
		err = os.WriteFile(work+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(work+".new", work)
	}
	if err != nil {
		fmt.Fprintf(s.stderr, "%s: pages cannot be shown what happens: %v\n", s.name, err)
	}
}

// fingerprints returns one of the files that programs are built from, and one of those of the page.
func (s *session) fingerprints() (code, page string) {
	codes, pages := fnv.New64a(), fnv.New64a()
	_ = filepath.WalkDir(s.source.Root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went away
		}
		name := e.Name()
		if e.IsDir() {
			if path != s.source.Root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		into := io.Writer(codes)
		inPage := s.web != "" && strings.HasPrefix(path, s.web+string(filepath.Separator))
		switch ext := filepath.Ext(name); {
		case inPage && !strings.HasPrefix(name, "."):
			into = pages
		case strings.HasSuffix(name, "_test.go"):
			return nil
		case ext != ".go" && ext != ".mod" && ext != ".sum" && ext != ".json":
			return nil
		}
		if info, err := e.Info(); err == nil {
			fmt.Fprintln(into, path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return fmt.Sprintf("%016x", codes.Sum64()), fmt.Sprintf("%016x", pages.Sum64())
}
