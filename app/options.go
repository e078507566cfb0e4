package app

import "time"

// Options are what a program decides for its server beside the flags. The zero Options leave all to
// the flags; the browser's engine has no use for them.
type Options struct {
	// Store keeps what the rules save of players and rooms (package game/saved), in a database for
	// example. Nil keeps it in a file in the folder of --state, or not at all.
	Store Store
	// Authenticate says who asks to play: what an ID token or a session's cookie proves, for
	// example. If it is set, only players whom it accepts get in; pages ask by themselves
	// (docs/security.md). It may wait for others and is called by several goroutines at once. Its
	// error is shown to the player.
	Authenticate func(a Applicant) (Account, error)
	// Handlers answer requests over HTTP of the game's own, by patterns of http.ServeMux such as
	// "GET /best.json", on the players' address: whoever reaches the page can ask. They run beside
	// the rooms, on several goroutines, and see no world. A pattern that is malformed, the library's
	// own, or all of "/" is refused when the program starts.
	Handlers map[string]Handler
	// LimitsOf returns what a player is sent at most and how far back its shots are judged, by
	// whatever class the game has. It is called when a player joins, by several goroutines. Players
	// may ask for less to be sent. Nil gives everybody what --kbit and these Options say.
	LimitsOf func(v Visitor) Limits
	// Rewind bounds how far back a shot is judged beyond what the shooter's path asks for, and
	// RewindTotal how far back in all; docs/tuning/rewind-cap.md helps to choose. Zero means a
	// quarter of a second and a second, which is the most; a negative Rewind judges by the present.
	Rewind, RewindTotal time.Duration
}

// A Visitor is a player who joins.
type Visitor struct{ Name, Room string }

// Limits are those of one player. Zero is what the flags, the game and the Options say; what is too
// little or too much becomes the least or the most that there is.
type Limits struct {
	Kbit, Packets int // a second
	// Rewind and RewindTotal bound how far back the player's shots are judged, where they are less
	// than those of the Options. A negative Rewind judges by the present.
	Rewind, RewindTotal time.Duration
}

// An Applicant is a page that asks to play.
type Applicant struct {
	// Bearer is the credential that the page gave to join, such as an ID token of OpenID Connect.
	Bearer string
	// Cookies are those of the page, if it comes from this server.
	Cookies map[string]string
	// Room is where the player wants to play; empty: the default room.
	Room string
}

// An Account is who an Applicant is.
type Account struct {
	// ID is the same whenever the player comes, such as token.Player makes; 0 is a guest.
	ID uint64
	// Name is what others call the player; empty: what the player chooses.
	Name string
	// Room is the only room that the player may join; empty: any.
	Room string
}
