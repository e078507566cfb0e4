package codec

import (
	_ "embed"
	"strconv"
	"strings"

	"meanwhile/internal/fault"
	"meanwhile/netcode/wire"
)

// Tables say how differences are coded: for each model some prefix codes, and for every context
// which of them it takes and how far what the baseline shows of movement goes on. They are data,
// made by lab/train from recorded movement. A client in another language reads the same text:
//
//	model level      begins the tables of a model
//	damp 0121...     a digit for each context: eighths of the drift; as many lines as it takes
//	context ABBC...  a letter for each context: its code at the model's own precision
//	code 1245...     a code: a digit in base 15 for the length of each symbol; codes are lettered A, B, C...
//	zero 0c12ff...   two hexadecimal digits for each code: the share of 256 in which there is no difference
//	octave AABC...   for each octave, from the finest: a letter for each code, which takes its place there
type Tables struct {
	models [Models]table
	text   string
}

// A table is what the text says of one model.
type table struct {
	context, damp []uint8 // as they are read
	choices       []choice
	codes         []*wire.Code
	zero          []uint8 // how much of what each code codes is as expected, in 1/256
	octaves       [Octaves][]uint8
	octave        int // how many of octaves are read
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

// maxCodes is how many codes a model may have, which is how many letters there are.
const maxCodes = 58

// ParseTables reads tables.
func ParseTables(text string) (*Tables, error) {
	t := &Tables{text: text}
	var m *table
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		word, value, _ := strings.Cut(line, " ")
		switch {
		case word == "" || word[0] == '#':
			continue
		case word == "model":
			if m = t.begin(value); m == nil {
				return nil, fault.Errorf("codec: tables: model %q is unknown or there twice", value)
			}
			continue
		case m == nil:
			return nil, fault.Errorf("codec: tables: %q stands before the first model", word)
		}
		if err := m.line(word, value); err != nil {
			return nil, err
		}
	}
	for i := range t.models {
		if err := t.models[i].finish(Model(i)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// begin returns the table of the model with a name, nil if there is none, or if it was begun
// before.
func (t *Tables) begin(name string) *table {
	for i, n := range modelNames {
		if n == name && t.models[i].codes == nil {
			return &t.models[i]
		}
	}
	return nil
}

// line reads one line of a model.
func (m *table) line(word, value string) error {
	var list []byte
	var err error
	switch word {
	case "zero":
		return m.shares(value)
	case "damp":
		list, err = digits(word, value, '0', '8')
		m.damp = append(m.damp, list...)
	case "context":
		list, err = digits(word, value, 'A', 'A'+maxCodes-1)
		m.context = append(m.context, list...)
	case "octave":
		if m.octave == Octaves {
			return fault.Errorf("codec: tables: more than %d octaves", Octaves)
		}
		m.octaves[m.octave], err = digits(word, value, 'A', 'A'+maxCodes-1)
		m.octave++
	case "code":
		if list, err = digits(word, value, '0', 'e'); err != nil {
			return err
		}
		var c *wire.Code
		c, err = wire.NewCode(list)
		m.codes = append(m.codes, c)
	default:
		return fault.Errorf("codec: tables: unknown word %q", word)
	}
	return err
}

// digits returns the numbers behind characters of low to high. After 9 comes a.
func digits(word, value string, low, high byte) ([]byte, error) {
	list := []byte(value)
	for i, c := range list {
		if c < low || c > high || low == '0' && c > '9' && c < 'a' {
			return nil, fault.Errorf("codec: tables: %q in a line of %s", c, word)
		}
		if list[i] = c - low; low == '0' && c >= 'a' {
			list[i] = c - 'a' + 10
		}
	}
	return list, nil
}

// shares reads a line of zero.
func (m *table) shares(value string) error {
	for ; value != ""; value = value[min(2, len(value)):] {
		share, err := strconv.ParseUint(value[:min(2, len(value))], 16, 8)
		if err != nil || len(value) == 1 {
			return fault.Errorf("codec: tables: zero: %q are not two hexadecimal digits", value[:min(2, len(value))])
		}
		m.zero = append(m.zero, uint8(share))
	}
	return nil
}

// finish checks a table that was read, and derives its choices.
func (m *table) finish(of Model) error {
	if m.codes == nil {
		return fault.Errorf("codec: tables: model %s is missing", of)
	}
	n, codes := of.Contexts(), len(m.codes)
	if len(m.context) != n || len(m.damp) != n || len(m.zero) != codes || m.octave != Octaves {
		return fault.Errorf("codec: tables: model %s has %d contexts, %d dampings, %d codes, %d shares and %d octaves; "+
			"want %d, as many, some, as many and %d", of, len(m.context), len(m.damp), codes, len(m.zero), m.octave, n, Octaves)
	}
	for _, list := range append(m.octaves[:], m.context) {
		for _, c := range list {
			if int(c) >= codes {
				return fault.Errorf("codec: tables: model %s names code %c of %d", of, 'A'+c, codes)
			}
		}
	}
	for _, list := range m.octaves {
		if len(list) != codes {
			return fault.Errorf("codec: tables: model %s has %d codes but %d in an octave", of, codes, len(list))
		}
	}
	m.choices = make([]choice, n)
	for i := range m.choices {
		m.choices[i] = choice(m.context[i]) | choice(m.damp[i])<<8
	}
	return nil
}

// String returns the text that the tables were read from.
func (t *Tables) String() string { return t.text }
