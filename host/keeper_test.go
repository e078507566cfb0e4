package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/session"
)

// A clerk is a store that notes when it was asked to save.
type clerk struct {
	shelf
	began time.Time
	at    []time.Duration
}

func (c *clerk) Save(ctx context.Context, records map[string][]byte) error {
	c.set(func(*shelf) { c.at = append(c.at, time.Since(c.began)) })
	return c.shelf.Save(ctx, records)
}

// asked returns when it was asked, and forgets that.
func (c *clerk) asked() (at []time.Duration) {
	c.set(func(*shelf) { at, c.at = c.at, nil })
	return at
}

func newClerk() (*clerk, *keeper) {
	c := &clerk{began: time.Now()}
	return c, newKeeper(c, slog.New(slog.DiscardHandler))
}

// A record belongs to one room until everybody there has given it up, and to the next one at once.
func TestOneRoomHasARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		_, k := newClerk()
		here, there := &room{calls: make(chan func(), 9)}, &room{}
		var both [2]*profile
		for i := range both {
			p, err := k.acquire(t.Context(), "ann", false, here, rules.Saved(false))
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // the load has given up its reference
			both[i] = p
		}
		if both[0] != both[1] {
			t.Fatal("one room has a record twice")
		}
		next := make(chan *profile, 1)
		go func() {
			p, _ := k.acquire(t.Context(), "ann", false, there, rules.Saved(false))
			next <- p
		}()
		for range both {
			time.Sleep(3*takeOverEvery + takeOverEvery/2)
			if len(next) > 0 {
				t.Error("two rooms have a record")
			}
			k.release(both[0])
		}
		synctest.Wait()
		if len(next) == 0 || len(here.calls) == 0 {
			t.Fatalf("asked %d times, the next room has a free record: %v", len(here.calls), len(next) > 0)
		}
		k.release(<-next)
		if len(k.inUse) != 0 {
			t.Errorf("%d records are in use", len(k.inUse))
		}
	})
}

// Whoever loads a record that is being stored, or waits for that, gets this one. One that could not
// be loaded is asked for again the next time.
func TestNewestRecordIsLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules, _ := miners(t)
		c, k := newClerk()
		joins := func() (int, error) {
			p, err := k.acquire(t.Context(), "ann", false, &room{}, rules.Saved(false))
			if err != nil {
				return 0, err
			}
			defer k.release(p)
			v, _ := p.rec.Whole()
			return v.(*purse).Joins, nil
		}
		check := func(what string, want int) {
			t.Helper()
			if n, err := joins(); n != want || err != nil {
				t.Errorf("%s: %d, %v; want %d", what, n, err, want)
			}
		}
		c.records, c.fail = map[string][]byte{"ann": []byte(`{"Joins": 1}`)}, errors.New("a bad sector")
		if _, err := joins(); refusedFor(err, session.InternalError, "could not be loaded") != nil {
			t.Errorf("a store that fails gave %v", err)
		}
		synctest.Wait()
		c.set(func(s *shelf) { s.fail, s.dawdle = nil, time.Second })
		check("stored", 1)
		k.put(map[string]any{"ann": &purse{Joins: 2}})
		check("waits", 2)
		saved := make(chan bool, 1)
		go func() { saved <- k.flush(t.Context()) }()
		synctest.Wait()
		check("is being stored", 2)
		k.put(map[string]any{"bob": &purse{}})
		if n := k.stats().Waiting; n != 2 {
			t.Errorf("%d records wait, want 2", n)
		}
		k.put(map[string]any{"ann": &purse{Joins: 3}})
		if n := k.stats().Waiting; n != 2 {
			t.Errorf("%d records wait once one of them changed again, want 2", n)
		}
		check("changed again", 3)
		if !<-saved {
			t.Error("not stored")
		}
		if len(k.inUse) != 0 {
			t.Errorf("%d records are in use", len(k.inUse))
		}
	})
}

