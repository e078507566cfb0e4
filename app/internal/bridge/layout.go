package bridge

import (
	"strconv"
	"unicode/utf8"

	"meanwhile/netcode/schema"
)

// kindLayout says how the floats of a kind or event are made into what the page is told.
type kindLayout struct {
	kind  *schema.Kind
	props []propLayout
}

type propLayout struct {
	at, comps int  // where its simulation floats are
	text      bool // written as an index into the texts
	private   bool // others may not know it
	limited   bool // only a team, or who is near, knows it: who holds its group
	group     int
}

// floats is how many numbers the page gets.
func (p *propLayout) floats() int {
	if p.text {
		return 1
	}
	return p.comps
}

// reserved are the names that the page gives an object itself.
var (
	reservedOfEntity = []string{"id", "mine", "cut", "predicted", "stalled", "lateMs"}
	reservedOfEvent  = []string{"key", "entity", "mine"}
)

// describe makes the layouts. It fails on what a page cannot be told.
func (b *Bridge) describe() error {
	b.kinds, b.events = nil, nil
	for _, k := range b.rules.Kinds {
		l, err := layoutOf(k, reservedOfEntity)
		if err != nil {
			return err
		}
		b.kinds = append(b.kinds, l)
	}
	for _, k := range b.rules.Events {
		l, err := layoutOf(k, reservedOfEvent)
		if err != nil {
			return err
		}
		b.events = append(b.events, l)
	}
	for i := range b.rules.Command.Props {
		if p := &b.rules.Command.Props[i]; p.Class == schema.Text {
			return sentence("The command's field " + p.Name + " is a text; a page can send numbers only.")
		}
	}
	return nil
}

func layoutOf(k *schema.Kind, reserved []string) (kindLayout, error) {
	l := kindLayout{kind: k}
	for i := range k.Props {
		p := &k.Props[i]
		if p.Audience == schema.Server {
			continue // no client ever knows it
		}
		for _, r := range reserved {
			if nameOf(p.Name) == r {
				return l, sentence(k.Name + "." + p.Name + " would hide the " + r + " that each object has in the page; give it another name.")
			}
		}
		l.props = append(l.props, propLayout{at: p.At, comps: p.Comps, text: p.Class == schema.Text,
			private: p.ObsAt < 0, limited: p.ObsAt >= 0 && k.Limited(p.Group), group: p.Group})
	}
	return l, nil
}

// nameOf is a Go field's name as JavaScript sees it: pos, not Pos. A first letter that is not ASCII stays as it is.
func nameOf(field string) string {
	if c := field[0]; c >= 'A' && c <= 'Z' {
		return string(rune(c+'a'-'A')) + field[1:]
	}
	return field
}

func typeOf(p *schema.Prop, command bool) string {
	switch p.Class {
	case schema.Pos, schema.Vel, schema.Stick, schema.Spin:
		switch p.Comps {
		case 2:
			return "vec2"
		case 3:
			return "vec3"
		}
	case schema.View:
		return "view"
	case schema.Quat:
		return "quat"
	case schema.Enum:
		return "enum"
	case schema.Bytes:
		return "bytes"
	case schema.Angle:
		return "angle"
	case schema.Bool:
		return "bool"
	case schema.Press:
		if command {
			return "press"
		}
		return "bool"
	case schema.Text:
		return "text"
	}
	return "number"
}

// statNames are the names of what stats writes, in its order.
var statNames = [...]string{
	"tick", "periodMs", "commandMs", "serverMs", "newestMs", "playoutMs", "rttMs", "rttMinMs", "clockBoundMs", "delayMs", "ageMs", "leadMs",
	"downBps", "upBps", "corrections", "correctionCm", "hitches", "starved", "state", "silentMs",
	"targetMs", "entityHitches", "upCarriesBps", "clockEstimatedMs",
}

