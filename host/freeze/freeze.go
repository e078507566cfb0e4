// Package freeze writes everything that a value reaches into bytes, and puts it back into another
// value that was made alike: a checkpoint of a world without a second list of its fields.
//
// It follows pointers, slices, maps and interfaces from one root through unexported fields, and
// keeps identity: two pointers to one thing are two pointers to one thing afterwards, also where
// they point into the middle of it. Functions and channels cannot be written: in the root itself
// they stay what the fresh one has, and anywhere else they must be nil, or an error names the path.
// Whatever the shared value reaches is not written either, as both sides have it: the compiled
// rules of a game.
//
// Frozen bytes fit programs in which the types involved have the same fields in the same places;
// each type's layout is checked by name. They say nothing of code. Thaw checks all else that would
// break memory, so that damaged bytes give an error, but it cannot know what numbers mean.
package freeze

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"unsafe"
)

// A Typer names the type behind its unsafe pointers, and behind those of the values that are
// reached through it first.
type Typer interface {
	// StateType returns the type of the values that the unsafe pointers point to.
	StateType() reflect.Type
}

// A Form knows how to write values of one type. It is not safe for concurrent use.
type Form struct {
	plans  map[reflect.Type]*plan
	names  map[string]*plan // by name and layout; nil: ambiguous
	shared memory
	theirs map[*plan]bool // structs that only what is shared consists of
	most   uint64         // bytes of memory that Thaw takes

	// Of one call, reused.
	found memory
	keys  map[regionKey]struct{}
	maps  map[unsafe.Pointer]int
}

// errMalformed is wrapped by errors about bytes that Freeze did not write.
var errMalformed = errors.New("freeze: malformed")

// maxMemory bounds what Thaw takes, in bytes: bytes made on purpose ask for more than their size.
const maxMemory = 512 << 20

// New returns a Form for values like root, a pointer, whose pointers into what shared reaches stay
// as they are. samples have the types that interfaces may hold. New only reads.
func New(root any, shared any, samples ...any) (*Form, error) {
	f := &Form{plans: map[reflect.Type]*plan{}, names: map[string]*plan{},
		keys: map[regionKey]struct{}{}, maps: map[unsafe.Pointer]int{}, theirs: map[*plan]bool{}, most: maxMemory}
	if err := f.gather(reflect.ValueOf(shared), true); err != nil {
		return nil, err
	}
	f.shared, f.found = f.found, memory{}
	for i := range f.shared.list {
		if of := f.shared.list[i].of; of.t.Kind() == reflect.Struct {
			f.theirs[of] = true
		}
	}
	for _, v := range append([]any{root}, samples...) {
		r := reflect.ValueOf(v)
		f.register(r.Type())
		if err := f.gather(r, false); err != nil {
			return nil, err
		}
	}
	f.release()
	return f, nil
}

// release lets go of the values of a call.
func (f *Form) release() {
	clear(f.found.list)
	f.found.reset()
	clear(f.keys)
	clear(f.maps)
}

// A region is memory that holds count values of a plan's type, one after the other.
type region struct {
	at    unsafe.Pointer
	of    *plan
	count int
	first int         // order of discovery, for one result whatever the addresses are
	typer Typer       // see Typer
	path  *breadcrumb // how it was reached
}

func (r *region) size() uintptr { return r.of.size * uintptr(r.count) }

type regionKey struct {
	at    unsafe.Pointer
	of    *plan
	count int
}

// A breadcrumb is one step of the path by which something was reached, for errors.
type breadcrumb struct {
	from *breadcrumb
	of   *plan
}

func (b *breadcrumb) String() string {
	if b == nil {
		return ""
	}
	if b.from == nil {
		return b.of.t.String()
	}
	return b.from.String() + " > " + b.of.t.String()
}

// memory is regions. After settle those that lay in others are gone and the rest is sorted.
type memory struct {
	list   []region // by address
	order  []int32  // by discovery, indexes of list
	number []int32  // of each in list
}

func (m *memory) reset() { m.list, m.order, m.number = m.list[:0], m.order[:0], m.number[:0] }

// find returns the number of the region that p points into, and the offset there.
func (m *memory) find(p unsafe.Pointer) (number int, offset uintptr, ok bool) {
	i := sort.Search(len(m.list), func(i int) bool { return uintptr(m.list[i].at) > uintptr(p) }) - 1
	if i < 0 {
		return 0, 0, false
	}
	r := &m.list[i]
	offset = uintptr(p) - uintptr(r.at)
	return int(m.number[i]), offset, offset < r.size()
}

