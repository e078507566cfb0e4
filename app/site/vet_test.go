package site

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A game's own module, which names nothing but module meanwhile, has its rules checked.
func TestVetGame(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: the vet command of a game's program, which builds the tool")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const rules = `package mine

import "meanwhile/game"

type Cmd struct{ X, Y float64 }

type Thing struct{ X float64 }

var Things = game.NewKind[Thing]("thing")

var Game = game.Definition[Cmd]{Act: func(w *game.World, me game.ID, c Cmd) {
	Things.Get(w, me).X = PRODUCT + c.X
}}
`
	write("go.mod", "module mine\n\ngo 1.26.0\n\nrequire meanwhile v0.0.0\n\nreplace meanwhile => "+root+"\n")
	write("go.sum", string(sum))
	for _, c := range []struct {
		product, want string
		code          int
	}{
		{"c.X*c.Y", "mine.go:12:24: c.X * c.Y may be fused with the sum here", 1},
		{"float64(c.X*c.Y)", "", 0},
	} {
		write("mine.go", strings.Replace(rules, "PRODUCT", c.product, 1))
		var out, errs bytes.Buffer
		code := VetGame(context.Background(), "mine", nil, &out, &errs)
		if code != c.code || !strings.Contains(errs.String(), c.want) || out.Len() > 0 || c.code == 0 && errs.Len() > 0 {
			t.Errorf("%s: status %d, %q, %q", c.product, code, out.String(), errs.String())
		}
	}
	write("go.mod", "module mine\n\ngo 1.26.0\n")
	var out, errs bytes.Buffer
	if code := VetGame(context.Background(), "mine", nil, &out, &errs); code != 1 ||
		!strings.Contains(errs.String(), "mine: the rules cannot be checked: go list -m meanwhile") {
		t.Errorf("without module meanwhile: status %d, %q, %q", code, out.String(), errs.String())
	}
}
