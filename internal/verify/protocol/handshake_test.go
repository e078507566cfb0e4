package protocol_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"meanwhile/internal/verify/protocol"
	"meanwhile/session"
	"meanwhile/session/token"
	"meanwhile/transport"
)

// handshakeVectors are the kept messages of packages session and token.
var handshakeVectors = []struct{ kind, file string }{
	{"hello", "session/testdata/hello.hex"},
	{"hello", "session/testdata/hello-empty.hex"},
	{"welcome", "session/testdata/welcome.hex"},
	{"welcome", "session/testdata/welcome-least.hex"},
	{"refusal", "session/testdata/refusal.hex"},
	{"refusal", "session/testdata/refusal-empty.hex"},
	{"limits", "session/testdata/limits.hex"},
	{"farewell", "session/testdata/farewell.hex"},
	{"follow", "session/testdata/follow.hex"},
	{"token", "session/token/testdata/token.hex"},
}

// vector returns the bytes of a kept message, and of a token the key that signed it.
func vector(t *testing.T, file string) (message, key []byte) {
	t.Helper()
	text, err := os.ReadFile("../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	if strings.HasSuffix(file, "token.hex") {
		if key, err = hex.DecodeString(lines[0]); err != nil {
			t.Fatal(err)
		}
		lines = lines[1:]
	}
	if message, err = hex.DecodeString(strings.Join(lines, "")); err != nil {
		t.Fatal(err)
	}
	return message, key
}

