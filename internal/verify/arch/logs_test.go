package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// logKeys returns the attributes of a call that logs, from the call's arguments; whole is false if
// the message or an attribute's name is made at run time.
func logKeys(call *ast.CallExpr) (keys []string, whole bool) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, true
	}
	on := ""
	switch x := f.X.(type) {
	case *ast.Ident:
		on = x.Name
	case *ast.SelectorExpr:
		on = x.Sel.Name
	}
	literal := func(e ast.Expr) bool {
		_, ok := e.(*ast.BasicLit)
		return ok
	}
	args, first := call.Args, 0
	switch {
	case on == "slog" && (f.Sel.Name == "Error" || strings.HasPrefix(f.Sel.Name, "New")):
		return nil, true
	case on == "slog": // one attribute
		args = args[:min(1, len(args))]
	case strings.ToLower(on) == "log" && f.Sel.Name == "With":
	case f.Sel.Name == "once" && len(args) == 3,
		strings.ToLower(on) == "log" && regexp.MustCompile("^(Debug|Info|Warn|Error)$").MatchString(f.Sel.Name):
		first = 1
	default:
		return nil, true
	}
	whole = true
	if first == 1 {
		m := args[0]
		if sum, ok := m.(*ast.BinaryExpr); ok {
			whole = literal(sum.X) && literal(sum.Y)
		} else if _, variable := m.(*ast.Ident); !variable { // one of the rules' own sentences
			whole = literal(m)
		}
	}
	for ; first < len(args); first += 2 {
		if name, ok := args[first].(*ast.Ident); ok && name.Name == "attr" { // what calls of once name
			continue
		}
		if !literal(args[first]) {
			return nil, false
		}
		key, _ := strconv.Unquote(args[first].(*ast.BasicLit).Value)
		keys = append(keys, key)
	}
	return keys, whole
}

// TestLogAttributes holds that lines of the log have the attributes of the table in docs/deploy.md,
// and that whatever strangers choose is an attribute: the log bounds lines by their message.
func TestLogAttributes(t *testing.T) {
	page, err := os.ReadFile("../../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## What the log says")
	section, _, _ = strings.Cut(section, "\n## ")
	used := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
		for _, key := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(row[1], -1) {
			used[key[1]] = false
		}
	}
	tree, err := Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tree.Files {
		if strings.HasSuffix(f.Path, "_test.go") || !withinAny(f.Path, []string{"app", "host", "transport", "headless"}) {
			continue
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, f.Path, f.Src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			keys, whole := logKeys(call)
			if !whole {
				t.Errorf("%s: the message or the name of an attribute is made at run time", fset.Position(call.Pos()))
			}
			for _, key := range keys {
				if _, known := used[key]; !known {
					t.Errorf("%s: docs/deploy.md has no attribute %q", fset.Position(call.Pos()), key)
				}
				used[key] = true
			}
			return true
		})
	}
	for key, has := range used {
		if !has {
			t.Errorf("no line has the attribute %q of docs/deploy.md", key)
		}
	}
}
