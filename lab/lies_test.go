package lab

import (
	"testing"
	"time"

	"meanwhile/netcode/rewind"
	"meanwhile/netsim"
)

// A client that lies about the time of its picture, or about the packets in it, is not judged by a
// picture much older than the honest one; without the check that is there for it, it is.
//
// seeds: B17
func TestLiesDoNotPay(t *testing.T) {
	const span = 15 * time.Second
	honest, err := playLiar(&lie{}, 0, 1, netsim.LAN, span, 0)
	if err != nil || len(honest.ages) < 90 {
		t.Fatalf("%d shots of an honest client, %v", len(honest.ages), err)
	}
	if honest.stats.Clamped != 0 || honest.stats.Suspicion != 0 {
		t.Errorf("%d shots of an honest client are not believed, suspicion %d", honest.stats.Clamped, honest.stats.Suspicion)
	}
	for _, c := range []struct {
		name  string
		size  time.Duration
		most  float64 // ms
		check rewind.Checks
	}{
		{"older", 500 * lieUnit, 30, rewind.CheckPath},
		{"older-shot", 500 * lieUnit, 30, rewind.CheckPath | rewind.CheckJumps},
		{"older-rest", 500 * lieUnit, 30, rewind.CheckPath},
		{"no-time", 500 * lieUnit, 30, 0},
		{"jitter", 500 * lieUnit, 30, rewind.CheckPath | rewind.CheckJumps},
		{"newer-shot", 500 * lieUnit, 30, 0},
		{"packets", 250 * lieUnit, 30, rewind.CheckPackets},
		{"packets-shot", 250 * lieUnit, 30, 0},
		{"early", 500 * lieUnit, 30, rewind.CheckEarly},
		{"acks-withheld", 500 * lieUnit, 50, rewind.CheckPath | rewind.CheckJumps},
		{"acks-never", 500 * lieUnit, 50, rewind.CheckPath | rewind.CheckJumps},
		{"lag-relabelled", 250 * lieUnit, 70, rewind.CheckPath | rewind.CheckJumps},
		{"lag-relabelled", 500 * lieUnit, 70, rewind.CheckPath | rewind.CheckJumps},
	} {
		of := &lies[lieNamed(t, c.name)]
		gain := func(without rewind.Checks) float64 {
			span := span
			if of.only { // fewer shots, and who sends late or acknowledges nothing sees older pictures itself
				span *= 3
			}
			got, err := playLiar(of, c.size, 1, netsim.LAN, span, without)
			if err != nil {
				t.Fatal(err)
			}
			if of.only {
				if suspicion := got.stats.Suspicion; without == 0 && suspicion < 10 {
					t.Errorf("%s: the suspicion is %d", c.name, suspicion)
				}
				return max(ageAt(got.beyond, 0.5), ageAt(got.beyond, 0.98))
			}
			return max(got.at(0.5)-honest.at(0.5), got.at(0.98)-honest.at(0.98))
		}
		if got := gain(0); got > c.most {
			t.Errorf("%s gains %.0f ms, want at most %.0f", c.name, got, c.most)
		}
		if got := gain(c.check); c.check != 0 && got < c.most+20 {
			t.Errorf("%s gains %.0f ms without its check, as little as with it", c.name, got)
		}
	}
}

func lieNamed(t *testing.T, name string) int {
	for i := range lies {
		if lies[i].name == name {
			return i
		}
	}
	t.Fatalf("there is no lie %q", name)
	return 0
}
