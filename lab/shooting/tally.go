package shooting

import (
	"meanwhile/game"
	"meanwhile/netcode/clock"
)

// A Cause says why a shot counts against a system.
type Cause int

// The causes, the first that applies.
const (
	lostShot     Cause = iota // no command with it arrived in time
	lateShot                  // it ran at a later tick than it was made for
	refusedShot               // the server judged nothing
	clampedShot               // by another moment than was stated
	unseenTarget              // the target was not there on one side
	otherTime                 // its time was not that of the frame at the click
	otherView                 // it was elsewhere, or stood otherwise
	otherEye                  // the shooter's eye was elsewhere
	otherThing                // somebody else, or a door, stood in the way on one side
	Causes
)

func (c Cause) String() string {
	return [...]string{"lost", "late", "refused", "clamped", "unseen", "time", "view", "eye", "other"}[c]
}

// verdict is what one system made of one shot.
type verdict struct {
	about      uint8
	truth, hit game.ID
	lost, late bool
	clamped    bool
	refused    bool
	viewOff    float64
	eyeOff     float64
	poseOff    bool
	timeOff    bool
	behind     clock.Tick
}

// same is how far in millimetres two pictures may be apart that are the same but for rounding.
const same = 1.0

func (v *verdict) cause() Cause {
	switch {
	case v.lost:
		return lostShot
	case v.late:
		return lateShot
	case v.refused:
		return refusedShot
	case v.clamped:
		return clampedShot
	case v.viewOff == unseen:
		return unseenTarget
	case v.timeOff:
		return otherTime
	case v.viewOff > same || v.poseOff:
		return otherView
	case v.eyeOff > same:
		return otherEye
	}
	return otherThing
}

// Tally is the count of one system.
type Tally struct {
	Shots int
	// Agreed counts the shots whose verdict is what the screen showed, judged at the tick that they
	// were made for and by the moment that was stated.
	Agreed int
	// Same counts those whose verdict is what the screen showed, however late or clamped.
	Same                  int
	WrongHits             int // judged at their tick and as stated, and a hit that was none or another's
	WrongMisses           int // the same, and a miss that was none
	Late, Clamped         int
	Refused               int
	Against               [Causes]int
	Matters, MattersWrong [Matters]int

	ViewErrors  []float64 // millimetres, of what was judged as stated
	EyeErrors   []float64
	BehindCover []float64 // ticks that the victims of hits had been behind cover
}

func (t *Tally) add(v verdict) {
	t.Shots++
	same := v.hit == v.truth && !v.lost && !v.refused
	wrong := false
	if same {
		t.Same++
	}
	switch {
	case v.lost || v.late:
		t.Late++
	case v.refused:
		t.Refused++
	case v.clamped:
		t.Clamped++
	case same:
		t.Agreed++
	case v.hit != 0:
		t.WrongHits++
		wrong = true
	default:
		t.WrongMisses++
		wrong = true
	}
	if !same || v.late || v.clamped {
		t.Against[v.cause()]++
	}
	for m := range Matters {
		if v.about&(1<<m) != 0 {
			t.Matters[m]++
			if wrong {
				t.MattersWrong[m]++
			}
		}
	}
	if !v.lost && !v.refused && !v.clamped {
		t.ViewErrors = append(t.ViewErrors, v.viewOff)
		t.EyeErrors = append(t.EyeErrors, v.eyeOff)
	}
	if v.hit != 0 && !v.lost {
		t.BehindCover = append(t.BehindCover, float64(v.behind))
	}
}

// Add adds what another range counted.
func (t *Tally) Add(o *Tally) {
	t.Shots += o.Shots
	t.Agreed += o.Agreed
	t.Same += o.Same
	t.WrongHits += o.WrongHits
	t.WrongMisses += o.WrongMisses
	t.Late += o.Late
	t.Clamped += o.Clamped
	t.Refused += o.Refused
	for i := range t.Against {
		t.Against[i] += o.Against[i]
	}
	for i := range t.Matters {
		t.Matters[i] += o.Matters[i]
		t.MattersWrong[i] += o.MattersWrong[i]
	}
	t.ViewErrors = append(t.ViewErrors, o.ViewErrors...)
	t.EyeErrors = append(t.EyeErrors, o.EyeErrors...)
	t.BehindCover = append(t.BehindCover, o.BehindCover...)
}
