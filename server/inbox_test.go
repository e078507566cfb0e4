package server

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

// An inbox returns each stored command at its tick, whatever is stored in between, and knows which
// ticks arrived.
func TestInbox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b inbox
		stored, came := map[clock.Tick]packet.Command{}, map[clock.Tick]bool{}
		ran, newest := clock.Tick(rapid.IntRange(1, 300).Draw(t, "start")), clock.Tick(0)
		var got packet.Command
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				tick := ran + clock.Tick(rapid.IntRange(1, MaxAhead).Draw(t, "ahead"))
				vals := []int64{int64(tick), rapid.Int64().Draw(t, "value")}
				c := packet.Command{Tick: tick, Vals: vals, Seen: tick.Frac() - 700, Newest: wire.Seq(tick),
					Without: uint64(tick) << 9, Moment: uint8(tick), Claim: packet.Claim(tick)}
				back := rapid.IntRange(0, packet.MaxEyeBack*clock.FracPerTick).Draw(t, "eye")
				if c.Eye = packet.BoundEye((tick-1).Frac()-clock.TickFrac(back), tick); rapid.Bool().Draw(t, "nobody looks") {
					c.Eye = 0
				}
				b.arrive(tick)
				b.put(&c, time.Duration(tick)*2, ran)
				stored[tick], came[tick], newest = c, true, max(newest, tick)
			},
			"run": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "ticks") {
					ran++
					waits, ok := b.take(ran, &got)
					want, here := stored[ran]
					if ok != here {
						t.Fatalf("command %d is there: %v, want %v", ran, ok, here)
					}
					if ok && (waits != time.Duration(ran)*2 || !reflect.DeepEqual(got, want)) {
						t.Fatalf("command %d is %+v, want %+v", ran, got, want)
					}
				}
			},
			"": func(t *rapid.T) {
				for tick := newest + 3; tick > 0 && newest-min(tick, newest) < cmdWindow; tick-- {
					if b.arrived(tick) != came[tick] {
						t.Fatalf("tick %d came: %v, want %v", tick, b.arrived(tick), came[tick])
					}
				}
				if len(b.slots) > cmdWindow {
					t.Fatalf("room for %d commands", len(b.slots))
				}
			},
		})
	})
}
