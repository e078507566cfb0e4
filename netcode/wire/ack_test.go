package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAckHas(t *testing.T) {
	for _, latest := range []Seq{0, 1, 40, 64, 65, 32767, 32768, 65535} { // the window wraps in the first ones
		a := Ack{Latest: latest, History: 1<<63 | 1<<5 | 1}
		for d := -70; d <= 140; d++ {
			applied, known := a.Has(latest - Seq(d))
			if want := d >= 0 && d <= Window; known != want {
				t.Errorf("latest %d: %d before it is known: %v", latest, d, known)
			}
			if want := d == 0 || d == 1 || d == 6 || d == 64; applied != want {
				t.Errorf("latest %d: %d before it is applied: %v", latest, d, applied)
			}
		}
		if applied, known := a.Has(latest + 1<<15); applied || known {
			t.Errorf("latest %d: what lies opposite is applied %v, known %v", latest, applied, known)
		}
	}
}

// naiveReceived remembers every packet, numbered without wrapping.
type naiveReceived struct {
	latest  int64
	applied map[int64]bool
}

func (n *naiveReceived) has(s int64) bool { return s < int64(FirstSeq) || n.applied[s] }

func (n *naiveReceived) accepts(s int64) bool {
	return s > n.latest || s >= n.latest-Window && !n.has(s)
}

// However packets are lost, reordered and repeated, and wherever numbers wrap, the window says what
// a record of everything that ever happened says.
//
// seeds: S1
func TestReceived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Received
		n := &naiveReceived{latest: int64(FirstSeq) - 1, applied: map[int64]bool{}}
		if _, ok := r.Ack(); ok {
			t.Fatal("an ack before the first packet")
		}
		take := func(s int64) {
			accepts := r.Accepts(Seq(s))
			if want := n.accepts(s); accepts != want {
				t.Fatalf("newest %d: packet %d accepted: %v, want %v", n.latest, s, accepts, want)
			}
			if accepts && rapid.IntRange(0, 9).Draw(t, "usable") > 0 {
				r.Applied(Seq(s))
				n.applied[s] = true
				n.latest = max(n.latest, s)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"next": func(t *rapid.T) { take(n.latest + 1) },
			"gap":  func(t *rapid.T) { take(n.latest + int64(rapid.IntRange(2, 80).Draw(t, "gap"))) },
			"leap": func(t *rapid.T) {
				take(n.latest + int64(rapid.OneOf(rapid.IntRange(60, 70), rapid.IntRange(30000, 32767)).Draw(t, "leap")))
			},
			"edge": func(t *rapid.T) {
				take(max(n.latest-int64(rapid.IntRange(Window-2, Window+2).Draw(t, "back")), 0))
			},
			"late": func(t *rapid.T) { take(max(n.latest-int64(rapid.IntRange(0, 2*Window).Draw(t, "back")), 0)) },
			"": func(t *rapid.T) {
				a, ok := r.Ack()
				if ok != (len(n.applied) > 0) {
					t.Fatalf("an ack: %v after %d packets", ok, len(n.applied))
				}
				if !ok {
					return
				}
				if a.Latest != Seq(n.latest) {
					t.Fatalf("newest %d, want %d", a.Latest, n.latest)
				}
				for d := int64(1); d <= Window; d++ {
					if got := a.History>>(d-1)&1 != 0; got != n.has(n.latest-d) {
						t.Fatalf("newest %d: history %#x says %v of %d", n.latest, a.History, got, n.latest-d)
					}
				}
				h := Header{HasAck: true, Ack: a}
				known := Known{Ack: a.Latest - Window - 1}
				if got, _, err := decode(bytesOf(&h, known), false, Known{}, a.Latest+1); err != nil || got.Ack != a {
					t.Fatalf("the ack arrives as %+v, %v; want %+v", got.Ack, err, a)
				}
			},
		})
	})
}

// A session without loss spends next to nothing on its history, from its first packet on: 24 bits
// of stamp, 16 of the number, 5 flags, 13 of the acknowledged number, and a count of 12 bits at
// most.
func TestLosslessAcksAreShort(t *testing.T) {
	var r Received
	for s := FirstSeq; s < 200; s++ {
		if !r.Accepts(s) || r.Accepts(0) {
			t.Fatalf("at packet %d: accepts it %v, accepts number 0 %v", s, r.Accepts(s), r.Accepts(0))
		}
		r.Applied(s)
		if r.Applied(s); r.Accepts(s) {
			t.Fatalf("packet %d is news twice", s)
		}
		a, _ := r.Ack()
		h := Header{HasAck: true, Ack: a}
		if n := len(bytesOf(&h, Known{})); n > 9 {
			t.Fatalf("after packet %d the header has %d bytes: %+v", s, n, a)
		}
	}
}

// Before the first packet of a session, and whichever call comes first, what lies before FirstSeq
// is no news.
func TestReceivedBegins(t *testing.T) {
	for _, s := range []Seq{0, 65535, 65535 - Window, 40000, 1 << 15} {
		var r Received
		if r.Accepts(s) {
			t.Errorf("packet %d is news to a session that begins", s)
		}
	}
	var r Received
	r.Applied(FirstSeq + 1)
	if a, ok := r.Ack(); !ok || a.Latest != FirstSeq+1 || a.History != ^uint64(1) || !r.Accepts(FirstSeq) ||
		r.Accepts(FirstSeq-1) {
		t.Errorf("after packet %d alone: %+v, accepts the first %v, the one before %v", FirstSeq+1, a,
			r.Accepts(FirstSeq), r.Accepts(FirstSeq-1))
	}
}

func BenchmarkReceived(b *testing.B) {
	var r Received
	s := FirstSeq
	for b.Loop() {
		if r.Accepts(s) {
			r.Applied(s)
		}
		s++
	}
}

// A Basis has all packets up to its newest but those that it names, over the end of the numbers,
// too.
func TestBasis(t *testing.T) {
	b := Basis{Newest: 2, Without: 1 | 1<<3 | 1<<63}
	for s, want := range map[Seq]bool{3: false, 2: true, 1: false, 0: true, 65535: true, 65534: false, 65533: true,
		65475: true, 65474: false, 65473: true, 65338: true, 16386: false} {
		if b.Has(s) != want {
			t.Errorf("packet %d: %v, want %v", s, !want, want)
		}
	}
}
