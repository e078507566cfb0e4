package session

import (
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf8"

	"meanwhile/internal/fault"
)

// A codec reads or writes a message field by field with the same calls, so that a message is
// described once and its two directions cannot drift apart. The first error sticks; after it every
// call is a no-op.
//
// Integers are little-endian. A text or blob is its length in two bytes, little-endian, then its
// bytes.
type codec struct {
	buf     []byte // reading: what is left; writing: what has been written
	reading bool
	err     error
}

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fault.Errorf("session: "+format, args...)
	}
}

// take returns the next n bytes of the message, or nil when it is shorter than that.
func (c *codec) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if len(c.buf) < n {
		c.err = ErrTruncated
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

func (c *codec) u8(v *uint8) {
	if !c.reading {
		c.buf = append(c.buf, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

func (c *codec) u16(v *uint16) {
	if !c.reading {
		c.buf = binary.LittleEndian.AppendUint16(c.buf, *v)
	} else if b := c.take(2); b != nil {
		*v = binary.LittleEndian.Uint16(b)
	}
}

func (c *codec) u32(v *uint32) {
	if !c.reading {
		c.buf = binary.LittleEndian.AppendUint32(c.buf, *v)
	} else if b := c.take(4); b != nil {
		*v = binary.LittleEndian.Uint32(b)
	}
}

func (c *codec) u64(v *uint64) {
	if !c.reading {
		c.buf = binary.LittleEndian.AppendUint64(c.buf, *v)
	} else if b := c.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

func (c *codec) key(v *[KeySize]byte) {
	if !c.reading {
		c.buf = append(c.buf, v[:]...)
	} else if b := c.take(KeySize); b != nil {
		copy(v[:], b)
	}
}

// span codes a duration in nanoseconds, 8 bytes, and refuses what lies outside [low, high].
func (c *codec) span(v *time.Duration, low, high time.Duration, name string) {
	if !c.reading && (*v < low || *v > high) {
		c.fail("%s %v is outside [%v, %v]", name, *v, low, high)
		return
	}
	n := uint64(*v)
	if c.u64(&n); c.err != nil || !c.reading {
		return
	}
	if d := time.Duration(n); d < low || d > high {
		c.fail("%s %v is outside [%v, %v]", name, d, low, high)
	} else {
		*v = d
	}
}

// flag codes a bool as one byte, 0 or 1.
func (c *codec) flag(v *bool, name string) {
	var n uint8
	if *v {
		n = 1
	}
	if c.u8(&n); c.err != nil || !c.reading {
		return
	}
	if n > 1 {
		c.fail("%s is %d, want 0 or 1", name, n)
	}
	*v = n == 1
}

// length codes the length of a text or blob and reports whether its bytes may follow.
func (c *codec) length(n *int, limit int, name string) bool {
	if c.err == nil && *n > limit {
		c.fail("%s is %d bytes long, over the bound of %d", name, *n, limit)
	}
	m := uint16(*n)
	if c.u16(&m); c.err == nil && int(m) > limit {
		c.fail("%s is %d bytes long, over the bound of %d", name, m, limit)
	}
	*n = int(m)
	return c.err == nil
}

func (c *codec) blob(v *[]byte, limit int, name string) {
	n := len(*v)
	if !c.length(&n, limit, name) {
		return
	}
	if !c.reading {
		c.buf = append(c.buf, *v...)
	} else if b := c.take(n); len(b) > 0 {
		*v = append([]byte(nil), b...)
	}
}

// text codes a string of valid UTF-8. Control characters are refused, except for line feed and
// tabulator in texts of several lines.
func (c *codec) text(v *string, limit int, lines bool, name string) {
	n := len(*v)
	if !c.reading {
		c.checkText(*v, lines, name)
	}
	if !c.length(&n, limit, name) {
		return
	}
	if !c.reading {
		c.buf = append(c.buf, *v...)
	} else if b := c.take(n); b != nil {
		s := string(b)
		if c.checkText(s, lines, name); c.err == nil {
			*v = s
		}
	}
}

func (c *codec) checkText(s string, lines bool, name string) {
	if !utf8.ValidString(s) {
		c.fail("%s is not valid UTF-8", name)
		return
	}
	for i, r := range s {
		if (r < 0x20 && !(lines && (r == '\n' || r == '\t'))) || r >= 0x7f && r < 0xa0 {
			c.fail("%s holds the control character %U at byte %d", name, r, i)
			return
		}
	}
}

// end reports the error of a finished message. Bytes that nobody asked for are an error too:
// otherwise a field that one side forgot would be lost in silence.
func (c *codec) end() error {
	if c.reading && c.err == nil && len(c.buf) > 0 {
		c.fail("%d bytes follow the message", len(c.buf))
	}
	return c.err
}

// ErrTruncated reports a message that ends in the middle of a field.
var ErrTruncated = errors.New("session: message is truncated")
