//go:build !js

package bridge_test

import (
	"io"
	"testing"

	"meanwhile/app/site"
)

// The quickstart's program must not grow unnoticed. With brotli's best level, which takes seconds,
// it is a sixth smaller.
func TestProgramIsSmall(t *testing.T) {
	p, err := site.Build(t.Context(), "../../../examples/zap/cmd/zap", "zap", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	plain, packed := p.Size()
	t.Logf("%d bytes, %d packed quickly", plain, packed)
	if packed > 1_120_000 {
		t.Errorf("the quickstart's program has %d bytes even when packed", packed)
	}
}