// settle merges the regions that were found and numbers them.
func (f *Form) settle(m *memory) error {
	l := m.list
	slices.SortFunc(l, func(a, b region) int {
		switch {
		case uintptr(a.at) != uintptr(b.at):
			if uintptr(a.at) < uintptr(b.at) {
				return -1
			}
			return 1
		case a.size() != b.size():
			if a.size() > b.size() {
				return -1
			}
			return 1
		case a.of != b.of && f.within(&a, 0, b.of, b.count):
			return -1
		case a.of != b.of:
			return 1
		}
		return a.first - b.first
	})
	kept := l[:0]
	for i := range l {
		r := l[i]
		if len(kept) == 0 {
			kept = append(kept, r)
			continue
		}
		last := &kept[len(kept)-1]
		off := uintptr(r.at) - uintptr(last.at)
		if off >= last.size() {
			kept = append(kept, r)
			continue
		}
		if last.first > r.first {
			last.first = r.first
		}
		if last.typer == nil {
			last.typer = r.typer
		}
		switch end := off + r.size(); {
		case last.of == r.of && off%r.of.size == 0:
			last.count = max(last.count, int(end/r.of.size))
		case end <= last.size() && f.within(last, off, r.of, r.count):
		default:
			return fmt.Errorf("freeze: %s at %s shares memory with %s at %s", r.of.t, r.path, last.of.t, last.path)
		}
	}
	m.list = kept
	m.order, m.number = m.order[:0], append(m.number[:0], make([]int32, len(kept))...)
	for i := range kept {
		m.order = append(m.order, int32(i))
	}
	slices.SortFunc(m.order, func(a, b int32) int { return kept[a].first - kept[b].first })
	for n, i := range m.order {
		m.number[i] = int32(n)
	}
	return nil
}

// gather finds the regions that root reaches. Where they are shared, what has no layout of its own
// (functions, interfaces of unknown types, unsafe pointers) is passed over.
func (f *Form) gather(root reflect.Value, shared bool) error {
	if root.Kind() != reflect.Pointer || root.IsNil() {
		return fmt.Errorf("freeze: want a pointer to a value, not %v", root.Type())
	}
	m := &f.found
	m.reset()
	clear(f.keys)
	clear(f.maps)
	g := gatherer{f: f, m: m, shared: shared}
	if err := g.add(root.UnsafePointer(), f.plan(root.Type().Elem()), 1, nil, nil); err != nil {
		return err
	}
	for i := 0; i < len(m.list); i++ {
		r := m.list[i]
		if !r.of.points {
			continue
		}
		for j := range r.count {
			if err := g.scan(unsafe.Add(r.at, uintptr(j)*r.of.size), r.of, r.typer, r.path); err != nil {
				return err
			}
		}
	}
	return f.settle(m)
}

// A gatherer finds regions.
type gatherer struct {
	f      *Form
	m      *memory
	shared bool
}

// add notes count values of a type at p.
func (g *gatherer) add(p unsafe.Pointer, of *plan, count int, typer Typer, from *breadcrumb) error {
	if of.size == 0 || count == 0 {
		return nil
	}
	if !g.shared {
		if n, off, ok := g.f.shared.find(p); ok {
			if !g.f.within(g.f.shared.at(n), off, of, count) {
				return fmt.Errorf("freeze: %s at %s shares memory with what is shared", of.t, from)
			}
			return nil
		}
	}
	key := regionKey{p, of, count}
	if _, ok := g.f.keys[key]; ok {
		return nil
	}
	g.f.keys[key] = struct{}{}
	path := from
	if from == nil || from.of != of {
		path = &breadcrumb{from, of}
	}
	g.m.list = append(g.m.list, region{p, of, count, len(g.m.list), typer, path})
	return nil
}

func (m *memory) at(number int) *region { return &m.list[m.order[number]] }

