package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Row is one line of results: what was measured, on which path, by which policy, from which seed.
type Row struct {
	Experiment string
	Profile    string // "" where paths play no part
	Policy     string // ours is always "meanwhile"
	Seed       uint64
	Params     Values // what was set, units in the names
	Metrics    Values // what came out, units in the names
}

// Values are named values in the order in which tables show them.
type Values []Value

// A Value is a number, a text or a yes or no with its name.
type Value struct {
	Name string
	V    any // float64, int, uint64, bool or string
}

// Get returns the number with the given name, 1 and 0 for yes and no.
func (v Values) Get(name string) (float64, bool) {
	for _, x := range v {
		if x.Name != name {
			continue
		}
		switch n := x.V.(type) {
		case float64:
			return n, true
		case int:
			return float64(n), true
		case uint64:
			return float64(n), true
		case bool:
			if n {
				return 1, true
			}
			return 0, true
		}
	}
	return 0, false
}

// has reports whether the row has all of some parameters.
func (r Row) has(params Values) bool {
	return !slices.ContainsFunc(params, func(want Value) bool {
		return !slices.ContainsFunc(r.Params, func(have Value) bool {
			return have.Name == want.Name && have.text() == want.text()
		})
	})
}

func (v *Values) put(name string, x any) { *v = append(*v, Value{name, x}) }

// digits is how many significant digits of a number are printed.
const digits = 6

// text returns x as tables show it; numbers as JSON does.
func (x Value) text() string {
	switch v := x.V.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			panic(fmt.Sprintf("lab: %s is %v", x.Name, v)) // a row must be readable by anyone
		}
		r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
		if math.Abs(r) < 1e-9 {
			return "0"
		}
		return strconv.FormatFloat(r, 'f', -1, 64)
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

func (x Value) appendJSON(b []byte) []byte {
	b = appendString(b, x.Name)
	b = append(b, ':')
	if s, ok := x.V.(string); ok {
		return appendString(b, s)
	}
	return append(b, x.text()...)
}

func appendString(b []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string never fails
	return append(b, q...)
}

