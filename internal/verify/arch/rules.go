package arch

import (
	"slices"
	"strings"
)

// rooms lists where things live, from the bottom up: a package imports packages of its own room and
// of rooms above it in this list, never of one below. Rooms on one line stand side by side and do
// not import each other. A room holds all packages under its folder, unless a longer name in this
// list claims them.
var rooms = [][]string{
	{"internal/fault"}, // what stands in for package fmt in browsers
	{"geom"},
	{"geom/body"},
	{"netcode/clock"},
	{"netsim"},
	{"netcode/wire"},
	{"netcode/rate"},
	{"netcode/estimate"},
	{"netcode/reliable"},
	{"netcode/schema"},
	{"netcode/packet"},
	{"netcode/codec"},
	{"netcode/motion"},
	{"netcode/snapshot"},
	{"netcode/interest"},
	{"netcode/playout"},
	{"netcode/lobby"},
	{"netcode/predict"},
	{"netcode/rewind"},
	{"internal/engine"}, // what servers, clients and gametest drive a game with
	{"game"},
	{"session"},
	{"server", "client"},
	{"transport"},
	{"host/freeze"},
	{"host/journal"},
	{"host", "headless"},
	{"host/metrics", "host/bolt", "host/otlp"},
	{"web"},
	{"app"},
	{"gametest"},
	{"examples"},
	{"demo", "docs"},
	{"lab"},
	{"vet"},
	{"cmd"},
	{"internal"},
}

// apart lists imports that the order of rooms would allow and that are refused all the same, in
// program files.
var apart = []struct{ from, to, why string }{
	{"host", "client", "a server needs no player's side; headless/ has players without a screen, and app/ joins the two"},
	{"app", "netcode/snapshot", "the page is handed what it draws: client.Entity says Cut, Stalled and Late itself"},
	{"app", "netcode/motion", "the page is handed what it draws: client.Entity says Cut, Stalled and Late itself"},
}

// lastCore is the last line of rooms whose packages are pure: bytes and the time in, bytes and
// facts out.
const lastCore = "client"

// thirdParty names the modules from outside the standard library that a room's program files may
// import. A room that is not listed imports none. docs/adr/0002-dependencies.md says why each is
// here.
var thirdParty = map[string][]string{
	"transport": {"github.com/quic-go/quic-go", "github.com/quic-go/webtransport-go", "github.com/coder/websocket",
		"golang.org/x/net"},
	"host/metrics": {"github.com/prometheus/client_golang"},
	"host/bolt":    {"go.etcd.io/bbolt"},
	"host/otlp": {"github.com/prometheus/client_golang", "github.com/prometheus/client_model",
		"google.golang.org/protobuf"},
	"app": {"github.com/alecthomas/kong", "github.com/coder/websocket", "github.com/andybalholm/brotli",
		"golang.org/x/crypto"},
	"demo": {"github.com/andybalholm/brotli"},
	"lab":  {"gonum.org/v1/plot"},
	"vet":  {"golang.org/x/tools"},
	"cmd": {
		"github.com/chromedp/chromedp",
		"github.com/chromedp/cdproto",
		"github.com/alecthomas/kong",
		"github.com/andybalholm/brotli",
		"golang.org/x/tools",
	},
	"internal": {
		"github.com/prometheus/client_golang",
		"go.opentelemetry.io/proto/otlp",
		"google.golang.org/protobuf",
		"github.com/tetratelabs/wazero",
		"github.com/chromedp/chromedp",
		"github.com/chromedp/cdproto",
		"github.com/andybalholm/brotli",
	},
}

// thirdPartyTests names the modules that only test files import. They may import those of every
// room, too.
var thirdPartyTests = []string{"pgregory.net/rapid"}

// refusal is a standard package, with all below it, that pure packages do not import.
type refusal struct {
	path string
	why  string
	// except lists packages at or below path that are fine after all.
	except []string
	// rooms lists rooms which may import it nevertheless.
	rooms []string
}

