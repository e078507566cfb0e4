package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"meanwhile/app/site"
	"meanwhile/examples/steps"
)

// newGame is "meanwhile new".
type newGame struct {
	Folder string `arg:"" help:"A new folder, such as pilots or ../pilots; game and module are called as it is."`
}

// maxGameName is the longest name of a new game, in bytes, as of any game.
const maxGameName = 32

// takenNames are those of modules that Go or the files of a new game mean something else by.
var takenNames = strings.Fields("all archive bufio builtin bytes cmd cmp compress container context crypto database " +
	"debug embed encoding errors expvar flag fmt go hash html image index internal io iter log main maps math meanwhile " +
	"mime net os path plugin reflect regexp runtime slices sort std strconv strings structs sync syscall testdata " +
	"testing text time tool unicode unique unsafe vendor weak work")

// templateName is what the game of steps.Last is called in its rules.
const templateName = `Name: "pilots"`

const templateMain = `package main

import "meanwhile/app"

// Natively this is server, page, bots and flags; built for the browser it is the client.
func main() { app.Main(&Game) }
`

// run writes the game into a new folder.
func (n *newGame) run(stdout io.Writer) error {
	if err := n.check(); err != nil {
		return err
	}
	source, err := site.FindSource()
	if err != nil {
		return fmt.Errorf("a game needs the source of Meanwhile on this machine: run this in a clone, "+
			"as \"go run ./cmd/meanwhile new %s\"", n.Folder)
	}
	return n.write(source.Root, stdout)
}

// check returns an error unless there can be a game of the name here.
func (n *newGame) check() error {
	if err := checkGameName(filepath.Base(n.Folder)); err != nil {
		return usageError{err}
	}
	if _, err := os.Lstat(n.Folder); err == nil {
		return fmt.Errorf("there is already something called %s here; choose another name, or another folder to be in",
			n.Folder)
	}
	return nil
}

// write writes the game, which uses the source of Meanwhile in a folder, and says how to go on.
func (n *newGame) write(root string, stdout io.Writer) error {
	files, err := gameFiles(filepath.Base(n.Folder), n.Folder, root)
	if err == nil {
		err = writeFiles(n.Folder, files)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(
		stdout,
		`%[1]s/ has a game: rules in game.go, a page in web/game.js, a test of whole matches in game_test.go.

    cd %[1]s
    go run . dev

plays it and builds it anew whenever you save a file; "go test" plays two minutes on bad networks.
docs/guide/first-game.md explains it line by line.
`,
		n.Folder,
	)
	return nil
}

// writeFiles writes files into a new folder.
func writeFiles(dir string, files []gameFile) error {
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			err = os.WriteFile(name, f.content, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkGameName returns an error unless a game, a module and a folder may have a name.
func checkGameName(name string) error {
	bad := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }
	switch {
	case name == "" || len(name) > maxGameName || strings.ContainsFunc(name, bad) || name[0] < 'a' || name[0] > 'z':
		return fmt.Errorf("the name %q is not 1 to %d lower-case letters, digits and dashes, with a letter first", name,
			maxGameName)
	case slices.Contains(takenNames, name):
		return fmt.Errorf("the name %q means something else to Go; choose another, such as %s-game", name, name)
	}
	return nil
}

// A gameFile is a file of a new game.
type gameFile struct {
	name    string // with slashes, below the game's folder
	content []byte
}

// gameFiles returns the files of a new game: the last step of the guide as a program of its own,
// whose module uses the source of Meanwhile in a folder, root. Its go.mod lists what Meanwhile
// needs, so that nothing has to be downloaded that the clone had not needed.
func gameFiles(name, dir, root string) ([]gameFile, error) {
	files := []gameFile{{"main.go", []byte(templateMain)}}
	err := fs.WalkDir(steps.Last, "step6", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := steps.Last.ReadFile(p)
		text := string(b)
		if path.Ext(p) == ".go" {
			_, rules, ok := strings.Cut(text, "\npackage step6\n") // without the comment on the step
			if !ok {
				rules, ok = strings.CutPrefix(text, "package step6\n")
			}
			if !ok {
				return fmt.Errorf("%s is not of package step6", p)
			}
			text = "package main\n" + strings.Replace(rules, templateName, fmt.Sprintf("Name: %q", name), 1)
		}
		files = append(files, gameFile{strings.TrimPrefix(p, "step6/"), []byte(text)})
		return err
	})
	if err != nil {
		return nil, err
	}
	mod, err := gameModule(name, dir, root)
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return nil, err
	}
	return append(files, gameFile{"go.mod", mod}, gameFile{"go.sum", sum}), nil
}

// gameModule returns the go.mod of a game in the folder dir.
func gameModule(name, dir, root string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(b), "\ngo ")
	version, rest, ok2 := strings.Cut(rest, "\n")
	if !ok || !ok2 {
		return nil, errors.New("the go.mod of Meanwhile does not name its version of Go")
	}
	var needs []string
	for line := range strings.Lines(rest) {
		if f := strings.Fields(line); len(f) >= 2 && strings.HasPrefix(f[1], "v") && strings.HasPrefix(line, "\t") {
			needs = append(needs, "\t"+f[0]+" "+f[1]+" // indirect\n")
		}
	}
	slices.Sort(needs)
	return fmt.Appendf(nil, `module %s

go %s

// Meanwhile has no home on the internet yet: this is where its source is.
replace meanwhile => %s

require meanwhile v0.0.0

require (
%s)
`, name, version, quoted(way(dir, root)), strings.Join(needs, "")), nil
}

// way returns the path from the folder dir to root as a go.mod has it.
func way(dir, root string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		real := filepath.Join(realPath(filepath.Dir(abs)), filepath.Base(abs)) // the folder is not there yet
		if rel, err := filepath.Rel(real, realPath(root)); err == nil && strings.Count(rel, "..") <= 3 {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(root)
}

// realPath resolves links: ".." leads elsewhere behind one.
func realPath(p string) string {
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

// quoted quotes a path where a go.mod needs that.
func quoted(p string) string {
	if strings.ContainsAny(p, " \"'`()[]{},") || strings.Contains(p, "//") {
		return fmt.Sprintf("%q", p)
	}
	return p
}