// A store that works is asked as soon as something changed. One that fails is asked less and less
// often; once it has worked, the next failure counts as the first.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, k := newClerk()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { k.run(ctx); close(ended) }()
		start := c.began
		put := func(sleep time.Duration, err error) {
			c.set(func(s *shelf) { s.fail = err })
			k.put(map[string]any{fmt.Sprint(time.Since(start)): &purse{}})
			time.Sleep(sleep)
		}
		const ms, d = time.Millisecond, firstRetry
		bad := errors.New("no space")
		put(10*ms, nil)
		put(10*ms, nil)
		if at := c.asked(); !slices.Equal(at, []time.Duration{0, 10 * ms}) {
			t.Errorf("a store that works is asked at %v", at)
		}
		put(4*d, bad)  // asked after 0, d, 3d
		put(10*d, nil) // the next try is after 7d
		put(2*d, bad)  // after 14d and 15d
		if at := c.asked(); !slices.Equal(at, []time.Duration{20 * ms, 20*ms + d, 20*ms + 3*d, 20*ms + 7*d,
			20*ms + 14*d, 20*ms + 15*d}) {
			t.Errorf("a store that fails is asked at %v", at)
		}
		cancel()
		<-ended
		if took := time.Since(start); took < endPatience || k.stats().Waiting != 1 {
			t.Errorf("gave up after %v with %d records", took, k.stats().Waiting)
		}
	})
}

// When the host ends, what waits is stored, and a failure is tried again; with nothing to store the
// store is left alone.
func TestLastSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c, k := newClerk()
		k.run(ctx)
		if at := c.asked(); len(at) != 0 {
			t.Errorf("asked to store nothing at %v", at)
		}
		k.put(map[string]any{"ann": &purse{Joins: 1}})
		<-k.wake
		c.fail = errors.New("no space")
		time.AfterFunc(firstRetry+firstRetry/2, func() { c.set(func(s *shelf) { s.fail = nil }) })
		k.run(ctx)
		if at := c.asked(); !slices.Equal(at, []time.Duration{0, firstRetry, 2 * firstRetry}) || c.get("ann") == "" {
			t.Errorf("asked at %v; stored is %q", at, c.get("ann"))
		}
	})
}

// A record that is too large, or that JSON does not have, is counted and left as it was; those
// beside it are stored.
func TestRecordsThatCannotBeStored(t *testing.T) {
	c, k := newClerk()
	k.put(map[string]any{"ann": &purse{}, "bob": strings.Repeat("x", maxRecord), "cid": func() {},
		"dan": strings.Repeat("x", maxRecord-2)}) // two quotation marks
	if !k.flush(t.Context()) {
		t.Error("nothing is stored")
	}
	n, _ := c.count()
	if st := k.stats(); n != 2 || c.get("dan") == "" || st.Refused != 2 || st.Saved != 2 || st.Waiting != 0 {
		t.Errorf("%d are stored: %+v", n, st)
	}
}

// A farStore answers each load after a second, and fails for one key.
type farStore struct{ fails string }

func (s farStore) Load(_ context.Context, key string) ([]byte, error) {
	time.Sleep(time.Second)
	if key == s.fails {
		return nil, errors.New("it is lost")
	}
	return []byte(key), nil
}

func (farStore) Save(context.Context, map[string][]byte) error { return nil }

// At the start many records are loaded at once, but not all; and one that cannot be had is an error
// that names it.
func TestLoadsAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		for i := range 3*startLoads - 1 {
			keys = append(keys, fmt.Sprint("zap/account/", i))
		}
		began := time.Now()
		all, err := newKeeper(farStore{}, slog.Default()).storedAll(keys)
		if err != nil || len(all) != len(keys) || string(all[keys[20]]) != keys[20] {
			t.Errorf("%d records: %v", len(all), err)
		}
		if took := time.Since(began); took != 3*time.Second { // of virtual time
			t.Errorf("%d records took %v", len(keys), took)
		}
		_, err = newKeeper(farStore{keys[5]}, slog.Default()).storedAll(keys)
		if err == nil || !strings.Contains(err.Error(), keys[5]+": it is lost") {
			t.Error(err)
		}
	})
}
