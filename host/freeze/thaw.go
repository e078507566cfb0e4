package freeze

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"
)

// Thaw makes root what was frozen. root is fresh and has the type that New was given. It is of no
// use after an error.
func (f *Form) Thaw(b []byte, root any) error {
	t := thawer{f: f, b: b, root: reflect.ValueOf(root)}
	if err := t.head(); err != nil {
		return err
	}
	for n := range t.regions {
		r := &t.regions[n]
		if !r.of.points {
			t.bytes(r.at, r.size())
			continue
		}
		for j := range r.count {
			if t.value(unsafe.Add(r.at, uintptr(j)*r.of.size), r.of); t.err != nil {
				return t.err
			}
		}
	}
	if t.err == nil && len(t.b) > 0 {
		t.fail("%d bytes are left over", len(t.b))
	}
	if t.err != nil {
		return t.err
	}
	return f.check(t.root)
}

// check finds memory that is taken for two types, and Typers that damaged bytes made.
func (f *Form) check(root reflect.Value) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errMalformed, v)
		}
	}()
	defer f.release()
	return f.gather(root, false)
}

// A thawer reads values. After the first error it reads zeros.
type thawer struct {
	f       *Form
	b       []byte
	err     error
	root    reflect.Value
	regions []region
	maps    []reflect.Value
	memory  uint64 // bytes that it took
}

// take counts memory for values of a size, and fails if it is too much.
func (t *thawer) take(count int, size uintptr) {
	if t.memory += uint64(count) * uint64(size); t.memory > t.f.most {
		t.fail("it takes more than %d bytes of memory", t.f.most)
	}
}

func (t *thawer) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("%w: "+format, append([]any{errMalformed}, args...)...)
	}
	t.b = nil
}

func (t *thawer) number() uint64 {
	v, n := binary.Uvarint(t.b)
	if n <= 0 {
		t.fail("it ends within a number")
		return 0
	}
	t.b = t.b[n:]
	return v
}

// count reads the number of things that take at least so many bytes each.
func (t *thawer) count(least int) int {
	n := t.number()
	if n > uint64(len(t.b)/max(least, 1)) {
		t.fail("it says %d of what takes %d bytes, with %d left", n, least, len(t.b))
		return 0
	}
	return int(n)
}

func (t *thawer) text() string {
	n := t.count(1)
	s := string(t.b[:n])
	t.b = t.b[n:]
	return s
}

func (t *thawer) bytes(at unsafe.Pointer, size uintptr) {
	if uintptr(len(t.b)) < size {
		t.fail("it ends within a value")
		return
	}
	copy(unsafe.Slice((*byte)(at), size), t.b)
	t.b = t.b[size:]
}

// head reads types and regions, and makes memory for them.
func (t *thawer) head() error {
	if n := t.number(); t.err == nil && n != uint64(len(t.f.shared.list)) {
		return fmt.Errorf("freeze: it is of other rules or another program: %d shared places, not %d", n,
			len(t.f.shared.list))
	}
	types := make([]*plan, t.count(1))
	for i := range types {
		name := t.text()
		if t.err != nil {
			return t.err
		}
		if types[i] = t.f.names[name]; types[i] == nil {
			return fmt.Errorf("freeze: it is of another program: this one has no type %s", name)
		}
		if t.f.theirs[types[i]] {
			t.fail("it has a %s, which only what is shared has", name)
			return t.err
		}
	}
	n := t.count(2)
	left := len(t.b)
	for i := range n {
		ty, count := t.number(), t.number()
		if t.err != nil {
			return t.err
		}
		if ty >= uint64(len(types)) {
			t.fail("type %d of %d", ty, len(types))
			return t.err
		}
		of := types[ty]
		least := max(of.least, 1)
		if !of.points {
			least = int(of.size)
		}
		if count == 0 || count > uint64(left/least) {
			t.fail("%d values of %v, with %d bytes left", count, of.t, left)
			return t.err
		}
		left -= int(count) * least
		t.take(1, unsafe.Sizeof(region{}))
		if t.take(int(count), of.size); t.err != nil {
			return t.err
		}
		r := region{of: of, count: int(count)}
		if i == 0 {
			if of.t != t.root.Type().Elem() || count != 1 {
				t.fail("its root is %d of %v", count, of.t)
				return t.err
			}
			r.at = t.root.UnsafePointer()
		}
		t.regions = append(t.regions, r)
	}
	if t.err == nil && len(t.regions) == 0 {
		t.fail("it has no root")
	}
	if t.err != nil {
		return t.err
	}
	for i := range t.regions[1:] {
		r := &t.regions[i+1]
		if r.count == 1 {
			r.at = reflect.New(r.of.t).UnsafePointer()
		} else {
			r.at = reflect.MakeSlice(reflect.SliceOf(r.of.t), r.count, r.count).UnsafePointer()
		}
	}
	return nil
}

