package lobby

import (
	"encoding/binary"
	"math"

	"meanwhile/internal/fault"
	"meanwhile/netcode/wire"
)

// Sizes in bytes of a Place by itself and as a message.
const (
	PlaceBytes   = 11
	MessageBytes = 16
)

// Framing of a message: 2 bytes before the place, 1 after it, and zeros up to a multiple of 4
// bytes.
const (
	messageKind = 1
	messageEnd  = 0xff
)

// Place says where a player was at one moment. All fields are written in full: package snapshot's
// records say the same in a sixth of the bits. docs/PROTOCOL.md, "Places of a lobby", has the bytes
// for other languages.
//
//	offset  size  field
//	0       1     User: the player's number
//	1       2     Seq: 0 where the player appeared, then one more a place; little-endian
//	3       4     X, IEEE 754 single precision, little-endian
//	7       4     Y, the same
//
// A place as a message has 16 bytes. The article states only this sum (header, footer, rounding up
// to words of 4 bytes); the bytes are our choice:
//
//	offset  size  field
//	0       2     kind of the message, little-endian: 1
//	2       11    the place
//	13      1     end of the message: 255
//	14      2     zeros
type Place struct {
	User uint8
	Seq  wire.Seq
	X, Y float32
}

// Append appends p in PlaceBytes bytes.
func (p Place) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(append(b, p.User), uint16(p.Seq))
	b = le.AppendUint32(b, math.Float32bits(p.X))
	return le.AppendUint32(b, math.Float32bits(p.Y))
}

// DecodePlace reads a Place from the front of b and reports the bytes it used. It fails with
// wire.ErrTruncated, or with wire.ErrMalformed if a coordinate is not finite.
func DecodePlace(b []byte) (p Place, n int, err error) {
	if len(b) < PlaceBytes {
		return Place{}, 0, fault.Errorf("lobby: %w: %d bytes, a place has %d", wire.ErrTruncated, len(b), PlaceBytes)
	}
	le := binary.LittleEndian
	p = Place{
		User: b[0],
		Seq:  wire.Seq(le.Uint16(b[1:])),
		X:    math.Float32frombits(le.Uint32(b[3:])),
		Y:    math.Float32frombits(le.Uint32(b[7:])),
	}
	for _, v := range [...]float32{p.X, p.Y} {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return Place{}, 0, fault.Errorf("lobby: %w: coordinate %v of a place", wire.ErrMalformed, v)
		}
	}
	return p, PlaceBytes, nil
}

// AppendMessage appends p with its framing in MessageBytes bytes.
func (p Place) AppendMessage(b []byte) []byte {
	b = p.Append(binary.LittleEndian.AppendUint16(b, messageKind))
	return append(b, messageEnd, 0, 0)
}

// DecodeMessage reads a Place with its framing from the front of b and reports the bytes it used.
// It fails with wire.ErrTruncated or wire.ErrMalformed.
func DecodeMessage(b []byte) (p Place, n int, err error) {
	if len(b) < MessageBytes {
		return Place{}, 0, fault.Errorf("lobby: %w: %d bytes, a message has %d", wire.ErrTruncated, len(b), MessageBytes)
	}
	if kind := binary.LittleEndian.Uint16(b); kind != messageKind {
		return Place{}, 0, fault.Errorf("lobby: %w: message of kind %d, want %d", wire.ErrMalformed, kind, messageKind)
	}
	if b[13] != messageEnd || b[14] != 0 || b[15] != 0 {
		return Place{}, 0, fault.Errorf("lobby: %w: a message ends with %x", wire.ErrMalformed, b[13:16])
	}
	if p, _, err = DecodePlace(b[2:]); err != nil {
		return Place{}, 0, err
	}
	return p, MessageBytes, nil
}
