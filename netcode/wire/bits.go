// Package wire is the bytes of a datagram: bits, prefix codes, sequence numbers, the packet header,
// acknowledgements, the log of what each packet carried, and what both sides know to have arrived
// (Agreement). Layouts: docs/PROTOCOL.md.
package wire

import (
	"encoding/binary"
	"math/bits"
)

// MaxDatagram is the largest datagram in bytes, headers of this protocol included. It fits the
// smallest path of the transports: Chromium's WebTransport takes 1,215 bytes.
const MaxDatagram = 1150

// Overhead is what is charged for each datagram beyond its bytes: UDP, IPv4 and Ethernet headers.
const Overhead = 42

// A BitWriter appends bits to a byte slice, least significant bit first.
// The zero BitWriter is ready after Reset.
type BitWriter struct {
	buf   []byte
	start int // length of buf at Reset
	acc   uint64
	n     uint // bits in acc, at most 63 between calls
}

// Reset makes w append to b, which it takes over until Bytes is called.
func (w *BitWriter) Reset(b []byte) { *w = BitWriter{buf: b, start: len(b)} }

// Len returns the number of bits written since Reset.
func (w *BitWriter) Len() int { return (len(w.buf)-w.start)*8 + int(w.n) }

// Size returns the length in bytes that Bytes would give now, what was in the slice at Reset
// included.
func (w *BitWriter) Size() int { return len(w.buf) + int(w.n+7)/8 }

// Bits appends the low n bits of v, 0 <= n <= 64.
func (w *BitWriter) Bits(v uint64, n int) {
	v &= 1<<uint(n) - 1
	w.acc |= v << w.n
	if w.n += uint(n); w.n >= 64 {
		w.flush(v, uint(n))
	}
}

// flush moves 64 bits to the slice; what did not fit are the last of the n bits of v.
func (w *BitWriter) flush(v uint64, n uint) {
	w.buf = binary.LittleEndian.AppendUint64(w.buf, w.acc)
	w.n -= 64
	w.acc = v >> (n - w.n)
}

// Bool appends one bit.
func (w *BitWriter) Bool(v bool) {
	var b uint64
	if v {
		b = 1
	}
	w.Bits(b, 1)
}

// Uvarint appends v in the Exp-Golomb code of order k: k+1 bits for v < 1<<k, two bits more for
// each doubling beyond. v must be below 1<<56 and k at most 56.
func (w *BitWriter) Uvarint(v uint64, k int) {
	v += 1 << uint(k)
	extra := bits.Len64(v) - 1 - k
	if n := 2*extra + 1 + k; n <= 32 {
		w.Bits(1<<uint(extra)-1|(v&(1<<uint(k+extra)-1))<<uint(extra+1), n)
		return
	}
	w.Bits(1<<uint(extra)-1, extra+1) // extra ones, then a zero
	w.Bits(v, k+extra)                // the leading one is implied
}

// UvarintBits returns how many bits Uvarint takes for v.
func UvarintBits(v uint64, k int) int {
	return 2*(bits.Len64(v+1<<uint(k))-1-k) + 1 + k
}

// Copy appends n bits of b from bit at on. All of them must lie in b.
func (w *BitWriter) Copy(b []byte, at, n int) {
	for n > 0 {
		i, take := at>>3, min(n, 32)
		var v uint64
		if i+8 <= len(b) {
			v = binary.LittleEndian.Uint64(b[i:])
		} else {
			for j := len(b) - 1; j >= i; j-- {
				v = v<<8 | uint64(b[j])
			}
		}
		w.Bits(v>>uint(at&7), take)
		at, n = at+take, n-take
	}
}

// Varint appends a signed v: whether it is not zero, whether it is negative, and its magnitude
// minus one by Uvarint of order k. The magnitude must not exceed 1<<56.
func (w *BitWriter) Varint(v int64, k int) {
	if v == 0 {
		w.Bits(0, 1)
		return
	}
	w.Bits(1, 1)
	neg := v < 0
	if neg {
		v = -v
	}
	w.Bool(neg)
	w.Uvarint(uint64(v-1), k)
}

// A Mark is a place in a BitWriter to return to.
type Mark struct {
	len int
	acc uint64
	n   uint
}

// Mark remembers the present place.
func (w *BitWriter) Mark() Mark { return Mark{len(w.buf), w.acc, w.n} }

