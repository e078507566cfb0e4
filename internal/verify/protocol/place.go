package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A Place is where a player of a lobby was.
type Place struct {
	User uint8
	Seq  uint16
	X, Y float32
}

// ReadPlace reads the 11 bytes of a place, as the document's "Places of a lobby" lays them out.
func ReadPlace(b []byte) (Place, error) {
	if len(b) != 11 {
		return Place{}, fmt.Errorf("protocol: a place of %d bytes", len(b))
	}
	le := binary.LittleEndian
	p := Place{b[0], le.Uint16(b[1:]), math.Float32frombits(le.Uint32(b[3:])), math.Float32frombits(le.Uint32(b[7:]))}
	for _, v := range []float64{float64(p.X), float64(p.Y)} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Place{}, errors.New("protocol: a coordinate is not finite")
		}
	}
	return p, nil
}

// ReadPlaceMessage reads the 16 bytes of a place as a message.
func ReadPlaceMessage(b []byte) (Place, error) {
	if len(b) != 16 {
		return Place{}, fmt.Errorf("protocol: the message of a place has %d bytes", len(b))
	}
	if kind, end := b[:2], b[13:]; string(kind) != "\x01\x00" || string(end) != "\xff\x00\x00" {
		return Place{}, fmt.Errorf("protocol: the message of a place begins with %x and ends with %x", kind, end)
	}
	return ReadPlace(b[2:13])
}
