package journal

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// maxTail is how many bytes of chunks a Tail keeps. Where there are more nobody can follow until
// the next checkpoint.
const maxTail = 64 << 20

// A Tail keeps the newest chunks of a journal in memory, for followers. Safe for concurrent use.
type Tail struct {
	late time.Duration

	mu     sync.Mutex
	last   *link   // nil: nothing came
	starts []*link // where a follower can begin, the oldest first
	size   int     // bytes from the first of them on
}

// A link is a chunk in a Tail. Followers hold theirs, so what none of them needs is freed.
type link struct {
	Chunk
	next *link
}

// NewTail returns a Tail for followers that begin so late.
func NewTail(late time.Duration) *Tail { return &Tail{late: late} }

// Put adds a chunk; it may be called by New and Record. It always has room.
func (t *Tail) Put(c Chunk) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &link{Chunk: c}
	if t.last != nil {
		t.last.next = l
	}
	if t.last == nil || c.Kind == KindCheckpoint {
		t.starts = append(t.starts, l)
	}
	t.last = l
	if len(t.starts) == 0 {
		return true
	}
	t.size += len(c.Payload)
	for len(t.starts) > 1 && t.starts[1].time <= c.time.Add(-t.late) {
		t.forget()
	}
	if t.size > maxTail {
		t.starts, t.size = nil, 0
	}
	return true
}

// forget drops what is before the second start.
func (t *Tail) forget() {
	for l := t.starts[0]; l != t.starts[1]; l = l.next {
		t.size -= len(l.Payload)
	}
	t.starts[0] = nil
	t.starts = t.starts[1:]
}

// after returns the chunk that follows one; nil: none yet.
func (t *Tail) after(l *link) *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	return l.next
}

// ErrNothing is why nothing can be followed: nothing is recorded at present, or too much happens.
var ErrNothing = errors.New("journal: nothing to follow")

// Follow returns a Follower of what is recorded into a Tail. It begins with the oldest checkpoint
// that the Tail has, or with the newest. It is called between ticks.
func (s *Server) Follow(t *Tail, newest bool) (*Follower, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.starts) == 0 {
		return nil, ErrNothing
	}
	l := t.starts[0]
	if newest {
		l = t.starts[len(t.starts)-1]
	}
	f := &Follower{tail: t, at: &link{next: l}, header: s.header}
	f.r = Replay{f: &File{}, rules: s.Rules(), cfg: s.header.Settings.Config()}
	return f, nil
}

// A Follower is a second world that computes what was recorded while the recording goes on, by
// whatever time later. It compares as a Replay does. Not safe for concurrent use.
type Follower struct {
	tail   *Tail
	at     *link // the chunk that is read
	header Header
	r      Replay
	begun  bool  // the first chunk with content was read
	open   bool  // a tick was computed and has not ended
	gone   error // why there is nothing more
}

// World is the second world, from the first call of Next on.
func (f *Follower) World() *server.Server { return f.r.Server }

// Differs is the first tick whose result was not the recorded one; nil: none so far.
func (f *Follower) Differs() *Difference { return f.r.Differs }

// errGap is why a Follower cannot go on: a part was not recorded.
var errGap = errors.New("journal: a part was not recorded")

// Next returns when the next tick was planned to begin in the recorded world; io.EOF while that is
// not known yet. Other errors are for good: those of Replay.Step, errGap, and a *Parting.
func (f *Follower) Next() (at clock.Time, err error) {
	if f.gone != nil {
		return 0, f.gone
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("journal: the world failed in a follower: %v\n%s", v, debug.Stack())
		}
		if err != nil && err != io.EOF {
			f.gone = err
		}
	}()
	if f.r.Server == nil {
		if err := f.r.fresh(); err != nil {
			return 0, err
		}
	}
	f.end()
	for {
		for len(f.r.in.b) == 0 {
			if err := f.load(); err != nil {
				return 0, err
			}
		}
		if f.r.in.b[0] == entryBegin {
			in := f.r.in // a copy
			in.entry()
			at = in.time()
			return at, in.err
		}
		var t Tick
		if ended, err := f.r.entry(&t); err != nil {
			return 0, err
		} else if ended {
			return 0, fmt.Errorf("%w: a tick ends that has not begun", ErrMalformed)
		}
	}
}