// Since returns the bits written since m was taken, if they are 64 at most.
func (w *BitWriter) Since(m Mark) (v uint64, n int, ok bool) {
	switch len(w.buf) {
	case m.len:
		return w.acc >> m.n, int(w.n - m.n), true
	case m.len + 8:
		n = 64 - int(m.n) + int(w.n)
		return binary.LittleEndian.Uint64(w.buf[m.len:])>>m.n | w.acc<<(64-m.n), n, n <= 64
	}
	return 0, 0, false
}

// Rewind forgets everything written since m was taken.
func (w *BitWriter) Rewind(m Mark) { w.buf, w.acc, w.n = w.buf[:m.len], m.acc, m.n }

// Bytes pads the last byte with zero bits and returns the whole slice.
func (w *BitWriter) Bytes() []byte {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.buf = append(w.buf, byte(w.acc))
		w.acc >>= 8
	}
	return w.buf
}

// A BitReader reads what a BitWriter wrote. Reading past the end returns zeros and makes Bad true,
// for good; so a decoder may read a whole message and ask once.
type BitReader struct {
	buf []byte
	pos int
	acc uint64
	n   uint
	bad bool
}

// Reset makes r read b, which is not retained beyond the reading.
func (r *BitReader) Reset(b []byte) { *r = BitReader{buf: b} }

// Bad reports whether a read went past the end or met an impossible code.
func (r *BitReader) Bad() bool { return r.bad }

// Fail makes r Bad: the caller met a value that no encoder writes.
func (r *BitReader) Fail() { r.bad = true }

// Left returns the number of bits not read yet, padding included.
func (r *BitReader) Left() int { return (len(r.buf)-r.pos)*8 + int(r.n) }

// Bits reads n bits, 0 <= n <= 64; of what it reads past the end of the slice, nothing is used.
func (r *BitReader) Bits(n int) uint64 {
	if n > 56 {
		lo, hi := r.Bits(32), r.Bits(n-32)
		if r.bad {
			return 0
		}
		return lo | hi<<32
	}
	if r.n < uint(n) {
		if r.fill(); r.n < uint(n) {
			r.bad = true
			r.acc, r.n = 0, 0
			return 0
		}
	}
	v := r.acc & (1<<uint(n) - 1)
	r.acc >>= uint(n)
	r.n -= uint(n)
	return v
}

// fill loads bytes until acc holds at least 56 bits, or all there are. Bits of acc above the first
// n are those of the next byte or zero: loading that byte again changes none.
func (r *BitReader) fill() {
	if r.pos+8 <= len(r.buf) {
		r.acc |= binary.LittleEndian.Uint64(r.buf[r.pos:]) << r.n
		r.pos += int(63-r.n) / 8
		r.n |= 56
	} else if r.pos < len(r.buf) {
		r.fillLast()
	}
}

// fillLast is fill where fewer than eight bytes are left.
func (r *BitReader) fillLast() {
	if r.n < 32 && r.pos+4 <= len(r.buf) {
		r.acc |= uint64(binary.LittleEndian.Uint32(r.buf[r.pos:])) << r.n
		r.pos += 4
		r.n += 32
	}
	for ; r.n <= 56 && r.pos < len(r.buf); r.pos++ {
		r.acc |= uint64(r.buf[r.pos]) << r.n
		r.n += 8
	}
}

// Bool reads one bit.
func (r *BitReader) Bool() bool { return r.Bits(1) != 0 }

// Uvarint reads an Exp-Golomb code of order k. A code that no BitWriter writes makes r Bad.
func (r *BitReader) Uvarint(k int) uint64 {
	if r.n < 32 {
		r.fill()
	}
	extra := bits.TrailingZeros64(^r.acc)
	if uint(extra) < r.n && extra+k < 57 {
		r.acc >>= uint(extra) + 1
		r.n -= uint(extra) + 1
	} else { // a code without an end, cut short or longer than what is loaded
		extra = 0
		for r.Bits(1) != 0 {
			if extra++; extra+k >= 57 {
				r.bad = true
			}
			if r.bad {
				return 0
			}
		}
	}
	v := r.Bits(k+extra) + 1<<uint(k+extra) - 1<<uint(k)
	if r.bad {
		return 0
	}
	return v
}

// Varint reads what BitWriter.Varint wrote.
func (r *BitReader) Varint(k int) int64 {
	if !r.Bool() {
		return 0
	}
	neg := r.Bool()
	v := int64(r.Uvarint(k)) + 1
	if r.bad {
		return 0
	}
	if neg {
		return -v
	}
	return v
}

// Rest returns the bytes after the current bit, the partial byte given up.
func (r *BitReader) Rest() []byte {
	r.pos -= int(r.n / 8)
	r.acc, r.n = 0, 0
	return r.buf[r.pos:]
}
