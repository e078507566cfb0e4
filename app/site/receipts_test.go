package site

import (
	"encoding/json"
	"testing"
	"time"

	"meanwhile/host"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/rewind"
	"meanwhile/server"
)

// Times are in milliseconds before the shot, and what is not known is null.
func TestReceiptsAsJSON(t *testing.T) {
	p := host.PlayerReceipts{Room: "lobby", Player: 3, Name: "eve", Bot: true, Tick: 100}
	p.RTT, p.Suspicion = 40*time.Millisecond, 7
	p.Judged, p.Clamped, p.Agreed, p.Disagreed, p.Contradicted, p.Late, p.Starved = 5, 2, 3, 1, 6, 8, 9
	p.Reasons[rewind.TooOld] = 2
	p.Receipts = []server.Receipt{
		{Tick: 90, Stated: clock.Tick(84).Frac(), Used: clock.Tick(86).Frac(), Bound: clock.Tick(85).Frac(),
			Reason: rewind.TooOld, Target: 11, Claimed: 12, Off: 250},
		{Tick: 91, Used: clock.Tick(91).Frac(), Bound: clock.Tick(86).Frac(), Off: -1},
	}
	verdict, reason := p.Receipts[0].Verdict.String(), rewind.TooOld.String()
	check := func(want string) {
		t.Helper()
		if got, err := json.Marshal(logOf(&p, 20)); err != nil || string(got) != want {
			t.Errorf("%v\n%s, want\n%s", err, got, want)
		}
	}
	check(`{"room":"lobby","player":3,"name":"eve","bot":true,"tick":100,"rtt_ms":40,"suspicion":7,"agreement":0.75,` +
		`"counts":{"judged":5,"clamped":2,"reasons":{"` + reason + `":2},"agreed":3,"disagreed":1,"contradicted":6,` +
		`"late":8,"starved":9},"receipts":[` +
		`{"tick":90,"stated_ms":300,"used_ms":200,"bound_ms":250,"reason":"` + reason + `","verdict":"` + verdict +
		`","target":11,"claimed":12,"off_mm":250},` +
		`{"tick":91,"stated_ms":0,"used_ms":0,"bound_ms":250,"reason":"` + p.Receipts[1].Reason.String() +
		`","verdict":"` + verdict + `","target":0,"claimed":0,"off_mm":null}]}`)
	p.Agreed, p.Disagreed = 0, 0
	if l := logOf(&p, 20); l.Agreement != nil {
		t.Errorf("without shots that were compared %v agreed", *l.Agreement)
	}
}
