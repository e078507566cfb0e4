package bolt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/game/saved"
	"meanwhile/geom"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/host/bolt"
	"meanwhile/internal/verify/process"
	"meanwhile/session"
	"meanwhile/transport/memory"
)

// What was saved is there after Close and Open; a second Open of the file fails with a sentence.
func TestStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	s, err := bolt.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), map[string][]byte{"a": []byte("1"), "b": []byte("2")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), map[string][]byte{"a": []byte("3")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), map[string][]byte{"c": []byte("4"), "": []byte("5")}); err == nil {
		t.Error("an empty key was stored")
	}
	if _, err := bolt.Open(path); err == nil || !strings.Contains(err.Error(), "another program has") {
		t.Errorf("a second Open gave %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = bolt.Open(path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for key, want := range map[string]string{"a": "3", "b": "2", "c": ""} {
		if b, err := s.Load(t.Context(), key); string(b) != want || err != nil || (b == nil) != (want == "") {
			t.Errorf("%s: %q, %v", key, b, err)
		}
	}
}

type (
	miner struct {
		Pos geom.Vec2 `net:"pos,1m"`
	}
	nothing struct {
		On bool `net:"bool"`
	}
	// A purse and the room's ledger count the same ticks: stored together, they always agree.
	purse struct {
		Coins int
		Pad   [64]int // so that a save is more than one block
	}
	ledger struct{ Coins int }
)

func rules() (*game.Rules, error) {
	kind := game.NewKind[miner]("miner")
	purses, ledgers := saved.ForPlayers[purse](), saved.ForRooms[ledger]()
	d := game.Definition[nothing]{Name: "mine", Rate: 200, Kinds: game.Kinds(kind), Saved: saved.List(purses, ledgers),
		Join: func(w *game.World, name string) game.ID { return kind.Spawn(w, miner{}) },
		Act:  func(w *game.World, me game.ID, c nothing) {},
		Referee: func(w *game.World) {
			for id := range kind.All(w) {
				p := purses.Of(w, id)
				p.Coins++
				p.Pad[p.Coins%len(p.Pad)] = p.Coins
				ledgers.Of(w).Coins++
			}
		}}
	return d.Rules()
}

// serving is the environment variable that makes this test program a server: the file of records.
const serving = "BOLT_TEST_SERVES"

func TestMain(m *testing.M) {
	if path := os.Getenv(serving); path != "" {
		if err := serve(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A reporter prints the coins of each save that has ended.
type reporter struct{ *bolt.Store }

func (r reporter) Save(ctx context.Context, records map[string][]byte) error {
	err := r.Store.Save(ctx, records)
	for _, b := range records {
		var l ledger
		if err == nil && json.Unmarshal(b, &l) == nil {
			fmt.Println(l.Coins)
			break
		}
	}
	return err
}

// serve runs a server with one player for as long as it lives, which saves all the time.
func serve(path string) error {
	store, err := bolt.Open(path)
	if err != nil {
		return err
	}
	r, err := rules()
	if err != nil {
		return err
	}
	h, err := host.New(host.Config{Rules: r, Store: reporter{store}, SaveEvery: time.Millisecond})
	if err != nil {
		return err
	}
	l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go h.Run(ctx, l)
	conn, err := l.Dial()
	if err != nil {
		return err
	}
	p, err := headless.Join(ctx, conn, headless.Config{Rules: r, Clock: h.Clock(), Guest: [session.KeySize]byte{1}})
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// A server is killed six times while it saves. Each time the file has what the last finished save
// had, or more; the record of the player and that of the room are of the same tick; and the next
// server goes on from there.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	before := 0
	for turn := range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), serving+"="+path)
		server := process.Start(t, cmd, 30*time.Second)
		finished, saves := 0, 0
		for line, ok := server.Line(); ok; line, ok = server.Line() {
			if _, err := fmt.Sscan(line, &finished); err != nil {
				t.Fatalf("the server printed %q", line)
			}
			if saves++; saves == 10+turn {
				server.Kill() // while further saves run; their lines are read still
			}
		}
		_ = server.Wait()
		if saves < 10 {
			t.Fatalf("the server ended by itself after %d saves", saves)
		}

		s, err := bolt.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var p purse
		var l ledger
		for _, record := range []struct {
			prefix string
			into   any
		}{{"mine/guest/", &p}, {"mine/room/lobby", &l}} {
			key := record.prefix
			if strings.HasSuffix(key, "/") {
				key += guestKey
			}
			b, err := s.Load(t.Context(), key)
			if err == nil {
				err = json.Unmarshal(b, record.into)
			}
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		if p.Coins != l.Coins || p.Coins < finished || finished <= before {
			t.Errorf("turn %d: the player has %d coins, the room %d; the last finished save had %d, the first server's %d",
				turn, p.Coins, l.Coins, finished, before)
		}
		before = p.Coins
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d coins after six servers", before)
}

// guestKey is what the secret of the test's player is stored under: the start of its SHA-256.
const guestKey = "4cbbd8ca5215b8d161aec181a74b694f"
