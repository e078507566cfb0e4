//go:build !js

package arena

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/host/bolt"
	"meanwhile/internal/verify/process"
	"meanwhile/session"
	"meanwhile/transport/memory"
)

// The board has the best first, one row for each player, newcomers behind who was there before, and
// no more than fit.
func TestBoard(t *testing.T) {
	var b Board
	for i := range BoardRows + 3 {
		b.enter(Row{Number: uint64(i + 1), Frags: 10 * (i + 1)})
	}
	b.enter(Row{Number: 99, Frags: 50})
	b.enter(Row{Number: 6, Frags: 95})
	b.enter(Row{Number: 4, Frags: 1}) // was there with 40 before it fell off
	want := [BoardRows]Row{{11, "", 110, 0}, {10, "", 100, 0}, {6, "", 95, 0}, {9, "", 90, 0}, {8, "", 80, 0},
		{7, "", 70, 0}, {99, "", 50, 0}, {5, "", 50, 0}}
	want[6], want[7] = Row{5, "", 50, 0}, Row{99, "", 50, 0}
	if b.Rows != want {
		t.Errorf("the rows are %+v\nwant         %+v", b.Rows, want)
	}
}

// Frags count for players whose records last; the board in the world follows once a second.
func TestCareer(t *testing.T) {
	h := newHall(t)
	saved := h.rules.Saved(false)
	ann, _ := h.e.Join("ann", saved.NewRecord(true))
	bot, _ := h.e.Join("bot", nil)
	for _, killer := range []game.ID{ann, bot, ann} {
		for id, p := range Players.All(h.world()) {
			p.Health = MaxHealth
			if id != killer {
				p.Alive, p.Health, p.By = true, 0, killer
			}
		}
		h.step(0, Cmd{})
		h.pass(RespawnAfter + 1)
	}
	h.pass(Rate)
	n := 0
	for _, b := range Bests.All(h.world()) {
		if n++; *b != (Best{1, "ann", 2, 2}) {
			t.Errorf("the board says %+v", *b)
		}
	}
	if n != 1 {
		t.Errorf("%d rows", n)
	}
}

// serving is the environment variable that makes this test program a server: the file of records.
const serving = "ARENA_TEST_SERVES"

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

// stored returns how many frags the stored board of the lobby has.
func stored(s *bolt.Store) (frags int) {
	b, err := s.Load(context.Background(), "arena/room/lobby")
	var board Board
	if err == nil && b != nil {
		err = json.Unmarshal(b, &board)
	}
	if err != nil {
		panic(err)
	}
	for _, row := range board.Rows {
		frags += row.Frags
	}
	return frags
}

// serve runs a server in which ann kills bob as often as he lives, and prints how many frags the
// board of bob's client shows, whenever that changes, once they are stored.
func serve(path string) error {
	store, err := bolt.Open(path)
	if err != nil {
		return err
	}
	d := Game
	d.Referee = func(w *game.World) {
		var ann game.ID
		for id, p := range Players.All(w) {
			switch {
			case p.Name == "ann":
				ann = id
			case p.Alive && ann != 0:
				p.Health, p.By = 0, ann
			}
		}
		referee(w)
	}
	rules, err := d.Rules()
	if err != nil {
		return err
	}
	h, err := host.New(host.Config{Rules: rules, Store: store, SaveEvery: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	l, err := memory.Listen(memory.Config{Client: h.Clock(), Server: h.Clock()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	go h.Run(ctx, l)
	var watcher *headless.Player
	for i, name := range []string{"ann", "bob"} { // so that Referee meets ann first
		conn, err := l.Dial()
		if err != nil {
			return err
		}
		watcher, err = headless.Join(ctx, conn, headless.Config{Rules: rules, Clock: h.Clock(), Name: name,
			Guest: [session.KeySize]byte{byte(i + 1)}})
		if err != nil {
			return err
		}
		go watcher.Run(ctx)
	}
	for last := 0; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		frags := 0
		watcher.Do(func(c *client.Client) {
			for _, b := range Bests.All(c.World()) {
				frags += b.Frags
			}
		})
		if frags != last && stored(store) >= frags {
			fmt.Println(frags)
			last = frags
		}
	}
	return nil
}

// The board outlives servers that are killed: what players saw on it is there when the next one
// starts.
func TestBoardSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	seen := 0
	for turn := range 2 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), serving+"="+path)
		p := process.Start(t, cmd, 30*time.Second)
		for n := turn; n < 2; n++ { // two of the first server, one of the next
			line, ok := p.Line()
			if !ok {
				break
			}
			frags := 0
			if _, err := fmt.Sscan(line, &frags); err != nil {
				t.Fatalf("the server printed %q", line)
			}
			if frags < seen {
				t.Errorf("turn %d: the board shows %d frags and had %d", turn, frags, seen)
			}
			seen = frags
		}
		p.Kill()
		_ = p.Wait()
	}
	if seen < 2 {
		t.Errorf("the last server showed %d frags", seen)
	}
}
