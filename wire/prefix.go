package wire

import (
	"math/bits"

	"meanwhile/internal/fault"
)

// Symbols of a Code for differences. Zero has the first; a magnitude m > 0 in bucket i has 2i-1, with a minus sign 2i.
// Magnitudes 1 to 3 are buckets of their own; from 4 on there are two buckets to an octave, from 1<<10 on one, and the rest of
// the magnitude follows as it is. From 1<<26 on bucket 36 is followed by an Exp-Golomb code.
const (
	// Symbols is how many there are.
	Symbols = 74
	// Other is the symbol that means no difference, but what the user of the code likes.
	Other = Symbols - 1

	fineOctave   = 2  // first octave with two buckets
	coarseOctave = 10 // first octave with one
	lastOctave   = 26 // first octave without
	escape       = 36 // bucket beyond
	escapeK      = 20 // order of the code after it
)

// MaxCode is the longest code of a symbol in bits.
const MaxCode = 14

const firstBits = 8 // of a code that one look-up resolves

// A Code is a prefix code of Symbols symbols: canonical, so that the lengths say all. Shorter codes come first, among equal
// lengths the lower symbol; codes count upwards, and their highest bit is written first.
type Code struct {
	enc    [Symbols]uint32        // the bits as they are written, lowest first | length<<16
	first  [1 << firstBits]uint16 // symbol | length<<8, or second part: its place | longCode
	second []uint16               // symbol | length<<8 by the bits after the first
	more   uint                   // bits that index second
}

const longCode = 1 << 15

// NewCode builds a Code from the length of each symbol, 1 to MaxCode. The lengths must fill the space of codes.
func NewCode(lens []uint8) (*Code, error) {
	if len(lens) != Symbols {
		return nil, fault.Errorf("wire: a code of %d symbols, want %d", len(lens), Symbols)
	}
	var count [MaxCode + 1]int
	longest, space := 0, 0
	for s, n := range lens {
		if n < 1 || n > MaxCode {
			return nil, fault.Errorf("wire: symbol %d has a code of %d bits, outside [1, %d]", s, n, MaxCode)
		}
		count[n]++
		longest = max(longest, int(n))
		space += 1 << (MaxCode - n)
	}
	if space != 1<<MaxCode {
		return nil, fault.Errorf("wire: the lengths of a code fill %d of %d", space, 1<<MaxCode)
	}
	var next [MaxCode + 2]uint32
	for n := 1; n <= MaxCode; n++ {
		next[n+1] = (next[n] + uint32(count[n])) << 1
	}
	c := &Code{more: uint(max(longest-firstBits, 0))}
	for s, n := range lens {
		code := uint16(bits.Reverse32(next[n]) >> (32 - n))
		next[n]++
		c.enc[s] = uint32(code) | uint32(n)<<16
		entry := uint16(s) | uint16(n)<<8
		if n <= firstBits {
			for i := int(code); i < len(c.first); i += 1 << n {
				c.first[i] = entry
			}
			continue
		}
		at := &c.first[code&(1<<firstBits-1)]
		if *at == 0 {
			*at = uint16(len(c.second)) | longCode
			c.second = append(c.second, make([]uint16, 1<<c.more)...)
		}
		part := c.second[*at&^longCode:][:1<<c.more]
		for i := int(code >> firstBits); i < len(part); i += 1 << (n - firstBits) {
			part[i] = entry
		}
	}
	return c, nil
}

// Len returns the length of symbol s in bits.
func (c *Code) Len(s int) int { return int(c.enc[s] >> 16) }

// Bucket returns the symbol of a difference and how many bits follow it; for what is beyond the last bucket, an estimate.
func Bucket(v int64) (symbol, more int) {
	s, _, n := bucket(v)
	if n < 0 {
		return s, 2 * bits.Len64(uint64(max(v, -v)))
	}
	return s, n
}

// octaves tell of each length in bits of a magnitude the symbol of its first bucket with a plus sign, the bit that chooses among two
// buckets, if any, and how many bits follow.
var octaves = func() (of [lastOctave + 1]struct{ symbol, half, more uint8 }) {
	for n := range of {
		o := &of[n]
		o.half = 63          // above all bits
		switch b := n - 1; { // the highest bit
		case b < 0:
		case b < fineOctave-1:
			o.symbol = 1
		case b < coarseOctave:
			o.symbol, o.half, o.more = uint8(4*b-1), uint8(b-1), uint8(b-1)
		default:
			o.symbol, o.more = uint8(2*(b+coarseOctave)-1), uint8(b)
		}
	}
	return of
}()

