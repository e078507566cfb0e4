package snapshot

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/schema"
)

// queue is a client with a budget for so many records of walkers a packet, on a path without loss.
type queue struct {
	*pair
	fit     int
	scratch Scratch
	order   *Order

	paths map[int32]func(tick clock.Tick) geom.Vec2 // of walkers, in metres
	last  map[int32]clock.Tick
	sent  map[int32]int
	gaps  map[int32]clock.Tick // longest between two records
	late  map[int32]int        // records after what was announced
	bound map[int32]uint8
	packs int
}

const (
	queueEvery = 3 // ticks from packet to packet, of 30 a second
	queueSend  = 30 / queueEvery
)

func newQueue(t testing.TB, fit int) *queue {
	return &queue{pair: newPair(t), fit: fit, paths: map[int32]func(clock.Tick) geom.Vec2{}, last: map[int32]clock.Tick{},
		sent: map[int32]int{}, gaps: map[int32]clock.Tick{}, late: map[int32]int{}, bound: map[int32]uint8{}}
}

// walk returns the path of who walks back and forth at a speed, so many metres from the viewer.
func walk(distance, speed float64) func(tick clock.Tick) geom.Vec2 {
	return func(tick clock.Tick) geom.Vec2 {
		return geom.Vec2{X: distance, Y: speed / 30 * math.Abs(float64(tick%60)-30)}
	}
}

func stand(distance float64) func(tick clock.Tick) geom.Vec2 { return walk(distance, 0) }

// add adds a walker, and lets the client see it.
func (q *queue) add(path func(tick clock.Tick) geom.Vec2) int32 {
	i := q.spawn(walkerKind, false)
	q.paths[i] = path
	q.place(i)
	return i
}

func (q *queue) place(i int32) {
	at := q.paths[i](q.tick)
	k := q.h.kinds[walkerKind].PlaceProp()
	q.sims[i][x], q.sims[i][y] = int64(at.X*k.Sim), int64(at.Y*k.Sim)
}

// run lets so many ticks pass. Each packet has the most urgent records that fit, and is
// acknowledged at once.
func (q *queue) run(ticks int, during func()) {
	for range ticks {
		q.begin()
		if during != nil {
			during()
		}
		for _, i := range q.ents {
			q.place(i)
		}
		q.record()
		for _, i := range q.ents {
			q.v.Enter(i, Observed)
		}
		if q.tick%queueEvery == 0 {
			q.packet()
		}
	}
}

func (q *queue) packet() {
	q.v.Look(&Look{Order: q.order, Pace: Pace{Rate: 30, Send: queueSend, Records: uint16(q.fit), MaxClass: 15}})
	q.due = q.v.Due(q.now, rto, queueEvery, q.fit, &q.scratch, q.due[:0])
	q.due = q.due[:min(len(q.due), q.fit)]
	if len(q.due) == 0 {
		return
	}
	q.packs++
	for _, d := range q.due {
		if was, ok := q.last[d.Ent]; ok {
			q.gaps[d.Ent] = max(q.gaps[d.Ent], q.tick-was)
			if !d.start && q.tick-was > queueEvery+motion.Wait(q.bound[d.Ent]) {
				q.late[d.Ent]++
			}
		}
		q.last[d.Ent], q.bound[d.Ent] = q.tick, d.Bound
		q.sent[d.Ent]++
	}
	q.mustArrive(q.write(math.MaxInt))
	q.ack()
}

// begins forgets what was counted so far.
func (q *queue) begins() {
	clear(q.sent)
	clear(q.gaps)
	clear(q.late)
}

