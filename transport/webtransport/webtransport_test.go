package webtransport

import (
	"context"
	"strings"
	"testing"

	"meanwhile/transport/internal/conntest"
)

// The sessions themselves are tested with the listener that serves them, in package quic.
func TestDialRefusesWhatIsNoAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:1/meanwhile": "no address of the form https://",
		"127.0.0.1:1":                  "no address of the form https://",
		"https://127.0.0.1/meanwhile":  "missing port",
	} {
		if _, err := Dial(context.Background(), address, DialConfig{Clock: conntest.Clock}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if _, err := Dial(context.Background(), "https://127.0.0.1:1", DialConfig{}); err == nil {
		t.Error("no clock")
	}
}
