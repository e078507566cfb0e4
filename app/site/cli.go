package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"meanwhile/server"
)

// Flags, sentences and exit statuses that programs with a site share.

// Interrupted returns a context that ends when the program is interrupted. A second interrupt then
// kills the program.
func Interrupted() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Parse reads a command line into target, a pointer to a struct with kong's tags. If done is true,
// the program should exit with code: 0 after it printed its help, 2 after it said on stderr what is
// wrong.
func Parse(
	target any, name, about string, vars map[string]string, args []string, stdout, stderr io.Writer,
) (parsed *kong.Context, code int, done bool) {
	helped := false
	k, err := kong.New(target, kong.Name(name), kong.Description(about), kong.Vars(vars), kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic(err) // the struct is wrong, which every test sees
	}
	parsed, err = k.Parse(bind(args))
	if helped {
		return nil, 0, true
	}
	if err != nil {
		help := name
		var wrong *kong.ParseError
		if errors.As(err, &wrong) && wrong.Context.Selected() != nil {
			help = name + " " + wrong.Context.Selected().Name
		}
		fmt.Fprintln(stderr, Sentence(name, err)+"; see "+help+" --help")
		return nil, 2, true
	}
	return parsed, 0, false
}

// bind binds negative numbers to the flags before them, or they would be taken for flags. What they
// are wrong for then says so.
func bind(args []string) []string {
	var bound []string
	for i, a := range args {
		if i > 0 && negative.MatchString(a) && named.MatchString(args[i-1]) {
			bound[len(bound)-1] += "=" + a
			continue
		}
		bound = append(bound, a)
	}
	return bound
}

var (
	negative = regexp.MustCompile(`^-[0-9][0-9.]*[a-z]*$`)
	named    = regexp.MustCompile(`^--[a-z-]+$`)
	// counted are fields of host.Config that have flags.
	counted = regexp.MustCompile(`^(Bots|Players|Rooms|Grace|Drain) (-?[0-9])`)
)

// CheckBudgets checks the flags --kbit and --total, in kbit/s; a total of 0 is no bound.
func CheckBudgets(kbit, total int) error {
	const least, most = server.MinBudget * 8 / 1000, server.MaxBudget * 8 / 1000
	if kbit < least || kbit > most {
		return fmt.Errorf("--kbit %d is outside [%d, %d]", kbit, least, most)
	}
	if total != 0 && (total < least || total > math.MaxInt32) {
		return fmt.Errorf("--total %d is neither 0 nor within [%d, %d]", total, least, math.MaxInt32)
	}
	return nil
}

// Sentence returns the text of an error for a person.
func Sentence(name string, err error) string {
	text := err.Error()
	for _, pkg := range []string{"site: ", "host: ", "game: ", name + ": "} {
		text = strings.TrimPrefix(text, pkg)
	}
	text = counted.ReplaceAllStringFunc(text, func(s string) string { return "--" + strings.ToLower(s) })
	return name + ": " + text
}

// Logger returns a logger of text for people: warnings and errors, and more if it is verbose.
func Logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// Status returns the exit status for an error of Listen: 1 if the address is only not free now, 2
// if the command line asks for something impossible.
func Status(err error) int {
	var addr *addrError
	if errors.As(err, &addr) && checkAddr(addr.Addr) == nil {
		return 1
	}
	return 2
}

// Run prints the address of a site and, but for dev, which starts it again and again, what players
// get there. It opens it if asked to, and serves until ctx ends. It returns the exit status.
func Run(ctx context.Context, s *Site, p *Program, name string, open bool, stdout, stderr io.Writer) int {
	fmt.Fprintln(stdout, s.URL())
	if s.cfg.Dev == nil {
		fmt.Fprintln(stderr, s.players())
	}
	if open {
		if err := OpenBrowser(s.URL()); err != nil {
			fmt.Fprintf(stderr, "%s: no browser could be opened: %v\n", name, err)
		}
	}
	if err := s.Serve(ctx, p); err != nil {
		fmt.Fprintln(stderr, Sentence(name, err))
		return 1
	}
	return 0
}

// OpenBrowser opens a page in the person's browser.
func OpenBrowser(url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with the opener, which is at once, or with this program
	return nil
}
