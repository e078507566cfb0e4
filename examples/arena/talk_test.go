package arena

import (
	"fmt"
	"testing"
	"time"

	"meanwhile/client"
	"meanwhile/gametest"
	"meanwhile/netsim"
)

// What a player says reaches all, under the name that the server knows; a vote restarts the round,
// and who has left has no vote in it.
func TestChatAndVote(t *testing.T) {
	m := gametest.New(t, &Game, 11)
	ann, bob := m.Join("ann", netsim.HotelWiFi, nil), m.Join("bob", netsim.TrainLTE, nil)
	eve, gone := m.Join("eve", netsim.LAN, nil), m.Join("gus", netsim.LAN, nil)
	var lines []Line
	answers := map[string][]string{}
	for _, p := range m.Sim.Players() {
		p.OnWord = func(w *client.Word) {
			if l, ok := client.Heard(p.Client, w, Chat); ok && p == bob {
				lines = append(lines, l)
			}
			if c, ok := client.Answered(p.Client, w, Votes); ok {
				answers[p.Name] = append(answers[p.Name], string(rune('0'+c.Yes))+":"+string(rune('0'+c.No)))
			} else if w.Answer {
				answers[p.Name] = append(answers[p.Name], w.Refusal)
			}
		}
	}
	m.Run(time.Second)
	number := func() (n int, open bool) {
		for _, r := range Rounds.All(m.Server()) {
			n = r.Number
		}
		for _, v := range Polls.All(m.Server()) {
			open = v.Open
		}
		return n, open
	}
	for _, text := range []string{"  hello \n all ", "", " żółw ✓ "} {
		if err := client.Say(ann.Client, Chat, Line{Name: "eve", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := number()
	vote := func(p *gametest.Player, yes bool) {
		t.Helper()
		if _, err := client.Ask(p.Client, Votes, Ballot{What: Restart, Yes: yes}); err != nil {
			t.Fatal(err)
		}
		m.Run(2 * time.Second)
	}
	vote(ann, true)
	vote(ann, true)
	vote(gone, true)
	vote(eve, false)
	gone.Leave()
	m.Run(time.Second)
	for _, v := range Polls.All(m.Server()) {
		if v.Yes != 1 || v.No != 1 {
			t.Errorf("%d for, %d against, after one of two for it left", v.Yes, v.No)
		}
	}
	if n, open := number(); n != before || !open {
		t.Fatalf("round %d, vote open %v after two of three votes", n, open)
	}
	vote(bob, true)
	if n, open := number(); n != before+1 || open {
		t.Errorf("round %d after a vote to restart round %d", n, before)
	}
	vote(bob, true)
	want := []Line{{"ann", "hello all"}, {"ann", "żółw ✓"}, {"", "The round begins anew"}}
	if len(lines) != len(want) || lines[0] != want[0] || lines[1] != want[1] || lines[2] != want[2] {
		t.Errorf("bob read %q, want %q", lines, want)
	}
	for name, want := range map[string]string{"ann": "[1:0 you have voted]", "eve": "[2:1]",
		"bob": "[2:1 the last vote has just ended]"} {
		if got := fmt.Sprint(answers[name]); got != want {
			t.Errorf("%s was answered %s, want %s", name, got, want)
		}
	}
	m.Run(PauseTicks * time.Second / Rate)
	if Polls.Len(m.Server()) != 0 {
		t.Error("the vote is not cleared away")
	}
}