// bucket returns the symbol of a difference, the bits that follow and their number; -1 for an Exp-Golomb code of them.
func bucket(v int64) (symbol int, rest uint64, n int) {
	minus := v >> 63
	m := uint64((v ^ minus) - minus)
	size := bits.Len64(m)
	if size >= len(octaves) {
		return 2*escape - 1 - int(minus), m - 1<<lastOctave, -1
	}
	o := &octaves[size]
	return int(o.symbol) + int(m>>(o.half&63)&1)<<1 - int(minus), m & (1<<(o.more&63) - 1), int(o.more)
}

// Symbol appends symbol s of code c.
func (w *BitWriter) Symbol(c *Code, s int) { w.Bits(uint64(c.enc[s]&0xffff), c.Len(s)) }

// Coded appends a difference by code c. Its magnitude must be below 1<<56. Its low raw bits go as they are, after the code of the rest of
// it, which is rounded down.
func (w *BitWriter) Coded(c *Code, v int64, raw uint) {
	s, rest, n := bucket(v >> (raw & 63))
	if n < 0 || raw > 0 {
		if w.Symbol(c, s); n < 0 {
			w.Uvarint(rest, escapeK)
		} else {
			w.Bits(rest, n)
		}
		w.Bits(uint64(v), int(raw))
		return
	}
	e := c.enc[s]
	size := uint(e >> 16)
	rest = uint64(e&0xffff) | rest<<(size&63)
	if size += uint(n); size > 32 {
		w.Bits(rest, int(size))
		return
	}
	w.acc |= rest << (w.n & 63)
	if w.n += size; w.n >= 32 {
		w.flush()
	}
}

// Symbol reads a symbol of code c.
func (r *BitReader) Symbol(c *Code) int {
	if r.n < MaxCode {
		r.fill()
	}
	e := c.first[r.acc&(1<<firstBits-1)]
	if e&longCode != 0 {
		e = c.second[uint(e&^longCode)+uint(r.acc>>firstBits)&(1<<c.more-1)]
	}
	n := uint(e >> 8)
	if n > r.n {
		r.bad = true
		r.acc, r.n = 0, 0
		return 0
	}
	r.acc >>= n
	r.n -= n
	return int(e & 0xff)
}

// buckets tell of each symbol its least difference and how many bits follow it, lowest first.
var buckets = func() (of [Symbols]struct {
	least int32
	more  uint8
}) {
	for s := range of {
		i := (s + 1) / 2
		b := &of[s]
		switch {
		case i < 4:
			b.least = int32(i)
		case i < 2*coarseOctave:
			b.more = uint8(i/2 - 1)
			b.least = int32(2+i&1) << b.more
		case i < escape:
			b.more = uint8(i - coarseOctave)
			b.least = 1 << b.more
		}
	}
	return of
}()

// Coded reads a difference by code c with its low raw bits; other reports that it was the symbol Other instead.
func (r *BitReader) Coded(c *Code, raw uint) (v int64, other bool) {
	if r.n < MaxCode+lastOctave {
		r.fill()
	}
	acc := r.acc
	e := c.first[acc&(1<<firstBits-1)]
	if e&longCode != 0 {
		e = c.second[uint(e&^longCode)+uint(acc>>firstBits)&(1<<c.more-1)]
	}
	s, size := int(e&0xff), uint(e>>8)
	b := &buckets[s]
	all := size + uint(b.more)
	if all > r.n {
		r.bad = true
		r.acc, r.n = 0, 0
		return 0, false
	}
	v = int64(b.least) + int64(acc>>(size&63)&(1<<(b.more&63)-1))
	r.acc >>= all & 63
	r.n -= all
	if s >= 2*escape-1 {
		if s == Other {
			return 0, true
		}
		if v = int64(r.Uvarint(escapeK)) + 1<<lastOctave; r.bad {
			return 0, false
		}
	}
	minus := int64(s&1) - 1
	if v = (v ^ minus) - minus; raw > 0 {
		v = v<<(raw&63) | int64(r.Bits(int(raw)))
	}
	return v, false
}