// Of two dozen that walk a packet has room for three. Near ones get more records, in proportion up
// to 100 m, and fast ones more than slow ones. Nobody waits for ever, and announcements are kept.
//
// seeds: R20 R21 R24 R41
func TestTurns(t *testing.T) {
	q := newQueue(t, 3)
	var far []int32
	for n := range 12 { // the viewer knows these first, so that they have the first slots
		far = append(far, q.add(walk(150+10*float64(n), 4)))
	}
	at80, at20, at5 := q.add(walk(80, 4)), q.add(walk(20, 4)), q.add(walk(5, 4))
	slow, fast := q.add(walk(40, 0.5)), q.add(walk(40, 8))
	q.run(600, nil)
	q.begins()
	q.run(3000, nil)
	ratio := func(a, b int32) float64 { return float64(q.sent[a]) / float64(q.sent[b]) }
	for _, c := range []struct {
		name        string
		got         float64
		least, most float64
	}{
		{"5 m to 20 m", ratio(at5, at20), 2, 3.5},
		{"20 m to 80 m", ratio(at20, at80), 2.4, 4},
		{"80 m to 260 m", ratio(at80, far[11]), 1.5, 3.5},
		{"8 m/s to 0.5 m/s", ratio(fast, slow), 2.5, 6},
	} {
		if c.got < c.least || c.got > c.most {
			t.Errorf("%s: %.2f times as many records, want %.1f to %.1f", c.name, c.got, c.least, c.most)
		}
	}
	late, records := 0, 0
	for _, i := range q.ents {
		if q.gaps[i] > 90 {
			t.Errorf("a record of %d came %d ticks after the one before", i, q.gaps[i])
		}
		late, records = late+q.late[i], records+q.sent[i]
	}
	if late*25 > records || records < 2900 {
		t.Errorf("%d of %d records came later than announced", late, records)
	}
}

// Records that were announced go before all that can wait for the next packet, however near that is.
func TestPromisesFirst(t *testing.T) {
	q := newQueue(t, 3)
	for i := range 24 {
		q.add(walk(3+float64(i*i)/2, 1.5))
	}
	q.run(600, nil)
	urgent, waiting := 0, 0
	for range 200 {
		for q.run(1, nil); q.tick%queueEvery != queueEvery-1; q.run(1, nil) {
		}
		can := false // something that can wait came before
		for _, d := range q.v.Due(q.now, rto, 1+queueEvery, 24, &q.scratch, nil) {
			waited := q.tick - q.last[d.Ent]
			switch must := waited+1 > motion.Wait(q.bound[d.Ent]); {
			case !must && waited > 45: // it has waited for long enough
			case !must:
				can, waiting = true, waiting+1
			case can:
				t.Fatalf("tick %d: entity %d was announced and comes after what can wait", q.tick, d.Ent)
			default:
				urgent++
			}
		}
	}
	if urgent < 50 || waiting < 500 {
		t.Errorf("only %d records were announced, %d could wait", urgent, waiting)
	}
}

// First sights come before records of what is known, the nearest first; and what begins to move
// comes before what moves all the time.
//
// seeds: R23 R47
func TestNewcomersFirst(t *testing.T) {
	q := newQueue(t, 4)
	for n := range 10 {
		q.add(walk(10+float64(n), 4))
	}
	starts := 0
	sleeper := q.add(func(tick clock.Tick) geom.Vec2 {
		if starts == 0 {
			return geom.Vec2{X: 90}
		}
		return walk(90, 4)(tick)
	})
	q.run(300, nil)
	q.begin()
	var ids []int32
	for _, d := range []float64{60, 20, 40, 3} {
		ids = append(ids, q.add(stand(d)))
	}
	q.record()
	for _, i := range ids {
		q.v.Enter(i, Observed)
	}
	q.v.Look(&Look{Pace: Pace{Rate: 30, Send: queueSend, Records: 4, MaxClass: 15}})
	var got []int32
	for _, d := range q.v.Due(q.now, rto, queueEvery, 8, &q.scratch, nil)[:4] {
		if got = append(got, d.Ent); !d.First {
			t.Errorf("%d is no first sight", d.Ent)
		}
	}
	if want := []int32{ids[3], ids[1], ids[2], ids[0]}; !slices.Equal(got, want) {
		t.Errorf("first sights of %v, want %v: at 3, 20, 40 and 60 m", got, want)
	}
	q.run(120, nil)
	q.begins()
	starts = 1
	for q.sent[sleeper] == 0 && q.packs < 1000 {
		q.run(1, nil)
	}
	if got := q.tick % queueEvery; got != 0 || q.last[sleeper] != q.tick {
		t.Errorf("the sleeper's start came at tick %d", q.last[sleeper])
	}
	if q.sent[q.ents[0]] > 1 {
		t.Errorf("what begins to move waited for %d packets", q.sent[q.ents[0]])
	}
}

