package game

import "strings"

// Difference names, in half a sentence, the first thing in which the schema of a server differs from this program's: two texts
// as in Rules.Text, of which a message may have cut the end of the server's. It returns "" if there is none.
func Difference(server, own string) string {
	if server == own {
		return ""
	}
	theirs, ours := lines(server), lines(own)
	for i := 0; i < len(theirs) || i < len(ours); i++ {
		switch {
		case i >= len(theirs):
			return ours[i].name + " is missing there, or beyond what the server told"
		case i >= len(ours):
			return theirs[i].name + " exists there and not here"
		case theirs[i] == ours[i]:
		case theirs[i].name == ours[i].name:
			return words(theirs[i].name, theirs[i].text, ours[i].text)
		case has(ours, theirs[i].name): // so what stands in its place is new here
			if has(theirs, ours[i].name) {
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

// lines gives every line of a schema the name of what it describes: "game", "pilot", "pilot.Pos".
func lines(text string) (out []schemaLine) {
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

func has(list []schemaLine, name string) bool {
	for i := range list {
		if list[i].name == name {
			return true
		}
	}
	return false
}

// words says in which word two descriptions of one thing differ.
func words(name, server, own string) string {
	a, b := strings.Fields(server), strings.Fields(own)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return name + " has " + a[i] + " there and " + b[i] + " here"
		}
	}
	return name + " is described as \"" + server + "\" there and as \"" + own + "\" here"
}
