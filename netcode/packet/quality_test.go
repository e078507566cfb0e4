package packet_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

func qualityText(q packet.Quality) string {
	return fmt.Sprintf("delay %d hitches %d stalls %d corrections %d", q.Delay, q.Hitches, q.Stalls, q.Corrections)
}

func TestQualityVectors(t *testing.T) {
	var list []vector
	for _, c := range []struct {
		name string
		q    packet.Quality
	}{
		{"nothing happened", packet.NewQuality(60*time.Millisecond, 0, 0, 0)},
		{"counters beyond 255", packet.NewQuality(123*time.Millisecond, 3, 257, 512)},
		{"a delay beyond the range", packet.NewQuality(2*time.Second, 1, 2, 3)},
		{"a delay below 0", packet.NewQuality(-time.Second, 0, 0, 255)},
	} {
		list = append(list, vector{c.name, hex.EncodeToString(c.q.Append(nil)), qualityText(c.q)})
	}
	check(
		t,
		"testdata/qualities.txt",
		"# What a client says of how its player sees the game: name, bytes, and what they say.\n",
		list,
		func(b []byte) (string, error) {
			q, rest, ok, err := packet.DecodeQuality(b)
			if err == nil && (!ok || len(rest) > 0) {
				err = errors.New("no report, or more than one") // such as the empty prefix
			}
			return qualityText(q), err
		},
	)
}

// A section of messages begins with how many there are, 64 at most.
func TestNoQuality(t *testing.T) {
	for _, b := range [][]byte{nil, {0}, {1, 0, 0}, {64}, {254, 1, 2, 3, 4}} {
		if q, rest, ok, err := packet.DecodeQuality(b); ok || err != nil || !bytes.Equal(rest, b) {
			t.Errorf("%x is read as %+v, %x, %v, %v", b, q, rest, ok, err)
		}
	}
}

func FuzzDecodeQuality(f *testing.F) {
	f.Add(packet.NewQuality(time.Second, 1, 2, 3).Append(nil))
	f.Add([]byte{255, 0})
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		q, rest, ok, err := packet.DecodeQuality(b)
		switch {
		case err != nil && !errors.Is(err, wire.ErrTruncated):
			t.Fatalf("%x: %v", b, err)
		case err != nil || !ok:
		case !bytes.Equal(append(q.Append(nil), rest...), b):
			t.Fatalf("%x is read as %+v, %x", b, q, rest)
		}
	})
}
