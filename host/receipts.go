package host

import (
	"cmp"
	"maps"
	"slices"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/rewind"
	"meanwhile/server"
)

// PlayerReceipts says how the newest shots of one player were judged.
type PlayerReceipts struct {
	Room   string
	Player server.PlayerID
	Name   string
	Bot    bool
	Tick   clock.Tick // of the room
	server.PlayerStats
	Receipts []server.Receipt // the newest, the oldest first
}

// odd is the share of a player's shots, in 1/1000, that were judged by another picture than the
// client claims or hit something else.
func (p *PlayerReceipts) odd() uint64 {
	odd, all := p.Disagreed, p.Agreed+p.Disagreed
	for _, x := range p.Receipts {
		if all++; x.Reason != rewind.Exact && x.Reason != rewind.None && x.Reason != rewind.Off {
			odd++
		}
	}
	return odd * 1000 / max(all, 1)
}

// Receipts returns how the newest shots of each player were judged, of those who have shot: of one
// room, or of all where room is empty. The most suspect come first, and of equally suspect ones
// those whose shots differ most from what their clients claim: bad networks and cheats. It waits
// for a tick of each room.
func (h *Host) Receipts(room string) (list []PlayerReceipts) {
	h.mu.Lock()
	alive := slices.Collect(maps.Keys(h.alive))
	h.mu.Unlock()
	for _, r := range alive {
		if room != "" && r.name != room {
			continue
		}
		r.call(func() {
			for _, p := range r.order {
				if receipts := r.srv.Receipts(p.id, nil); len(receipts) > 0 {
					stats, _ := r.srv.Stats(p.id)
					list = append(list, PlayerReceipts{Room: r.name, Player: p.id, Name: p.name, Bot: p.bot,
						Tick: r.srv.Tick(), PlayerStats: stats, Receipts: receipts})
				}
			}
		})
	}
	slices.SortFunc(list, func(a, b PlayerReceipts) int {
		return cmp.Or(
			cmp.Compare(b.Suspicion, a.Suspicion),
			cmp.Compare(b.odd(), a.odd()),
			cmp.Compare(a.Room, b.Room),
			cmp.Compare(a.Player, b.Player),
		)
	})
	return list
}
