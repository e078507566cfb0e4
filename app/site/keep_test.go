package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/host/journal"
	"meanwhile/internal/verify/process"
	"meanwhile/netcode/clock"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/websocket"
)

// keeping makes this test program a server of arena that keeps its rooms.
const keeping = "SITE_TEST_KEEPS"

// beforeServing is called before a server serves; nil: nothing is to be done.
var beforeServing func() error

// keepWith serves for as long as the process lives, a minute at most, and prints its two addresses.
func keepWith(state string) error {
	rules, err := arena.Game.Rules()
	if err != nil {
		return err
	}
	s, err := Listen(Config{Addr: "127.0.0.1:0", Host: host.Config{Rules: rules, Bots: 3, Log: Logger(os.Stderr, false)},
		Door: Door{Metrics: "localhost:0", State: state, UDP: udpOff, KeepRooms: true}})
	if err != nil {
		return err
	}
	if beforeServing != nil {
		if err := beforeServing(); err != nil {
			return err
		}
	}
	fmt.Println(s.tcp.Addr(), s.op.Addr())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Serve(ctx, nil)
}

// A room of a server that is killed goes on in the next one: at most a second before where it was,
// with the world that was recorded, bit for bit; the player comes back to its avatar and score. The
// command replay says the same of the journal.
func TestARoomOutlivesItsServer(t *testing.T) {
	state := t.TempDir()
	var address atomic.Pointer[string]
	start := func() (op string, kill func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), serving+"="+state, keeping+"=1")
		p := process.Start(t, cmd, time.Minute)
		var players string
		line, _ := p.Line()
		if _, err := fmt.Sscan(line, &players, &op); err != nil {
			t.Fatalf("the server printed %q: %v", line, err)
		}
		address.Store(&players)
		return op, func() { p.Kill(); _ = p.Wait() }
	}
	begun := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(begun)) }
	rules, err := arena.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context) (transport.Conn, error) {
		return websocket.Dial(ctx, "ws://"+*address.Load()+transport.Path, websocket.DialConfig{Clock: now})
	}
	_, kill := start()
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	returned := make(chan session.Welcome, 4)
	ann, err := headless.Join(t.Context(), conn, headless.Config{Rules: rules, Clock: now, Name: "ann", Bot: rules.Bot(),
		Dial: dial, OnReturn: func(w session.Welcome, _ bool) { returned <- w }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- ann.Run(ctx) }()
	type look struct {
		me   game.ID
		tick clock.Tick
		of   arena.Player
	}
	see := func() (l look) {
		ann.Do(func(c *client.Client) {
			l.me, l.tick = c.Me(), c.Confirmed()
			l.of = *arena.Players.Get(c.World(), l.me)
		})
		return l
	}
	was, id := see(), ann.ID()
	seen := []look{was}
	for was.tick < 6*arena.Rate { // the room waits for who has been here for a while
		time.Sleep(50 * time.Millisecond)
		was = see()
		seen = append(seen, was)
	}
	kill()
	tick := newestTick(t, rules, filepath.Join(state, journalDir))
	if tick+arena.Rate < was.tick {
		t.Errorf("tick %d is the newest that was recorded, and a player had seen tick %d", tick, was.tick)
	}
	op, _ := start()
	select {
	case w := <-returned:
		if !w.Resumed || w.Kept || w.Player != uint32(id) || w.Tick < tick {
			t.Errorf("ann came back as player %d, resumed %v, kept %v, at tick %d after %d; was %d", w.Player, w.Resumed, w.Kept,
				w.Tick, tick, id)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("ann did not come back")
	}
	is := see()
	for ; is.me != was.me || is.of.Name != "ann" || is.tick <= tick; is = see() { // or until the server ends
		time.Sleep(20 * time.Millisecond)
	}
	for len(seen) > 1 && was.tick > tick { // what came after the newest record is lost
		seen = seen[:len(seen)-1]
		was = seen[len(seen)-1]
	}
	if is.of.Score < was.of.Score || is.of.Deaths < was.of.Deaths {
		t.Errorf("ann is %+v and was %+v", is.of, was.of)
	}
	g := &gated{t: t}
	status, path := g.post("http://"+op+"/save", `{}`, "Content-Type", "application/json")
	if status != 200 {
		t.Fatalf("/save: %d %s", status, path)
	}
	var out, errs bytes.Buffer
	file := strings.TrimSpace(path)
	if code := ReplayGame(t.Context(), rules, []string{file, "--at", "2s", "--player", "99"}, &out, &errs); code != 0 ||
		!strings.Contains(out.String(), "none of these players and entities is there") {
		t.Errorf("replay of a player who is not there: %d %s%s", code, &out, &errs)
	}
	out.Reset()
	if code := ReplayGame(t.Context(), rules, []string{file, "--json"}, &out, &errs); code != 0 {
		t.Errorf("replay: %d %s", code, &errs)
	}
	var row struct {
		Ticks int
		Same  bool
	}
	if err := json.Unmarshal(out.Bytes(), &row); err != nil || !row.Same || row.Ticks < 300 {
		t.Errorf("replay printed %s: %v", &out, err)
	}
	leave()
	<-left
}

// newestTick returns the newest tick that a killed server recorded. Its replay has the sums of
// every tick that the server computed.
func newestTick(t *testing.T, rules *game.Rules, dir string) clock.Tick {
	t.Helper()
	rooms, err := filepath.Glob(filepath.Join(dir, "rooms", "*"))
	if err != nil || len(rooms) != 1 {
		t.Fatalf("%q: %v", rooms, err)
	}
	files, err := readJournal(rooms[0])
	if err != nil {
		t.Fatal(err)
	}
	f, err := journal.Parse(files...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := journal.Restore(rules, f)
	if err != nil {
		t.Fatal(err)
	}
	return r.Server.Tick()
}

// A second program on the same folder does not start: it would end the rooms of the first.
func TestOneProgramKeepsRooms(t *testing.T) {
	door := Door{State: t.TempDir(), KeepRooms: true}
	first, second := &Site{cfg: Config{Door: door}}, &Site{cfg: Config{Door: door}}
	if err := first.openStore(); err != nil {
		t.Fatal(err)
	}
	if err := second.openStore(); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("got %v", err)
	}
	first.closeStore()
	if err := second.openStore(); err != nil {
		t.Error(err)
	}
	second.closeStore()
}

// What cannot be replayed is one sentence and exit status 2.
func TestReplayRefusals(t *testing.T) {
	rules, err := arena.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad"+host.JournalSuffix)
	if err := os.WriteFile(bad, []byte("no journal at all, but long enough for a head"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := journal.Chunk{Kind: journal.KindHeader, Payload: []byte(`{"Format":"meanwhile journal 2","Game":"zap"}`)}
	zap, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "zap")
	if err := os.WriteFile(other, zap, 0o600); err != nil {
		t.Fatal(err)
	}
	log, torn := filepath.Join(dir, "log"), filepath.Join(dir, "torn")
	const head = `{"game":"zap"}`
	for name, text := range map[string]string{log: "\x0e" + head, torn: "\x0e" + head[1:]} {
		if err := os.WriteFile(name, []byte("meanwhile page log 1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "expected \"<file>\""},
		{[]string{filepath.Join(dir, "none")}, "no such file"},
		{[]string{bad}, "malformed"},
		{[]string{t.TempDir()}, "no journal is in"},
		{[]string{other}, "it is of game zap"},
		{[]string{other, "--at", "soon"}, "it is of game zap"},
		{[]string{other, "--frame", "last"}, "has no log of a page"},
		{[]string{log}, "it is of game zap"},
		{[]string{torn}, "malformed"},
	} {
		var out, errs bytes.Buffer
		code := ReplayGame(t.Context(), rules, c.args, &out, &errs)
		if code != 2 || out.Len() > 0 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: %d, %s%s", c.args, code, &out, &errs)
		}
	}
}
