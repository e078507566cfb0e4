package packet

import (
	"time"

	"meanwhile/netcode/wire"
)

const (
	// QualityEvery is from one Quality of a client to the next.
	QualityEvery = time.Second
	// QualityDelay is the unit of Quality.Delay.
	QualityDelay = 4 * time.Millisecond
	// QualitySize is how many bytes a Quality has.
	QualitySize = 5

	// qualityMark begins a Quality. A section of reliable messages begins with a smaller number.
	qualityMark = 0xff
)

// A Quality is what a client says about once a second of how its player sees the game. It stands
// behind the commands of a datagram that is sent anyway, and is not repeated: counters go on from
// one to the next. It is a claim, for operators; nothing may depend on it.
//
//	offset  size  field
//	0       1     255
//	1       1     Delay
//	2       1     Hitches
//	3       1     Stalls
//	4       1     Corrections
type Quality struct {
	Delay uint8 // playout delay, in units of QualityDelay; 255: so long or longer
	// Hitches, stalls of single entities and corrections of the prediction that the client ever
	// counted, modulo 256. Where more than 255 happen between two that arrive, 256 are missed.
	Hitches, Stalls, Corrections uint8
}

// NewQuality returns what a client says. A delay below 0 counts as 0.
func NewQuality(delay time.Duration, hitches, stalls, corrections uint64) Quality {
	return Quality{uint8(min(max(delay/QualityDelay, 0), 255)), uint8(hitches), uint8(stalls), uint8(corrections)}
}

// Append encodes q.
func (q Quality) Append(b []byte) []byte {
	return append(b, qualityMark, q.Delay, q.Hitches, q.Stalls, q.Corrections)
}

// DecodeQuality reads the Quality that b may begin with, and returns what follows it. ok is false
// where b begins with something else. The only failure is wire.ErrTruncated.
func DecodeQuality(b []byte) (q Quality, rest []byte, ok bool, err error) {
	switch {
	case len(b) == 0 || b[0] != qualityMark:
		return q, b, false, nil
	case len(b) < QualitySize:
		return q, b, false, wire.ErrTruncated
	}
	return Quality{b[1], b[2], b[3], b[4]}, b[QualitySize:], true, nil
}
