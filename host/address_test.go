package host

import (
	"errors"
	"testing"

	"meanwhile/session"
)

// Players from one address are bounded, also when they have been let in; those of this machine are not.
func TestPlayersPerAddress(t *testing.T) {
	h, err := New(Config{Rules: rules(t), PlayersPerAddress: 2})
	if err != nil {
		t.Fatal(err)
	}
	var leaves []func()
	for i, c := range []struct {
		remote string
		in     bool
	}{
		{"203.0.113.9:1", true}, {"203.0.113.9:2", true}, {"203.0.113.9:3", false}, {"[::ffff:203.0.113.9]:4", false}, {"203.0.113.10:1", true},
		{"[2001:db8::1]:1", true}, {"[2001:db8::2]:1", true}, {"[2001:db8::3]:1", false}, {"127.0.0.1:1", true}, {"127.0.0.1:2", true}, {"127.0.0.1:3", true},
		{"memory:1", true}, {"memory:2", true}, {"memory:3", true},
	} {
		leave, err := h.count(c.remote)
		var refusal session.Refusal
		if in := err == nil; in != c.in || !in && (!errors.As(err, &refusal) || refusal.Code != session.Busy) {
			t.Errorf("%d: %s: %v, want in: %v", i, c.remote, err, c.in)
		}
		if leave != nil {
			leaves = append(leaves, leave)
		}
	}
	for _, leave := range leaves {
		leave()
	}
	if len(h.from) != 0 {
		t.Errorf("%v are still counted", h.from)
	}
}
