package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/kick"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

func zapRules(t testing.TB) *game.Rules {
	t.Helper()
	rules, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// written returns chunks as a file.
func written(t testing.TB, h *journal.Header, chunks []journal.Chunk) (b []byte) {
	t.Helper()
	head, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append([]journal.Chunk{{Kind: journal.KindHeader, Payload: head}}, chunks...) {
		if b, err = c.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func parsed(t testing.TB, b []byte) *journal.File {
	t.Helper()
	f, err := journal.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sumsOf returns the sums of the world after each tick of a file.
func sumsOf(t testing.TB, rules *game.Rules, f *journal.File) map[clock.Tick]uint64 {
	t.Helper()
	r, err := journal.NewReplay(rules, f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[clock.Tick]uint64{0: r.Server.Engine().Sum()}
	for {
		if _, err := r.Step(); err != nil {
			return all
		}
		all[r.Server.Tick()] = r.Server.Engine().Sum()
	}
}

// A journal that ends anywhere, or has a wrong byte anywhere, is refused or gives the world as of
// one of its ticks, and never another.
func TestTornAndWrongBytes(t *testing.T) {
	rules := zapRules(t)
	whole, _ := record(t, rules, 1, 3*time.Second)
	b := written(t, &whole.Header, whole.Chunks())
	sums := sumsOf(t, rules, whole)
	_, last, _ := whole.Ends()
	restore := func(what string, at int, b []byte) (tick clock.Tick) {
		f, err := journal.Parse(b)
		if err != nil {
			if !errors.Is(err, journal.ErrMalformed) {
				t.Errorf("%s %d: %v", what, at, err)
			}
			return 0
		}
		if f.Torn == nil && !bytes.Equal(b, written(t, &whole.Header, whole.Chunks())[:len(b)]) {
			t.Errorf("%s %d: the end is missing and nobody says so", what, at)
		}
		r, err := journal.Restore(rules, f)
		if err != nil {
			t.Errorf("%s %d: %v", what, at, err)
			return 0
		}
		if want, ok := sums[r.Server.Tick()]; !ok || want != r.Server.Engine().Sum() {
			t.Errorf("%s %d: another world at tick %d", what, at, r.Server.Tick())
		}
		return r.Server.Tick()
	}
	before := clock.Tick(0)
	for n := 0; n <= len(b); n += 1 + len(b)/97 {
		tick := restore("cut at", n, b[:n])
		if tick < before || tick > last {
			t.Errorf("cut at %d: tick %d after %d", n, tick, before)
		}
		before = tick
	}
	for n := 3; n < len(b); n += 1 + len(b)/97 {
		wrong := bytes.Clone(b)
		wrong[n] ^= 0x10
		restore("wrong", n, wrong)
	}
	if last < 80 || before < last-10 {
		t.Errorf("the last cut ends at tick %d of %d", before, last)
	}
}

// A file that is torn hides nothing of those after it, whether it is the first of a room or a later
// one.
func TestTornFileAmongOthers(t *testing.T) {
	rules := zapRules(t)
	whole, _ := record(t, rules, 1, 33*time.Second)
	chunks := whole.Chunks()
	at := slices.IndexFunc(chunks, func(c journal.Chunk) bool { return c.Kind == journal.KindCheckpoint })
	old, later := written(t, &whole.Header, chunks[:at]), written(t, &whole.Header, chunks[at:])
	_, last, _ := whole.Ends()
	for _, cut := range []int{0, 9, len(old) / 2, len(old) - 1} {
		f, err := journal.Parse(old[:cut], later)
		if err != nil || f.Torn == nil && cut != 0 {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		r, err := journal.Restore(rules, f)
		if err != nil || r.Server.Tick() != last {
			t.Errorf("cut at %d: tick %d of %d: %v", cut, r.Server.Tick(), last, err)
		}
		sound := old[:journal.Sound(old[:cut])]
		if f, err := journal.Parse(slices.Concat(sound, later)); err != nil || f.Torn != nil {
			t.Errorf("cut at %d, as one file: %v, %v", cut, err, f.Torn)
		}
	}
	if n := journal.Sound(old); n != len(old) {
		t.Errorf("%d of %d sound bytes are sound", n, len(old))
	}
}

// Where the same calls give another result the replay names the first tick, and a restored world is
// that of before.
func TestDifference(t *testing.T) {
	rules := zapRules(t)
	f, _ := record(t, rules, 1, 35*time.Second)
	chunks := f.Chunks()
	i := slices.IndexFunc(chunks, func(c journal.Chunk) bool { return c.Kind == journal.KindCheckpoint })
	if i < 0 {
		t.Fatal("there is no checkpoint")
	}
	checkpoint := chunks[i].Tick()
	p := chunks[i+4].Payload
	p[len(p)-1] ^= 1 // of the sum of its last tick
	f = parsed(t, written(t, &f.Header, chunks))
	r, err := journal.NewReplay(rules, f)
	if err != nil {
		t.Fatal(err)
	}
	for ; err == nil; _, err = r.Step() {
	}
	if d := r.Differs; !errors.Is(err, io.EOF) || d == nil || d.Tick != chunks[i+4].Tick() {
		t.Errorf("%v, %+v, want a difference at tick %d", err, r.Differs, chunks[i+4].Tick())
	}
	r, why := journal.Restore(rules, f)
	if why == nil || !strings.Contains(why.Error(), "differs") || r == nil || r.Server.Tick() != checkpoint {
		t.Errorf("restored with %v, and not to tick %d", why, checkpoint)
	}
}

// Other rules are refused by the first line of the schema that differs.
func TestOtherRules(t *testing.T) {
	rules := zapRules(t)
	f, _ := record(t, rules, 1, time.Second)
	other, err := kick.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.NewReplay(other, f); err == nil || !strings.Contains(err.Error(), "of game zap, not of kick") {
		t.Errorf("got %v", err)
	}
	changed := zap.Game
	changed.Static++
	again, err := changed.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.NewReplay(again, f); err == nil || !strings.Contains(err.Error(), "static=1") {
		t.Errorf("got %v", err)
	}
	h := f.Header
	h.Settings.Seed++
	b := append(written(t, &f.Header, f.Chunks()), written(t, &h, nil)...)
	if f := parsed(t, b); f.Torn == nil || !strings.Contains(f.Torn.Error(), "another world") {
		t.Errorf("got %v", f.Torn)
	}
}

// With the recorded settings a what-if sends what was sent, with others something else; both from a
// checkpoint, too.
func TestWhatIf(t *testing.T) {
	rules := zapRules(t)
	f, _ := record(t, rules, 1, 33*time.Second)
	for _, c := range []struct {
		tuning journal.Tuning
		other  bool
	}{{journal.Tuning{}, false}, {journal.Tuning{Budget: 1000}, true}, {journal.Tuning{Rewind: -1}, true}} {
		real, err := journal.NewReplay(rules, f)
		if err != nil {
			t.Fatal(err)
		}
		what, err := journal.WhatIf(rules, f, c.tuning)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []clock.Tick{0, 31 * 30} {
			if err := errors.Join(real.Seek(from), what.Seek(from)); err != nil {
				t.Fatal(err)
			}
			other := false
			for n := 0; n < 25*30; n++ {
				a, err := real.Step()
				if errors.Is(err, io.EOF) {
					break
				}
				b, err2 := what.Step()
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				other = other || a.Sum != b.Sum
			}
			if other != c.other || real.Differs != nil || what.Differs != nil {
				t.Errorf("%+v from tick %d: other %v, want %v; %v", c.tuning, from, other, c.other, real.Differs)
			}
		}
	}
	if _, err := journal.WhatIf(rules, f, journal.Tuning{Budget: 1}); err == nil {
		t.Error("a budget of 1 byte a second is accepted")
	}
}

// Recording allocates nothing in most ticks, and an overflow ends it until the next checkpoint.
func TestOverflow(t *testing.T) {
	rules := zapRules(t)
	full, lost, chunks := false, 0, []journal.Chunk(nil)
	sim := match(t, rules, 1, func(c journal.Chunk) bool {
		if full {
			lost++
			return false
		}
		chunks = append(chunks, c)
		return true
	})
	sim.Run(5 * time.Second)
	full = true
	sim.Run(5 * time.Second)
	full = false
	sim.Run(30 * time.Second)
	var b []byte
	for _, c := range chunks {
		var err error
		if b, err = c.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	f := parsed(t, b)
	r, err := journal.NewReplay(rules, f)
	if err != nil {
		t.Fatal(err)
	}
	before, gap := clock.Tick(0), clock.Tick(0)
	for {
		if _, err = r.Step(); err != nil {
			break
		}
		gap = max(gap, r.Server.Tick()-before)
		before = r.Server.Tick()
	}
	if !errors.Is(err, io.EOF) || r.Differs != nil || lost != 1 || gap < 20*30 || before < 39*30 {
		t.Errorf("%d chunks were refused, the gap has %d ticks, the replay ends at %d: %v, %v", lost, gap, before, err,
			r.Differs)
	}
}

// A checkpoint whose stores were exchanged, as nobody but who made it on purpose does, is refused: rules
// would take the states of one kind for those of another.
func TestExchangedStores(t *testing.T) {
	rules, err := kick.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, exchange := range []bool{false, true} {
		var chunks []journal.Chunk
		srv, err := journal.New(rules, server.Config{}, journal.Header{}, func(c journal.Chunk) bool {
			chunks = append(chunks, c)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if exchange {
			field := reflect.ValueOf(srv.Engine().World()).Elem().FieldByName("stores")
			stores := reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
			reflect.Swapper(stores.Interface())(0, 1)
		}
		if err := srv.Checkpoint(); err != nil {
			t.Fatal(err)
		}
		head := journal.Header{Format: "meanwhile journal 2", Game: rules.Name, Hash: rules.Hash}
		checkpoint := slices.DeleteFunc(chunks, func(c journal.Chunk) bool { return c.Kind != journal.KindCheckpoint })
		_, err = journal.Restore(rules, parsed(t, written(t, &head, checkpoint)))
		if errors.Is(err, journal.ErrMalformed) != exchange ||
			exchange && !strings.Contains(err.Error(), "not that of its kind") {
			t.Errorf("exchanged %v: %v", exchange, err)
		}
	}
}

// No log panics, whatever is in it, and none is followed after what makes no sense.
func FuzzLog(f *testing.F) {
	rules := zapRules(f)
	var blocks [][]byte
	sim, err := gametestOf(rules, func(c journal.Chunk) bool {
		if c.Kind == journal.KindLog {
			blocks = append(blocks, bytes.Clone(c.Payload))
		}
		return true
	})
	if err != nil {
		f.Fatal(err)
	}
	sim.Run(2 * time.Second)
	for _, b := range blocks {
		f.Add(b)
	}
	head := journal.Header{Format: "meanwhile journal 2", Game: rules.Name, Hash: rules.Hash}
	f.Fuzz(func(t *testing.T, block []byte) {
		file := parsed(t, written(t, &head, []journal.Chunk{{Kind: journal.KindLog, Payload: block}}))
		r, err := journal.NewReplay(rules, file)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err = r.Step(); err != nil {
				break
			}
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, journal.ErrMalformed) {
			t.Error(err)
		}
	})
}

// FuzzParse: a file is refused or sound up to where it says.
func FuzzParse(f *testing.F) {
	head := journal.Header{Format: "meanwhile journal 2", Game: "zap"}
	b := written(f, &head, []journal.Chunk{{Kind: journal.KindLog, Payload: []byte("abc")}})
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Add(append(bytes.Clone(b), b...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if file, err := journal.Parse(b, b); err == nil {
			file.Ends()
		}
	})
}
