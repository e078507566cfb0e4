package protocol

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Handshake reads hellos, welcomes, refusals and connect tokens by the tables of the document.
type Handshake struct {
	layouts map[string][]layout
	// Codes are the names of the codes of refusals.
	Codes map[uint64]string
}

// layout is a row of a table: a field of a message.
type layout struct {
	offset    int // -1: behind a field of variable size
	size      string
	name      string
	kind      string // of value
	low, high uint64
}

// A Field is a field of a message that was read.
type Field struct {
	Name   string
	Raw    []byte // with its length, where it has one
	Number uint64 // of a number, or the length of a text or of bytes
	Value  []byte // of a key, a text, bytes or a signature
	kind   string
}

// Text returns the value of a field in words.
func (f *Field) Text() string {
	switch f.kind {
	case "number":
		return strconv.FormatUint(f.Number, 10)
	case "text", "lines", "short":
		return strconv.Quote(string(f.Value))
	}
	if len(f.Value) == 0 {
		return "none"
	}
	return hex.EncodeToString(f.Value)
}

var (
	layoutTable = regexp.MustCompile(
		`(?m)^#### ([a-z]+)\n(?s:.*?)\n\| offset \| size \| field \| type \| meaning \|\n\|[-|]+\|\n((?:\|.*\|\n)+)`,
	)
	fieldType = regexp.MustCompile(`^(?:(\d+)|(number|key|signature)|(number|text|lines|bytes|short) (\d+)\.\.(\d+))$`)
	codeRow   = regexp.MustCompile(`(?m)^\| (\d+) \| ([a-z ]+) \| [^|]+ \|$`)
)

// NewHandshake takes the layouts out of the document's section "Connecting".
func NewHandshake(document string) (*Handshake, error) {
	_, section, ok := strings.Cut(document, "\n## Connecting\n")
	section, _, end := strings.Cut(section, "\n## ")
	if !ok || !end {
		return nil, fmt.Errorf("protocol: the document has no section Connecting")
	}
	h := &Handshake{layouts: map[string][]layout{}, Codes: map[uint64]string{}}
	for _, m := range layoutTable.FindAllStringSubmatch(section, -1) {
		for row := range strings.Lines(m[2]) {
			l, err := newLayout(strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|"))
			if err != nil {
				return nil, fmt.Errorf("protocol: %s: %w", m[1], err)
			}
			h.layouts[m[1]] = append(h.layouts[m[1]], l)
		}
	}
	_, refusals, _ := strings.Cut(section, "#### refusal\n")
	refusals, _, _ = strings.Cut(refusals, "\n#### ")
	for _, m := range codeRow.FindAllStringSubmatch(refusals, -1) {
		code, _ := strconv.ParseUint(m[1], 10, 16)
		h.Codes[code] = m[2]
	}
	return h, nil
}

// newLayout reads the cells of a row.
func newLayout(cells []string) (l layout, err error) {
	if len(cells) != 5 {
		return l, fmt.Errorf("a row of %d cells", len(cells))
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	l.offset, l.size, l.name = -1, cells[1], cells[2]
	if cells[0] != "" {
		if l.offset, err = strconv.Atoi(cells[0]); err != nil {
			return l, err
		}
	}
	m := fieldType.FindStringSubmatch(cells[3])
	switch {
	case m == nil:
		return l, fmt.Errorf("%s has the unknown type %q", l.name, cells[3])
	case m[1] != "":
		l.kind = "number"
		l.low, _ = strconv.ParseUint(m[1], 10, 64)
		l.high = l.low
	case m[2] != "":
		l.kind, l.high = m[2], ^uint64(0)
	default:
		l.kind = m[3]
		l.low, _ = strconv.ParseUint(m[4], 10, 64)
		l.high, _ = strconv.ParseUint(m[5], 10, 64)
	}
	return l, nil
}

// Kind returns the name of the message that begins with these bytes, by its first field.
func (h *Handshake) Kind(message []byte) (string, error) {
	for _, name := range []string{"hello", "welcome", "refusal", "limits", "farewell", "follow"} {
		if l := h.layouts[name]; len(message) > 0 && len(l) > 0 && uint64(message[0]) == l[0].low {
			return name, nil
		}
	}
	return "", fmt.Errorf("protocol: no message of the handshake")
}

// Read reads a message, or a token, by the table of that name.
func (h *Handshake) Read(name string, message []byte) (fields []Field, err error) {
	rows, at := h.layouts[name], 0
	if len(rows) == 0 {
		return nil, fmt.Errorf("protocol: the document has no table of a %s", name)
	}
	for _, l := range rows {
		if l.offset >= 0 && l.offset != at {
			return nil, fmt.Errorf("protocol: %s of a %s is said to be at %d, and comes at %d", l.name, name, l.offset, at)
		}
		f, err := l.read(message[at:])
		if err != nil {
			return nil, fmt.Errorf("protocol: %s of a %s: %w", l.name, name, err)
		}
		fields, at = append(fields, f), at+len(f.Raw)
	}
	if at != len(message) {
		return nil, fmt.Errorf("protocol: %d bytes follow a %s", len(message)-at, name)
	}
	return fields, nil
}

// read reads a field from the front of b.
func (l *layout) read(b []byte) (f Field, err error) {
	f.Name, f.kind = l.name, l.kind
	prefix, variable := strings.CutSuffix(l.size, "+n")
	size, err := strconv.Atoi(prefix)
	if err != nil {
		return f, err
	}
	if len(b) < size {
		return f, fmt.Errorf("cut short")
	}
	if l.kind == "key" || l.kind == "signature" {
		f.Raw, f.Value = b[:size], b[:size]
		return f, nil
	}
	var wide [8]byte
	copy(wide[:], b[:size])
	f.Number = binary.LittleEndian.Uint64(wide[:])
	if f.Number < l.low || f.Number > l.high {
		return f, fmt.Errorf("%d is outside [%d, %d]", f.Number, l.low, l.high)
	}
	f.Raw = b[:size]
	if !variable {
		return f, nil
	}
	if uint64(len(b)-size) < f.Number {
		return f, fmt.Errorf("cut short")
	}
	end := size + int(f.Number)
	f.Raw, f.Value = b[:end], b[size:end]
	if l.kind == "bytes" {
		return f, nil
	}
	if !utf8.Valid(f.Value) {
		return f, fmt.Errorf("no UTF-8")
	}
	for _, r := range string(f.Value) {
		control := r < 0x20 || r >= 0x7f && r < 0xa0
		if control && !(l.kind == "lines" && (r == '\n' || r == '\t')) {
			return f, fmt.Errorf("control character %U", r)
		}
	}
	return f, nil
}

// Signed reports whether a token that was read is signed with a public key, as the document says.
func Signed(token []byte, fields []Field, key ed25519.PublicKey) bool {
	signature := fields[len(fields)-1].Value
	sum := sha256.Sum256(key)
	body := append([]byte("meanwhile connect token\x00"), token[:len(token)-len(signature)]...)
	return string(token[1:5]) == string(sum[:4]) && ed25519.Verify(key, body, signature)
}

// Messages cuts a stream of QUIC or WebTransport into its messages. What is left begins an
// unfinished one.
func Messages(stream []byte) (messages [][]byte, rest []byte) {
	for len(stream) >= 4 {
		n := uint64(binary.LittleEndian.Uint32(stream))
		if uint64(len(stream)-4) < n {
			break
		}
		messages, stream = append(messages, stream[4:4+n]), stream[4+n:]
	}
	return messages, stream
}
