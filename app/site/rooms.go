package site

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"meanwhile/host"
	"meanwhile/netcode/clock"
)

// usualRooms is how many rooms /rooms lists where ?n= asks for no other number.
const usualRooms = 20

// A roomLog is a room in the answer to /rooms. Counters are of all its time.
type roomLog struct {
	Room    string     `json:"room"` // strangers choose it
	Players int        `json:"players"`
	Absent  int        `json:"absent"` // of these
	Bots    int        `json:"bots"`
	Tick    clock.Tick `json:"tick"`
	Load    float64    `json:"load"`    // the part of the last second that it spent in ticks
	Stretch float64    `json:"stretch"` // how much slower its time runs; 1 is as it should be
	// Busy is spent in ticks, Longest in the longest of them.
	Busy    float64 `json:"busy_s"`
	Longest float64 `json:"longest_tick_ms"`
	Played  float64 `json:"played_s"` // by humans, all together
	// Sent and Lost are datagrams to humans.
	Sent  uint64 `json:"sent"`
	Lost  uint64 `json:"lost"`
	Bytes uint64 `json:"sent_bytes"` // to humans, 42 for each datagram included
	// Hitches are those that the server concludes from commands; the others are what clients claim.
	Hitches             uint64 `json:"hitches"`
	ReportedHitches     uint64 `json:"reported_hitches"`
	ReportedStalls      uint64 `json:"reported_stalls"`
	ReportedCorrections uint64 `json:"reported_corrections"`
	Faults              uint64 `json:"faults"` // callbacks of the rules that panicked
	Suspicion           int    `json:"suspicion"`
	// Bits are the properties whose values take most of the bits of records, the largest first.
	Bits []share `json:"bits,omitempty"`
}

// mostShares is how many properties of a room /rooms names.
const mostShares = 5

// A share is the part of the bits of a room's records that one property takes.
type share struct {
	Of    string  `json:"of"` // kind and property; head: of its records
	Share float64 `json:"share"`
}

// sharesOf returns the largest shares.
func sharesOf(list []host.Spending) (shares []share) {
	all := 0.0
	for _, b := range list {
		all += float64(b.Bits)
	}
	slices.SortStableFunc(list, func(a, b host.Spending) int { return cmp.Compare(b.Bits, a.Bits) })
	for _, b := range list[:min(len(list), mostShares)] {
		if b.Bits > 0 {
			shares = append(shares, share{b.Kind + "." + cmp.Or(b.Property, "head"), float64(b.Bits) / all})
		}
	}
	return shares
}

// rooms serves the rooms that cost most, the costliest first: ?n= of them.
func (s *Site) rooms(w http.ResponseWriter, r *http.Request) {
	n, err := usualRooms, error(nil)
	if text := r.FormValue("n"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			http.Error(w, "n is a number of rooms, 1 or more.", http.StatusBadRequest)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(costliest(s.host, s.host.Stats().Rooms, n)) // whoever asked has gone
}

// costliest returns up to n rooms, those with the highest load first, then those with most players.
func costliest(h *host.Host, rooms []host.RoomStats, n int) []roomLog {
	slices.SortStableFunc(rooms, func(a, b host.RoomStats) int {
		return cmp.Or(cmp.Compare(b.Load, a.Load), cmp.Compare(b.Players+b.Bots, a.Players+a.Bots))
	})
	list := []roomLog{}
	for _, r := range rooms[:min(n, len(rooms))] {
		l := roomLog{Room: r.Name, Players: r.Players, Absent: r.Absent, Bots: r.Bots, Tick: r.Tick, Load: r.Load,
			Stretch: r.Stretch, Busy: r.Busy.Seconds(), Longest: float64(r.Longest) / float64(time.Millisecond),
			Faults: r.Faults, Suspicion: r.Suspicion, Bits: sharesOf(h.Spendings(r.RecordBits))}
		for i := range r.Transports {
			t := &r.Transports[i]
			l.Played += t.Played.Seconds()
			l.Sent, l.Lost, l.Bytes = l.Sent+t.Sent, l.Lost+t.Lost, l.Bytes+t.SentBytes
			l.Hitches, l.ReportedHitches = l.Hitches+t.Hitches, l.ReportedHitches+t.ReportedHitches
			l.ReportedStalls, l.ReportedCorrections = l.ReportedStalls+t.Stalls, l.ReportedCorrections+t.Corrections
		}
		list = append(list, l)
	}
	return list
}
