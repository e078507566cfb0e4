package site

import (
	"encoding/json"
	"net/http"
	"time"

	"meanwhile/game"
	"meanwhile/host"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/rewind"
	"meanwhile/server"
)

// A playerLog is a player in the answer to /receipts.
type playerLog struct {
	Room   string          `json:"room"`
	Player server.PlayerID `json:"player"`
	Name   string          `json:"name"`
	Bot    bool            `json:"bot"`
	Tick   clock.Tick      `json:"tick"` // of the room now
	RTT    float64         `json:"rtt_ms"`
	// Suspicion is that of server.CommandStats, Agreement the share of shots that agreed; null
	// without any.
	Suspicion int       `json:"suspicion"`
	Agreement *float64  `json:"agreement"`
	Counts    countLog  `json:"counts"`
	Receipts  []shotLog `json:"receipts"`
}

// A countLog counts a player's shots since it joined. Those judged by the present are neither
// agreed nor disagreed.
type countLog struct {
	Judged       uint64            `json:"judged"`
	Clamped      uint64            `json:"clamped"`
	Reasons      map[string]uint64 `json:"reasons"`
	Agreed       uint64            `json:"agreed"`
	Disagreed    uint64            `json:"disagreed"`
	Contradicted uint64            `json:"contradicted"`
	Late         uint64            `json:"late"`
	Starved      uint64            `json:"starved"`
}

// A shotLog is one receipt of a player, the oldest first: how old the picture was that the client
// stated, that was used, and that would have been the oldest.
type shotLog struct {
	Tick    clock.Tick `json:"tick"`
	Stated  float64    `json:"stated_ms"`
	Used    float64    `json:"used_ms"`
	Bound   float64    `json:"bound_ms"`
	Reason  string     `json:"reason"`
	Verdict string     `json:"verdict"`
	Target  game.ID    `json:"target"`
	Claimed game.ID    `json:"claimed"`
	Off     *int32     `json:"off_mm"` // null where it is not known
}

// receipts serves how the newest shots of each player were judged, the most suspect players first,
// of all rooms or of the one that ?room= names.
func (s *Site) receipts(w http.ResponseWriter, r *http.Request) {
	list := []playerLog{}
	for _, p := range s.host.Receipts(r.FormValue("room")) {
		list = append(list, logOf(&p, s.cfg.Host.Rules.Rate))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(list) // whoever asked has gone
}

func logOf(p *host.PlayerReceipts, rate int) playerLog {
	c := &p.CommandStats
	l := playerLog{Room: p.Room, Player: p.Player, Name: p.Name, Bot: p.Bot, Tick: p.Tick,
		RTT: float64(p.RTT) / float64(time.Millisecond), Suspicion: c.Suspicion,
		Counts: countLog{c.Judged, c.Clamped, map[string]uint64{}, c.Agreed, c.Disagreed, c.Contradicted, c.Late, c.Starved}}
	if all := c.Agreed + c.Disagreed; all > 0 {
		share := float64(c.Agreed) / float64(all)
		l.Agreement = &share
	}
	for why, n := range c.Reasons {
		if n > 0 {
			l.Counts.Reasons[rewind.Reason(why).String()] = n
		}
	}
	for _, x := range p.Receipts {
		age := func(t clock.TickFrac) float64 {
			return float64(x.Tick.Frac()-t) / clock.FracPerTick * 1000 / float64(rate)
		}
		shot := shotLog{Tick: x.Tick, Used: age(x.Used), Bound: age(x.Bound),
			Reason: x.Reason.String(), Verdict: x.Verdict.String(), Target: x.Target, Claimed: x.Claimed}
		if x.Stated != 0 {
			shot.Stated = age(x.Stated)
		}
		if x.Off >= 0 {
			shot.Off = &x.Off
		}
		l.Receipts = append(l.Receipts, shot)
	}
	return l
}
