package session_test

import (
	"fmt"

	"meanwhile/session"
)

// A server that plays other rules says so, and the client can show the sentence.
func ExampleRefusal() {
	b, _ := session.Refusal{Code: session.RoomFull, Text: "arena 1 holds 64 players"}.Append(nil)
	r, err := session.DecodeRefusal(b)
	fmt.Println(r, err)
	// Output: session: refused: room is full: arena 1 holds 64 players <nil>
}
