package body_test

import (
	"os/exec"
	"testing"

	"meanwhile/internal/verify/exact/lint"
)

// The compilers for machines that can fuse a product with a sum must not have done so, nor one half
// of something, which they turn into a product. Package geom has a control that shows that this
// test would see it.
func TestMachineCodeIsNotFused(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("NOT CHECKED: no go command")
	}
	for _, target := range lint.Fusing {
		functions, lines, err := lint.Fused(".", ".", target)
		if err != nil {
			t.Skipf("NOT CHECKED: the toolchain cannot build for %v: %v", target, err)
		}
		if functions < 20 {
			t.Errorf("the listing has %d functions, expected above 20", functions)
		}
		for _, line := range lines {
			t.Errorf("%s: %s", target.Arch, line)
		}
	}
}
