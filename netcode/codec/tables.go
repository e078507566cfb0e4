package codec

import (
	_ "embed"
	"strconv"
	"strings"

	"meanwhile/internal/fault"
	"meanwhile/netcode/wire"
)

// Tables say how differences are coded: per model a prefix code for every context, and how far what the baseline says of
// movement is to be followed. They are data, made by the trainer from recorded movement; the text that they are read from is what a
// client in another language reads, too.
//
//	model level          begins the tables of a model
//	damp 0121...         a digit for each context: eighths of the drift; as many lines as it takes
//	context ABBC...      a letter for each context: its code at the model's own precision
//	code 1245...         a code: a digit in base 15 for each symbol's length; codes are lettered A, B, C... in their order
//	zero 0c12ff...       two hexadecimal digits for each code: the share of 256 in which there is no difference
//	octave AABC...       for each octave of precision, from the finest: a letter for each code, which takes its place there
type Tables struct {
	models [Models]table
	text   string
}

type table struct {
	context, damp []uint8 // as they are read
	choices       []choice
	codes         []*wire.Code
	zero          []uint8 // of each code, how much of what it codes is as expected, in 1/256
	octaves       [Octaves][]uint8
}

//go:embed tables.txt
var tablesText string

var shipped = func() *Tables {
	t, err := ParseTables(tablesText)
	if err != nil {
		panic(err)
	}
	return t
}()

// DefaultTables returns the tables that are part of the protocol.
func DefaultTables() *Tables { return shipped }

// Codes of a model: what letters can name.
const maxCodes = 58

// ParseTables reads tables.
func ParseTables(text string) (*Tables, error) {
	t := &Tables{text: text}
	var m *table
	octave := 0
	done := func() error {
		if m == nil {
			return nil
		}
		name := ""
		n := 0
		for i := range t.models {
			if m == &t.models[i] {
				name, n = Model(i).String(), contexts[i]
			}
		}
		if len(m.context) != n || len(m.damp) != n || len(m.codes) == 0 || len(m.zero) != len(m.codes) || octave != Octaves {
			return fault.Errorf("codec: tables: model %s has %d contexts, %d dampings, %d codes, %d shares and %d octaves; want %d, as many, some, as many and %d",
				name, len(m.context), len(m.damp), len(m.codes), len(m.zero), octave, n, Octaves)
		}
		for _, list := range append(m.octaves[:], m.context) {
			for _, c := range list {
				if int(c) >= len(m.codes) {
					return fault.Errorf("codec: tables: model %s names code %c of %d", name, 'A'+c, len(m.codes))
				}
			}
		}
		for _, list := range m.octaves {
			if len(list) != len(m.codes) {
				return fault.Errorf("codec: tables: model %s has %d codes but %d in an octave", name, len(m.codes), len(list))
			}
		}
		m.choices = make([]choice, len(m.context))
		for i := range m.choices {
			m.choices[i] = choice(m.context[i]) | choice(m.damp[i])<<8
		}
		return nil
	}
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		word, value, _ := strings.Cut(line, " ")
		if word == "" || word[0] == '#' {
			continue
		}
		if word == "model" {
			if err := done(); err != nil {
				return nil, err
			}
			m, octave = nil, 0
			for i, name := range modelNames {
				if name == value && t.models[i].codes == nil {
					m = &t.models[i]
				}
			}
			if m == nil {
				return nil, fault.Errorf("codec: tables: model %q is unknown or there twice", value)
			}
			continue
		}
		if m == nil {
			return nil, fault.Errorf("codec: tables: %q stands before the first model", word)
		}
		low, high := byte('A'), byte('A'+maxCodes-1)
		switch word {
		case "damp":
			low, high = '0', '8'
		case "code":
			low, high = '0', 'e'
		}
		if word == "zero" {
			for ; value != ""; value = value[min(2, len(value)):] {
				share, err := strconv.ParseUint(value[:min(2, len(value))], 16, 8)
				if err != nil || len(value) == 1 {
					return nil, fault.Errorf("codec: tables: zero: %q are not two hexadecimal digits", value[:min(2, len(value))])
				}
				m.zero = append(m.zero, uint8(share))
			}
			continue
		}
		list := []byte(value)
		for i, c := range list {
			if word == "code" && c >= 'a' {
				c -= 'a' - '9' - 1
			}
			if c < low || c > high || list[i] < low || list[i] > high {
				return nil, fault.Errorf("codec: tables: %q in a line of %s", list[i], word)
			}
			list[i] = c - low
		}
		switch word {
		case "damp":
			m.damp = append(m.damp, list...)
		case "context":
			m.context = append(m.context, list...)
		case "octave":
			if octave == Octaves {
				return nil, fault.Errorf("codec: tables: more than %d octaves", Octaves)
			}
			m.octaves[octave] = list
			octave++
		case "code":
			c, err := wire.NewCode(list)
			if err != nil {
				return nil, err
			}
			m.codes = append(m.codes, c)
		default:
			return nil, fault.Errorf("codec: tables: unknown word %q", word)
		}
	}
	if err := done(); err != nil {
		return nil, err
	}
	for i := range t.models {
		if t.models[i].codes == nil {
			return nil, fault.Errorf("codec: tables: model %s is missing", Model(i))
		}
	}
	return t, nil
}

// String returns the text that the tables were read from.
func (t *Tables) String() string { return t.text }
