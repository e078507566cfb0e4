package arena

import (
	"strconv"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/schema"
)

// Size of the arena in metres.
const (
	Width = 60
	Depth = 40
)

// Heights of walls. Players can jump onto low walls, shoot over them and crouch behind them. From a
// low wall they can climb a middle one. High walls only hide.
const (
	low    = 1.0
	middle = 2.2
	high   = 2.6
	rim    = 0.6 // thickness of the outer walls
)

var (
	// field is where the middle of a player's feet can be.
	field = geom.Rect{Max: geom.Vec2{X: Width, Y: Depth}}.Expand(-Radius)
	// fence keeps players in who stand on the outer walls.
	fence = [...]geom.Rect{
		{Min: geom.Vec2{X: -1, Y: -1}, Max: geom.Vec2{X: 0, Y: Depth + 1}},
		{Min: geom.Vec2{X: Width, Y: -1}, Max: geom.Vec2{X: Width + 1, Y: Depth + 1}},
		{Min: geom.Vec2{X: -1, Y: -1}, Max: geom.Vec2{X: Width + 1, Y: 0}},
		{Min: geom.Vec2{X: -1, Y: Depth}, Max: geom.Vec2{X: Width + 1, Y: Depth + 1}},
	}
)

// maxBoxes is how many walls one step looks at.
const maxBoxes = 64

func box(x0, y0, x1, y1, h float64) geom.Box {
	return geom.Rect{Min: geom.Vec2{X: x0, Y: y0}, Max: geom.Vec2{X: x1, Y: y1}}.Box(0, h)
}

// A level is one of the maps, with all that never changes in it.
type level struct {
	name   string
	tint   string // of its walls on the page: r,g,b
	boxes  []geom.Box
	walls  geom.Walls
	pads   []pad
	gates  []gate
	tracks []track
	ways   ways
}

// A plan is half of a level. The other half is the same, turned by half a turn around the middle,
// so that no corner is better.
type plan struct {
	name, tint string
	boxes      []geom.Box
	pads       []pad
	gates      []gate
	tracks     []track
}

// levels are the maps, in the order in which rounds play them.
var levels = [...]*level{build(&court), build(&harbour), build(&works)}

// levelAt returns the level of the round. Clients do not run ahead of a change: what is on the next
// level, and where they begin, they learn with it.
func levelAt(w *game.World) *level {
	for _, r := range Rounds.All(w) {
		return levels[r.Map]
	}
	return levels[0]
}

// following returns the number of the level after another one.
func following(n int) int { return (n + 1) % len(levels) }

func build(p *plan) *level {
	l := &level{name: p.name, tint: p.tint, boxes: []geom.Box{
		box(0, 0, Width, rim, high), box(0, Depth-rim, Width, Depth, low), // the southern one must hide nobody
		box(0, rim, rim, Depth-rim, middle), box(Width-rim, rim, Width, Depth-rim, middle),
	}}
	turned := func(r geom.Rect) geom.Rect {
		return geom.Rect{
			Min: geom.Vec2{X: Width - r.Max.X, Y: Depth - r.Max.Y},
			Max: geom.Vec2{X: Width - r.Min.X, Y: Depth - r.Min.Y},
		}
	}
	opposite := func(v geom.Vec3) geom.Vec3 { return geom.Vec3{X: Width - v.X, Y: Depth - v.Y, Z: v.Z} }
	for _, b := range p.boxes {
		l.boxes = append(l.boxes, b, turned(b.Floor()).Box(0, b.Max.Z))
	}
	for _, k := range p.pads {
		l.pads = append(l.pads, k, pad{opposite(k.pos), k.sort})
	}
	for _, k := range p.gates {
		l.gates = append(l.gates, k, gate{turned(k.floor), opposite(k.plate.At(0)).XY()})
	}
	for _, k := range p.tracks {
		l.tracks = append(l.tracks, k, track{opposite(k.from), opposite(k.to), k.size})
	}
	l.walls = geom.Walls{Rects: floors(l.boxes)}
	if len(l.boxes)+len(l.gates) > maxBoxes || len(l.gates) > maxGates || len(l.tracks) > maxTracks {
		panic("arena: more walls, doors or platforms than fit: " + l.name)
	}
	return l
}

func floors(boxes []geom.Box) []geom.Rect {
	all := make([]geom.Rect, len(boxes))
	for i := range boxes {
		all[i] = boxes[i].Floor()
	}
	return all
}

// pad is a place where packs appear.
type pad struct {
	pos  geom.Vec3
	sort int
}