// scan finds what one value points to.
func (g *gatherer) scan(p unsafe.Pointer, of *plan, typer Typer, path *breadcrumb) error {
	if of.typer && !g.shared {
		typer = reflect.NewAt(of.t, p).Interface().(Typer)
		g.f.register(typer.StateType())
	}
	for i := range of.ops {
		o := &of.ops[i]
		at := unsafe.Add(p, o.off)
		switch o.kind {
		case opPointer:
			if q := *(*unsafe.Pointer)(at); q != nil {
				if err := g.add(q, o.of, 1, typer, path); err != nil {
					return err
				}
			}
		case opUnsafe:
			q := *(*unsafe.Pointer)(at)
			if q == nil || g.shared {
				continue
			}
			if typer == nil {
				return fmt.Errorf("freeze: nothing says what %s.%s points to", path, o.name)
			}
			if err := g.add(q, g.f.plan(typer.StateType()), 1, typer, path); err != nil {
				return err
			}
		case opSlice:
			s := (*header)(at)
			if err := g.add(s.data, o.of, s.len, typer, path); err != nil {
				return err
			}
		case opArray:
			for j := range o.count {
				if err := g.scan(unsafe.Add(at, uintptr(j)*o.of.size), o.of, typer, path); err != nil {
					return err
				}
			}
		case opMap:
			if err := g.scanMap(at, o, typer, path); err != nil {
				return err
			}
		case opInterface:
			if err := g.scanInterface(at, o, typer, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// header is the memory of a slice.
type header struct {
	data     unsafe.Pointer
	len, cap int
}

func (g *gatherer) scanMap(at unsafe.Pointer, o *op, typer Typer, path *breadcrumb) error {
	if !o.of.points && !o.key.points {
		return nil
	}
	m := reflect.NewAt(o.t, at).Elem()
	for _, k := range g.f.sortedKeys(m, o) {
		for i, v := range [2]reflect.Value{k, m.MapIndex(k)} {
			of := o.key
			if i == 1 {
				of = o.of
			}
			if !of.points {
				continue
			}
			spare := reflect.New(of.t)
			spare.Elem().Set(v)
			if err := g.scan(spare.UnsafePointer(), of, typer, path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *gatherer) scanInterface(at unsafe.Pointer, o *op, typer Typer, path *breadcrumb) error {
	v := reflect.NewAt(o.t, at).Elem()
	if v.IsNil() {
		return nil
	}
	p := v.Elem()
	if p.Kind() != reflect.Pointer {
		if g.shared {
			return nil
		}
		return fmt.Errorf("freeze: %s.%s holds a %v, which is not a pointer", path, o.name, p.Type())
	}
	if g.shared {
		return nil
	}
	return g.add(p.UnsafePointer(), g.f.register(p.Type().Elem()), 1, typer, path)
}

// sortedKeys returns the keys of a map in an order that is always the same.
func (f *Form) sortedKeys(m reflect.Value, o *op) []reflect.Value {
	keys := m.MapKeys()
	encoded := make([][]byte, len(keys))
	for i, k := range keys {
		spare := reflect.New(o.key.t)
		spare.Elem().Set(k)
		encoded[i] = appendPlain(nil, spare.UnsafePointer(), o.key)
	}
	sort.Sort(&byBytes{keys, encoded})
	return keys
}

type byBytes struct {
	keys    []reflect.Value
	encoded [][]byte
}

func (b *byBytes) Len() int           { return len(b.keys) }
func (b *byBytes) Less(i, j int) bool { return string(b.encoded[i]) < string(b.encoded[j]) }
func (b *byBytes) Swap(i, j int) {
	b.keys[i], b.keys[j] = b.keys[j], b.keys[i]
	b.encoded[i], b.encoded[j] = b.encoded[j], b.encoded[i]
}

// Freeze appends everything that root reaches to dst. root has the type that New was given. Nobody
// may change it meanwhile.
func (f *Form) Freeze(dst []byte, root any) ([]byte, error) {
	defer f.release()
	r := reflect.ValueOf(root)
	if err := f.gather(r, false); err != nil {
		return dst, err
	}
	m := &f.found
	if len(m.list) == 0 || m.at(0).at != r.UnsafePointer() || m.at(0).count != 1 {
		return dst, fmt.Errorf("freeze: the root %v lies inside of something else", r.Type())
	}
	w := writer{f: f, b: dst, types: map[*plan]int{}}
	var names []*plan
	for n := range m.list {
		of := m.at(n).of
		if f.theirs[of] {
			return dst, fmt.Errorf("freeze: %s is of a type of what is shared", m.at(n).path)
		}
		if !w.knows(of) {
			w.types[of] = len(names)
			names = append(names, of)
		}
	}
	w.number(uint64(len(f.shared.list)))
	w.number(uint64(len(names)))
	for _, of := range names {
		w.text(of.name())
	}
	w.number(uint64(len(m.list)))
	for n := range m.list {
		r := m.at(n)
		w.number(uint64(w.types[r.of]))
		w.number(uint64(r.count))
	}
	for n := range m.list {
		r := m.at(n)
		if !r.of.points {
			w.b = append(w.b, unsafe.Slice((*byte)(r.at), r.size())...)
			continue
		}
		for j := range r.count {
			if err := w.value(unsafe.Add(r.at, uintptr(j)*r.of.size), r.of, n == 0); err != nil {
				return dst, fmt.Errorf("%w, at %s", err, r.path)
			}
		}
	}
	return w.b, nil
}

// A writer appends values.
type writer struct {
	f     *Form
	b     []byte
	types map[*plan]int
}

func (w *writer) knows(of *plan) bool { _, ok := w.types[of]; return ok }
func (w *writer) number(n uint64)     { w.b = binary.AppendUvarint(w.b, n) }
func (w *writer) text(s string)       { w.number(uint64(len(s))); w.b = append(w.b, s...) }

// sizeless stands for the place of a value that takes no memory. Other places are never this number.
const sizeless = 3

// place writes where a pointer points to.
func (w *writer) place(p unsafe.Pointer) error {
	n, off, ok := w.f.found.find(p)
	kind := uint64(1)
	if !ok {
		if n, off, ok = w.f.shared.find(p); !ok {
			return errors.New("freeze: a pointer leads out of what was found")
		}
		kind = 2
	}
	w.number(uint64(n)*3 + kind)
	w.number(uint64(off))
	return nil
}

// value writes one value. inRoot says that functions may be left out.
func (w *writer) value(p unsafe.Pointer, of *plan, inRoot bool) error {
	for i := range of.ops {
		o := &of.ops[i]
		at := unsafe.Add(p, o.off)
		switch o.kind {
		case opPlain:
			w.b = append(w.b, unsafe.Slice((*byte)(at), o.size)...)
		case opPointer, opUnsafe:
			q := *(*unsafe.Pointer)(at)
			if q == nil {
				w.number(0)
				continue
			}
			if o.kind == opPointer && o.of.size == 0 {
				w.number(sizeless)
				continue
			}
			if err := w.place(q); err != nil {
				return err
			}
		case opSlice:
			if err := w.slice((*header)(at), o); err != nil {
				return err
			}
		case opString:
			w.text(*(*string)(at))
		case opArray:
			for j := range o.count {
				if err := w.value(unsafe.Add(at, uintptr(j)*o.of.size), o.of, inRoot); err != nil {
					return err
				}
			}
		case opMap:
			if err := w.mapped(at, o); err != nil {
				return err
			}
		case opInterface:
			v := reflect.NewAt(o.t, at).Elem()
			if v.IsNil() {
				w.number(0)
				continue
			}
			w.number(1)
			of := w.f.plan(v.Elem().Type().Elem())
			if w.text(of.name()); of.size == 0 {
				w.number(sizeless)
				continue
			}
			if err := w.place(v.Elem().UnsafePointer()); err != nil {
				return err
			}
		case opFunction:
			if !inRoot && *(*unsafe.Pointer)(at) != nil {
				return fmt.Errorf("freeze: %s.%s is a %v, which cannot be written", of.t, o.name, o.t)
			}
		}
	}
	return nil
}

func (w *writer) slice(s *header, o *op) error {
	switch {
	case s.data == nil:
		w.number(0)
		return nil
	case s.len == 0 || o.of.size == 0:
		w.number(1)
		w.number(uint64(s.len))
		return nil
	}
	// Its capacity is kept as far as its memory was reached: others may lie there.
	more := s.cap - s.len
	m := &w.f.found
	if n, off, ok := m.find(s.data); ok {
		r := m.at(n)
		room := int((r.size() - off) / o.of.size)
		if !w.f.within(r, off, o.of, room) {
			room = s.len
		}
		more = min(more, room-s.len)
	}
	w.number(2)
	w.number(uint64(s.len))
	w.number(uint64(more))
	return w.place(s.data)
}

func (w *writer) mapped(at unsafe.Pointer, o *op) error {
	m := reflect.NewAt(o.t, at).Elem()
	if m.IsNil() {
		w.number(0)
		return nil
	}
	if n, ok := w.f.maps[m.UnsafePointer()]; ok {
		w.number(1)
		w.number(uint64(n))
		return nil
	}
	w.f.maps[m.UnsafePointer()] = len(w.f.maps)
	w.number(2)
	w.number(uint64(m.Len()))
	for _, k := range w.f.sortedKeys(m, o) {
		for i, v := range [2]reflect.Value{k, m.MapIndex(k)} {
			of := o.key
			if i == 1 {
				of = o.of
			}
			spare := reflect.New(of.t)
			spare.Elem().Set(v)
			if err := w.value(spare.UnsafePointer(), of, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendPlain appends the numbers and texts of a value without pointers, as a map's key.
func appendPlain(b []byte, p unsafe.Pointer, of *plan) []byte {
	for i := range of.ops {
		switch o := &of.ops[i]; o.kind {
		case opPlain:
			plain := unsafe.Slice((*byte)(unsafe.Add(p, o.off)), o.size)
			for j := len(plain) - 1; j >= 0; j-- { // little-endian numbers by their size
				b = append(b, plain[j])
			}
		case opString:
			b = append(b, *(*string)(unsafe.Add(p, o.off))...)
		}
	}
	return b
}
