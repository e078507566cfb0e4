package bridge

import (
	"strconv"
	"strings"

	"meanwhile/client"
	"meanwhile/netcode/schema"
)

// Say sends a message, or a request: that with an index in the layout's messages. floats are its
// fields; that of a text is its length in bytes, and texts are all of its texts, one after the
// other. call is the number by which Heard names the answer to a request. refused is "", or why
// nothing was sent.
func (b *Bridge) Say(message int, floats []float64, texts string) (call int, refused string) {
	if b.client == nil || !b.joined {
		return 0, "You are not connected."
	}
	if message < 0 || message >= len(b.rules.Messages) {
		return 0, "There is no such message."
	}
	m := &b.rules.Messages[message]
	vals, refused := payload(m.Payload, floats, texts)
	if refused != "" {
		return 0, refused
	}
	if m.Answer == nil {
		return 0, cause(b.client.Say(message, vals))
	}
	number, err := b.client.Ask(message, vals)
	if err != nil {
		return 0, cause(err)
	}
	b.asked = append(b.asked, asked{b.calls + 1, message, number})
	b.calls++
	return b.calls, ""
}

// asked is a request without an answer. Its number is the page's, as those of clients begin anew
// with each.
type asked struct {
	number, message int
	call            uint8
}

// giveUp makes Heard refuse the requests that wait for an answer: none comes any more.
func (b *Bridge) giveUp() { b.broken, b.asked = append(b.broken, b.asked...), nil }

// cause returns the sentence of an error, "" of none.
func cause(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), "client: ")
}

// payload returns the integers of a message's fields.
func payload(k *schema.Kind, floats []float64, texts string) (vals []int64, refused string) {
	exact := make([]float64, k.Floats())
	at := 0
	for i := range k.Props {
		p := &k.Props[i]
		n := p.Comps
		if p.Class == schema.Text {
			n = 1
		}
		if at+n > len(floats) {
			return nil, "A field of " + k.Name + " is missing."
		}
		if p.Class != schema.Text {
			copy(exact[p.At:p.At+n], floats[at:])
		}
		at += n
	}
	vals = make([]int64, len(exact))
	k.FromFloats(exact, vals)
	at = 0
	for i := range k.Props {
		p := &k.Props[i]
		if p.Class != schema.Text {
			at += p.Comps
			continue
		}
		n := int(max(min(floats[at], float64(len(texts))), 0))
		if !p.SetText(vals, []byte(texts[:n])) {
			return nil, nameOf(p.Name) + " is longer than " + strconv.Itoa(int(p.Max)) + " bytes, or no text."
		}
		texts = texts[n:]
		at++
	}
	return vals, ""
}

// Heard returns what the rules said since the last call as JSON, "" for nothing: an array of
// {message, from, tick} with the index of the message, and floats and texts, as Draw has them of an
// event, but for texts, whose float is an index in texts. An answer has the number call, and a
// refusal has refused, a sentence, in place of floats.
func (b *Bridge) Heard() string {
	if b.client == nil {
		return ""
	}
	words := b.client.Words()
	if len(words) == 0 && len(b.broken) == 0 {
		return ""
	}
	var j jsonWriter
	j.open('[')
	for _, x := range b.broken {
		j.open('{')
		j.key("message").number(float64(x.message))
		j.key("call").number(float64(x.number))
		j.key("refused").text("The connection was lost.")
		j.close('}')
	}
	b.broken = b.broken[:0]
	for i := range words {
		b.heard(&j, &words[i])
	}
	j.close(']')
	return string(j.b)
}

// answered returns the page's number of a request of the client that has an answer now.
func (b *Bridge) answered(call uint8) (number float64) {
	keep := b.asked[:0]
	for _, x := range b.asked {
		if x.call == call {
			number = float64(x.number)
		} else {
			keep = append(keep, x)
		}
	}
	b.asked = keep
	return number
}

func (b *Bridge) heard(j *jsonWriter, w *client.Word) {
	k := b.rules.Messages[w.Message].Payload
	j.open('{')
	j.key("message").number(float64(w.Message))
	j.key("from").number(float64(w.From))
	j.key("tick").number(float64(w.Tick))
	if w.Answer {
		j.key("call").number(b.answered(w.Call))
		k = b.rules.Messages[w.Message].Answer
	}
	if w.Refused {
		j.key("refused").text(w.Refusal)
	} else {
		b.vals = k.AppendExact(b.vals[:0], nil, w.Vals, 1<<16)
		texts := []string{""}
		j.key("floats").open('[')
		for i := range k.Props {
			p := &k.Props[i]
			if p.Class == schema.Text {
				j.number(float64(len(texts)))
				texts = append(texts, string(p.AppendText(nil, w.Vals)))
				continue
			}
			for _, v := range b.vals[p.At : p.At+p.Comps] {
				j.number(v)
			}
		}
		j.close(']')
		j.key("texts").open('[')
		for _, s := range texts {
			j.text(s)
		}
		j.close(']')
	}
	j.close('}')
}