// end completes the tick that Step computed.
func (f *Follower) end() {
	if f.open {
		f.open = false
		f.r.end()
	}
}

// Step computes the tick that Next announced. It has not ended then: its events are there until the
// next call of Next.
func (f *Follower) Step() (t Tick, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("journal: the world failed in a follower, tick %d: %v\n%s", f.r.Server.Tick(), v, debug.Stack())
		}
		if err != nil {
			f.gone = err
		}
	}()
	for {
		for len(f.r.in.b) == 0 {
			if err := f.load(); err != nil {
				return t, err
			}
		}
		if f.open, err = f.r.entry(&t); err != nil || f.open {
			return t, err
		}
	}
}

// load begins the next chunk.
func (f *Follower) load() error {
	l := f.tail.after(f.at)
	if l == nil {
		return io.EOF
	}
	f.at = l
	switch l.Kind {
	case KindLog:
		f.begun = true
		f.r.in = reader{b: l.Payload}
	case KindCheckpoint:
		if !f.begun {
			f.begun = true
			return f.r.thawBytes(l.Payload)
		}
		if l.tick != f.r.Server.Tick() {
			return fmt.Errorf("%w: from tick %d to %d", errGap, f.r.Server.Tick(), l.tick)
		}
		if f.r.Differs != nil {
			return f.parting(l)
		}
	}
	return nil
}

// A Parting says how two worlds differ at a checkpoint.
type Parting struct {
	Tick clock.Tick
	// What names properties with their entities, and entities that one of the worlds lacks; at most
	// maxParted. None: the worlds differ in what is not state of an entity.
	What []string
}

func (p *Parting) Error() string {
	return fmt.Sprintf("journal: at tick %d the worlds differ in %q", p.Tick, p.What)
}

const maxParted = 8

// parting compares with a checkpoint.
func (f *Follower) parting(l *link) error {
	other := Replay{f: &File{}, rules: f.r.rules, cfg: f.r.cfg}
	if err := other.thawBytes(l.Payload); err != nil {
		return err
	}
	p := &Parting{Tick: l.tick}
	note := func(format string, args ...any) bool {
		p.What = append(p.What, fmt.Sprintf(format, args...))
		return len(p.What) < maxParted
	}
	here, there := f.r.Server.Engine(), other.Server.Engine()
	here.States(func(kind string, id game.ID, _ any) bool {
		k, mine := here.Sims(id)
		_, theirs := there.Sims(id)
		if len(theirs) != len(mine) {
			return note("%s %d, which is gone", kind, id)
		}
		props := f.r.rules.Kinds[k].Props
		for i := range props {
			q := &props[i]
			for c := q.At; c < q.At+q.Comps; c++ {
				if mine[c] != theirs[c] {
					if !note("%s of %s %d", q.Name, kind, id) {
						return false
					}
					break
				}
			}
		}
		return true
	})
	there.States(func(kind string, id game.ID, _ any) bool {
		if _, mine := here.Sims(id); mine == nil && len(p.What) < maxParted {
			return note("%s %d, which is new", kind, id)
		}
		return len(p.What) < maxParted
	})
	return p
}

// Save returns the second world as a journal of one checkpoint, as of its newest tick, for replays.
func (f *Follower) Save() ([]byte, error) {
	f.end()
	var b []byte
	var failed error
	s := Record(f.r.Server, f.r.cfg, f.header, f.r.Notes, func(c Chunk) bool {
		if failed == nil {
			b, failed = c.Append(b)
		}
		return true
	})
	return b, errors.Join(s.Checkpoint(), failed)
}
