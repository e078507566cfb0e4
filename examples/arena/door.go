package arena

import (
	"meanwhile/game"
	"meanwhile/geom"
)

// Numbers of the doors, in metres and ticks. A door is a wall in the floor. A press on its plate
// makes it rise, and after a while it sinks again.
const (
	DoorTop    = 2.4
	DoorTicks  = 30       // that it takes to rise, and to sink
	DoorStays  = 4 * Rate // that it is up
	DoorWarns  = 45       // from the press until it rises; longer than news of the press take to anyone
	PlateReach = 1.4      // from which a plate is pressed
)

// Door is a wall that moves. All clients run it ahead, as players run against it and hide behind it
// at the tick of their commands. That is exact while nothing is news: a press says when the door
// will rise, and by then everybody knows.
type Door struct {
	Pos   geom.Vec3 `net:"pos"` // the middle of its top
	Gate  int       `net:"int,0..1"`
	Rises game.Tick `net:"tick"` // when it begins to rise, or began the last time; 0: never
}

// Press is the click of a plate.
type Press struct {
	Gate int `net:"int,0..1"`
}

// A gate is where a door is, and its plate.
type gate struct {
	floor geom.Rect
	plate geom.Vec2
}

// maxGates is how many gates a level has at most.
const maxGates = 2

// top returns the height of the door after a tick. It is linear between ticks, as it is drawn.
func (d *Door) top(tick game.Tick) float64 {
	const sinks, down = DoorTicks + DoorStays, 2*DoorTicks + DoorStays
	switch since := tick - d.Rises; {
	case d.Rises == 0 || tick <= d.Rises || since >= down:
		return 0
	case since < DoorTicks:
		return DoorTop * float64(since) / DoorTicks
	case since > sinks:
		return DoorTop * float64(down-since) / DoorTicks
	}
	return DoorTop
}

// press presses the plates in reach. It says what is wanted, a door that is up: of two players who
// press at once the first one raises it, and the other does not let it down again.
func press(w *game.World, me game.ID) {
	eye, now := eyeOf(w, me), w.Tick()
	gates := levelAt(w).gates
	for _, d := range Doors.All(w) {
		if d.Gate >= len(gates) {
			continue
		}
		k := &gates[d.Gate]
		if k.plate.Dist(eye.Pos.XY()) > PlateReach || d.Rises != 0 && now < d.Rises+2*DoorTicks+DoorStays {
			continue
		}
		d.Rises = now + DoorWarns
		Presses.Emit(w, me, k.plate, Press{d.Gate}) // its player hears it at once, and not if another one was first
	}
}

// moveDoors moves all doors by a tick.
func moveDoors(w *game.World) {
	for _, d := range Doors.All(w) {
		d.Pos.Z = d.top(w.Tick())
	}
}

// A ground is what players stand on, run against and hide behind: the walls of a level, and doors
// and platforms as they are at one moment.
type ground struct {
	*level
	doors     [maxGates]geom.Box // without height while they are down
	platforms [maxTracks]deck
}

// flat returns the ground that bots plan their ways on: all doors are down, and no platform is there.
func (l *level) flat() ground { return ground{level: l} }

// groundAt returns the ground as it is, on which players move and rockets fly. Platforms are where
// they will be at the end of this tick.
func groundAt(w *game.World) ground {
	g := levelAt(w).flat()
	for _, d := range Doors.All(w) {
		g.hang(d)
	}
	for id, k := range Platforms.All(w) {
		g.float(id, k.Track, w.Tick())
	}
	return g
}

// groundSeen returns the ground as player me saw it, behind which nothing of what it saw is hit.
func groundSeen(w *game.World, me game.ID) ground {
	g := levelAt(w).flat()
	for _, d := range Doors.Seen(w, me) {
		g.hang(&d)
	}
	for id, k := range Platforms.Seen(w, me) {
		g.moor(id, k.Track, k.Pos)
	}
	return g
}

func (g *ground) hang(d *Door) {
	if d.Gate < len(g.gates) {
		g.doors[d.Gate] = g.gates[d.Gate].floor.Box(0, d.Pos.Z)
	}
}

// walls and doors are upright: nobody runs through them. Platforms come after them: players pass
// below, and jump up through them.
func (g *ground) upright() int { return len(g.boxes) + len(g.doors) }

// solids returns how many boxes box has.
func (g *ground) solids() int { return g.upright() + len(g.tracks) }

// box returns the i-th wall, door or platform.
func (g *ground) box(i int) *geom.Box {
	if i < len(g.boxes) {
		return &g.boxes[i]
	}
	if i -= len(g.boxes); i < len(g.doors) {
		return &g.doors[i]
	}
	return &g.platforms[i-len(g.doors)].box
}

// floorAt returns the height of the floor under feet at height z.
func (g *ground) floorAt(at geom.Vec2, z, r float64) float64 {
	top := g.uprightAt(at, z, r)
	for i := range g.tracks {
		b := &g.platforms[i].box
		disc := geom.Circle{Center: at, Radius: r}
		if h := b.Max.Z; h > top && h <= z+StepUp && disc.OverlapsRect(b.Floor()) {
			top = h
		}
	}
	return top
}

// uprightAt is floorAt without the platforms.
func (g *ground) uprightAt(at geom.Vec2, z, r float64) float64 {
	top, disc := 0.0, geom.Circle{Center: at, Radius: r}
	for i := range g.upright() {
		b := g.box(i)
		if h := b.Max.Z; h > top && h <= z+StepUp && disc.OverlapsRect(b.Floor()) {
			top = h
		}
	}
	return top
}

// slide moves feet at height z. They slide along walls that are too high to step onto, and along
// the fence around the arena.
func (g *ground) slide(from, way geom.Vec2, z float64) geom.Vec2 {
	var near [maxBoxes + len(fence)]geom.Rect
	n, to := 0, from.Add(way)
	passed := geom.Rect{
		Min: geom.Vec2{X: min(from.X, to.X), Y: min(from.Y, to.Y)},
		Max: geom.Vec2{X: max(from.X, to.X), Y: max(from.Y, to.Y)},
	}.Expand(Radius + 0.1)
	for i := range g.upright() {
		if b := g.box(i); b.Max.Z > z+StepUp && passed.Overlaps(b.Floor()) {
			near[n] = b.Floor()
			n++
		}
	}
	for i := range fence {
		if passed.Overlaps(fence[i]) {
			near[n] = fence[i]
			n++
		}
	}
	return geom.Slide(from, way, Radius, near[:n])
}

// blocked reports whether a player with feet at height z does not fit here.
func (g *ground) blocked(at geom.Vec2, z float64) bool {
	disc := geom.Circle{Center: at, Radius: Radius}
	for i := range g.upright() {
		if b := g.box(i); b.Max.Z > z+StepUp && disc.OverlapsRect(b.Floor()) {
			return true
		}
	}
	return false
}

// reach returns how far a bullet flies before a wall stops it.
func (g *ground) reach(r geom.Ray3) float64 {
	for i := range g.solids() {
		if d, ok := r.Box(*g.box(i)); ok {
			r.Len = d
		}
	}
	if d, ok := r.Ground(0); ok {
		r.Len = d
	}
	return r.Len
}

// free reports whether no wall stands between two points.
func (g *ground) free(from, to geom.Vec3) bool {
	r, low := geom.Ray3To(from, to), min(from.Z, to.Z)
	for i := range g.solids() {
		b := g.box(i)
		if b.Max.Z < low {
			continue
		}
		if _, ok := r.Box(*b); ok {
			return false
		}
	}
	return true
}