// Where nothing is announced nobody waits for longer than a second and a half, if that can be helped,
// however little its error grows.
func TestNobodyWaitsLong(t *testing.T) {
	q := newQueue(t, 4)
	q.order = &Order{Unannounced: true}
	for n := range 24 {
		q.add(walk(5+float64(n)/4, 8))
	}
	far := q.add(walk(2000, 0.5))
	q.run(300, nil)
	q.begins()
	q.run(1500, nil)
	if longest := q.gaps[far]; longest > 72 || q.sent[far] > 60 {
		t.Errorf("%d records, %d ticks apart at most, want at most 72", q.sent[far], longest)
	}
}

// What rests and is known is not looked at; whatever then happens to it is sent.
func TestQuiet(t *testing.T) {
	q := newQueue(t, 50)
	health := int64(0)
	for n := range 20 {
		q.add(stand(5 + float64(n)))
	}
	q.run(60, nil)
	quiet := func() int { return q.v.slots.quiet.count() }
	if quiet() != 20 {
		t.Fatalf("of 20 that rest %d are looked at", 20-quiet())
	}
	q.begins()
	q.run(60, nil)
	if len(q.sent) != 0 {
		t.Fatalf("records of %d that rest", len(q.sent))
	}
	q.run(queueEvery, func() { health++; q.sims[q.ents[7]][walkerHealth] = health })
	if q.sent[q.ents[7]] == 0 || len(q.sent) != 1 {
		t.Errorf("after a change records of %v", q.sent)
	}
	q.run(60, nil)
	q.v.Resync()
	q.begins()
	q.run(queueEvery, nil)
	if len(q.sent) != 20 {
		t.Errorf("after a resync records of %d, want 20", len(q.sent))
	}
	q.run(60, nil)
	q.begins()
	q.begin()
	q.record()
	q.v.far(q.ents[3], 1<<50)
	if q.v.slots.quiet.has(3) && len(q.h.rules[walkerKind].levels) > 0 {
		t.Error("at another level nothing is due")
	}
}

// From record to record the bound grows by no more than the time between them, so that the drawn
// time runs at half of real time at least, and shrinks by no more than a third of it, so that it
// runs half faster at most, whatever is wanted and whichever records are lost.
func TestBoundsChangeSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &View{h: &History{tick: 1}, pace: Pace{Rate: 30, Send: 10, MaxClass: 15}}
		var times timetable
		times.follow(&v.pace)
		var d Candidate
		type announced struct{ at, wait clock.Tick }
		var all []announced
		for range rapid.IntRange(2, 60).Draw(t, "records") {
			v.line = int32(rapid.IntRange(0, 60*octave<<lineShift).Draw(t, "line"))
			d.Bound, _ = v.announce(200, &d, &times)
			d.announced = v.h.tick
			all = append(all, announced{v.h.tick, motion.Wait(d.Bound)})
			v.h.tick += clock.Tick(rapid.IntRange(1, 50).Draw(t, "ticks"))
		}
		for i, a := range all {
			for _, b := range all[i+1:] {
				gap := b.at - a.at
				if b.wait > a.wait+gap || b.wait+gap/3 < a.wait {
					t.Fatalf("from %d ticks at %d to %d ticks at %d", a.wait, a.at, b.wait, b.at)
				}
			}
		}
	})
}

