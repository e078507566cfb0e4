package freeze

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

type rule struct {
	name string
	run  func() int
	next *rule
	of   reflect.Type
}

type leaf struct {
	n    int32
	text string
	to   *leaf
}

type speaker interface{ speak() string }

func (l *leaf) speak() string { return l.text }

// store is a Typer: its states are numbers.
type store struct {
	rule   *rule
	states []state
}

type state struct{ at unsafe.Pointer }

func (s *store) StateType() reflect.Type { return s.rule.of }

type gap struct {
	a uint8
	b uint64
}

type nothing struct{}

func (*nothing) speak() string { return "" }

type world struct {
	rules   *rule
	second  *rule // inside of the rules
	call    func() int
	leaves  []leaf
	middle  *leaf // one of leaves
	number  *int32
	front   []leaf // the first of leaves, with room for more
	by      map[string]*leaf
	same    map[string]*leaf
	counts  map[uint32]int32
	speaks  speaker
	own     leaf
	mine    *leaf // own
	grid    *[4]int16
	part    []int16 // of grid
	empty   []int
	nothing []int
	gaps    []gap
	ring    *leaf
	stores  []*store
	deep    [2][2]*leaf
	void    *nothing
	mute    speaker // a *nothing
}

func newRules() *rule {
	r := &rule{name: "first", run: func() int { return 1 }, of: reflect.TypeFor[float64]()}
	r.next = &rule{name: "second"}
	return r
}

func newWorld(r *rule) *world {
	return &world{rules: r, call: func() int { return 7 }, stores: []*store{{rule: r}}}
}

func filled(r *rule) *world {
	w := newWorld(r)
	w.second = r.next
	w.leaves = make([]leaf, 3, 8)
	for i := range w.leaves {
		w.leaves[i] = leaf{n: int32(i), text: strings.Repeat("x", i)}
	}
	w.leaves[0].to = &w.leaves[2]
	w.middle, w.number, w.front = &w.leaves[1], &w.leaves[2].n, w.leaves[:1]
	w.by = map[string]*leaf{"a": {n: 9}, "b": w.middle}
	w.same, w.counts = w.by, map[uint32]int32{1: 2, 3: 4}
	w.speaks, w.mine = &leaf{text: "hello"}, &w.own
	w.grid = &[4]int16{1, 2, 3, 4}
	w.part, w.empty = w.grid[1:3], []int{}
	w.gaps = []gap{{1, 2}, {3, 4}}
	w.ring = &leaf{n: 1}
	w.ring.to = &leaf{n: 2, to: w.ring}
	pi := 3.14
	w.stores[0].states = []state{{unsafe.Pointer(&pi)}}
	w.deep[1][0] = w.middle
	w.void, w.mute = &nothing{}, &nothing{}
	return w
}

