package bridge

import (
	"meanwhile/game"
	"meanwhile/netcode/schema"
	"meanwhile/netsim"
)

// kindLayout says which floats of a kind or event the page gets.
type kindLayout struct {
	kind  *schema.Kind
	props []propLayout
}

type propLayout struct {
	at, comps int  // its simulation floats
	text      bool // written as an index into the texts
	private   bool // only its owner knows it
	limited   bool // only those know it who receive its group, such as a team
	group     int
}

// floats is how many numbers the page gets.
func (p *propLayout) floats() int {
	if p.text {
		return 1
	}
	return p.comps
}

// The names that the page itself gives to every entity and every event.
var (
	reservedOfEntity = []string{"id", "mine", "cut", "predicted", "stalled", "lateMs", "intervalMs"}
	reservedOfEvent  = []string{"key", "entity", "mine"}
)

// describe makes the layouts of a game. It fails on names and types that a page cannot use.
func (w *writer) describe(rules *game.Rules) error {
	w.texts.reset()
	for _, k := range rules.Kinds {
		l, err := layoutOf(k, reservedOfEntity)
		if err != nil {
			return err
		}
		w.kinds = append(w.kinds, l)
	}
	for _, k := range rules.Events {
		if k.Name == receiptName {
			return sentence("The event " + receiptName + " has the name of one that each page has; give it another name.")
		}
		l, err := layoutOf(k, reservedOfEvent)
		if err != nil {
			return err
		}
		w.events = append(w.events, l)
	}
	for i := range rules.Messages {
		if rules.Messages[i].Name == receiptName {
			return sentence("The message " + receiptName + " has the name of an event that each page has; give it another name.")
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
				return l, sentence(k.Name + "." + p.Name + " would hide the " + r +
					" that each object has in the page; give it another name.")
			}
		}
		l.props = append(l.props, propLayout{at: p.At, comps: p.Comps, text: p.Shape() == schema.ShapeText,
			private: p.ObsAt < 0, limited: p.ObsAt >= 0 && k.Limited(p.Group), group: p.Group})
	}
	return l, nil
}

// nameOf returns a Go field's name as JavaScript spells it: pos for Pos. A first letter beyond
// ASCII stays as it is.
func nameOf(field string) string {
	if c := field[0]; c >= 'A' && c <= 'Z' {
		return string(rune(c+'a'-'A')) + field[1:]
	}
	return field
}

func typeOf(p *schema.Prop, command bool) string {
	if s := p.Shape(); s != schema.ShapePress || command {
		return string(s)
	}
	return string(schema.ShapeBool)
}

// statNames are the names of the measurements, in the order of Bridge.stats. docs/BRIDGE.md
// explains them.
var statNames = [...]string{
	"tick", "periodMs", "commandMs", "serverMs", "newestMs", "playoutMs", "rttMs", "rttMinMs", "clockBoundMs",
	"delayMs", "ageMs", "leadMs",
	"downBps", "upBps", "corrections", "correctionCm", "hitches", "starved", "state", "silentMs",
	"targetMs", "entityHitches", "upCarriesBps", "clockEstimatedMs",
	"offsetX", "offsetY", "offsetZ",
	"replayed", "owed", "deferred", "budgetBps", "watchMs",
}

// Layout describes the game to the page, as JSON.
func (b *Bridge) Layout() string {
	var j jsonWriter
	j.open('{')
	j.key("game").text(b.rules.Name)
	j.key("rate").number(float64(b.rules.Rate))
	list := func(name, fields string, of []kindLayout, receipt bool) {
		j.key(name).open('[')
		for i := range of {
			j.open('{')
			j.key("name").text(of[i].kind.Name)
			j.fields(fields, of[i].kind, false)
			j.close('}')
		}
		if receipt {
			j.comma()
			j.b = append(j.b, receiptLayout...)
		}
		j.close(']')
	}
	list("kinds", "properties", b.write.kinds, false)
	list("events", "fields", b.write.events, b.rules.Feedback().Shoots)
	j.key("messages").open('[')
	for i := range b.rules.Messages {
		m := &b.rules.Messages[i]
		j.open('{')
		j.key("name").text(m.Name)
		j.fields("fields", m.Payload, false)
		if m.Answer != nil {
			j.fields("answer", m.Answer, false)
		}
		j.close('}')
	}
	j.close(']')
	j.fields("command", b.rules.Command, true)
	j.key("stats").open('[')
	for _, s := range statNames {
		j.text(s)
	}
	j.close(']')
	j.key("profiles").open('[')
	for _, p := range netsim.Presets() {
		j.open('{')
		j.key("name").text(p.Name)
		j.key("title").text(p.Title)
		j.key("delayMs").number(p.Delay)
		j.key("jitterMs").number(p.Jitter)
		j.key("lossPct").number(p.Loss)
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
		switch p.Shape() {
		case schema.ShapeEnum:
			j.key("names").open('[')
			for _, word := range p.Words() {
				j.text(word)
			}
			j.close(']')
		case schema.ShapeBytes:
			j.key("length").number(float64(p.Max))
		}
		j.close('}')
	}
	j.close(']')
}
