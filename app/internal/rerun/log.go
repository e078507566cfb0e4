// Package rerun replays the log of a page: all that the page's engine got, see docs/BRIDGE.md. The
// engine is a function of that, so a native engine that gets the same draws the same floats, bit
// for bit.
package rerun

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// MaxLog is how large a log may be, in bytes, and a little more than web/meanwhile/log.js keeps.
const MaxLog = 17 << 20

const (
	magic     = "meanwhile page log 1\n"
	maxHeader = 1 << 14
	maxFloats = 1 << 12 // of a command
)

// Kinds of entries, as in web/meanwhile/log.js.
const (
	entrySetting = 1 + iota // name, value as JSON
	entryWelcome            // instant, bytes
	entryMessage            // bytes
	entryLost
	entryDropped // sequence number
	entryReceive // instant, bytes
	entryFrame   // instant, instant when it is shown
	entryClock   // microseconds since the last of these
	entryMe      // press
	entryTick    // press, floats
	entryDraw    // 0; or 1, how many floats, their sum in 4 bytes
	entryTexts
	entryHeard
	entrySay // message, floats as bytes, texts
	entryLeave
	entryReport // floats as bytes
)

// ErrMalformed is wrapped by errors about bytes that are no log.
var ErrMalformed = errors.New("rerun: malformed")

// A Header says whose log it is.
type Header struct {
	Bridge       int
	Game, Schema string
	Room, Agent  string
}

// A Log is what a page kept. See Parse.
type Log struct {
	Header  Header
	entries []byte
}

// Is reports whether bytes begin as a log does.
func Is(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }

// Parse reads the head of a log, which it retains. What follows is checked as it is replayed.
func Parse(b []byte) (*Log, error) {
	if len(b) > MaxLog {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrMalformed, len(b), MaxLog)
	}
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrMalformed, magic)
	}
	r := reader{b: rest}
	head := r.bytes(maxHeader)
	l := &Log{}
	if r.err != nil {
		return nil, r.err
	}
	if err := json.Unmarshal(head, &l.Header); err != nil {
		return nil, fmt.Errorf("%w: its header: %w", ErrMalformed, err)
	}
	l.entries = r.b
	return l, nil
}

// A reader reads entries. After the first error it reads zeros.
type reader struct {
	b       []byte
	us      int64 // the last instant
	clock   int64
	command []float64
	err     error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("it is cut off")
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("a number is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// signed reads a whole number of either sign: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
func (r *reader) signed() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("a number is cut off")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// instant returns milliseconds, of whole microseconds, by the division that the page made.
func (r *reader) instant() float64 {
	r.us += r.signed()
	return float64(r.us) / 1000
}

// pressed returns an instant, or 0 for none.
func (r *reader) pressed() float64 {
	if r.byte() == 0 {
		return 0
	}
	return r.instant()
}

// bytes returns at most that many bytes, which are valid as long as the log.
func (r *reader) bytes(most int) []byte {
	n := r.number()
	if n > uint64(min(most, len(r.b))) {
		r.fail("%d bytes where at most %d may be", n, min(most, len(r.b)))
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// floats returns a command, which is valid until the next one: the floats that differ from it
// follow a byte for each eight, whose bits name them.
func (r *reader) floats() []float64 {
	n := r.number()
	if n > maxFloats {
		r.fail("a command of %d floats, at most %d", n, maxFloats)
		return nil
	}
	if int(n) != len(r.command) {
		r.command = make([]float64, n)
	}
	for i := 0; i < len(r.command); i += 8 {
		for changed, at := r.byte(), i; changed != 0; changed, at = changed>>1, at+1 {
			switch {
			case changed&1 == 0:
			case at >= len(r.command) || len(r.b) < 8:
				r.fail("a command is cut off")
				return nil
			default:
				r.command[at] = math.Float64frombits(binary.LittleEndian.Uint64(r.b))
				r.b = r.b[8:]
			}
		}
	}
	return r.command
}

// skip reads the arguments of an entry that draws nothing.
func (r *reader) skip(kind byte) {
	switch kind {
	case entrySetting:
		r.bytes(MaxLog)
		r.bytes(MaxLog)
	case entryWelcome, entryReceive:
		r.instant()
		r.bytes(MaxLog)
	case entryMessage:
		r.bytes(MaxLog)
	case entryDropped:
		r.number()
	case entryFrame:
		r.instant()
		r.instant()
	case entryClock:
		r.signed()
	case entryMe:
		r.pressed()
	case entryTick:
		r.pressed()
		r.floats()
	case entrySay:
		r.number()
		r.bytes(MaxLog)
		r.bytes(MaxLog)
	}
}

// floatsOf returns the floats whose bytes b are.
func floatsOf(b []byte) []float64 {
	f := make([]float64, len(b)/8)
	for i := range f {
		f[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return f
}

// sumOf returns the sum of floats that web/meanwhile/log.js writes down.
func sumOf(f []float64) uint32 {
	sum := uint32(0x811c9dc5)
	mix := func(word uint32) {
		sum = (sum ^ word) * 0x01000193
		sum ^= sum >> 15
	}
	for _, v := range f {
		bits := math.Float64bits(v)
		mix(uint32(bits))
		mix(uint32(bits >> 32))
	}
	return sum
}
