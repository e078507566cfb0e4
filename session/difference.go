package session

import "strings"

// Refused makes an error of a Refusal message for a client whose own schema is written as ownSchema
// (game.Rules.Text). errors.As finds the Refusal in it. If the server plays other rules, the text
// names the first difference. A message that is no Refusal gives the error of DecodeRefusal.
func Refused(message []byte, ownSchema string) error {
	r, err := DecodeRefusal(message)
	if err != nil {
		return err
	}
	text := r.Error()
	if d := Difference(r.SchemaText, ownSchema); r.Code == WrongSchema && d != "" {
		text += ": " + d
	}
	return &refusedError{r, text}
}

type refusedError struct {
	refusal Refusal
	text    string
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.refusal }

// Difference names, in half a sentence, the first difference between the schemas of a server and of
// this program, both written as in game.Rules.Text. The server's may be cut short, as in a Refusal.
// It returns "" if they are equal.
func Difference(server, own string) string {
	if server == own {
		return ""
	}
	theirs, ours := schemaLines(server), schemaLines(own)
	for i := 0; i < len(theirs) || i < len(ours); i++ {
		switch {
		case i >= len(theirs):
			return ours[i].name + " is missing there, or beyond what the server told"
		case i >= len(ours):
			return theirs[i].name + " exists there and not here"
		case theirs[i] == ours[i]:
		case theirs[i].name == ours[i].name:
			return wordDifference(theirs[i].name, theirs[i].text, ours[i].text)
		case hasLine(ours, theirs[i].name): // so what stands in its place is new here
			if hasLine(theirs, ours[i].name) {
				return theirs[i].name + " comes before " + ours[i].name + " there, and after it here"
			}
			return ours[i].name + " exists here and not there"
		default:
			return theirs[i].name + " exists there and not here"
		}
	}
	return "the two are written differently"
}

type schemaLine struct{ name, text string }

// schemaLines names each line of a schema after what it describes: "game", "pilot", "pilot.Pos".
func schemaLines(text string) (out []schemaLine) {
	owner := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if p, found := strings.CutPrefix(line, " "); found {
			name, rest, _ := strings.Cut(p, " ")
			out = append(out, schemaLine{owner + "." + name, rest})
			continue
		}
		what, rest, _ := strings.Cut(line, " ")
		owner = what
		if what == "kind" || what == "event" {
			owner, rest, _ = strings.Cut(rest, " ")
		}
		out = append(out, schemaLine{owner, what + " " + rest})
	}
	return out
}

func hasLine(list []schemaLine, name string) bool {
	for i := range list {
		if list[i].name == name {
			return true
		}
	}
	return false
}

// wordDifference says in which word two descriptions of one thing differ.
func wordDifference(name, server, own string) string {
	a, b := strings.Fields(server), strings.Fields(own)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return name + " has " + a[i] + " there and " + b[i] + " here"
		}
	}
	return name + " is described as \"" + server + "\" there and as \"" + own + "\" here"
}