// JSON returns the row as one JSON object without a line break:
//
//	{"experiment":"clock","profile":"wifi","policy":"meanwhile","seed":1,
//	 "params":{"drift_ppm":50},"metrics":{"p50_ms":0.1}}
func (r Row) JSON() []byte {
	b := append([]byte(nil), `{"experiment":`...)
	b = appendString(b, r.Experiment)
	b = append(b, `,"profile":`...)
	b = appendString(b, r.Profile)
	b = append(b, `,"policy":`...)
	b = appendString(b, r.Policy)
	b = append(b, `,"seed":`...)
	b = strconv.AppendUint(b, r.Seed, 10)
	for _, part := range []struct {
		name string
		vals Values
	}{{"params", r.Params}, {"metrics", r.Metrics}} {
		b = append(b, `,"`+part.name+`":{`...)
		for i, v := range part.vals {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.appendJSON(b)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// A table is rows with the same columns.
type table struct {
	columns []string
	rows    [][]string
	numeric []bool // columns of numbers stand to the right
	keys    int    // how many of the first columns tell rows apart
}

// tables arranges rows; a new table begins with each experiment. A column that a row does not have
// stays empty.
func tables(rows []Row) []table {
	var all []table
	var columns []Value
	for i, r := range rows {
		if i == 0 || r.Experiment != rows[i-1].Experiment {
			columns = nil
			for _, o := range rows[i:] {
				if o.Experiment != r.Experiment {
					break
				}
				columns = merge(merge(columns, o.Params), o.Metrics)
			}
			t := table{columns: []string{"profile", "policy", "seed"}, numeric: []bool{false, false, true}, keys: 3}
			for _, v := range columns {
				if _, metric := r.Metrics.Get(v.Name); !metric && t.keys == len(t.columns) {
					t.keys++
				}
				_, words := v.V.(string)
				t.columns, t.numeric = append(t.columns, v.Name), append(t.numeric, !words)
			}
			all = append(all, t)
		}
		line := []string{r.Profile, r.Policy, strconv.FormatUint(r.Seed, 10)}
		for _, c := range columns {
			cell := ""
			for _, part := range []Values{r.Params, r.Metrics} {
				for _, v := range part {
					if v.Name == c.Name {
						cell = v.short()
					}
				}
			}
			line = append(line, cell)
		}
		t := &all[len(all)-1]
		t.rows = append(t.rows, line)
	}
	for i := range all {
		all[i].drop()
	}
	return all
}

// merge adds the names that columns lacks.
func merge(columns []Value, v Values) []Value {
	for _, x := range v {
		known := false
		for _, c := range columns {
			known = known || c.Name == x.Name
		}
		if !known {
			columns = append(columns, x)
		}
	}
	return columns
}

// short returns x with as many digits as a table has room for.
func (x Value) short() string {
	f, ok := x.V.(float64)
	if !ok {
		return x.text()
	}
	places := 3
	switch a := math.Abs(f); {
	case a != 0 && a > 0.99 && a < 1:
		places = 5 // shares near 1 differ late
	case a >= 1000:
		places = 0
	case a >= 100:
		places = 1
	case a >= 10:
		places = 2
	}
	return strconv.FormatFloat(f, 'f', places, 64)
}

// share removes the parameters that are the same in all rows, the seed among them, and returns them as
// a sentence; "" if there are none.
func (t *table) share() string {
	var shared []string
	for c := t.keys - 1; c >= 0; c-- {
		if name := t.columns[c]; name == "profile" || name == "policy" {
			continue
		}
		value := t.rows[0][c]
		if slices.ContainsFunc(t.rows, func(line []string) bool { return line[c] != value }) {
			continue
		}
		shared = append([]string{t.columns[c] + " " + value}, shared...)
		t.remove(c)
	}
	if shared == nil {
		return ""
	}
	return "All rows: " + strings.Join(shared, ", ") + "."
}

// remove removes a column.
func (t *table) remove(c int) {
	if c < t.keys {
		t.keys--
	}
	t.columns = slices.Delete(t.columns, c, c+1)
	t.numeric = slices.Delete(t.numeric, c, c+1)
	for i, line := range t.rows {
		t.rows[i] = slices.Delete(line, c, c+1)
	}
}

// drop removes the columns that are empty in every row.
func (t *table) drop() {
	for c := len(t.columns) - 1; c >= 0; c-- {
		empty := true
		for _, line := range t.rows {
			empty = empty && line[c] == ""
		}
		if empty {
			t.remove(c)
		}
	}
}

// tableWidth is how many columns of characters a table has at most.
const tableWidth = 120

// write writes the table for a terminal. One that is wider than that becomes several below each other,
// each beginning with the columns that tell its rows apart.
func (t *table) write(w io.Writer) error {
	width := make([]int, len(t.columns))
	for c, name := range t.columns {
		width[c] = utf8.RuneCountInString(name)
		for _, line := range t.rows {
			width[c] = max(width[c], utf8.RuneCountInString(line[c]))
		}
	}
	var b strings.Builder
	for i, part := range t.parts(width) {
		if i > 0 {
			b.WriteString("\n")
		}
		for _, line := range append([][]string{t.columns}, t.rows...) {
			text := ""
			for _, c := range part {
				space := strings.Repeat(" ", width[c]-utf8.RuneCountInString(line[c]))
				if t.numeric[c] {
					text += space + line[c] + "  "
				} else {
					text += line[c] + space + "  "
				}
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// parts returns the columns of each part of a table whose columns have these widths.
func (t *table) parts(width []int) (parts [][]int) {
	var keys []int
	wide := 0
	for c := range t.columns {
		if c < t.keys && wide+width[c]+2 <= tableWidth/2 {
			keys, wide = append(keys, c), wide+width[c]+2
		}
	}
	part, at := slices.Clone(keys), wide
	for c := range t.columns {
		if slices.Contains(keys, c) {
			continue
		}
		if at+width[c] > tableWidth && len(part) > len(keys) {
			parts, part, at = append(parts, part), slices.Clone(keys), wide
		}
		part, at = append(part, c), at+width[c]+2
	}
	return append(parts, part)
}
