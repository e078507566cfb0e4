package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"meanwhile/game"
	"meanwhile/game/saved"
	"meanwhile/geom"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/session"
	"meanwhile/transport/memory"
)

// A cluster is a PostgreSQL server of its own, in a temporary folder and on a socket there.
type cluster struct {
	t   *testing.T
	bin string // the folder of its programs
	dir string
	as  *syscall.SysProcAttr // it refuses to run as root
	cmd *exec.Cmd
}

// newCluster starts a server; the test is skipped where PostgreSQL is not installed.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("PostgreSQL is not installed")
		}
		t.Skip("PostgreSQL is not installed: apt-get install postgresql")
	}
	dir, err := os.MkdirTemp("", "pg") // a short path, since a socket's may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, bin: filepath.Dir(found[0]), dir: dir, as: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	t.Cleanup(func() {
		c.kill(syscall.SIGQUIT)
		os.RemoveAll(dir)
	})
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		c.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	initdb := c.command("initdb", "-D", c.data(), "-A", "trust", "-U", "game", "--no-sync", "--locale=C", "-E", "UTF8")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	c.start()
	return c
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.as
	return cmd
}

func (c *cluster) start() {
	c.t.Helper()
	c.cmd = c.command("postgres", "-D", c.data(), "-k", c.dir, "-h", "", "-c", "shared_buffers=16MB")
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// kill ends the server by a signal: SIGQUIT at once, as SIGKILL but without leaving memory behind.
func (c *cluster) kill(s syscall.Signal) {
	if c.cmd != nil {
		_ = c.cmd.Process.Signal(s)
		_ = c.cmd.Wait()
		c.cmd = nil
	}
}

// open connects, and waits until the server answers.
func (c *cluster) open() (*sql.DB, *Store) {
	c.t.Helper()
	db, err := sql.Open("pgx", fmt.Sprintf("host=%s user=game dbname=postgres sslmode=disable", c.dir))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { db.Close() })
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	for {
		s, err := New(ctx, db)
		if err == nil {
			return db, s
		}
		if ctx.Err() != nil {
			c.t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

type (
	miner struct {
		Pos geom.Vec2 `net:"pos,1m"`
	}
	nothing struct {
		On bool `net:"bool"`
	}
	purse  struct{ Joins, Coins int }
	ledger struct{ Coins int }
)

func rules(t *testing.T) *game.Rules {
	t.Helper()
	kind := game.NewKind[miner]("miner")
	purses, ledgers := saved.ForPlayers[purse](), saved.ForRooms[ledger]()
	d := game.Definition[nothing]{Name: "mine", Kinds: game.Kinds(kind), Saved: saved.List(purses, ledgers),
		Join: func(w *game.World, name string) game.ID {
			purses.Of(w, 0).Joins++
			return kind.Spawn(w, miner{})
		},
		Act: func(w *game.World, me game.ID, c nothing) {},
		Referee: func(w *game.World) {
			for id := range kind.All(w) {
				purses.Of(w, id).Coins++
				ledgers.Of(w).Coins++
			}
		}}
	r, err := d.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// play lets one guest play until that many coins are stored.
func play(t *testing.T, store host.Store, coins int) {
	t.Helper()
	r := rules(t)
	h, err := host.New(host.Config{Rules: r, Store: store, SaveEvery: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- h.Run(ctx, l) }()
	conn, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	p, err := headless.Join(ctx, conn, headless.Config{Rules: r, Clock: h.Clock(), Guest: [session.KeySize]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- p.Run(ctx) }()
	var room ledger
	for end := time.Now().Add(time.Minute); room.Coins < coins; time.Sleep(10 * time.Millisecond) {
		b, err := store.Load(ctx, "mine/room/lobby")
		if err == nil && b != nil {
			err = json.Unmarshal(b, &room)
		}
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("the room's record has %d coins, want %d", room.Coins, coins)
		}
	}
	stop()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Records of a host are in a real database, all of a save or none; they outlast hosts and a database
// server that is killed; and servers that save the same records at once do not lock each other out.
func TestStore(t *testing.T) {
	c := newCluster(t)
	db, s := c.open()
	ctx := t.Context()

	if b, err := s.Load(ctx, "nobody"); b != nil || err != nil {
		t.Errorf("nobody's record is %q, %v", b, err)
	}
	if err := s.Save(ctx, map[string][]byte{"a": []byte(`{"Coins": 1}`), "b": []byte(`{`)}); err == nil {
		t.Error("a record that is no JSON was stored")
	}
	if b, err := s.Load(ctx, "a"); b != nil || err != nil {
		t.Errorf("half a save was stored: %q, %v", b, err)
	}

	both := make(chan error)
	for range 2 {
		go func() {
			for i := range 50 {
				n := fmt.Appendf(nil, `{"Coins": %d}`, i)
				if err := s.Save(ctx, map[string][]byte{"x": n, "y": n, "z": n}); err != nil {
					both <- err
					return
				}
			}
			both <- nil
		}()
	}
	for range 2 {
		if err := <-both; err != nil {
			t.Error(err)
		}
	}

	read := func() (p purse, room ledger) {
		t.Helper()
		for key, into := range map[string]any{"mine/guest/4cbbd8ca5215b8d161aec181a74b694f": &p, "mine/room/lobby": &room} {
			b, err := s.Load(ctx, key)
			if err == nil {
				err = json.Unmarshal(b, into)
			}
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		return p, room
	}
	play(t, s, 5)
	first, room := read()
	if first.Joins != 1 || first.Coins < 5 || room.Coins != first.Coins {
		t.Errorf("after five coins the player's record is %+v, the room's %+v", first, room)
	}
	c.kill(syscall.SIGQUIT)
	c.start()
	_, s = c.open()
	play(t, s, first.Coins+5)
	second, room := read()
	if second.Joins != 2 || second.Coins < first.Coins+5 || room.Coins != second.Coins {
		t.Errorf("after a crash of the database and five more they are %+v and %+v", second, room)
	}
	var coins int
	err := db.QueryRowContext(ctx, `SELECT (record->>'Coins')::int FROM meanwhile_records WHERE key LIKE 'mine/guest/%'`).
		Scan(&coins)
	if err != nil || coins != second.Coins {
		t.Errorf("SQL finds %d coins, %v", coins, err)
	}
	if !strings.HasPrefix(c.data(), os.TempDir()) {
		t.Error("the cluster is not in a temporary folder")
	}
}
