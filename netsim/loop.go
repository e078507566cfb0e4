package netsim

import (
	"time"

	"meanwhile/netcode/clock"
)

// A Loop is virtual time: a queue of events, run in the order of their times and, at equal times,
// in the order in which they were added. The zero Loop begins at time 0. It is not safe for
// concurrent use.
type Loop struct {
	now   clock.Time
	heap  []event
	order uint64
}

type event struct {
	at    clock.Time
	order uint64
	fn    func()
}

// Now returns the virtual time: that of the event that is running or ran last, or where Run ended.
func (l *Loop) Now() clock.Time { return l.now }

// At adds an event. One that lies in the past runs next, at the present time.
func (l *Loop) At(t clock.Time, fn func()) {
	l.heap = append(l.heap, event{max(t, l.now), l.order, fn})
	l.order++
	for i := len(l.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !l.less(i, parent) {
			return
		}
		l.heap[i], l.heap[parent] = l.heap[parent], l.heap[i]
		i = parent
	}
}

// After adds an event that lies d ahead.
func (l *Loop) After(d time.Duration, fn func()) { l.At(l.now.Add(d), fn) }

// Every runs fn at the time first and then with the given period, until it returns false. A period
// of 0 or less runs once.
func (l *Loop) Every(first clock.Time, period time.Duration, fn func() bool) {
	next := max(first, l.now)
	var run func()
	run = func() {
		if fn() && period > 0 {
			next = next.Add(period)
			l.At(next, run)
		}
	}
	l.At(next, run)
}

// Next returns the time of the next event, or false if there is none.
func (l *Loop) Next() (clock.Time, bool) {
	if len(l.heap) == 0 {
		return 0, false
	}
	return l.heap[0].at, true
}

// Step runs the next event and reports whether there was one.
func (l *Loop) Step() bool {
	if len(l.heap) == 0 {
		return false
	}
	e := l.heap[0]
	k := len(l.heap) - 1
	l.heap[0] = l.heap[k]
	l.heap[k] = event{}
	l.heap = l.heap[:k]
	for i := 0; ; {
		child := 2*i + 1
		if child >= k {
			break
		}
		if child+1 < k && l.less(child+1, child) {
			child++
		}
		if !l.less(child, i) {
			break
		}
		l.heap[i], l.heap[child] = l.heap[child], l.heap[i]
		i = child
	}
	l.now = e.at
	e.fn()
	return true
}

// Run runs all events up to and including the time until, those that they add too, and leaves Now
// at until.
func (l *Loop) Run(until clock.Time) {
	for len(l.heap) > 0 && l.heap[0].at <= until {
		l.Step()
	}
	l.now = max(l.now, until)
}

func (l *Loop) less(i, j int) bool {
	a, b := &l.heap[i], &l.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}
