package geom_test

import (
	"os/exec"
	"strings"
	"testing"

	"meanwhile/internal/verify/exact/lint"
)

// Every product in the sources must be written float64(x*y), also where no sum is near: the
// function may be inlined into one.
func TestProductsAreRounded(t *testing.T) {
	needGo(t)
	found, err := lint.Sources(".", ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}

	control, err := lint.Sources(".", "./testdata/fused")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range control {
		got = append(got, f.Text)
	}
	want := []string{
		"product x * y may be fused with a sum: write float64(x * y)",
		"product x * y may be fused with a sum: write float64(x * y)",
		"product x *= 3 may be fused with a sum: write it as a conversion",
		"math.Sin is not the same on every machine: see package geom",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the control package gives\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// And the compilers for the machines that can fuse must not have done so.
func TestMachineCodeIsNotFused(t *testing.T) {
	needGo(t)
	for _, target := range lint.Fusing {
		t.Run(target.Arch, func(t *testing.T) {
			_, control, err := lint.Fused(".", "./testdata/fused", target)
			if err != nil {
				t.Skipf("NOT CHECKED: the toolchain cannot build for %v: %v", target, err)
			}
			seen := strings.Join(control, "\n")
			for _, name := range []string{"fused.MulAdd", "fused.Later"} {
				if !strings.Contains(seen, name) {
					t.Errorf("no fused instruction found in the control %s, so this test sees nothing:\n%s", name, seen)
				}
			}
			if strings.Contains(seen, "fused.Rounded") {
				t.Errorf("float64(x*y)+z was fused:\n%s", seen)
			}

			// Game code may give products to geom's functions as they come, inlined or not.
			_, lines, err := lint.Fused(".", "./testdata/products", target)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				t.Error(line)
			}

			functions, lines, err := lint.Fused(".", ".", target)
			if err != nil {
				t.Fatal(err)
			}
			if functions < 100 {
				t.Errorf("the listing has %d functions of geom, expected above 100", functions)
			}
			for _, line := range lines {
				t.Error(line)
			}
		})
	}
}

func TestProductsAreGivenToEverything(t *testing.T) {
	needGo(t)
	unused, used, err := lint.Unused(".", "./testdata/products", "meanwhile/geom")
	if err != nil {
		t.Fatal(err)
	}
	if len(unused) > 0 || used < 100 {
		t.Errorf("testdata/products uses %d functions of geom and leaves out %v", used, unused)
	}
}

func needGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("NOT CHECKED: no go command")
	}
}
