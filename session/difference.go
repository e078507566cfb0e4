package session

import "strings"

// FirstDifference returns the first line in which two schema texts differ, as the server and as the client have it. A
// line that one of them does not have is "". Both are "" if the texts are equal.
func FirstDifference(server, client string) (theirs, ours string) {
	for server != "" || client != "" {
		theirs, server, _ = strings.Cut(server, "\n")
		ours, client, _ = strings.Cut(client, "\n")
		if theirs != ours {
			return strings.TrimSpace(theirs), strings.TrimSpace(ours)
		}
	}
	return "", ""
}

// Explain returns what a refusal says to somebody whose own schema is the given text: for other rules, where they begin
// to differ.
func (r Refusal) Explain(schema string) string {
	s := r.Error()
	if r.Code != WrongSchema {
		return s
	}
	theirs, ours := FirstDifference(r.SchemaText, schema)
	switch {
	case theirs == ours:
		return s
	case theirs == "":
		return s + ": it does not have \"" + ours + "\""
	case ours == "":
		return s + ": it has \"" + theirs + "\", which is missing here"
	}
	return s + ": it has \"" + theirs + "\", here it is \"" + ours + "\""
}