// The announced class is enough for the period at any rates, and at most one more than that; after
// a rest it is announced at once.
func TestClassOfAPeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 240).Draw(t, "rate")
		v := &View{h: &History{tick: 1000}, pace: Pace{Rate: uint16(rate), MaxClass: 15,
			Send: uint16(rapid.IntRange(1, rate).Draw(t, "send"))}}
		var times timetable
		times.follow(&v.pace)
		v.line = int32(rapid.IntRange(0, 60*octave<<lineShift).Draw(t, "line"))
		class, _ := v.announce(200, &Candidate{announced: 1, Bound: 9, start: true}, &times)
		want := v.period(200)
		if times.lasts[class] < want && class < 15 || class > 0 && times.lasts[class-1] >= want*5/4 {
			t.Fatalf("class %d for %d/16 ticks: %d; the class before: %d", class, want, times.lasts[class],
				times.lasts[max(class, 1)-1])
		}
		if most := times.promised[class] * 16; times.lasts[class] > most {
			t.Fatalf("class %d: the record comes after %d/16 ticks, later than %d", class, times.lasts[class], most)
		}
	})
}

// Where there is room again, what was announced to come seldom comes often again, and is drawn less
// late, step by step.
func TestBoundsComeDown(t *testing.T) {
	q := newQueue(t, 2)
	for n := range 24 {
		q.add(walk(20+float64(n), 4))
	}
	q.run(600, nil)
	if b := q.bound[q.ents[10]]; b < 6 {
		t.Fatalf("with room for 2 of 24 class %d is announced", b)
	}
	q.fit = 100
	q.run(300, nil)
	for _, i := range q.ents {
		if q.bound[i] != 0 {
			t.Errorf("with room for all class %d is announced", q.bound[i])
		}
	}
}

// A rider is as urgent, and so drawn as late, as its parent: where it steps off, both are shown at
// the same time.
func TestRidersAreAsLateAsTheirParents(t *testing.T) {
	type ship struct {
		Pos vec2 `net:"pos"`
	}
	type rider struct {
		On  uint32 `net:"handle,parent"`
		Pos vec2   `net:"pos"`
	}
	var ks []*schema.Kind
	for _, v := range []any{ship{}, rider{}} {
		k, err := schema.New(reflect.TypeOf(v).Name(), reflect.TypeOf(v), 30)
		if err != nil {
			t.Fatal(err)
		}
		ks = append(ks, k)
	}
	p := pairOf(t, ks)
	p.begin()
	far, man, swimmer := p.spawn(0, false), p.spawn(1, false), p.spawn(1, false)
	p.sims[far][0] = int64(60 * ks[0].PlaceProp().Sim)
	p.sims[man][0], p.sims[man][1] = 1, int64(40*ks[1].PlaceProp().Sim)
	p.sims[swimmer][1] = int64(100 * ks[1].PlaceProp().Sim)
	p.record()
	for _, i := range []int32{far, man, swimmer} {
		p.v.Enter(i, Observed)
	}
	p.v.Look(&Look{Pace: Pace{Rate: 30, Send: 10, Records: 1, MaxClass: 15}})
	var w []int
	for n := range p.v.slots.used {
		w = append(w, int(p.v.slots.list[n].weight))
	}
	if w[0] != w[1] || w[1] == w[2] {
		t.Errorf("weights %v of a ship, of a man on it, and of a swimmer", w)
	}
}

// Boosts make records of an entity come more often, and an Order decides what goes first.
func TestBoostsAndOrders(t *testing.T) {
	q := newQueue(t, 1)
	for range 5 {
		q.add(walk(30, 4))
	}
	q.run(30, nil)
	p := Pace{Rate: 30, Send: queueSend, Records: 1, MaxClass: 15}
	q.v.Look(&Look{Pace: p, Boosts: []Boost{{q.ents[2], 4}}})
	list := q.v.slots.list
	if d := int(list[2].weight) - int(list[1].weight); d != 2*octave {
		t.Errorf("four times as urgent weighs %d more, want %d", d, 2*octave)
	}
	q.v.Look(&Look{Pace: p, Order: &Order{Weight: func(distance, speed int64) int { return int(distance / 1000) }}})
	if list[0].weight < 30 || list[0].weight > 60 {
		t.Errorf("another order weighs %d", list[0].weight)
	}
}
