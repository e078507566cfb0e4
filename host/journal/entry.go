package journal

import (
	"encoding/binary"
	"fmt"
	"time"

	"meanwhile/netcode/clock"
)

// The log is entries: a byte that says which call it was, and its arguments. Numbers are varints;
// times are differences from the last time in the block, the first from 0.
const (
	entryConnect    = 1 + iota // time, name, the id that the player got; 0: refused
	entryDisconnect            // id
	entrySuspend               // id, time
	entryResume                // id, time, whether the client kept what it has
	entryReceive               // id, time, datagram
	entryDropped               // id, sequence number
	entryLimits                // id, budget, send, rewind, total
	entryRecord                // id, 0, whether it lasts, JSON, mark; or id, the player whose record it is
	entryRoomRecord            // whether it lasts, JSON, mark
	entryPeriod                // duration
	entryBegin                 // time
	entryLeave                 // time
	entryBeat                  // id, time, size
	entryEnd                   // 1 if datagrams were encoded, sum of the tick in 8 bytes
	entryNote                  // id, bytes; see Server.Note
)

// A scribe appends to a block.
type scribe struct {
	b    []byte
	last clock.Time
}

func (s *scribe) entry(kind byte)      { s.b = append(s.b, kind) }
func (s *scribe) number(n uint64)      { s.b = binary.AppendUvarint(s.b, n) }
func (s *scribe) signed(n int64)       { s.b = binary.AppendVarint(s.b, n) }
func (s *scribe) span(d time.Duration) { s.signed(int64(d)) }

func (s *scribe) time(t clock.Time) {
	s.signed(int64(t - s.last))
	s.last = t
}

func (s *scribe) bytes(b []byte) {
	s.number(uint64(len(b)))
	s.b = append(s.b, b...)
}

func (s *scribe) bool(v bool) {
	n := uint64(0)
	if v {
		n = 1
	}
	s.number(n)
}

// A reader reads a block. After the first error it reads zeros.
type reader struct {
	b    []byte
	last clock.Time
	err  error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrMalformed, what)
	}
	r.b = nil
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("an entry is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("an entry is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) time() clock.Time {
	r.last += clock.Time(r.signed())
	return r.last
}

// bytes returns bytes that are valid as long as the block.
func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.fail("an entry is cut off")
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.fail("an entry is cut off")
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) entry() byte {
	if len(r.b) == 0 {
		r.fail("an entry is cut off")
		return 0
	}
	k := r.b[0]
	r.b = r.b[1:]
	return k
}
