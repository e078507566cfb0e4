package exact_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"meanwhile/internal/verify/exact"
	"meanwhile/internal/verify/exact/lint"
	"meanwhile/internal/verify/golden"
)

// The sums are pinned, so that a test run on any machine checks that machine. They change when
// geom computes something else, which old clients and new servers would then disagree about.
func TestSums(t *testing.T) {
	var b strings.Builder
	sums := exact.Sums(1, exact.Rounds)
	for _, s := range append(sums, exact.Sum{Name: "all", Hash: exact.Fold(sums)}) {
		b.WriteString(hex(s.Hash) + " " + s.Name + "\n")
	}
	golden.Check(t, "testdata/sums.txt", b.String())
	if d := exact.Digest(1, exact.Rounds); d != exact.Fold(sums) {
		t.Errorf("Digest gives %x, the sums fold to %x", d, exact.Fold(sums))
	}
	if exact.Digest(1, 10) == exact.Digest(2, 10) {
		t.Error("the seed makes no difference")
	}
}

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 16)
	for i := range b {
		b[i] = digits[v>>(60-4*i)&15]
	}
	return string(b)
}

// The other machines are tried here too, as far as this one can pretend to be them.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: other machines compute the same, as .ci/exact checks too")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("NOT CHECKED: no go command")
	}
	want, err := os.ReadFile(filepath.Join("testdata", "sums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	qemu := func(t *testing.T, program string, args ...string) string {
		emulator, err := exec.LookPath("qemu-aarch64-static")
		if err != nil {
			if emulator, err = exec.LookPath("qemu-aarch64"); err != nil {
				t.Skip("NOT CHECKED: no qemu-aarch64-static")
			}
		}
		return output(t, emulator, append([]string{program}, args...)...)
	}
	native := func(t *testing.T, program string, args ...string) string {
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			t.Skipf("NOT CHECKED: this is %s/%s", runtime.GOOS, runtime.GOARCH)
		}
		if info, err := os.ReadFile("/proc/cpuinfo"); err != nil || !bytes.Contains(info, []byte(" fma ")) ||
			!bytes.Contains(info, []byte(" avx2 ")) {
			t.Skip("NOT CHECKED: this processor cannot fuse")
		}
		return output(t, program, args...)
	}
	control := map[string]string{}
	for _, target := range []struct {
		name  string
		env   []string
		fuses bool
		run   func(t *testing.T, program string, args ...string) string
	}{
		{"amd64-v1", []string{"GOOS=linux", "GOARCH=amd64", "GOAMD64=v1"}, false, native},
		{"amd64-v3", []string{"GOOS=linux", "GOARCH=amd64", "GOAMD64=v3"}, true, native},
		{"arm64", []string{"GOOS=linux", "GOARCH=arm64"}, true, qemu},
		{"wasm", []string{"GOOS=wasip1", "GOARCH=wasm"}, false, wasi},
	} {
		t.Run(target.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "exactsum")
			build := exec.Command("go", "build", "-o", program, "./exactsum")
			build.Env = append(append(os.Environ(), "CGO_ENABLED=0"), target.env...)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if got := target.run(t, program); got != string(want) {
				t.Errorf("%s computes\n%swant\n%s", target.name, got, want)
			}
			control[target.name] = target.run(t, program, "control")
			if plain, ok := control["amd64-v1"]; ok && (control[target.name] != plain) != target.fuses {
				t.Errorf(
					"arithmetic left to the compiler gives %sand on amd64-v1 %sexpected them to differ: %v, so a comparison shows "+
						"nothing",
					control[target.name],
					plain,
					target.fuses,
				)
			}
		})
	}
}

func output(t *testing.T, program string, args ...string) string {
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, stderr.String())
	}
	return string(out)
}

// wasi runs a WebAssembly program as a browser's engine would compute it.
func wasi(t *testing.T, program string, args ...string) string {
	code, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	var out bytes.Buffer
	config := wazero.NewModuleConfig().WithStdout(
		&out,
	).WithStderr(
		os.Stderr,
	).WithArgs(
		append([]string{program}, args...)...)
	if _, err := r.InstantiateWithConfig(ctx, code, config); err != nil && !strings.Contains(err.Error(), "exit_code(0)") {
		t.Fatal(err)
	}
	return out.String()
}

// Every exported function and method of geom must be among what is hashed.
func TestNothingIsLeftOut(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("NOT CHECKED: no go command")
	}
	unused, used, err := lint.Unused(".", ".", "meanwhile/geom")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range unused {
		t.Errorf("%s is hashed nowhere", name)
	}
	if used < 100 {
		t.Errorf("hashes %d functions of geom, expected above 100", used)
	}
}
