package session_test

import (
	"strings"
	"testing"

	"meanwhile/session"
)

func TestDifference(t *testing.T) {
	const own = `game zap rate=30 static=0
kind pilot rate=30
 Pos pos x2 sim=256000 obs=100 range=0..0 to=0 draw=2 group=0
 Aim angle x1 sim=360 obs=360 range=0..0 to=0 draw=1 group=0
 Ammo int x1 sim=1 obs=1 range=0..5 to=1 draw=0 group=1
kind gem rate=30
 Pos pos x2 sim=256000 obs=100 range=0..0 to=0 draw=1 group=0
command rate=30
 Move stick x2 sim=15 obs=15 range=0..0 to=0 draw=0 group=1
`
	for _, c := range []struct{ name, from, to, want string }{
		{"nothing", "", "", ""},
		{"a precision", "sim=360 obs=360", "sim=180 obs=180", "pilot.Aim has sim=180 there and sim=360 here"},
		{"a class", "Aim angle", "Aim float", "pilot.Aim has float there and angle here"},
		{"the second of two of one name", "Pos pos x2 sim=256000 obs=100 range=0..0 to=0 draw=1",
			"Pos pos x3 sim=256000 obs=100 range=0..0 to=0 draw=1", "gem.Pos has x3 there and x2 here"},
		{"one more property", "command rate=30\n", "command rate=30\n Jump press x1\n",
			"command.Jump exists there and not here"},
		{"one property less", " Ammo int x1 sim=1 obs=1 range=0..5 to=1 draw=0 group=1\n", "",
			"pilot.Ammo exists here and not there"},
		{"one kind more", "kind gem", "kind wall rate=30\n Pos pos x2\nkind gem", "wall exists there and not here"},
		{"the tick rate", "zap rate=30", "zap rate=60", "game has rate=60 there and rate=30 here"},
		{"the map", "static=0", "static=a5", "game has static=a5 there and static=0 here"},
		{"other order",
			" Aim angle x1 sim=360 obs=360 range=0..0 to=0 draw=1 group=0\n" +
				" Ammo int x1 sim=1 obs=1 range=0..5 to=1 draw=0 group=1\n",
			" Ammo int x1 sim=1 obs=1 range=0..5 to=1 draw=0 group=1\n" +
				" Aim angle x1 sim=360 obs=360 range=0..0 to=0 draw=1 group=0\n",
			"pilot.Ammo comes before pilot.Aim there, and after it here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(own, c.from) {
				t.Fatalf("%q is not in the schema", c.from)
			}
			if got := session.Difference(strings.Replace(own, c.from, c.to, 1), own); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for cut := range len(own) { // a text cut anywhere still gets an answer
		if got := session.Difference(own[:cut], own); got == "" {
			t.Errorf("cut at %d: no difference", cut)
		}
	}
}
