package wire

import (
	"encoding/binary"
	"math/bits"

	"meanwhile/internal/fault"
)

// Symbols of a Code for differences. Zero has the first; a magnitude m > 0 in bucket i has 2i-1,
// with a minus sign 2i. Magnitudes 1 to 3 are buckets of their own; from 4 on there are two buckets
// to an octave, from 1<<10 on one, and the rest of the magnitude follows as it is. From 1<<26 on
// bucket 36 is followed by an Exp-Golomb code.
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

// A Code is a prefix code of Symbols symbols: canonical, so that the lengths say all. Shorter codes
// come first, among equal lengths the lower symbol; codes count upwards, and their highest bit is
// written first.
type Code struct {
	enc    [1 << symbolBits]uint32 // the bits as they are written, lowest first | length<<16
	first  [1 << firstBits]entry
	second []entry // by the bits after the first
	more   uint    // bits that index second
	raw    uint8
}

// WithRaw returns a code of differences whose low n bits follow uncoded; the code is that of the
// rest, rounded down.
func (c *Code) WithRaw(n uint8) *Code {
	r := *c
	r.raw, r.second = n, append([]entry(nil), c.second...)
	for i := range r.enc {
		r.enc[i] |= rawCode
	}
	for i, e := range r.first {
		if e < longCode {
			r.first[i] |= rawEntry
		}
	}
	for i := range r.second {
		r.second[i] |= rawEntry
	}
	return &r
}

const rawCode = 1 << 31 // in enc: bits that go as they are follow

const symbolBits = 7

// An entry is all that reading asks of a symbol, so that one look-up finds it: the length of its
// code, how many bits follow, the two bits of the magnitude before these, and whether it is
// negative.
//
//	bits   what
//	0-3    length of the code
//	4-8    bits that follow
//	9-10   the magnitude without them
//	11     1: negative
//	12     1: the symbol Other
//	13     1: an Exp-Golomb code follows
//	14     1: bits that go as they are follow
//	15     1: the code goes on; the others are its place in second
type entry uint16

const (
	otherEntry  entry = 1 << 12
	escapeEntry entry = 1 << 13
	rawEntry    entry = 1 << 14
	longCode    entry = 1 << 15
	minusBit          = 11
)

// entries are those of all symbols, without the lengths of their codes.
var entries = func() (of [Symbols]entry) {
	for s := range of {
		i := (s + 1) / 2 // the bucket
		e, more := entry(1), 0
		switch {
		case s == Other:
			e = otherEntry >> 9
		case i == escape:
			e = escapeEntry >> 9
		case i < 4:
			e = entry(i)
		case i < 2*coarseOctave:
			e, more = entry(2+i&1), i/2-1
		default:
			more = i - coarseOctave
		}
		of[s] = e<<9 | entry(more)<<4
		if s > 0 && s&1 == 0 {
			of[s] |= 1 << minusBit
		}
	}
	return of
}()

// NewCode builds a Code from the length of each symbol, 1 to MaxCode. The lengths must fill the
// space of codes.
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
		e := entries[s] | entry(n)
		if n <= firstBits {
			for i := int(code); i < len(c.first); i += 1 << n {
				c.first[i] = e
			}
			continue
		}
		at := &c.first[code&(1<<firstBits-1)]
		if *at == 0 {
			*at = entry(len(c.second)) | longCode
			c.second = append(c.second, make([]entry, 1<<c.more)...)
		}
		part := c.second[*at&^longCode:][:1<<c.more]
		for i := int(code >> firstBits); i < len(part); i += 1 << (n - firstBits) {
			part[i] = e
		}
	}
	return c, nil
}

// entry is that of the symbol whose code begins acc.
func (c *Code) entry(acc uint64) entry {
	e := c.first[acc&(1<<firstBits-1)]
	if e >= longCode {
		e = c.second[uint(e&^longCode)+uint(acc>>firstBits)&(1<<c.more-1)]
	}
	return e
}

// Len returns the length of symbol s in bits.
func (c *Code) Len(s int) int { return int(c.enc[s] >> 16 & 15) }

// Bucket returns the symbol of a difference and how many bits follow it. Beyond the last bucket,
// more is an estimate.
func Bucket(v int64) (symbol, more int) {
	s, _, n := bucket(v)
	if n < 0 {
		return s, 2 * bits.Len64(uint64(max(v, -v)))
	}
	return s, n
}

// octaves has for each length of a magnitude in bits the symbol of its first bucket with a plus
// sign, the bit that chooses between two buckets, if there is one, and how many bits follow.
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

