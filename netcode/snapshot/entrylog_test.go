package snapshot

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/netcode/clock"
)

// What the log notes of entries comes back as it was.
func TestEntryLog(t *testing.T) {
	type based struct {
		age          clock.Tick
		level, bound uint8
	}
	rapid.Check(t, func(t *rapid.T) {
		var w logWriter
		var want []logEntry
		var bases []based
		w.begin(nil)
		for slot, runs := -1, 0; ; {
			slot += 1 + rapid.OneOf(rapid.IntRange(0, 10), rapid.IntRange(0, 600)).Draw(t, "gap")
			if slot >= Slots || len(want) > 50+50*runs {
				if slot, runs = -1, runs+1; runs < 2 {
					continue
				}
				break
			}
			e := logEntry{slot: uint16(slot), level: uint8(rapid.IntRange(0, 3).Draw(t, "level")),
				bound: uint8(rapid.IntRange(0, 15).Draw(t, "bound"))}
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				e.gone = true
			case 1:
				e.gone, e.groups = true, uint32(rapid.IntRange(1, 15).Draw(t, "groups"))
			case 2:
				e.groups = 1 << OwnerGroup
			default:
				e.groups = uint32(rapid.SampledFrom([]int{1, 1, 1, 2, 3, 15}).Draw(t, "groups"))
			}
			e.based = !e.gone && rapid.Bool().Draw(t, "based")
			w.put(e)
			want = append(want, e)
			for set := e.groups; e.based && set != 0; set &= set - 1 {
				b := based{clock.Tick(rapid.Uint32().Draw(t, "age")), e.level, e.bound}
				if rapid.Bool().Draw(t, "other") {
					b.level, b.bound = uint8(rapid.IntRange(0, 3).Draw(t, "level")), uint8(rapid.IntRange(0, 15).Draw(t, "bound"))
				}
				w.base(&e, b.age, b.level, b.bound)
				bases = append(bases, b)
			}
		}
		var only slotSet // what a walk for some slots must find: what one for all of them finds
		for _, slot := range rapid.SliceOfN(rapid.Uint16Range(0, Slots-1), 0, 40).Draw(t, "only") {
			only.add(slot)
		}
		var some logReader
		some.begin(w.b)
		for i := range want {
			if only.has(want[i].slot) && (!some.nextOf(&only, false) || some.logEntry != want[i]) {
				t.Fatalf("of %d entries one for some slots is %+v, want %+v", i, some.logEntry, want[i])
			}
		}
		if some.nextOf(&only, false) {
			t.Fatalf("entry %+v is one too many", some.logEntry)
		}
		skip := rapid.Bool().Draw(t, "skip")
		var r logReader
		n := 0
		for r.begin(w.b); r.next(); n++ {
			if n >= len(want) || r.logEntry != want[n] {
				t.Fatalf("entry %d is %+v, want %+v", n, r.logEntry, want[n])
			}
			for r.bases > 0 && !skip {
				if age, level, bound := r.base(); (based{age, level, bound}) != bases[0] {
					t.Fatalf("based on %d %d %d, want %+v", age, level, bound, bases[0])
				}
				bases = bases[1:]
			}
		}
		if n != len(want) {
			t.Fatalf("%d entries, want %d", n, len(want))
		}
	})
}

// A walk for others ends where the ordinary updates begin, unless nothing stands before them. A slot
// may have two entries.
func TestEntryLogOthers(t *testing.T) {
	var w logWriter
	w.begin(nil)
	slots := []uint16{3, 9, 9, 200, 2, 3, 511}
	for _, slot := range slots {
		w.put(logEntry{slot: slot, groups: 1})
	}
	var all slotSet
	for _, slot := range slots {
		all.add(slot)
	}
	for _, others := range []bool{false, true} {
		want := slots
		if others {
			want = slots[:4]
		}
		var r logReader
		var got []uint16
		for r.begin(w.b); r.nextOf(&all, others); {
			got = append(got, r.slot)
		}
		if !slices.Equal(got, want) {
			t.Errorf("others %v: slots %v, want %v", others, got, want)
		}
	}
}
