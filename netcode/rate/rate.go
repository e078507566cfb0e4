// Package rate limits what a sender puts on a path.
//
// A [Window] keeps the promise that no second carries more than a budget. [RTT] estimates the round
// trip and the time after which a packet counts as lost. A [Capacity] estimates which rate the path
// carries, between a floor and a ceiling. [Limit] bounds the bytes in flight, so that no queue
// builds up below the program. A [OneWay] measures the queue on one way of a path.
//
// The caller passes the time. Nothing here allocates once made (a Window: once a second has had as
// many datagrams), and nothing is safe for concurrent use; each value belongs to one connection.
package rate

import (
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// BytesPerSecond is a rate on the wire: datagrams with wire.Overhead each.
type BytesPerSecond int

// Limits of a budget.
const (
	MinBudget BytesPerSecond = 100
	MaxBudget BytesPerSecond = 1 << 30
)

func (b BytesPerSecond) validate(name string) error {
	if b < MinBudget || b > MaxBudget {
		return fault.Errorf("rate: %s %d B/s is outside [%d, %d]", name, b, MinBudget, MaxBudget)
	}
	return nil
}

// windowSpan is the stretch of time over which a Window adds up.
const windowSpan = time.Second

// windowSlots bounds the memory of a Window. When more datagrams than this lie in one windowSpan,
// neighbours count as one, at the later of their times. That can only delay the next datagram.
const windowSlots = 64

// A Window keeps an exact promise: in no stretch of one second, wherever it begins, do the
// datagrams sent exceed the budget. Each is charged with its bytes + wire.Overhead. A stretch
// includes its first instant and not its last.
//
// The promise is about the instants passed to Spend. Where the edge sends datagrams later than
// that, by a time that differs from one to the next, set Guard to the longest such time.
type Window struct {
	// Guard lengthens the windowSpan for which a datagram counts. Negative counts as 0.
	Guard time.Duration

	budget      int
	sum         int
	first, used int
	slots       []windowSlot // ring of a power of two, as many as there ever were at once, windowSlots at most
}

type windowSlot struct {
	at    clock.Time
	bytes uint32
}

// NewWindow returns an empty Window with the given budget, in [MinBudget, MaxBudget].
func NewWindow(budget BytesPerSecond) (*Window, error) {
	w := &Window{}
	return w, w.SetBudget(budget)
}

// SetBudget changes the budget. What was sent under an old, larger one counts on: sending stops
// until the last second fits the new one.
func (w *Window) SetBudget(budget BytesPerSecond) error {
	if err := budget.validate("Budget"); err != nil {
		return err
	}
	w.budget = int(budget)
	return nil
}

// Room returns the largest datagram, in bytes without overhead, that may be sent now; 0 if none.
func (w *Window) Room(now clock.Time) int {
	w.forget(now)
	return max(w.budget-w.sum-wire.Overhead, 0)
}

// Spend charges a datagram of size bytes, without overhead, and reports whether it fits. If it does
// not fit, nothing is charged and it must not be sent. Time must not run backwards; a now before
// that of the last Spend counts as that.
func (w *Window) Spend(now clock.Time, size int) bool {
	now = max(now, w.newest())
	w.forget(now)
	cost := size + wire.Overhead
	if size < 0 || w.sum+cost > w.budget {
		return false
	}
	w.sum += cost
	if w.used > 0 {
		if last := w.slot(w.used - 1); last.at == now || w.used == windowSlots {
			last.at = now
			last.bytes += uint32(cost)
			return true
		}
	}
	if w.used == len(w.slots) {
		grown := make([]windowSlot, max(2*w.used, 8))
		for i := range w.used {
			grown[i] = *w.slot(i)
		}
		w.first, w.slots = 0, grown
	}
	*w.slot(w.used) = windowSlot{now, uint32(cost)}
	w.used++
	return true
}

// slot returns the i-th oldest datagram of the window.
func (w *Window) slot(i int) *windowSlot { return &w.slots[(w.first+i)&(len(w.slots)-1)] }

// When returns the first instant, not before now, at which a datagram of size bytes fits if none is
// sent until then. It is false for a datagram larger than the budget, which never fits.
func (w *Window) When(now clock.Time, size int) (clock.Time, bool) {
	w.forget(now)
	need := w.sum + size + wire.Overhead - w.budget
	if need <= 0 {
		return now, true
	}
	for i := range w.used {
		s := w.slot(i)
		if need -= int(s.bytes); need <= 0 {
			return s.at.Add(w.span()), true
		}
	}
	return 0, false
}

// Used returns the bytes of the last second, overhead included.
func (w *Window) Used(now clock.Time) int {
	w.forget(now)
	return w.sum
}

func (w *Window) span() time.Duration { return windowSpan + max(w.Guard, 0) }

func (w *Window) newest() clock.Time {
	if w.used == 0 {
		return -1 << 63
	}
	return w.slot(w.used - 1).at
}

func (w *Window) forget(now clock.Time) {
	for w.used > 0 && now.Sub(w.slot(0).at) >= w.span() {
		w.sum -= int(w.slot(0).bytes)
		w.first = (w.first + 1) & (len(w.slots) - 1)
		w.used--
	}
}
