package site

import (
	"encoding/json"
	"net/http"
	"time"

	"meanwhile/game"
	"meanwhile/host"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// A playerLog is a player in the answer to /receipts.
type playerLog struct {
	Room     string              `json:"room"`
	Player   server.PlayerID     `json:"player"`
	Name     string              `json:"name"`
	Bot      bool                `json:"bot"`
	Tick     clock.Tick          `json:"tick"` // of the room now
	RTT      float64             `json:"rtt_ms"`
	Counts   server.CommandStats `json:"counts"`
	Receipts []shotLog           `json:"receipts"`
}

// A shotLog is one receipt of a player, the oldest first. Times are in ticks of the room.
type shotLog struct {
	Tick    clock.Tick `json:"tick"`
	Stated  float64    `json:"stated"`
	Used    float64    `json:"used"`
	Bound   float64    `json:"bound"`
	Reason  string     `json:"reason"`
	Verdict string     `json:"verdict"`
	Target  game.ID    `json:"target"`
	Claimed game.ID    `json:"claimed"`
	Off     *int32     `json:"off_mm"` // null where it is not known
}

// receipts serves how the newest shots of each player were judged, the oddest players first.
func (s *Site) receipts(w http.ResponseWriter, _ *http.Request) {
	list := []playerLog{}
	for _, p := range s.host.Receipts() {
		list = append(list, logOf(&p))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(list) // whoever asked has gone
}

func logOf(p *host.PlayerReceipts) playerLog {
	l := playerLog{Room: p.Room, Player: p.Player, Name: p.Name, Bot: p.Bot, Tick: p.Tick, Counts: p.CommandStats,
		RTT: float64(p.RTT) / float64(time.Millisecond)}
	ticks := func(t clock.TickFrac) float64 { return float64(t) / clock.FracPerTick }
	for _, x := range p.Receipts {
		shot := shotLog{Tick: x.Tick, Stated: ticks(x.Stated), Used: ticks(x.Used), Bound: ticks(x.Bound),
			Reason: x.Reason.String(), Verdict: x.Verdict.String(), Target: x.Target, Claimed: x.Claimed}
		if x.Off >= 0 {
			shot.Off = &x.Off
		}
		l.Receipts = append(l.Receipts, shot)
	}
	return l
}
