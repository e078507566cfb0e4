package estimate

import (
	"time"

	"meanwhile/netcode/clock"
)

// FloorWindow is how far back Ages looks for the least delay, in steps of a fifteenth.
const FloorWindow = 30 * time.Second

const (
	floorParts = 15
	floorPart  = FloorWindow / floorParts
)

// Ages turns arrivals into values for an Estimator.
//
// The age of information is the time since the newest stamp that has arrived. It peaks just before
// something newer arrives, at arrival - previous stamp. The peak contains the sender's interval,
// jitter, loss and reordering at once, while the delay of each single packet would be blind to
// loss. The floor is taken off: the least arrival - stamp of the last FloorWindow, which is the
// network itself and also the difference between the two clocks.
//
// The zero Ages is ready.
type Ages struct {
	_ [0]func() // no == for it, which pages would have to load

	newest clock.Time // stamp
	known  bool
	skip   bool // the next peak is announced silence

	floors least

	held    time.Duration // by the sender, the next arrival
	path    least         // without what the sender held
	shift   Shift
	anew    bool          // the next arrival is the first over another path
	more    time.Duration // by which the least transit rose with the newest arrival
	another bool          // the newest arrival showed another path
}

// Arrive records a packet with the given stamp that arrived at now. fresh says that it is newer
// than all before. x is then how old the newest stamp had become, above the floor. counts is false,
// and x 0, where that age means nothing: for the first packet, and the first after Quiet. A packet
// that is not newer changes only the floor.
func (a *Ages) Arrive(now, stamp clock.Time) (x time.Duration, fresh, counts bool) {
	d := now.Sub(stamp)
	a.look(now, d-a.held)
	a.held = 0
	a.floors.observe(now, d)
	if a.known && stamp <= a.newest {
		return 0, false, false
	}
	previous := a.newest
	counts = a.known && !a.skip
	a.newest, a.known, a.skip = stamp, true, false
	if !counts {
		return 0, true, false
	}
	return max(now.Sub(previous)-a.Floor(), 0), true, true
}

// Quiet records that the sender has announced silence, so that the next peak is no late packet.
func (a *Ages) Quiet() { a.skip = true }

// Newest returns the newest stamp. It is false before the first packet.
func (a *Ages) Newest() (clock.Time, bool) { return a.newest, a.known }

// Age returns how old the newest stamp is at now, above the floor; 0 before the first packet and
// after Quiet.
func (a *Ages) Age(now clock.Time) time.Duration {
	if !a.known || a.skip {
		return 0
	}
	return now.Sub(a.newest) - a.Floor()
}

// Held records how long the sender kept the next packet to arrive after its stamp, where that is
// known. It is no change of the path.
func (a *Ages) Held(d time.Duration) { a.held = d }

// Another reports whether the newest arrival showed that packets come over another path, and by how
// much the floor rose with that.
func (a *Ages) Another() (more time.Duration, another bool) { return a.more, a.another }

// look finds out whether a packet that was under way for d came over another path.
func (a *Ages) look(now clock.Time, d time.Duration) {
	a.more, a.another = 0, false
	if a.anew {
		a.path, a.floors, a.shift, a.anew = least{}, least{}, Shift{}, false
	}
	if floor, any := a.path.find(); any {
		if a.more, a.another = a.shift.Observe(now, d-floor); a.more > 0 {
			d = floor + a.more
			floor, _ = a.floors.find()
			a.path, a.floors = least{}, least{}
			a.floors.observe(now, floor+a.more)
		}
	}
	a.path.observe(now, d)
}

// Floor returns the least arrival - stamp of the last FloorWindow; 0 before the first packet.
func (a *Ages) Floor() time.Duration {
	floor, _ := a.floors.find()
	return floor
}

// least is the least of some spans of the last FloorWindow.
type least struct {
	parts  [floorParts]time.Duration
	filled [floorParts]bool
	part   int64
	begun  bool
}

// find returns the least; any is false where there is none.
func (l *least) find() (d time.Duration, any bool) {
	for i, ok := range l.filled {
		if ok && (!any || l.parts[i] < d) {
			d, any = l.parts[i], true
		}
	}
	return d, any
}

func (l *least) observe(now clock.Time, d time.Duration) {
	part := max(int64(now)/int64(floorPart), l.part)
	if !l.begun {
		l.begun, l.part = true, part
	}
	for range min(part-l.part, floorParts) {
		l.part++
		l.filled[l.part%floorParts] = false
	}
	l.part = part
	if i := l.part % floorParts; !l.filled[i] || d < l.parts[i] {
		l.parts[i], l.filled[i] = d, true
	}
}

// AnotherPath says that what arrives from now on comes over another path. The floor stays until
// something does.
func (a *Ages) AnotherPath() { a.anew, a.skip = true, true }

// Reset forgets everything, for a new path or a clock that was set.
func (a *Ages) Reset() { *a = Ages{} }
