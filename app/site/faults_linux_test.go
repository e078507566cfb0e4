package site

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/examples/arena"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host/journal"
	"meanwhile/internal/verify/process"
	"meanwhile/netcode/clock"
	"meanwhile/transport"
	"meanwhile/transport/websocket"
)

var kills = flag.Int("kills", 20, "how often TestKilledAtACheckpoint kills a server")

// A keeper is a server of arena in a process of its own, which keeps its rooms in a folder.
type keeper struct {
	*process.Process
	cmd     *exec.Cmd
	players string
}

func startKeeper(t *testing.T, state string, env ...string) *keeper {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), serving+"="+state, keeping+"=1"), env...)
	return &keeper{Process: process.Start(t, cmd, time.Minute), cmd: cmd}
}

// cpu returns what the process has computed.
func (k *keeper) cpu(t *testing.T) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ") // after the name
	fields := strings.Fields(rest)
	var sum int64
	for _, f := range fields[11:13] { // of the user and of the system, in hundredths
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// listens waits for the address.
func (k *keeper) listens(t *testing.T) {
	t.Helper()
	line, _ := k.Line()
	var op string
	if _, err := fmt.Sscan(line, &k.players, &op); err != nil {
		t.Fatalf("the server printed %q: %v", line, err)
	}
}

// says waits until the server's log has a text.
func (k *keeper) says(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(k.Log(), text); { // no keeper lives longer
		if time.Now().After(end) {
			t.Fatalf("the server never said %q", text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A guest plays arena on a keeper.
type guest struct {
	*headless.Player
	left chan error
}

func (k *keeper) join(t *testing.T, rules *game.Rules, name string) *guest {
	t.Helper()
	begun := time.Now()
	now := func() clock.Time { return clock.Time(time.Since(begun)) }
	dial := func(ctx context.Context) (transport.Conn, error) {
		return websocket.Dial(ctx, "ws://"+k.players+transport.Path, websocket.DialConfig{Clock: now})
	}
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := headless.Join(t.Context(), conn, headless.Config{Rules: rules, Clock: now, Name: name, Bot: rules.Bot(),
		Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{p, make(chan error, 1)}
	ctx, stop := context.WithCancel(context.Background())
	go func() { g.left <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-g.left
	})
	return g
}

// tick returns the newest tick that the player has seen.
func (g *guest) tick() (tick clock.Tick) {
	g.Do(func(c *client.Client) { tick = c.Confirmed() })
	return tick
}

// reach waits until the player has seen a tick. The test's own limit ends it.
func (g *guest) reach(t *testing.T, tick clock.Tick) {
	t.Helper()
	for g.tick() < tick {
		select {
		case err := <-g.left:
			g.left <- err
			t.Fatalf("the player has left: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// recorded restores the only room that a killed server has left. Every tick since its checkpoint is
// computed again, and has the sum that the server noted.
func recorded(t *testing.T, rules *game.Rules, state string) clock.Tick {
	t.Helper()
	rooms, err := filepath.Glob(filepath.Join(state, journalDir, "rooms", "*"))
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

// A server that is killed while it restores a room, and while it writes the checkpoint with which the room
// goes on, leaves a room that can be restored, bit for bit, and has lost nothing that was recorded
// before. The flag kills says how often.
func TestKilledAtACheckpoint(t *testing.T) {
	rules, err := arena.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	first := t.TempDir()
	k := startKeeper(t, first)
	k.listens(t)
	k.join(t, rules, "ann").reach(t, 5*arena.Rate)
	k.Kill()
	_ = k.Wait()
	had := recorded(t, rules, first)
	went := 0
	for n := range *kills / 2 {
		state := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(state, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		was := had
		for range 2 { // after a third restart within half a minute the room would begin anew
			segments := func() int {
				names, _ := filepath.Glob(filepath.Join(state, journalDir, "rooms", "*", "*"))
				return len(names)
			}
			before := segments()
			k := startKeeper(t, state)
			for range 10_000 { // until it writes, or for ten seconds
				if segments() > before {
					break
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(rand.Int64N(int64(600 * time.Millisecond))))
			k.Kill()
			_ = k.Wait()
			is := recorded(t, rules, state)
			if is < was {
				t.Errorf("kill %d: tick %d was recorded, and tick %d is left", n, was, is)
			}
			if is > was {
				went++
			}
			was = is
		}
	}
	t.Logf("%d kills, after %d of which the room had gone on", *kills, went)
}

// A disk that is really full takes nothing from those who play, and the room is restored from what was
// written before, also while the disk is still full.
func TestReallyFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: only root mounts a small disk")
	}
	rules, err := arena.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	if err := syscall.Mount("none", state, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("NOT CHECKED: no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(state, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	k := startKeeper(t, state)
	k.listens(t)
	ann := k.join(t, rules, "ann")
	ann.reach(t, 5*arena.Rate)
	ballast, err := os.Create(filepath.Join(state, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	full := ann.tick() // a while before, as this program may have to wait for the processor afterwards
	block := make([]byte, 4096)
	for err == nil {
		_, err = ballast.Write(block)
	}
	if ballast.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	k.says(t, "the room is not recorded")
	ann.reach(t, ann.tick()+arena.Rate)
	k.Kill()
	_ = k.Wait()
	if is := recorded(t, rules, state); is+arena.Rate < full {
		t.Errorf("the disk was full at tick %d, and tick %d was recorded", full, is)
	}
	next := startKeeper(t, state)
	next.listens(t)
	next.join(t, rules, "bob").reach(t, full)
	if log := next.Log(); !strings.Contains(log, "room restored") {
		t.Errorf("the log says %s", log)
	}
}

// openFiles is the environment variable that bounds how many files this test program may have open, beyond
// those that it has when it begins to serve.
const openFiles = "SITE_TEST_FILES"

func init() {
	beforeServing = func() error {
		more, err := strconv.Atoi(os.Getenv(openFiles))
		if err != nil {
			return nil
		}
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		taken := map[string]bool{}
		for _, e := range open {
			taken[e.Name()] = true
		}
		limit := uint64(0)
		for ; more > 0; limit++ { // some numbers are high
			if !taken[strconv.FormatUint(limit, 10)] {
				more--
			}
		}
		return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit})
	}
}

// A server that runs out of file descriptors keeps its players, refuses newcomers, does not spin, and
// takes newcomers again once there is room. Its log stays short.
func TestOutOfFiles(t *testing.T) {
	rules, err := arena.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	k := startKeeper(t, t.TempDir(), openFiles+"=16")
	k.listens(t)
	ann := k.join(t, rules, "ann")
	ann.reach(t, arena.Rate)
	var crowd []net.Conn
	for range 40 { // the kernel accepts them, the server cannot
		c, err := net.Dial("tcp", k.players)
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, c)
	}
	k.says(t, "too many open files")
	cpu := k.cpu(t)
	began := time.Now()
	ann.reach(t, ann.tick()+3*arena.Rate)
	took := time.Since(began)
	if used := k.cpu(t) - cpu; used > took/2 {
		t.Errorf("the server worked for %v in %v", used, took)
	}
	// It tries again after ever longer pauses, the longest of which is a second.
	if n := strings.Count(k.Log(), "too many open files"); n > 20+int(took.Seconds()) {
		t.Errorf("the log says so %d times in %v", n, took)
	}
	for _, c := range crowd {
		c.Close()
	}
	k.join(t, rules, "bob").reach(t, ann.tick())
}
