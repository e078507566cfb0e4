package token_test

import (
	"crypto/rand"
	"fmt"
	"time"

	"meanwhile/session/token"
)

// The login signs, the game server checks.
func Example() {
	login, server, err := token.Development(rand.Reader)
	if err != nil {
		panic(err)
	}
	t, err := login.Issue(token.Grant{Player: 77, Name: "Ada", Room: "lobby"}, time.Now(), token.DefaultLifetime)
	if err != nil {
		panic(err)
	}
	g, err := server.Verify(t, "lobby", time.Now())
	fmt.Println(g.Player, g.Name, err)
	_, err = server.Verify(t, "cellar", time.Now())
	fmt.Println(err)
	// Output:
	// 77 Ada <nil>
	// token: made for another room: "lobby"
}
