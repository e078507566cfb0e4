package wire

import (
	"encoding/binary"
	"math"

	"meanwhile/internal/fault"
)

// Sizes in bytes of a Place by itself and as a message.
const (
	PlaceBytes        = 11
	PlaceMessageBytes = 16
)

// Framing of a message of a Place: 2 bytes before it, 1 behind it, and zeros up to a whole number of words of 4 bytes.
const (
	placeKind   = 1
	placeFooter = 0xff
)

// Place says where the player with a number is, in the format of the lobby of 255 players that drew with package playout's
// Interpolator first: plain, byte aligned, with nothing left out. It is here to be spoken and to be compared with: a record of
// package snapshot says the same in a sixth of the bits, as a test in playout prints.
//
//	offset  size  field
//	0       1     User: the player's number
//	1       2     Seq: one more for each place sent while moving, little-endian; 0 is where the player appeared
//	3       4     X, IEEE 754 single precision, little-endian
//	7       4     Y, the same
//
// As a message it has 16 bytes. What the format says of them is that a header, a footer and rounding up to words of 4 bytes
// make 16 of the 11; which bytes those are is our reading:
//
//	offset  size  field
//	0       2     kind of the message, little-endian: 1
//	2       11    the place
//	13      1     end of the message: 255
//	14      2     zeros, up to whole words
type Place struct {
	User uint8
	Seq  Seq
	X, Y float32
}

// Append encodes p in PlaceBytes bytes.
func (p Place) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(append(b, p.User), uint16(p.Seq))
	b = le.AppendUint32(b, math.Float32bits(p.X))
	return le.AppendUint32(b, math.Float32bits(p.Y))
}

// DecodePlace reads a Place from the front of b and reports the bytes it used. It fails with ErrTruncated, and with ErrMalformed
// where a coordinate is not a finite number: nothing could be drawn between that and another.
func DecodePlace(b []byte) (p Place, n int, err error) {
	if len(b) < PlaceBytes {
		return Place{}, 0, fault.Errorf("%w: %d bytes, a place has %d", ErrTruncated, len(b), PlaceBytes)
	}
	le := binary.LittleEndian
	p = Place{User: b[0], Seq: Seq(le.Uint16(b[1:])), X: math.Float32frombits(le.Uint32(b[3:])), Y: math.Float32frombits(le.Uint32(b[7:]))}
	for _, v := range [...]float32{p.X, p.Y} {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return Place{}, 0, fault.Errorf("%w: coordinate %v of a place", ErrMalformed, v)
		}
	}
	return p, PlaceBytes, nil
}

// AppendMessage encodes p with its framing in PlaceMessageBytes bytes.
func (p Place) AppendMessage(b []byte) []byte {
	b = p.Append(binary.LittleEndian.AppendUint16(b, placeKind))
	return append(b, placeFooter, 0, 0)
}

// DecodePlaceMessage reads what AppendMessage wrote from the front of b and reports the bytes it used. It fails with ErrTruncated
// or ErrMalformed.
func DecodePlaceMessage(b []byte) (p Place, n int, err error) {
	if len(b) < PlaceMessageBytes {
		return Place{}, 0, fault.Errorf("%w: %d bytes, the message of a place has %d", ErrTruncated, len(b), PlaceMessageBytes)
	}
	if kind := binary.LittleEndian.Uint16(b); kind != placeKind {
		return Place{}, 0, fault.Errorf("%w: message of kind %d, a place is %d", ErrMalformed, kind, placeKind)
	}
	if b[13] != placeFooter || b[14] != 0 || b[15] != 0 {
		return Place{}, 0, fault.Errorf("%w: the message of a place ends with %x", ErrMalformed, b[13:16])
	}
	if p, _, err = DecodePlace(b[2:]); err != nil {
		return Place{}, 0, err
	}
	return p, PlaceMessageBytes, nil
}