func formOf(t testing.TB, w *world) *Form {
	t.Helper()
	f, err := New(w, w.rules, &leaf{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What was one thing is one thing again, functions and the rules are those of the fresh world, and
// freezing again gives the same bytes.
func TestThereAndBack(t *testing.T) {
	r := newRules()
	was := filled(r)
	b, err := formOf(t, newWorld(r)).Freeze(nil, was)
	if err != nil {
		t.Fatal(err)
	}
	rules := newRules() // as in another process
	w := newWorld(rules)
	f := formOf(t, w)
	if err := f.Thaw(b, w); err != nil {
		t.Fatal(err)
	}
	again, err := f.Freeze(nil, w)
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("frozen again it has %d bytes instead of %d, or others: %v", len(again), len(b), err)
	}
	w.leaves[2].n, w.leaves[1].text, w.by["c"], w.own.n = 77, "changed", w.ring, 5
	w.front = append(w.front, leaf{text: "over the second"})
	w.grid[1] = 20
	for what, ok := range map[string]bool{
		"rules": w.rules == rules && w.second == rules.next, "function": w.call != nil && w.call() == 7,
		"slice": len(w.leaves) == 3 && w.leaves[0].to == &w.leaves[2], "pointer into it": *w.number == 77,
		"room before others": w.middle.text == "over the second", "map": w.same["c"] == w.ring && w.by["b"] == w.middle,
		"numbers": w.counts[1] == 2 && w.counts[3] == 4, "interface": w.speaks.speak() == "hello",
		"itself": w.mine == &w.own && w.mine.n == 5, "array": w.part[0] == 20 && len(w.part) == 2 && cap(w.part) == 3,
		"empty": w.empty != nil && w.nothing == nil, "gaps": w.gaps[1] == gap{3, 4},
		"ring": w.ring.to.to == w.ring, "state": *(*float64)(w.stores[0].states[0].at) == 3.14,
		"arrays of pointers":  w.deep[1][0] == w.middle && w.deep[0][0] == nil,
		"pointers to nothing": w.void != nil && w.mute != nil,
	} {
		if !ok {
			t.Errorf("%s: not as it was", what)
		}
	}
}

// What cannot be written is an error that says where it is.
func TestRefusals(t *testing.T) {
	type root struct {
		inner *struct {
			call func()
			any  any
			at   unsafe.Pointer
		}
	}
	x := 1
	for _, c := range []struct {
		set  func(r *root)
		want string
	}{
		{func(r *root) { r.inner.call = func() {} }, ".call is a func()"},
		{func(r *root) { r.inner.any = 3 }, ".any holds a int, which is not a pointer"},
		{func(r *root) { r.inner.at = unsafe.Pointer(&x) }, "nothing says what"},
		{func(r *root) {}, ""},
	} {
		r := &root{}
		rules := newRules()
		f, err := New(r, rules)
		if err != nil {
			t.Fatal(err)
		}
		r.inner = new(struct {
			call func()
			any  any
			at   unsafe.Pointer
		})
		c.set(r)
		if _, err = f.Freeze(nil, r); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if _, err := New(root{}, newRules()); err == nil {
		t.Error("a root that is no pointer is accepted")
	}
}

// Bytes of a program with another type are refused by its name.
func TestOtherProgram(t *testing.T) {
	r := newRules()
	b, err := formOf(t, newWorld(r)).Freeze(nil, filled(r))
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(b, []byte("freeze.leaf "))
	b[i+len("freeze.leaf ")] ^= 1
	w := newWorld(r)
	if err := formOf(t, w).Thaw(b, w); err == nil || !strings.Contains(err.Error(), "no type freeze.leaf") {
		t.Errorf("got %v", err)
	}
}

// What only the shared value has is neither written nor read as something else: rules that bytes
// describe would break memory.
func TestNoOtherRules(t *testing.T) {
	r := newRules()
	w := filled(r)
	w.second = &rule{name: "third"}
	_, err := formOf(t, newWorld(r)).Freeze(nil, w)
	if err == nil || !strings.Contains(err.Error(), "type of what is shared") {
		t.Errorf("got %v", err)
	}
	form := formOf(t, newWorld(r))
	clear(form.theirs) // of a program that would write them
	b, err := form.Freeze(nil, w)
	if err != nil {
		t.Fatal(err)
	}
	fresh := newWorld(r)
	err = formOf(t, fresh).Thaw(b, fresh)
	if !errors.Is(err, errMalformed) || !strings.Contains(err.Error(), "freeze.rule") {
		t.Errorf("got %v", err)
	}
}

// Bytes that ask for more memory than their limit are refused before they get it, and a Form keeps
// nothing of what it wrote.
func TestMemoryIsBounded(t *testing.T) {
	r := newRules()
	was := newWorld(r)
	was.leaves = make([]leaf, 1000) // 6 bytes each, and 32 in memory
	was.counts = map[uint32]int32{}
	for i := range uint32(1000) {
		was.counts[i] = 1
	}
	form := formOf(t, newWorld(r))
	b, err := form.Freeze(nil, was)
	if err != nil {
		t.Fatal(err)
	}
	if whole := form.found.list[:cap(form.found.list)]; whole[0].at != nil || len(form.keys)+len(form.maps) != 0 {
		t.Error("the form still has the world")
	}
	for _, most := range []uint64{1000, 40_000, 100_000} { // its leaves, and its leaves and numbers
		form.most = most
		if err := form.Thaw(b, newWorld(r)); (err == nil) != (most == 100_000) ||
			err != nil && !strings.Contains(err.Error(), "bytes of memory") {
			t.Errorf("at most %d bytes: %v", most, err)
		}
	}
}

// No prefix is accepted, and none panics.
func TestTruncated(t *testing.T) {
	r := newRules()
	b, err := formOf(t, newWorld(r)).Freeze(nil, filled(r))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(r)
	f := formOf(t, w)
	for n := range b {
		if err := f.Thaw(b[:n], w); err == nil {
			t.Fatalf("%d bytes of %d are accepted", n, len(b))
		} else if n > 400 && !errors.Is(err, errMalformed) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

// Damaged bytes are refused or give something that can be frozen again: memory stays sound.
func FuzzThaw(f *testing.F) {
	r := newRules()
	form := formOf(f, newWorld(r))
	b, err := form.Freeze(nil, filled(r))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	for i := range b {
		if i%7 == 0 {
			c := bytes.Clone(b)
			c[i] ^= 3
			f.Add(c)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newWorld(r)
		if form.Thaw(b, w) != nil {
			return
		}
		if _, err := form.Freeze(nil, w); err != nil {
			t.Error(err)
		}
	})
}
