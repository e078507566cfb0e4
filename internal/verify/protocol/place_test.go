package protocol_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"meanwhile/internal/verify/protocol"
)

// The vectors of places say what the document's tables read from them.
//
// seeds: S8
func TestPlaces(t *testing.T) {
	n := 0
	for _, b := range vectors(t, "../../../netcode/lobby/testdata/places.txt") {
		for i := 0; i+3 < len(b.lines); i += 4 {
			name, want := b.lines[i], strings.TrimSpace(b.lines[i+3])
			for j, read := range []func([]byte) (protocol.Place, error){protocol.ReadPlace, protocol.ReadPlaceMessage} {
				data, err := hex.DecodeString(strings.TrimSpace(b.lines[i+1+j]))
				if err != nil {
					t.Fatal(err)
				}
				p, err := read(data)
				if got := fmt.Sprintf("user %d seq %d x %v y %v", p.User, p.Seq, p.X, p.Y); err != nil || got != want {
					t.Errorf("%s: read as %s, %v; want %s", name, got, err, want)
				}
				if _, err := read(data[1:]); err == nil {
					t.Errorf("%s: read without its first byte", name)
				}
			}
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d vectors, want 5", n)
	}
}
