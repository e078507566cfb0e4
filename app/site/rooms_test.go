package site

import (
	"encoding/json"
	"testing"
	"time"

	"meanwhile/host"
)

// The costliest rooms come first, and no more than were asked for.
func TestCostliest(t *testing.T) {
	idle, crowd := host.RoomStats{Name: "idle", Load: 0.1}, host.RoomStats{Name: "crowd", Load: 0.1, Players: 3}
	busy := host.RoomStats{Name: `b"<`, Players: 2, Absent: 1, Bots: 4, Tick: 900, Load: 0.5, Stretch: 1.25, Suspicion: 7}
	busy.Busy, busy.Longest, busy.Faults = 1500*time.Millisecond, 2500*time.Microsecond, 5
	busy.Transports[0] = host.PathStats{Played: time.Second, Sent: 10, Lost: 1, SentBytes: 100, Hitches: 2,
		ReportedHitches: 3, Stalls: 4, Corrections: 5}
	busy.Transports[2] = busy.Transports[0]
	h, err := host.New(host.Config{Rules: rules(t)})
	if err != nil {
		t.Fatal(err)
	}
	props := h.Spendings(nil)
	busy.RecordBits = host.RecordBits{make([]uint64, len(props)), make([]uint64, len(props))}
	busy.RecordBits[0][0], busy.RecordBits[0][1], busy.RecordBits[1][1] = 600, 100, 300
	list := costliest(h, []host.RoomStats{idle, busy, crowd}, 2)
	got, err := json.Marshal(list)
	want := `{"room":"b\"\u003c","players":2,"absent":1,"bots":4,"tick":900,"load":0.5,"stretch":1.25,"busy_s":1.5,` +
		`"longest_tick_ms":2.5,"played_s":2,"sent":20,"lost":2,"sent_bytes":200,"hitches":4,"reported_hitches":6,` +
		`"reported_stalls":8,"reported_corrections":10,"faults":5,"suspicion":7,` +
		`"bits":[{"of":"pilot.Pos","share":0.6},{"of":"gem.head","share":0.3},{"of":"pilot.Vel","share":0.1}]}`
	if err != nil || len(list) != 2 || list[1].Room != "crowd" || string(got[1:len(want)+1]) != want {
		t.Errorf("%v\n%s, want\n%s and crowd", err, got, want)
	}
	if list := costliest(h, nil, 3); list == nil || len(list) != 0 {
		t.Errorf("no room at all is %v, want an empty list", list)
	}
}