// place reads where a pointer points to: at count values of a type, or of any type if that is nil.
// It returns nil for a nil pointer, and the region with the offset there.
func (t *thawer) place(of *plan, count int) (p unsafe.Pointer, r *region, offset uintptr) {
	n := t.number()
	if n == 0 {
		return nil, nil, 0
	}
	off := t.number()
	if t.err != nil {
		return nil, nil, 0
	}
	switch i, kind := (n-1)/3, (n-1)%3; {
	case kind == 0 && i < uint64(len(t.regions)):
		r = &t.regions[i]
	case kind == 1 && i < uint64(len(t.f.shared.list)):
		r = t.f.shared.at(int(i))
	default:
		t.fail("place %d of %d", i, len(t.regions))
		return nil, nil, 0
	}
	if off >= uint64(r.size()) || of == nil && (off != 0 || r.count != 1) ||
		of != nil && (count > r.count*int(r.of.size)/max(int(of.size), 1) || !t.f.within(r, uintptr(off), of, count)) {
		t.fail("byte %d of %d of %v", off, r.count, r.of.t)
		return nil, nil, 0
	}
	return unsafe.Add(r.at, off), r, uintptr(off)
}

// value reads one value.
func (t *thawer) value(p unsafe.Pointer, of *plan) {
	for i := range of.ops {
		o := &of.ops[i]
		at := unsafe.Add(p, o.off)
		switch o.kind {
		case opPlain:
			t.bytes(at, o.size)
		case opPointer:
			if o.of.size == 0 {
				*(*unsafe.Pointer)(at) = t.sizeless(o.of)
				continue
			}
			q, _, _ := t.place(o.of, 1)
			*(*unsafe.Pointer)(at) = q
		case opUnsafe:
			t.state(at)
		case opSlice:
			t.slice((*header)(at), o)
		case opString:
			*(*string)(at) = t.text()
		case opArray:
			for j := range o.count {
				t.value(unsafe.Add(at, uintptr(j)*o.of.size), o.of)
			}
		case opMap:
			t.mapped(at, o)
		case opInterface:
			t.dynamic(at, o)
		}
		if t.err != nil {
			return
		}
	}
}

// sizeless reads a pointer to a value that takes no memory.
func (t *thawer) sizeless(of *plan) unsafe.Pointer {
	switch n := t.number(); n {
	case 0:
	case sizeless:
		return reflect.New(of.t).UnsafePointer()
	default:
		t.fail("place %d of %v", n, of.t)
	}
	return nil
}

// state reads an unsafe pointer: to a whole value.
func (t *thawer) state(at unsafe.Pointer) {
	q, _, _ := t.place(nil, 1)
	*(*unsafe.Pointer)(at) = q
}

func (t *thawer) slice(s *header, o *op) {
	switch kind := t.number(); kind {
	case 0:
		*s = header{}
	case 1:
		n := 0
		if o.of.size == 0 {
			n = int(min(t.number(), 1<<20))
		} else if t.number() != 0 {
			t.fail("a slice without memory has a length")
		}
		reflect.NewAt(o.t, unsafe.Pointer(s)).Elem().Set(reflect.MakeSlice(o.t, n, n))
	case 2:
		n, more := t.number(), t.number()
		if o.of.size == 0 || n == 0 || n > 1<<40 {
			t.fail("a slice of %d values", n)
			return
		}
		q, r, off := t.place(o.of, int(n))
		if q == nil {
			t.fail("a slice of %d values at nothing", n)
			return
		}
		most := int((r.size() - off) / o.of.size)
		if !t.f.within(r, off, o.of, most) {
			most = int(n)
		}
		*s = header{q, int(n), int(min(n+min(more, 1<<40), uint64(most)))}
	default:
		t.fail("a slice of kind %d", kind)
	}
}

func (t *thawer) mapped(at unsafe.Pointer, o *op) {
	m := reflect.NewAt(o.t, at).Elem()
	switch kind := t.number(); kind {
	case 0:
		m.SetZero()
	case 1:
		n := t.number()
		if n >= uint64(len(t.maps)) || t.maps[n].Type() != o.t {
			t.fail("map %d of %d", n, len(t.maps))
			return
		}
		m.Set(t.maps[n])
	case 2:
		n := t.count(max(o.key.least+o.of.least, 1))
		if t.take(n, 2*(o.key.size+o.of.size)+8); t.err != nil {
			return
		}
		made := reflect.MakeMapWithSize(o.t, n)
		t.maps = append(t.maps, made)
		for range n {
			k, v := reflect.New(o.key.t), reflect.New(o.of.t)
			t.value(k.UnsafePointer(), o.key)
			t.value(v.UnsafePointer(), o.of)
			if t.err != nil {
				return
			}
			made.SetMapIndex(k.Elem(), v.Elem())
		}
		m.Set(made)
	default:
		t.fail("a map of kind %d", kind)
	}
}

// dynamic reads an interface that holds a pointer.
func (t *thawer) dynamic(at unsafe.Pointer, o *op) {
	v := reflect.NewAt(o.t, at).Elem()
	if len(t.b) > 0 && t.b[0] == 0 {
		t.b = t.b[1:]
		v.SetZero()
		return
	}
	t.number()
	name := t.text()
	if t.err != nil {
		return
	}
	of := t.f.names[name]
	if of == nil || !reflect.PointerTo(of.t).Implements(o.t) {
		t.fail("an interface holds a %s", name)
		return
	}
	if of.size == 0 {
		if q := t.sizeless(of); q != nil {
			v.Set(reflect.NewAt(of.t, q))
		}
		return
	}
	if q, _, _ := t.place(of, 1); t.err == nil {
		v.Set(reflect.NewAt(of.t, q))
	}
}
