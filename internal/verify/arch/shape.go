package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Bounds of what one person can keep in mind.
const (
	MaxComplexity = 30  // cyclomatic complexity of a function outside internal/verify
	MaxFields     = 30  // fields of a struct of the core
	MaxColumns    = 120 // characters of a line of Go
	MaxCell       = 120 // characters of a table's cell in Markdown
	MaxLines      = 900 // lines of a Go file that is no test
)

// Shape returns every place of tree and of the Markdown pages that is too large to live in.
func Shape(tree Tree, pages []File) []Finding {
	s := &shapes{fset: token.NewFileSet()}
	for _, f := range tree.Files {
		s.lines(f)
		s.code(f)
	}
	for _, p := range pages {
		s.cells(p)
	}
	return s.findings
}

// LoadPages reads the Markdown pages below root, without those in testdata.
func LoadPages(root string) (pages []File, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != root && (base == "testdata" || base == "node_modules" || base[0] == '.') {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".md" {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		pages = append(pages, File{Path: filepath.ToSlash(rel), Src: src})
		return nil
	})
	return pages, err
}

type shapes struct {
	fset     *token.FileSet
	findings []Finding
}

func (s *shapes) add(pos token.Position, why, format string, args ...any) {
	s.findings = append(s.findings, Finding{Pos: pos, What: fmt.Sprintf(format, args...), Why: why})
}

// lines finds lines and files that are too long. Generated files are left out.
func (s *shapes) lines(f File) {
	if bytes.HasPrefix(f.Src, []byte("// Code generated ")) {
		return
	}
	n := 0
	for line := range bytes.Lines(f.Src) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		if w := utf8.RuneCount(line); w > MaxColumns {
			s.add(token.Position{Filename: f.Path, Line: n}, "break it", "a line of %d characters, more than %d", w, MaxColumns)
		}
	}
	if n > MaxLines && !strings.HasSuffix(f.Path, "_test.go") {
		s.add(token.Position{Filename: f.Path}, "one mechanism each", "a file of %d lines, more than %d", n, MaxLines)
	}
}

// code finds functions with too many ways through them and structs of the core with too many
// fields.
func (s *shapes) code(f File) {
	tree, err := parser.ParseFile(s.fset, f.Path, f.Src, parser.SkipObjectResolution)
	if err != nil {
		return // Check reports it
	}
	own, _ := room(path.Dir(f.Path))
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if c := complexity(n); c > MaxComplexity && !within(f.Path, "internal/verify") {
				s.add(s.fset.Position(n.Pos()), "split it", "%s has a cyclomatic complexity of %d, more than %d",
					n.Name.Name, c, MaxComplexity)
			}
		case *ast.TypeSpec:
			if t, ok := n.Type.(*ast.StructType); ok && isCore(own) && fields(t) > MaxFields {
				s.add(s.fset.Position(n.Pos()), "split it into parts with their own state", "%s has %d fields, more than %d",
					n.Name.Name, fields(t), MaxFields)
			}
		}
		return true
	})
}

// complexity returns the cyclomatic complexity of a function with the functions inside it: one more
// than its branches.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// fields counts the fields of a struct, those of structs without a name inside it included.
func fields(t *ast.StructType) (n int) {
	for _, f := range t.Fields.List {
		n += max(len(f.Names), 1)
		if inner, ok := f.Type.(*ast.StructType); ok {
			n += fields(inner)
		}
	}
	return n
}

// cells finds cells of tables that are too wide to read.
func (s *shapes) cells(p File) {
	n := 0
	fenced := false
	for line := range strings.Lines(string(p.Src)) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced || !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, "¦"), "|") {
			if w := utf8.RuneCountInString(strings.TrimSpace(cell)); w > MaxCell {
				s.add(
					token.Position{Filename: p.Path, Line: n},
					"say it below the table",
					"a cell of %d characters, more than %d",
					w,
					MaxCell,
				)
			}
		}
	}
}
