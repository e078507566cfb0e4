// Package putback_test puts bugs back that review had found, and looks whether the weather machine
// of lab/weather finds them. docs/reliability.md has the plans.
package putback_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A bug replaces one piece of a source file.
type bug struct {
	key, name string // putBack is asked for the key
	file      string // from the module's root
	from, to  string
	plan, how string // the plan that fails, and how its failure begins
}

var bugs = []bug{
	{
		key: "deaf", name: "deaf after a hang of the server", file: "client/frame.go",
		from: "\n\tc.followHang(t)\n",
		to:   "\n\tif !putBack(\"deaf\") {\n\t\tc.followHang(t)\n\t}\n",
		plan: "seed 95 game storm paths lan rate 60 send 20 things 10 see 24 queued false budget 64000 end 9000; " +
			"server-stop 3000+5000 p0 x0",
		how: "deaf",
	},
	{
		key: "ends", name: "ends known too late", file: "netcode/snapshot/view.go",
		from: "func (v *View) replaced(n uint16, seq wire.Seq) {\n\tnow := &v.slots.list[n]\n",
		to: "func (v *View) replaced(n uint16, seq wire.Seq) {\n\tnow := &v.slots.list[n]\n" +
			"\tif putBack(\"ends\") && now.phase() != live {\n\t\treturn\n\t}\n",
		plan: "seed 7004 game storm paths ocean rate 30 send 30 things 8 see 24 queued false budget 64000 end 6000",
	},
	{
		key: "history", name: "states older than the history", file: "netcode/rewind/rewind.go",
		from: "return ok && (at == t || r.History.At(i).ChangedBy(g, at) <= t)",
		to:   "return ok && (at == t || !putBack(\"history\") && r.History.At(i).ChangedBy(g, at) <= t)",
		plan: "seed 1 game storm paths lan rate 60 send 20 things 1 see 60 queued false budget 64000 end 6000",
	},
}

const (
	variable = "MEANWHILE_PUT_BACK"
	lookup   = "\nfunc putBack(name string) bool { return os.Getenv(\"" + variable + "\") == name }\n"
	player   = `package main

import (
	"fmt"
	"os"

	"meanwhile/lab/weather"
)

func main() {
	p, err := weather.Parse(os.Args[1])
	if err != nil {
		fmt.Println("plan:", err)
		os.Exit(2)
	}
	if r := weather.Run(p); r.Failed != nil {
		fmt.Println(r.Failed)
		os.Exit(1)
	}
}
`
)

// Each bug fails its plan, and without it the plan passes.
func TestBugsPutBack(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: bugs put back, in an engine that is built anew")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	program := build(t, root)
	for _, b := range bugs {
		if out, code := play(t, program, b.plan, ""); code != 0 {
			t.Errorf("without the bug %q its plan does not pass: %s", b.name, out)
		}
		if out, code := play(t, program, b.plan, b.key); code != 1 || !strings.Contains(out, b.how) {
			t.Errorf("the bug %q is not found any more: find another plan that fails with it (exit %d, %s)", b.name, code, out)
		}
	}
}

// build builds a program that plays one plan, with every bug behind a variable of the environment.
func build(t *testing.T, root string) string {
	dir := t.TempDir()
	replace := map[string]string{}
	put := func(name, text string) {
		at := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = at
	}
	for _, b := range bugs {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.file)))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), b.from); n != 1 {
			t.Fatalf("%s changed: it has the place of the bug %q %d times, want once; put it back elsewhere:\n%s",
				b.file, b.name, n, b.from)
		}
		put(b.file, strings.Replace(string(text), b.from, b.to, 1))
		pkg := filepath.Base(filepath.Dir(b.file))
		put(filepath.ToSlash(filepath.Join(filepath.Dir(b.file), "putback.go")),
			"package "+pkg+"\n\nimport \"os\"\n"+lookup)
	}
	put("internal/verify/putback/play/main.go", player)
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "play.exe")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program,
		"./internal/verify/putback/play")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the source with the bugs does not build: %v\n%s", err, out)
	}
	return program
}

// play plays a plan with one bug, and returns what it prints and the exit status.
func play(t *testing.T, program, plan, bug string) (out string, code int) {
	cmd := exec.CommandContext(t.Context(), program, plan)
	cmd.Env = append(os.Environ(), variable+"="+bug)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text)), cmd.ProcessState.ExitCode()
}
