package host

import (
	"errors"

	"meanwhile/session"
	"meanwhile/session/token"
)

// What players read who do not get in. Logs have the errors themselves.

const noToken = "this game needs a login. Log in first."

// refusedToken returns the refusal for what check says of a token.
func refusedToken(err error) session.Refusal {
	r := session.Refusal{Code: session.BadToken, Text: "this link is not valid here. Log in again."}
	switch {
	case errors.Is(err, token.ErrSpent):
		r.Text = "this link was used before. Log in again."
	case errors.Is(err, token.ErrExpired):
		r.Text = "this link has expired. Log in again."
	case errors.Is(err, errRevoked):
		r.Text = "your login was withdrawn. Log in again."
	case errors.Is(err, token.ErrNotYet):
		r.Text = "this link is not valid yet. Try again in a minute."
	case errors.Is(err, token.ErrRoom):
		r.Text = "this link is for another room. Log in again for this one."
	case errors.Is(err, token.ErrAudience):
		r.Text = "this link is for another server. Log in again for this one."
	case errors.Is(err, token.ErrFull):
		r = session.Refusal{Code: session.Busy, Text: "too many players log in at once. Wait a minute."}
	}
	return r
}

// refusedCode returns the refusal of a private room. A program may ask for the code and say hello
// again.
func refusedCode(room, code string) session.Refusal {
	if code == "" {
		return refusal(session.NoCode, "room %s is private. What is its code?", room)
	}
	return refusal(session.NoCode, "this is not the code of room %s. What is it?", room)
}