func newHandshake(t *testing.T) *protocol.Handshake {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	h, err := protocol.NewHandshake(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// handshakeExamples adds the document's examples of the handshake: the first vector of each kind,
// taken apart by the document's own tables.
func handshakeExamples(t *testing.T, examples map[string]string) {
	t.Helper()
	h := newHandshake(t)
	for _, v := range handshakeVectors {
		if examples[v.kind] != "" {
			continue
		}
		message, _ := vector(t, v.file)
		fields, err := h.Read(v.kind, message)
		if err != nil {
			t.Fatal(err)
		}
		var rows table
		for _, f := range fields {
			raw := hex.EncodeToString(f.Raw)
			for ; len(raw) > 32; raw = raw[32:] {
				rows.row(raw[:32])
			}
			if said := f.Text(); len(said) <= 64 {
				rows.row(fmt.Sprintf("%-32s", raw), f.Name+" "+said)
			} else {
				rows.row(fmt.Sprintf("%-32s", raw), f.Name)
			}
		}
		examples[v.kind] = rows.text()
	}
}

// hexOf returns the bytes at the beginning of the lines of an example.
func hexOf(t *testing.T, example string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(example) {
		digits.WriteString(strings.Fields(line)[0])
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each example's bytes are those of its vector.
func TestHandshakeExamples(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range blocks.FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = m[2]
	}
	for i := len(handshakeVectors) - 1; i >= 0; i-- {
		v := handshakeVectors[i]
		if strings.Contains(v.file, "-") {
			continue
		}
		message, _ := vector(t, v.file)
		if got := hexOf(t, found[v.kind]); !bytes.Equal(got, message) {
			t.Errorf("the example of a %s is %x, the vector %x", v.kind, got, message)
		}
	}
}

// decoded returns what package session reads of a message, as the fields of the document's table.
func decoded(kind string, b []byte) (fields []string, err error) {
	text := func(s string) string { return fmt.Sprintf("%q", s) }
	key := func(k [session.KeySize]byte) string { return hex.EncodeToString(k[:]) }
	flag := func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	}
	switch kind {
	case "hello":
		m, err := session.DecodeHello(b)
		tok := "none"
		if len(m.Token) > 0 {
			tok = hex.EncodeToString(m.Token)
		}
		return []string{"1", fmt.Sprint(session.Version), fmt.Sprint(m.Schema), key(m.Nonce), key(m.Resume), key(m.Guest),
			flag(m.Kept), flag(m.Watch), text(m.Room), text(m.Name), tok, text(m.Code)}, err
	case "welcome":
		m, err := session.DecodeWelcome(b)
		return []string{"2", fmt.Sprint(session.Version), fmt.Sprint(m.Session), fmt.Sprint(m.Player),
			fmt.Sprint(uint32(m.Tick)), fmt.Sprint(uint64(m.ServerTime)), fmt.Sprint(uint64(m.Period)),
			fmt.Sprint(m.SendRate), fmt.Sprint(m.Seed), fmt.Sprint(m.History), fmt.Sprint(m.BudgetDown),
			fmt.Sprint(m.BudgetUp), key(m.Resume), fmt.Sprint(uint64(m.Grace)), flag(m.Resumed), flag(m.Kept),
			fmt.Sprint(uint64(m.Late)), text(m.Room), text(m.Game)}, err
	}
	switch kind {
	case "farewell":
		m, err := session.DecodeFarewell(b)
		return []string{"5", fmt.Sprint(session.Version), fmt.Sprint(uint64(m.In)), text(m.To), text(m.Text)}, err
	case "follow":
		m, err := session.DecodeFollow(b)
		return []string{"6", fmt.Sprint(session.Version), fmt.Sprint(m.Entity)}, err
	case "limits":
		m, err := session.DecodeLimits(b)
		return []string{"4", fmt.Sprint(session.Version), fmt.Sprint(m.BudgetDown), fmt.Sprint(m.SendRate)}, err
	}
	m, err := session.DecodeRefusal(b)
	version := ""
	if len(b) > 1 {
		version = fmt.Sprint(b[1])
	}
	return []string{"3", version, fmt.Sprint(uint16(m.Code)), text(m.Text), text(m.SchemaText)}, err
}

// The document's tables and package session read the same of every vector, accept and refuse the
// same of everything that differs from one in a byte, and refuse every vector that is cut short or
// goes on.
func TestHandshake(t *testing.T) {
	h := newHandshake(t)
	agree := func(kind string, b []byte) (accepted bool) {
		t.Helper()
		fields, err := h.Read(kind, b)
		want, wantErr := decoded(kind, b)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%x: %v by the document, %v by package session", b, err, wantErr)
		}
		if err != nil || wantErr != nil {
			return false
		}
		var got []string
		for _, f := range fields {
			got = append(got, f.Text())
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%x:\n%q by the document,\n%q by package session", b, got, want)
		}
		return true
	}
	for _, v := range handshakeVectors {
		if v.kind == "token" {
			continue
		}
		b, _ := vector(t, v.file)
		if kind, err := h.Kind(b); kind != v.kind || err != nil {
			t.Errorf("%s is a %s by the document, %v", v.file, kind, err)
		}
		if !agree(v.kind, b) {
			t.Errorf("%s is refused", v.file)
		}
		for n := range b {
			if agree(v.kind, b[:n]) {
				t.Errorf("%s cut to %d of %d bytes is accepted", v.file, n, len(b))
			}
		}
		if agree(v.kind, append(b[:len(b):len(b)], 0)) {
			t.Errorf("%s with a byte too many is accepted", v.file)
		}
		for i := range b {
			for _, x := range []byte{1, 0x10, 0x7f, 0x80, 0xff} {
				other := bytes.Clone(b)
				other[i] ^= x
				agree(v.kind, other)
			}
		}
	}
	// The spans of a welcome, at their bounds and beyond.
	for _, at := range []int{20, 64, 74} {
		for _, bound := range []uint64{0, 1, 1e10, 6e11, 1 << 63} {
			for _, span := range []uint64{bound - 1, bound, bound + 1} {
				b, _ := vector(t, "session/testdata/welcome.hex")
				binary.LittleEndian.PutUint64(b[at:], span)
				agree("welcome", b)
			}
		}
	}
	// The longest texts, and those one byte longer.
	for _, n := range []int{32, 33, 48, 49, 64, 65, 256, 257, 1024, 1025, 4096, 4097} {
		long := append([]byte{byte(n), byte(n >> 8)}, bytes.Repeat([]byte{'x'}, n)...)
		none := []byte{0, 0}
		head := func(file string, size int) []byte {
			b, _ := vector(t, "session/testdata/"+file)
			return b[:size:size]
		}
		for _, c := range []struct {
			kind  string
			parts [][]byte
		}{
			{"hello", [][]byte{head("hello.hex", 60), long, none, none, none}},
			{"hello", [][]byte{head("hello.hex", 60), none, long, none, none}},
			{"hello", [][]byte{head("hello.hex", 60), none, none, long, none}},
			{"hello", [][]byte{head("hello.hex", 60), none, none, none, long}},
			{"welcome", [][]byte{head("welcome.hex", 82), long, none}},
			{"welcome", [][]byte{head("welcome.hex", 82), none, long}},
			{"refusal", [][]byte{head("refusal.hex", 4), long, none}},
			{"refusal", [][]byte{head("refusal.hex", 4), none, long}},
		} {
			agree(c.kind, bytes.Join(c.parts, nil))
		}
	}
}

// A refusal of another version can be read, a hello or welcome cannot.
func TestRefusalOfAnotherVersion(t *testing.T) {
	h := newHandshake(t)
	for _, v := range handshakeVectors {
		if v.kind == "token" {
			continue
		}
		b, _ := vector(t, v.file)
		b[1] = 200
		if _, err := h.Read(v.kind, b); (err == nil) != (v.kind == "refusal") {
			t.Errorf("%s in version 200: %v", v.file, err)
		}
	}
}

// Codes of refusals have the names of the document.
func TestRefusalCodes(t *testing.T) {
	h := newHandshake(t)
	for code := session.Malformed; code <= session.NoCode; code++ {
		if name := h.Codes[uint64(code)]; name != code.String() {
			t.Errorf("code %d is %q in the document, %q in package session", code, name, code)
		}
	}
	if len(h.Codes) != int(session.NoCode) {
		t.Errorf("the document has %d codes, package session %d", len(h.Codes), session.NoCode)
	}
}

// The document's table reads a token as package token does, its signature included, and refuses
// what is cut short.
func TestToken(t *testing.T) {
	h := newHandshake(t)
	b, key := vector(t, "session/token/testdata/token.hex")
	fields, err := h.Read("token", b)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := token.NewVerifier("", key)
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]string{}
	number := map[string]uint64{}
	for _, f := range fields {
		value[f.Name], number[f.Name] = string(f.Value), f.Number
	}
	g, err := verifier.Verify(b, "", time.Unix(int64(number["issued"]), 0))
	if err != nil {
		t.Fatal(err)
	}
	if uint64(g.Issued.Unix()) != number["issued"] || uint64(g.Expires.Unix()) != number["expires"] ||
		g.Player != number["player"] || string(g.Nonce[:]) != value["nonce"] || g.Name != value["name"] ||
		g.Room != value["room"] || g.Audience != value["audience"] {
		t.Errorf("%+v by package token, %q and %v by the document", g, value, number)
	}
	if !protocol.Signed(b, fields, key) {
		t.Error("the document's signature does not fit")
	}
	for i := range b {
		other := bytes.Clone(b)
		other[i] ^= 1
		if fields, err := h.Read("token", other); err == nil && protocol.Signed(other, fields, key) {
			t.Errorf("a token whose byte %d differs is signed", i)
		}
		if _, err := h.Read("token", b[:i]); err == nil {
			t.Errorf("a token of %d bytes is accepted", i)
		}
	}
}

// Streams are framed as the document says, whatever pieces they arrive in.
func TestStream(t *testing.T) {
	var stream []byte
	want := [][]byte{[]byte("hello"), {}, bytes.Repeat([]byte{7}, 300)}
	for _, m := range want {
		stream = transport.AppendFrame(stream, m)
	}
	for n := range len(stream) + 1 {
		got, rest := protocol.Messages(stream[:n])
		for i, m := range got {
			if !bytes.Equal(m, want[i]) {
				t.Errorf("message %d of %d bytes of the stream is %x", i, n, m)
			}
		}
		if len(got) == len(want) != (n == len(stream)) || len(rest) > 303 {
			t.Errorf("%d bytes hold %d messages and %d bytes of the next", n, len(got), len(rest))
		}
	}
}