// Layout describes the game to the page, as JSON.
func (b *Bridge) Layout() string {
	var j jsonWriter
	j.open('{')
	j.key("game").text(b.rules.Name)
	j.key("rate").number(float64(b.rules.Rate))
	list := func(name, fields string, of []kindLayout) {
		j.key(name).open('[')
		for i := range of {
			j.open('{')
			j.key("name").text(of[i].kind.Name)
			j.fields(fields, of[i].kind, false)
			j.close('}')
		}
		j.close(']')
	}
	list("kinds", "properties", b.kinds)
	list("events", "fields", b.events)
	j.fields("command", b.rules.Command, true)
	j.key("stats").open('[')
	for _, s := range statNames {
		j.text(s)
	}
	j.close(']')
	j.key("profiles").open('[')
	for i := range offered {
		p := &offered[i]
		j.open('{')
		j.key("name").text(p.name)
		j.key("title").text(p.title)
		j.key("delayMs").number(p.delay)
		j.key("jitterMs").number(p.jitter)
		j.key("lossPct").number(p.loss)
		j.close('}')
	}
	j.close(']')
	j.close('}')
	return string(j.b)
}

func (j *jsonWriter) fields(name string, k *schema.Kind, command bool) {
	j.key(name).open('[')
	for i := range k.Props {
		p := &k.Props[i]
		if p.Audience == schema.Server && !command {
			continue
		}
		j.open('{')
		j.key("name").text(nameOf(p.Name))
		j.key("type").text(typeOf(p, command))
		switch p.Class {
		case schema.Enum:
			j.key("names").open('[')
			for _, word := range p.Words() {
				j.text(word)
			}
			j.close(']')
		case schema.Bytes:
			j.key("length").number(float64(p.Max))
		}
		j.close('}')
	}
	j.close(']')
}

// jsonWriter writes what the page parses. Package encoding/json would be a tenth of the whole program, and its methods
// inlined a hundredth.
type jsonWriter struct {
	b    []byte
	next bool // a value stands before the next one
}

func (j *jsonWriter) comma() {
	if j.next {
		j.b = append(j.b, ',')
	}
	j.next = true
}

//go:noinline
func (j *jsonWriter) open(c byte) {
	j.comma()
	j.b = append(j.b, c)
	j.next = false
}

//go:noinline
func (j *jsonWriter) close(c byte) {
	j.b = append(j.b, c)
	j.next = true
}

//go:noinline
func (j *jsonWriter) key(s string) *jsonWriter {
	j.text(s)
	j.b = append(j.b, ':')
	j.next = false
	return j
}

//go:noinline
func (j *jsonWriter) number(v float64) {
	j.comma()
	j.b = strconv.AppendFloat(j.b, v, 'g', -1, 64)
}

// text writes a string, RFC 8259 §7. What is not UTF-8 becomes the replacement character.
func (j *jsonWriter) text(s string) {
	const hex = "0123456789abcdef"
	j.comma()
	j.b = append(j.b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			j.b = append(j.b, '\\', byte(r))
		case r < 0x20:
			j.b = append(j.b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			j.b = utf8.AppendRune(j.b, r)
		}
	}
	j.b = append(j.b, '"')
}

// texts are the strings that entities and events have, each once. They are forgotten all together when they have become too
// many: then every one that is still used gets a new index.
type texts struct {
	version float64
	list    []string
	index   map[textKey]float64
}

// A textKey is a text property's simulation integers: four bytes each.
type textKey [(schema.MaxText + 3) / 4]uint32

// maxTexts is how many texts are kept; names of players come and go.
const maxTexts = 1024

func (t *texts) reset() {
	t.version++
	t.list = append(t.list[:0], "")
	t.index = map[textKey]float64{{}: 0}
}

// of returns the index of the text whose integers are given.
func (t *texts) of(ints []float64) float64 {
	var k textKey
	for i, v := range ints {
		k[i] = uint32(int64(v))
	}
	if i, ok := t.index[k]; ok {
		return i
	}
	s := make([]byte, 0, 4*len(k))
	for _, v := range k {
		for ; v != 0; v >>= 8 {
			if c := byte(v); c != 0 {
				s = append(s, c)
			}
		}
	}
	i := float64(len(t.list))
	t.list, t.index[k] = append(t.list, string(s)), i
	t.version++
	return i
}

// Texts returns the texts as a JSON array. Its index 0 is "".
func (b *Bridge) Texts() string {
	var j jsonWriter
	j.open('[')
	for _, s := range b.texts.list {
		j.text(s)
	}
	j.close(']')
	return string(j.b)
}
