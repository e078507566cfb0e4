package protocol_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"meanwhile/internal/verify/protocol"
)

// vectors reads a file of vectors: the schema text in its comments, and its other lines. restart is
// called for comments after the first lines.
func vectors(t *testing.T, path string) (blocks []vectorBlock) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b *vectorBlock
	comment := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		rest, isComment := strings.CutPrefix(line, "# ")
		switch {
		case isComment:
			if b == nil || !comment && len(b.lines) > 0 {
				blocks = append(blocks, vectorBlock{})
				b = &blocks[len(blocks)-1]
			}
			if strings.HasPrefix(rest, "kind ") || strings.HasPrefix(rest, "command ") || rest[0] == ' ' {
				b.schema += rest + "\n"
			}
		case line != "":
			b.lines = append(b.lines, line)
		}
		comment = isComment
	}
	return blocks
}

type vectorBlock struct {
	schema string
	lines  []string
}

// packed makes bytes of a line of bits.
func packed(text string) (b []byte) {
	b = make([]byte, (len(text)+7)/8)
	for i := range text {
		b[i/8] |= (text[i] - '0') << (i % 8)
	}
	return b
}

func integers(t *testing.T, text string) (list []int64) {
	for f := range strings.FieldsSeq(strings.Trim(text, "[]")) {
		var v int64
		if _, err := fmt.Sscan(f, &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// lists returns the lists in brackets of a line.
func lists(t *testing.T, line string) (all [][]int64) {
	for {
		_, rest, ok := strings.Cut(line, "[")
		if !ok {
			return all
		}
		list, after, _ := strings.Cut(rest, "]")
		all, line = append(all, integers(t, list)), after
	}
}

// A message is a vector of package packet.
type message struct {
	data []byte
	text string
}

// messages reads a file of vectors of package packet, which must have so many.
func messages(t *testing.T, file string, want int) (list []message) {
	for _, b := range vectors(t, "../../../netcode/packet/testdata/"+file+".txt") {
		for i := 0; i+2 < len(b.lines); i += 3 {
			data, err := hex.DecodeString(strings.TrimSpace(b.lines[i+1]))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, message{data, strings.TrimSpace(b.lines[i+2])})
		}
	}
	if len(list) != want {
		t.Fatalf("%s has %d vectors, want %d", file, len(list), want)
	}
	return list
}

// The pinned vectors, read by the document and the schema text in them alone.
func TestVectors(t *testing.T) {
	n := 0
	for _, b := range vectors(t, "../../../netcode/codec/testdata/bodies.txt") {
		d := newReader(t, b.schema)
		for i := 0; i < len(b.lines); i += 4 {
			var name string
			var rate, age, gap int64
			if _, err := fmt.Sscanf(b.lines[i+1], "  %s %d Hz, age %d, gap %d", &name, &rate, &age, &gap); err != nil {
				t.Fatal(err)
			}
			for _, k := range d.Schema.Kinds {
				if k.Name != name {
					continue
				}
				l, bits := lists(t, b.lines[i+2]), strings.TrimSpace(b.lines[i+3])
				got, size, err := d.Difference(k, 0, l[1], l[0], age, gap, packed(bits))
				if err != nil || size != len(bits) || fmt.Sprint(got) != fmt.Sprint(l[2]) {
					t.Errorf("%s: %v in %d bits, %v", b.lines[i], got, size, err)
				}
				n++
			}
		}
	}
	for _, b := range vectors(t, "../../../netcode/snapshot/testdata/records.txt") {
		d := newReader(t, b.schema)
		for _, line := range b.lines {
			var tick int64
			var bytes string
			if _, err := fmt.Sscanf(line, "  tick %d: %s", &tick, &bytes); err == nil {
				data, err := hex.DecodeString(bytes)
				if err == nil {
					err = d.Entries(tick, data)
				}
				if err != nil {
					t.Errorf("%s: %v", line, err)
				}
				n++
				continue
			}
			var slot, g int
			e := protocol.Entity{}
			_, err := fmt.Sscanf(line, "  slot %d: entity %d of kind %d, own %t, group %d:",
				&slot, &e.ID, &e.Kind, &e.Mine, &g)
			if err != nil {
				continue
			}
			h := d.Slots[slot]
			states := h.Groups[g].States
			s := states[len(states)-1]
			if g == protocol.OwnerGroup &&
				d.Schema.Kinds[h.Kind].Name == "walker" { // a client of ours has places for what is not sent
				s.Vals = append(s.Vals, 0)
			}
			got := fmt.Sprintf("  slot %d: entity %d of kind %d, own %v, group %d: %v", slot, h.ID, h.Kind, h.Mine, g, s.Vals)
			if s.Cut != 0 {
				got += fmt.Sprintf(", teleported at %d", s.Cut)
			}
			if s.Start != 0 {
				got += fmt.Sprintf(", moves since %d", s.Start)
			}
			if s.Rest {
				got += ", rests"
			}
			if s.Bound != 0 {
				got += fmt.Sprintf(", bound class %d", s.Bound)
			}
			if s.Level != 0 {
				got += fmt.Sprintf(", level %d", s.Level)
			}
			if h.Spawned != 0 {
				got += fmt.Sprintf(", number %d of the command of tick %d", h.Number, h.Spawned)
			}
			if got != line {
				t.Errorf("%q, want %q", got, line)
			}
		}
	}
	for _, b := range vectors(t, "../../../netcode/schema/testdata/codes.txt") {
		d := newReader(t, b.schema)
		at, p := 0, []*protocol.Prop(nil)
		for _, k := range d.Schema.Kinds {
			for i := range k.Props {
				p = append(p, &k.Props[i])
			}
		}
		for _, line := range b.lines {
			var name, class, who, absolute, delta string
			var v, from int64
			_, err := fmt.Sscanf(line, "%s %s %s %d %s from %d %s",
				&name, &class, &who, &v, &absolute, &from, &delta)
			if err != nil {
				t.Fatal(err, line)
			}
			for p[at].Name != name || p[at].Class != class {
				at++
			}
			got, size, err := d.Value(p[at], who == "others", 1000, packed(absolute))
			if err != nil || got != v || size != len(absolute) {
				t.Errorf("%s: by itself %d in %d bits, %v", line, got, size, err)
			}
			got, size, err = d.Change(p[at], who == "others", from, packed(delta))
			if c := p[at].Class; c == "tick" || c == "handle" { // signs are of no matter
				got, v = int64(uint32(got)), int64(uint32(v))
			}
			if err != nil || got != v || size != len(delta) {
				t.Errorf("%s: changed %d in %d bits, %v", line, got, size, err)
			}
			n++
		}
	}
	for _, b := range vectors(t, "../../../netcode/packet/testdata/commands.txt") {
		d := newReader(t, b.schema)
		var said []string
		for _, line := range b.lines {
			if data, err := hex.DecodeString(strings.TrimSpace(line)); err == nil && line[0] == ' ' {
				list, err := d.Commands(40, 90, data)
				if err != nil {
					t.Errorf("%s: %v", line, err)
				}
				if len(said) > 0 {
					t.Errorf("%q is said, and not in the file", said)
				}
				said = said[:0]
				for _, c := range list {
					claim := c.Claim.Hash<<12 | c.Claim.Target<<2
					if c.Claim.Looked {
						claim |= 1
					}
					if c.Claim.Hit {
						claim |= 2
					}
					without := ""
					for _, seq := range c.Without {
						without += fmt.Sprintf(" without %d", seq)
					}
					said = append(said, fmt.Sprintf("  tick %d moment %d claim %x seen %d eye %d newest %d%s %v",
						c.Tick, c.Moment, claim, c.Seen, c.Eye, c.Newest, without, c.Vals))
				}
				n++
				continue
			}
			if strings.HasPrefix(line, "  tick ") {
				if len(said) == 0 || said[0] != line {
					t.Errorf("%q, want %q", said, line)
					continue
				}
				said = said[1:]
			}
		}
	}
	for _, file := range []string{"feedback", "feedback-queued", "feedback-events", "feedback-queued-events",
		"feedback-shots"} {
		queued, events := strings.Contains(file, "queued"), strings.Contains(file, "events")
		d := newReader(t, vectors(t, "../../../netcode/packet/testdata/commands.txt")[0].schema)
		if d.Schema.Queued = queued; events {
			d.Schema.Events = []*protocol.Kind{{}}
		}
		if file != "feedback-shots" { // no presses
			d.Schema.Command = &protocol.Kind{}
		}
		for i, line := range messages(t, file, 7) {
			f, err := d.Feedback(1000, line.data)
			said := fmt.Sprintf("acked %d slack %d starved %d", f.Acked, f.Slack, f.Starved)
			if !f.HasSlack {
				said = fmt.Sprintf("acked %d slack none starved %d", f.Acked, f.Starved)
			}
			if queued {
				said += fmt.Sprintf(" ran %d", f.Ran)
			}
			if events {
				said += fmt.Sprintf(" events %d", f.Events)
			}
			for _, x := range f.Receipts {
				if said += fmt.Sprintf("; shot of %d same %v", x.Tick, x.Same); !x.Same {
					said += fmt.Sprintf(" reason %d hit %v target %d at %v", x.Reason, x.Hit, x.Target, x.At)
				}
			}
			if err != nil || said != line.text {
				t.Errorf("%s, message %d: read as %q, %v; want %q", file, i, said, err, line.text)
			}
			n++
		}
	}
	for i, line := range messages(t, "spawned", 6) {
		d := newReader(t, vectors(t, "../../../netcode/packet/testdata/commands.txt")[0].schema)
		settled, err := d.Known(1000, 1000, line.data)
		if said := fmt.Sprintf("spawned %d settled %v", d.Spawned, settled); err != nil || said != line.text {
			t.Errorf("spawned, message %d: read as %q, %v; want %q", i, said, err, line.text)
		}
		n++
	}
	for i, line := range messages(t, "events", 3) {
		d := newReader(t, vectors(t, "../../../netcode/packet/testdata/events.txt")[0].schema)
		vals, err := d.Payload(d.Schema.Kinds[0], 1000, line.data)
		if err != nil || fmt.Sprint(vals) != line.text {
			t.Errorf("event %d: read as %v, %v; want %s", i, vals, err, line.text)
		}
		n++
	}
	letters := vectors(t, "../../../netcode/packet/testdata/messages.txt")[0].schema
	letter := func(x *protocol.Said) string {
		if x.Refused {
			return fmt.Sprintf("refused %q", x.Refusal)
		}
		return fmt.Sprintf("%q %v %q %d", x.Texts[0], x.Vals[:5], x.Texts[1], x.Vals[5])
	}
	for i, line := range messages(t, "messages", 5) {
		d := newReader(t, letters)
		d.Schema.Messages = d.Schema.Kinds
		x, err := d.Say(protocol.Message{Kind: 64, Tick: 1000, Body: line.data}, false)
		if err != nil || letter(&x) != line.text {
			t.Errorf("message %d: read as %s, %v; want %s", i, letter(&x), err, line.text)
		}
		n++
	}
	for i, line := range messages(t, "answers", 3) {
		d := newReader(t, letters)
		d.Schema.Messages = []*protocol.Kind{{Answer: d.Schema.Kinds[0]}}
		x, err := d.Say(protocol.Message{Kind: 64, Tick: 1000, Body: line.data}, false)
		said := fmt.Sprint(x.Call, " ", letter(&x))
		if !x.Refused {
			said = fmt.Sprint(x.Call, " granted ", letter(&x))
		}
		if err != nil || said != line.text {
			t.Errorf("answer %d: read as %s, %v; want %s", i, said, err, line.text)
		}
		n++
	}
	text, err := os.ReadFile("../../../netcode/schema/testdata/rigid.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines, _, _ := strings.Cut(string(text), "hash ")
	d := newReader(t, "kind "+lines)
	for _, b := range vectors(t, "../../../netcode/schema/testdata/rounded.txt") {
		for _, line := range b.lines {
			l := lists(t, line)
			name, _, _ := strings.Cut(line, " ")
			for i := range d.Schema.Kinds[0].Props {
				p := &d.Schema.Kinds[0].Props[i]
				if p.Name != name {
					continue
				}
				for c, v := range l[0] {
					for level := range len(l) - 1 {
						if got := p.Rounded(v, level); got != l[level+1][c] {
							t.Errorf("%s: %d is %d at level %d", line, v, got, level)
						}
						n++
					}
				}
			}
		}
	}
	for _, b := range vectors(t, "../../../netcode/motion/testdata/drawn.txt") {
		d := newReader(t, b.schema)
		for _, line := range b.lines {
			l := lists(t, line)
			from, to := &protocol.State{Vals: l[0]}, (*protocol.State)(nil)
			name, rest, _ := strings.Cut(line, " ")
			before, said, _ := strings.Cut(rest, "] ")
			if _, err := fmt.Sscan(before, &from.Tick); err != nil {
				t.Fatal(err)
			}
			var at int64
			said, when, _ := strings.Cut(said, " at ")
			if _, err := fmt.Sscan(when, &at); err != nil {
				t.Fatal(err)
			}
			if said != "-" {
				to = &protocol.State{Vals: l[1], Rest: strings.HasSuffix(said, " R")}
				_, after, _ := strings.Cut(said, "] ")
				if _, err := fmt.Sscan(said, &to.Tick); err != nil {
					t.Fatal(err)
				}
				if _, err := fmt.Sscan(after, &to.Cut, &to.Start, &to.Bound); err != nil {
					t.Fatal(err)
				}
			}
			for _, k := range d.Schema.Kinds {
				if k.Name != name {
					continue
				}
				if got := protocol.Draw(k, 0, from, to, at); fmt.Sprint(got) != fmt.Sprint(l[len(l)-1]) {
					t.Errorf("%s: drawn %d", line, got)
				}
				n++
			}
		}
	}
	if n < 500 {
		t.Errorf("only %d vectors", n)
	}
	t.Log(n, "vectors")
}

func TestReportVectors(t *testing.T) {
	for _, m := range messages(t, "qualities", 4) {
		if text, rest := protocol.Report(m.data); text != m.text || len(rest) > 0 {
			t.Errorf("%x is read as %q and %x, want %q", m.data, text, rest, m.text)
		}
	}
}
