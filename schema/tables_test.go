package schema_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"meanwhile/schema"
)

// Browsers have the tables that everybody else has: tables_js.go is tables.txt.
func TestTablesOfBrowsers(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("// Code generated from tables.txt by go test ./schema -run TablesOfBrowsers -update. DO NOT EDIT.\n\npackage schema\n\nconst tablesText = \"\"")
	for line := range strings.Lines(schema.DefaultTables().String()) {
		b.WriteString(" +\n\t" + strconv.Quote(line))
	}
	b.WriteString("\n")
	if *update {
		if err := os.WriteFile("tables_js.go", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile("tables_js.go"); err != nil || !bytes.Equal(is, b.Bytes()) {
		t.Errorf("tables_js.go is not tables.txt (%v); run: go test ./schema -run TablesOfBrowsers -update", err)
	}
}