var refusals = []refusal{
	{path: "net", why: "sockets live in transport/; the core takes and gives bytes", except: []string{"net/netip"}},
	{path: "os", why: "files, processes and the environment belong to the edge; take an io.Reader or a value"},
	{path: "io/ioutil", why: "files belong to the edge; take an io.Reader"},
	{
		path:  "sync",
		why:   "the core is owned by one loop; goroutines and their locks live at the edge",
		rooms: []string{"examples"}, // sync.Pool for memory of a step; package vet finds all else in rules
	},
	{path: "context", why: "calls of the core do not block, so there is nothing to cancel"},
	{path: "log", why: "the core returns facts and counts; host/ logs them"},
	{
		path:   "runtime",
		why:    "results must not depend on the scheduler, the collector or the machine",
		except: []string{"runtime/debug"},
		rooms:  []string{"internal/fault"}, // names lines of rules in texts
	},
	{path: "syscall", why: "the operating system and the page belong to the edge"},
	{
		path:  "unsafe",
		why:   "a wrong offset there is memory corrupted by a stranger's packet",
		rooms: []string{"netcode/schema", "internal/engine", "game"},
	},
	{path: "math/rand", why: "randomness is a hash of seed, tick, entity and counter, equal on both sides: geom.Rand"},
	{path: "crypto/rand", why: "one seed gives one result; the edge draws secrets and hands them in"},
	{path: "hash/maphash", why: "its seed differs in each process, so that results would too"},
	{path: "testing", why: "it registers flags and reads the clock; only test files need it"},
	{path: "flag", why: "a registry that the whole program shares; the edge parses flags into a Config"},
	{path: "expvar", why: "a registry that the whole program shares; host/ publishes metrics"},
	{path: "plugin", why: "it loads files; the edge does that"},
	{path: "C", why: "the core is compiled for the browser too, where there is no C"},
}

// calls lists names of packages that pure packages do import but that reach out of the core all the
// same.
var calls = []struct {
	path, names, why string
}{
	{"time", "Now Since Until Sleep After AfterFunc Tick Ticker NewTicker Timer NewTimer",
		"the core is told the time: take now clock.Time from the caller"},
	{"time", "Local LoadLocation", "the place of the machine is not part of a result: store instants as clock.Time"},
	{"fmt", "Print Printf Println Scan Scanf Scanln", "the core prints nothing: return the value, the edge prints it"},
	{"iter", "Pull Pull2", "it starts a coroutine; the core runs on its caller's stack alone"},
	{"maps", "Keys Values All", whyOrder},
}

const whyOrder = "the order differs from run to run: sort the keys, or write \"" + orderMark + "<why it cannot " +
	"matter>\" on this line or the one before"

// mathConstants lists the constants of package math. Of its functions only those in exact.Math are
// the same everywhere.
const mathConstants = `E Pi Phi Sqrt2 SqrtE SqrtPi SqrtPhi Ln2 Log2E Ln10 Log10E MaxFloat32 MaxFloat64
	SmallestNonzeroFloat32 SmallestNonzeroFloat64 MaxInt MinInt MaxInt8 MinInt8 MaxInt16 MinInt16 MaxInt32
	MinInt32 MaxInt64 MinInt64 MaxUint MaxUint8 MaxUint16 MaxUint32 MaxUint64`

const whyMath = "its last bit differs between amd64, arm64 and wasm, and prediction would differ with it: use geom's"

// orderMark in a comment on the line of a range over a map, or on the line before it, says why its
// order cannot matter.
const orderMark = "// any order: "

// room returns the room of a package, given by its path below the module, and its line in rooms.
// The room is "" when no line claims the package.
func room(pkg string) (name string, line int) {
	for i, side := range rooms {
		for _, r := range side {
			if within(pkg, r) && len(r) > len(name) {
				name, line = r, i
			}
		}
	}
	return name, line
}

// isCore reports whether a room is bound to be pure.
func isCore(name string) bool {
	_, line := room(name)
	_, last := room(lastCore)
	return name != "" && line <= last
}

// within reports whether path is at or below root.
func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// has reports whether name is one of the words of a list.
func has(words, name string) bool {
	return slices.Contains(strings.Fields(words), name)
}

func withinAny(path string, roots []string) bool {
	for _, r := range roots {
		if within(path, r) {
			return true
		}
	}
	return false
}

// standard reports whether an import path is one of the standard library: its first element has no
// dot. Paths of this module must be told apart before.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