// MapJSON describes the maps and the weapons, for a page to draw:
//
//	{"size": [w, h],
//	 "maps": [{"name", "tint": [r, g, b],
//	  "walls": [{"min": [x, y], "max": [x, y], "height": h}, ...],
//	  "packs": [{"pos": [x, y, z], "sort": 0 for health, 1 for ammunition}, ...],
//	  "doors": [{"min", "max", "plate": [x, y], "height"}, ...],
//	  "platforms": [{"from": [x, y, z], "to", "size": [w, h], "thick"}, ...]}, ...],
//	 "avatar": {"radius", "standing", "crouching", "gunStanding", "gunCrouching"},
//	 "weapons": [{"name", and in ticks "holster", "draw", "reload"}, ...] from Rifle on,
//	 "blast": how far a rocket hurts,
//	 "blade": {"reach", "arc" in radians, "ticks"}, "shove": how far a shove reaches}
func MapJSON() []byte {
	b := append(pair([]byte(`{"size":`), Width, Depth), `,"maps":[`...)
	for i := range levels {
		b = levels[i].append(comma(b, i))
	}
	b = number(append(b, `],"avatar":{"radius":`...), Radius)
	b = number(append(b, `,"standing":`...), Standing)
	b = number(append(b, `,"crouching":`...), Crouching)
	b = number(append(b, `,"gunStanding":`...), gunStanding)
	b = number(append(b, `,"gunCrouching":`...), gunCrouching)
	b = append(b, `},"weapons":[`...)
	for i := Rifle; i < endOfWeapons; i++ {
		k := &armoury[i]
		b = append(append(append(comma(b, i-Rifle), `{"name":"`...), k.name...), '"')
		b = number(append(b, `,"holster":`...), float64(k.holster))
		b = number(append(b, `,"draw":`...), float64(k.draw))
		b = append(number(append(b, `,"reload":`...), float64(k.reload)), '}')
	}
	b = number(append(b, `],"blast":`...), BlastRadius)
	b = number(append(b, `,"blade":{"reach":`...), SwingReach)
	b = number(append(b, `,"arc":`...), float64(SwingArc))
	b = number(append(b, `,"ticks":`...), SwingTicks)
	return append(number(append(b, `},"shove":`...), ShoveRadius), '}')
}

// append appends what a page draws of a level.
func (l *level) append(b []byte) []byte {
	b = append(append(append(b, `{"name":"`...), l.name...), `","tint":[`...)
	b = append(append(b, l.tint...), `],"walls":[`...)
	for i, k := range l.boxes {
		b = pair(append(comma(b, i), `{"min":`...), k.Min.X, k.Min.Y)
		b = pair(append(b, `,"max":`...), k.Max.X, k.Max.Y)
		b = append(number(append(b, `,"height":`...), k.Max.Z), '}')
	}
	b = append(b, `],"packs":[`...)
	for i, p := range l.pads {
		b = triple(append(comma(b, i), `{"pos":`...), p.pos)
		b = append(strconv.AppendInt(append(b, `,"sort":`...), int64(p.sort), 10), '}')
	}
	b = append(b, `],"doors":[`...)
	for i, k := range l.gates {
		b = pair(append(comma(b, i), `{"min":`...), k.floor.Min.X, k.floor.Min.Y)
		b = pair(append(b, `,"max":`...), k.floor.Max.X, k.floor.Max.Y)
		b = pair(append(b, `,"plate":`...), k.plate.X, k.plate.Y)
		b = append(number(append(b, `,"height":`...), DoorTop), '}')
	}
	b = append(b, `],"platforms":[`...)
	for i, k := range l.tracks {
		b = triple(append(comma(b, i), `{"from":`...), k.from)
		b = triple(append(b, `,"to":`...), k.to)
		b = pair(append(b, `,"size":`...), k.size.X, k.size.Y)
		b = append(number(append(b, `,"thick":`...), platformThick), '}')
	}
	return append(b, `]}`...)
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func triple(b []byte, v geom.Vec3) []byte {
	return append(numbers(append(b, '['), v.X, v.Y, v.Z), ']')
}

func number(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'f', -1, 64) }

func numbers(b []byte, vs ...float64) []byte {
	for i, v := range vs {
		if i > 0 {
			b = append(b, ',')
		}
		b = number(b, v)
	}
	return b
}

func pair(b []byte, x, y float64) []byte { return append(numbers(append(b, '['), x, y), ']') }

// mapHash identifies the maps and the weapons. A client with others is refused, as its predictions
// would be wrong.
func mapHash() uint64 { return schema.Hash(string(MapJSON())) }
