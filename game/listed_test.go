//go:build !js

package game_test

import (
	"regexp"
	"strings"
	"testing"

	"meanwhile/game"
	"meanwhile/game/saved"
)

type (
	tree struct {
		Age int `net:"int,0..9"`
	}
	stump struct {
		Age int `net:"int,0..9"`
	}
	crack struct {
		Loud bool `net:"bool"`
	}
	crash struct {
		Loud bool `net:"bool"`
	}
	shout struct {
		Text string `net:"text,20"`
	}
	whisper struct {
		Text string `net:"text,20"`
	}
	chop struct {
		Hit bool `net:"press"`
	}
	lumber struct{ Logs int }
	forest struct{ Trees int }
)

var (
	trees     = game.NewKind[tree]("tree")
	stumps    = game.NewKind[stump]("stump") // and whatever follows on such lines is in no game
	cracks    = game.NewEvent[crack]("crack")
	crashes   = game.NewUrgentEvent[crash]("crash")
	shouts    = game.NewMessage[shout]("yell", 1, 4)
	whispers  = game.NewMessage[whisper]("whisper", 1, 4)
	questions = game.NewRequest[shout, whisper]("question", 1, 4)
	lumbers   = saved.ForPlayers[lumber]()
	forests   = saved.ForRooms[forest]()

	woods = game.Definition[chop]{
		Name: "woods", Kinds: game.Kinds(trees), Events: game.Events(cracks),
		Messages: game.Messages(shouts.On(func(*game.World, game.ID, shout) {})), Saved: saved.List(lumbers),
		Join: func(w *game.World, name string) game.ID { return trees.Spawn(w, tree{}) },
		Act:  func(w *game.World, me game.ID, c chop) {},
	}
)

// What package variables hold and no game lists is named before rules use it, with its type and
// line.
func TestUnlisted(t *testing.T) {
	rules, err := woods.Rules()
	if err != nil {
		t.Fatal(err)
	}
	err = rules.Unlisted()
	if err == nil {
		t.Fatal("nothing is said")
	}
	for _, want := range []string{
		`kind "stump" \(game_test\.stump\), made at game/listed_test\.go:\d+, is not listed: add it to Kinds`,
		`event "crash" \(game_test\.crash\), made at game/listed_test\.go:\d+, is not listed: add it to Events`,
		`message "whisper" \(.*add it to Messages`, `message "question" \(.*add it to Messages`,
		`record game_test\.forest, made at (game/listed_test\.go:\d+|package game_test), .*add it to Saved`,
	} {
		if !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	for _, listed := range []string{`"tree"`, `"crack"`, `"yell"`, "lumber"} {
		if strings.Contains(err.Error(), listed) {
			t.Errorf("%v\nnames %s, which is listed", err, listed)
		}
	}
	_, _, _, _, _ = stumps, crashes, whispers, questions, forests
}

// Nothing is known of a game that a function makes: it may list what it wants.
func TestUnlistedOfAFunction(t *testing.T) {
	of := func(kinds ...game.Kind[stump]) error {
		d := game.Definition[chop]{Name: "woods", Kinds: game.Kinds(kinds[0]), Join: woods.Join, Act: woods.Act}
		rules, err := d.Rules()
		if err != nil {
			t.Fatal(err)
		}
		return rules.Unlisted()
	}
	if err := of(stumps); err != nil {
		t.Error(err)
	}
	if err := of(game.NewKind[stump]("other")); err != nil {
		t.Error(err)
	}
	part := woods
	part.Events = game.Events(cracks, crashes)
	rules, err := part.Rules()
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Unlisted(); err != nil {
		t.Errorf("a function lists the events: %v", err)
	}
}
