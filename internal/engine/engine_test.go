package engine_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/internal/engine"
)

// Most of the engine is tested by package game, which gives it types. These tests do without.

type stone struct {
	X int `net:"int,0..99"`
}

// stones returns rules as package game makes them: each player has a stone, moves it by the command
// and kicks the stone of the other.
func stones(t *testing.T) (*engine.Rules, *engine.Kind) {
	t.Helper()
	kind := &engine.Kind{Name: "stone", Type: reflect.TypeFor[stone](),
		New: func() unsafe.Pointer { return unsafe.Pointer(new(stone)) }}
	kick := &engine.Kind{Name: "kick", Type: reflect.TypeFor[stone](), Urgent: true}
	r, err := engine.NewRules(engine.Definition{
		Name: "stones", Kinds: []*engine.Kind{kind}, Events: []*engine.Kind{kick}, Command: reflect.TypeFor[stone](),
		Callbacks: engine.Callbacks{
			Join: func(w *engine.World, name string) engine.ID {
				return w.Store(kind).Spawn(unsafe.Pointer(&stone{X: len(name)}))
			},
			Act: func(w *engine.World, me engine.ID, cmd []int64) {
				s := w.Store(kind)
				(*stone)(s.Get(me)).X += int(cmd[0])
				for i := range s.Size() {
					if id, v := s.Visit(i); v != nil && id != me {
						(*stone)(v).X++
						w.Emit(kick, me, geom.Vec2{}, v)
					}
				}
				if cmd[0] == 9 {
					panic("nine")
				}
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, kind
}

// The server owns the world: a command moves its player's stone and kicks others. A panic has no
// effect.
func TestServerWithoutTypes(t *testing.T) {
	r, kind := stones(t)
	e := engine.NewServer(r, 1, 2)
	e.SetTick(5)
	ann, err1 := e.Join("ann", nil)
	bob, err2 := e.Join("bobby", nil)
	if err := errors.Join(err1, err2); err != nil || ann != 1 || bob != 2 {
		t.Fatalf("avatars %d and %d, %v", ann, bob, err)
	}
	if err := e.Act(ann, []int64{4}, nil, false); err != nil {
		t.Fatal(err)
	}
	var failure *engine.PanicError
	if err := e.Act(ann, []int64{9}, nil, false); !errors.As(err, &failure) || failure.Actor != ann {
		t.Errorf("a panic is reported as %v", err)
	}
	xs := changed(e)
	if len(xs) != 2 || xs[ann] != 7 || xs[bob] != 6 {
		t.Errorf("the stones lie at %v, want 3+4 and 5+1", xs)
	}
	if again := changed(e); len(again) != 0 {
		t.Errorf("nothing happened, but %v changed", again)
	}
	if e.LastExternalChange(bob) != 5 || e.LastSideEffect(ann) != 5 || e.LastExternalChange(ann) != 0 {
		t.Errorf("kicked at tick %d by one that kicked at tick %d", e.LastExternalChange(bob), e.LastSideEffect(ann))
	}
	if ev := e.Events(); len(ev) != 1 || !ev[0].ByActor || ev[0].Vals[0] != 6 || !r.Urgent(0) {
		t.Errorf("events %+v", ev)
	}
	if n := e.World().Store(kind).Len(); n != 2 {
		t.Errorf("%d stones", n)
	}
}

// changed returns the first integers of what is new or has changed since the last call.
func changed(e *engine.Engine) map[engine.ID]int64 {
	xs := map[engine.ID]int64{}
	e.Changed(func(c engine.Change) int32 {
		if _, twice := xs[c.ID]; twice || c.Changed == 0 && !c.Cut {
			panic("an entity is reported twice, or did not change")
		}
		xs[c.ID] = c.Sims[0]
		return 0
	})
	return xs
}

// A client predicts its avatar alone: what its command does to others is undone and noted.
func TestClientWithoutTypes(t *testing.T) {
	r, _ := stones(t)
	e := engine.NewClient(r, 1)
	e.SetTick(8)
	e.SetAvatar(1)
	e.LoadSet(&engine.Set{Members: []engine.Member{{ID: 1}}, Vals: []int64{10}})
	e.PutKnown(2, 0, make([]int64, r.Kinds[0].Obs))
	if err := e.Act(1, []int64{4}, nil, false); err != nil {
		t.Fatal(err)
	}
	_, mine := e.Sims(1)
	if !slices.Equal(mine, []int64{14}) || e.LastSideEffect(1) != 8 {
		t.Errorf("own %v, side effect at %d", mine, e.LastSideEffect(1))
	}
	e.Retain(func(id engine.ID) bool { return id == 1 })
	if _, other := e.Sims(2); other != nil {
		t.Error("what is not retained stays")
	}
}

// NewRules reports every mistake at once and compiles nothing then.
func TestRulesWithoutTypes(t *testing.T) {
	r, err := engine.NewRules(engine.Definition{Name: "?", Rate: 999, Kinds: []*engine.Kind{nil},
		Command: reflect.TypeFor[stone]()})
	for _, want := range []string{`Name "?"`, "Rate 999", "Kinds[0] was not made by NewKind", "Join and Act must be set"} {
		if err == nil || r != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}
