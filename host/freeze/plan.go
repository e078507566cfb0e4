package freeze

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"strconv"
)

// What there is at one place of a value.
const (
	opPlain     = iota // bytes without pointers, and without gaps
	opPointer          // to of
	opUnsafe           // an unsafe.Pointer, see Typer
	opSlice            // of of
	opString           //
	opArray            // of count times of, which has pointers
	opMap              // from key to of
	opInterface        // that holds a pointer
	opFunction         // or a channel
)

// An op is one place of a value.
type op struct {
	kind  int
	off   uintptr
	size  uintptr // of opPlain
	of    *plan
	key   *plan
	count int
	t     reflect.Type
	name  string // of the field, for errors
}

// A plan is how values of one type are written.
type plan struct {
	t      reflect.Type
	size   uintptr
	ops    []op
	points bool   // there is more to it than bytes
	typer  bool   // pointers to it are Typers
	parts  []part // fields that take memory, or what an array consists of
	id     string // see name
	known  bool   // see register
	least  int    // bytes that a value takes at least
}

// A part is a field, or all elements of an array.
type part struct {
	off   uintptr
	of    *plan
	count int
	array bool
}

// divide notes the parts of a type.
func (f *Form) divide(p *plan) {
	add := func(off uintptr, t reflect.Type, count int, array bool) {
		if t.Size() > 0 && count > 0 {
			p.parts = append(p.parts, part{off, f.plan(t), count, array})
		}
	}
	switch p.t.Kind() {
	case reflect.Struct:
		for i := range p.t.NumField() {
			add(p.t.Field(i).Offset, p.t.Field(i).Type, 1, false)
		}
	case reflect.Array:
		add(0, p.t.Elem(), p.t.Len(), true)
	}
}

// plan returns the plan of a type.
func (f *Form) plan(t reflect.Type) *plan {
	if p := f.plans[t]; p != nil {
		return p
	}
	p := &plan{t: t, size: t.Size()}
	f.plans[t] = p
	p.typer = t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[Typer]())
	f.divide(p)
	f.fill(p, t, 0, "")
	for i := range p.ops {
		p.points = p.points || p.ops[i].kind != opPlain
	}
	if !p.points && (len(p.ops) > 1 || len(p.ops) == 1 && p.ops[0].size != p.size) {
		p.points = true // gaps are not written
	}
	for i := range p.ops {
		switch o := &p.ops[i]; o.kind {
		case opPlain:
			p.least += int(o.size)
		case opArray:
			p.least += o.count * o.of.least
		case opFunction:
		default:
			p.least++
		}
	}
	return p
}

// fill appends the places of a type at an offset.
func (f *Form) fill(p *plan, t reflect.Type, off uintptr, name string) {
	o := op{off: off, t: t, name: name}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64,
		reflect.Complex64, reflect.Complex128:
		p.plain(off, t.Size())
		return
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			f.fill(p, field.Type, off+field.Offset, name+"."+field.Name)
		}
		return
	case reflect.Array:
		of := f.plan(t.Elem())
		switch {
		case of.size == 0 || t.Len() == 0:
		case !of.points:
			p.plain(off, t.Size())
		default:
			o.kind, o.of, o.count = opArray, of, t.Len()
			p.ops = append(p.ops, o)
		}
		return
	case reflect.Pointer:
		o.kind, o.of = opPointer, f.plan(t.Elem())
	case reflect.Slice:
		o.kind, o.of = opSlice, f.plan(t.Elem())
	case reflect.Map:
		o.kind, o.key, o.of = opMap, f.plan(t.Key()), f.plan(t.Elem())
	case reflect.String:
		o.kind = opString
	case reflect.Interface:
		o.kind = opInterface
	case reflect.UnsafePointer:
		o.kind = opUnsafe
	default: // a function, a channel or a uintptr, which is as good as a pointer
		o.kind = opFunction
	}
	p.ops = append(p.ops, o)
}

// plain adds bytes, to those before where they follow without a gap.
func (p *plan) plain(off, size uintptr) {
	if size == 0 {
		return
	}
	if n := len(p.ops); n > 0 && p.ops[n-1].kind == opPlain && p.ops[n-1].off+p.ops[n-1].size == off {
		p.ops[n-1].size += size
		return
	}
	p.ops = append(p.ops, op{kind: opPlain, off: off, size: size})
}

// register returns the plan of a type that Thaw may have to find by its name, and adds those of all
// types that it reaches.
func (f *Form) register(t reflect.Type) *plan {
	p := f.plan(t)
	if p.known {
		return p
	}
	p.known = true
	id := p.name()
	if q, ok := f.names[id]; ok && q != p {
		f.names[id] = nil
	} else {
		f.names[id] = p
	}
	for i := range p.ops {
		if of := p.ops[i].of; of != nil {
			f.register(of.t)
		}
		if key := p.ops[i].key; key != nil {
			f.register(key.t)
		}
	}
	return p
}

// name returns a type's name and a hash of its layout.
func (p *plan) name() string {
	if p.id == "" {
		h := fnv.New64a()
		layout(h.Write, p.t, map[reflect.Type]bool{})
		p.id = p.t.String() + " " + strconv.FormatUint(h.Sum64(), 16)
	}
	return p.id
}

// layout writes what a type looks like in memory.
func layout(write func([]byte) (int, error), t reflect.Type, seen map[reflect.Type]bool) {
	say := func(format string, args ...any) { _, _ = write(fmt.Appendf(nil, format, args...)) }
	say("%v %v %d;", t, t.Kind(), t.Size())
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			say("%s@%d ", field.Name, field.Offset)
			layout(write, field.Type, seen)
		}
	case reflect.Map:
		layout(write, t.Key(), seen)
		layout(write, t.Elem(), seen)
	case reflect.Array, reflect.Pointer, reflect.Slice:
		layout(write, t.Elem(), seen)
	}
}

// within reports whether count values of a type lie at an offset of a region.
func (f *Form) within(r *region, off uintptr, of *plan, count int) bool {
	if r.of == of && off%of.size == 0 {
		return int(off/of.size)+count <= r.count
	}
	return off < r.size() && fits(r.of, off%r.of.size, of, count)
}

// fits reports whether count values of a type lie at an offset of one value of another type.
func fits(in *plan, off uintptr, of *plan, count int) bool {
	for {
		if in == of && off == 0 && count == 1 {
			return true
		}
		i := len(in.parts) - 1
		for i >= 0 && in.parts[i].off > off {
			i--
		}
		if i < 0 {
			return false
		}
		part := in.parts[i]
		off -= part.off
		if off >= part.of.size*uintptr(part.count) {
			return false
		}
		if part.of == of && part.array && off%of.size == 0 {
			return int(off/of.size)+count <= part.count
		}
		in, off = part.of, off%part.of.size
	}
}
