//go:build !js

package schema

import _ "embed"

// tablesText has a copy for browsers in tables_js.go, which go test -update writes: package embed knows files, and files know package time, which is a twentieth
// of a browser's program.
//
//go:embed tables.txt
var tablesText string