// bucket returns the symbol of a difference, the bits that follow and their number; -1 for an
// Exp-Golomb code of them.
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

// small has the symbol of each difference from -smallest to smallest-1; from bit 7 on, how many
// bits follow; from bit 10 on, these bits.
var small = func() (of [2 * smallest]uint16) {
	for i := range of {
		s, rest, n := bucket(int64(i) - smallest)
		of[i] = uint16(s) | uint16(n)<<symbolBits | uint16(rest)<<(symbolBits+3)
	}
	return of
}()

const smallest = 256

// A Difference is a number and the Code that it is coded with.
type Difference struct {
	Code *Code // nil: it is left out, being 0
	V    int64 // its magnitude is below 1<<56
}

// Symbol appends symbol s of code c.
func (w *BitWriter) Symbol(c *Code, s int) { w.Bits(uint64(c.enc[s]&0xffff), c.Len(s)) }

// Differences appends the differences of a list.
func (w *BitWriter) Differences(list []Difference) {
	acc, n := w.acc, w.n
	for i := range list {
		p := &list[i]
		c := p.Code
		if c == nil {
			continue
		}
		at := uint64(p.V + smallest)
		if at >= uint64(len(small)) || c.enc[0]&rawCode != 0 {
			w.acc, w.n = acc, n
			w.large(p)
			acc, n = w.acc, w.n
			continue
		}
		s := small[at]
		e := c.enc[s&(1<<symbolBits-1)]
		size := uint(e >> 16)
		v := uint64(e&0xffff) | uint64(s>>(symbolBits+3))<<(size&63)
		size += uint(s >> symbolBits & 7)
		acc |= v << (n & 63)
		if n += size; n >= 64 {
			w.buf = binary.LittleEndian.AppendUint64(w.buf, acc)
			n -= 64
			acc = v >> ((size - n) & 63)
		}
	}
	w.acc, w.n = acc, n
}

// large appends any difference.
func (w *BitWriter) large(p *Difference) {
	raw := p.Code.raw
	s, rest, n := bucket(p.V >> (raw & 63))
	w.Symbol(p.Code, s)
	if n < 0 {
		w.Uvarint(rest, escapeK)
	} else {
		w.Bits(rest, n)
	}
	w.Bits(uint64(p.V), int(raw))
}

// Bits returns how many bits BitWriter.Differences takes for a difference.
func (p *Difference) Bits() int {
	if p.Code == nil {
		return 0
	}
	raw := p.Code.raw
	s, rest, n := bucket(p.V >> (raw & 63))
	if n < 0 {
		n = UvarintBits(rest, escapeK)
	}
	return p.Code.Len(s) + n + int(raw)
}

// Differences reads what BitWriter.Differences wrote, with the codes in list, into list. It stops
// at the symbol Other and returns how many differences it read before that.
func (r *BitReader) Differences(list []Difference) int {
	if r.n < MaxCode+lastOctave {
		r.fill()
	}
	acc, n := r.acc, r.n
	for i := range list {
		p := &list[i]
		c := p.Code
		if p.V = 0; c == nil {
			continue
		}
		e := c.entry(acc)
		size, more := uint(e&15), uint(e>>4&31)
		if all := size + more; all <= n && e < otherEntry {
			v := int64(e>>9&3)<<more | int64(acc>>size&(1<<more-1))
			acc >>= all & 63
			n -= all
			minus := int64(e) << (63 - minusBit) >> 63
			p.V = (v ^ minus) - minus
			continue
		}
		r.acc, r.n = acc, n
		if r.difference(p) {
			return i
		}
		acc, n = r.acc, r.n
	}
	r.acc, r.n = acc, n
	return len(list)
}

// difference reads any difference, loading bits where there are too few. It returns whether it met
// the symbol Other.
func (r *BitReader) difference(p *Difference) (other bool) {
	if r.n < MaxCode+lastOctave {
		r.fill()
	}
	e := p.Code.entry(r.acc)
	size, more := uint(e&15), uint(e>>4&31)
	if size+more > r.n {
		r.bad = true
		r.acc, r.n = 0, 0
		return false
	}
	v := int64(e>>9&3)<<more | int64(r.acc>>size&(1<<more-1))
	r.acc >>= size + more
	r.n -= size + more
	if e&otherEntry != 0 {
		return true
	}
	if e&escapeEntry != 0 {
		if v = int64(r.Uvarint(escapeK)) + 1<<lastOctave; r.bad {
			return false
		}
	}
	if e>>minusBit&1 != 0 {
		v = -v
	}
	raw := p.Code.raw
	p.V = v<<(raw&63) | int64(r.Bits(int(raw)))
	return false
}
