package arena

import (
	"errors"
	"strings"

	"meanwhile/game"
)

// Numbers of votes.
const (
	VoteTicks  = 20 * Rate // a vote is open so long, unless all have voted
	PauseTicks = 15 * Rate // after it nobody can call another
	ExtraTicks = 60 * Rate // more, after the vote for a longer round
)

// What a vote is about.
const (
	Restart = iota
	Longer
	OtherMap
	Easier
	Harder
)

// A Line is what somebody says to all. The server writes the name.
type Line struct {
	Name string `net:"text,12"` // "" is the arena itself
	Text string `net:"text,200"`
}

// A Ballot calls a vote, or takes part in the one that is open, whatever that is about.
type Ballot struct {
	What int  `net:"enum,restart|longer|map|easier|harder"`
	Yes  bool `net:"bool"`
}

// A Count is how a vote stands.
type Count struct {
	Yes, No int `net:"int,0..999"`
}

// A Poll is a vote. There is one while a vote is open, and for a moment after it.
type Poll struct {
	What int       `net:"enum,restart|longer|map|easier|harder"`
	By   string    `net:"text,12"`
	Yes  int       `net:"int,0..999"`
	No   int       `net:"int,0..999"`
	Open bool      `net:"bool"`
	Ends game.Tick `net:"tick"`
}

// What players and the arena say to each other.
var (
	Chat  = game.NewMessage[Line]("chat", 1, 4)
	Votes = game.NewRequest[Ballot, Count]("vote", 1, 4)
	Polls = game.NewKind[Poll]("poll")
)

// chat passes on what a player said.
func chat(w *game.World, from game.ID, l Line) {
	if l.Text = strings.Join(strings.Fields(l.Text), " "); l.Text == "" {
		return
	}
	l.Name = "a guest"
	if Players.Has(w, from) {
		l.Name = Players.Get(w, from).Name
	}
	Chat.SendAll(w, nil, l)
}

// vote counts a player's vote, or opens one.
func vote(w *game.World, from game.ID, b Ballot) (Count, error) {
	if !Players.Has(w, from) {
		return Count{}, errors.New("only players vote")
	}
	p := Players.Get(w, from)
	for id, v := range Polls.All(w) {
		switch {
		case !v.Open:
			return Count{}, errors.New("the last vote has just ended")
		case p.Voted == id:
			return Count{v.Yes, v.No}, errors.New("you have voted")
		}
		p.Voted, p.Yes = id, b.Yes
		v.count(w, id)
		return Count{v.Yes, v.No}, nil
	}
	p.Voted, p.Yes = Polls.Spawn(w, Poll{What: b.What, By: p.Name, Yes: 1, Open: true, Ends: w.Tick() + VoteTicks}), true
	return Count{Yes: 1}, nil
}

// count counts the votes of those who are here, so that nobody votes twice by coming again.
func (v *Poll) count(w *game.World, id game.ID) {
	v.Yes, v.No = 0, 0
	for _, p := range Players.All(w) {
		switch {
		case p.Voted != id:
		case p.Yes:
			v.Yes = min(v.Yes+1, MaxScore)
		default:
			v.No = min(v.No+1, MaxScore)
		}
	}
}

// polls closes a vote whose time is over, does what it decided, and clears it away later.
func polls(w *game.World) {
	for id, v := range Polls.All(w) {
		if v.Open {
			v.count(w, id)
		}
		switch {
		case v.Open && (w.Tick() >= v.Ends || v.Yes+v.No >= Players.Len(w)):
			v.Open, v.Ends = false, w.Tick()+PauseTicks
			decide(w, v)
		case !v.Open && w.Tick() >= v.Ends:
			w.Despawn(id)
		}
	}
}

// decide does what a vote decided.
func decide(w *game.World, v *Poll) {
	if v.Yes <= v.No {
		Chat.SendAll(w, nil, Line{Text: "The vote failed"})
		return
	}
	for _, r := range Rounds.All(w) {
		switch v.What {
		case Restart:
			again(w, r, r.Map)
			Chat.SendAll(w, nil, Line{Text: "The round begins anew"})
		case OtherMap:
			again(w, r, following(r.Map))
			Chat.SendAll(w, nil, Line{Text: "A new round on " + levels[r.Map].name})
		case Easier:
			r.Skill = max(r.Skill-1, Novice)
			Chat.SendAll(w, nil, Line{Text: "The bots aim worse"})
		case Harder:
			r.Skill = min(r.Skill+1, Expert)
			Chat.SendAll(w, nil, Line{Text: "The bots aim better"})
		case Longer:
			if r.Phase == Play {
				r.Shut += ExtraTicks
				r.Ends = r.Shut
			}
			Chat.SendAll(w, nil, Line{Text: "The round is a minute longer"})
		}
	}
}

// again begins a round at once.
func again(w *game.World, r *Round, level int) {
	r.Phase, r.Ends = Result, w.Tick()+1
	next(w, r, level)
}
