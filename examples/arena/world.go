package arena

import (
	"strconv"

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
	boxes = build()
	walls = geom.Walls{Rects: floors(boxes)}
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

// half of the walls. The other half is the same, turned by half a turn around the middle, so that
// no corner is better.
var half = []geom.Box{
	box(9, 7, 17, 8, high), box(9, 8, 10, 13, high), // corner in the north-west
	box(43, 7, 51, 8, high), box(50, 8, 51, 13, high), // corner in the north-east
	box(4, 18, 7, 21, middle), box(7, 18.5, 8.5, 20.5, low), // western tower with its step
	box(28, 4.5, 32, 7.5, middle), box(32, 5, 33.5, 7, low), // northern tower
	box(15, 18.5, 16.2, 24.5, high),                    // screens beside the way from the towers to the middle
	box(24, 15, 28, 16, low), box(32, 15, 36, 16, low), // covers around the middle
	box(21.5, 18.4, 22.7, 21.6, middle),                            //
	box(18, 11.5, 22.5, 12.5, low), box(37.5, 11.5, 42, 12.5, low), // covers further out
	box(21, 6, 22.5, 7.5, low), box(37, 5.5, 38.5, 7, low), // crates
	box(12.5, 14, 14, 15.5, low), box(46, 15, 47.5, 16.5, low),
	box(3, 4, 4.5, 5.5, low), box(55, 10, 56.5, 11.5, low),
}

func build() []geom.Box {
	all := []geom.Box{
		box(0, 0, Width, rim, high), box(0, Depth-rim, Width, Depth, low), // the southern one must hide nobody
		box(0, rim, rim, Depth-rim, middle), box(Width-rim, rim, Width, Depth-rim, middle),
	}
	for _, b := range half {
		all = append(all, b, box(Width-b.Max.X, Depth-b.Max.Y, Width-b.Min.X, Depth-b.Min.Y, b.Max.Z))
	}
	if len(all)+len(gates) > maxBoxes {
		panic("arena: more walls and doors than maxBoxes")
	}
	return all
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

var pads = layPads([]pad{
	{geom.Vec3{X: 11.5, Y: 9.5}, HealthPack},
	{geom.Vec3{X: 48.5, Y: 9.5}, AmmoPack},
	{geom.Vec3{X: 5.5, Y: 19.5, Z: middle}, HealthPack},
	{geom.Vec3{X: 30, Y: 6, Z: middle}, AmmoPack},
	{geom.Vec3{X: 20, Y: 20}, AmmoPack},
	{geom.Vec3{X: 30, Y: 11.5}, HealthPack},
})

func layPads(half []pad) []pad {
	var all []pad
	for _, p := range half {
		all = append(all, p, pad{geom.Vec3{X: Width - p.pos.X, Y: Depth - p.pos.Y, Z: p.pos.Z}, p.sort})
	}
	return all
}

// MapJSON describes the map and the weapons, for a page to draw:
//
//	{"size": [w, h],
//	 "walls": [{"min": [x, y], "max": [x, y], "height": h}, ...],
//	 "packs": [{"pos": [x, y, z], "sort": 0 for health, 1 for ammunition}, ...],
//	 "avatar": {"radius", "standing", "crouching", "gunStanding", "gunCrouching"},
//	 "weapons": [{"name", and in ticks "holster", "draw", "reload"}, ...] from Rifle on,
//	 "blast": how far a rocket hurts, "doors": [{"min", "max", "plate": [x, y], "height"}, ...],
//	 "blade": {"reach", "arc" in radians, "ticks"}, "shove": how far a shove reaches}
func MapJSON() []byte {
	b := append(pair([]byte(`{"size":`), Width, Depth), `,"walls":[`...)
	for i, k := range boxes {
		if i > 0 {
			b = append(b, ',')
		}
		b = pair(append(b, `{"min":`...), k.Min.X, k.Min.Y)
		b = pair(append(b, `,"max":`...), k.Max.X, k.Max.Y)
		b = append(number(append(b, `,"height":`...), k.Max.Z), '}')
	}
	b = append(b, `],"packs":[`...)
	for i, p := range pads {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(numbers(append(b, `{"pos":[`...), p.pos.X, p.pos.Y, p.pos.Z), `],"sort":`...)
		b = append(strconv.AppendInt(b, int64(p.sort), 10), '}')
	}
	b = number(append(b, `],"avatar":{"radius":`...), Radius)
	b = number(append(b, `,"standing":`...), Standing)
	b = number(append(b, `,"crouching":`...), Crouching)
	b = number(append(b, `,"gunStanding":`...), gunStanding)
	b = number(append(b, `,"gunCrouching":`...), gunCrouching)
	b = append(b, `},"weapons":[`...)
	for i := Rifle; i < endOfWeapons; i++ {
		k := &armoury[i]
		if i > Rifle {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"name":"`...), k.name...), '"')
		b = number(append(b, `,"holster":`...), float64(k.holster))
		b = number(append(b, `,"draw":`...), float64(k.draw))
		b = append(number(append(b, `,"reload":`...), float64(k.reload)), '}')
	}
	b = append(number(append(b, `],"blast":`...), BlastRadius), `,"doors":[`...)
	for i := range gates {
		if i > 0 {
			b = append(b, ',')
		}
		k := &gates[i]
		b = pair(append(b, `{"min":`...), k.floor.Min.X, k.floor.Min.Y)
		b = pair(append(b, `,"max":`...), k.floor.Max.X, k.floor.Max.Y)
		b = pair(append(b, `,"plate":`...), k.plate.X, k.plate.Y)
		b = append(number(append(b, `,"height":`...), DoorTop), '}')
	}
	b = number(append(b, `],"blade":{"reach":`...), SwingReach)
	b = number(append(b, `,"arc":`...), float64(SwingArc))
	b = number(append(b, `,"ticks":`...), SwingTicks)
	return append(number(append(b, `},"shove":`...), ShoveRadius), '}')
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

// mapHash identifies the map and the weapons. A client with others is refused, as its predictions
// would be wrong.
func mapHash() uint64 { return schema.Hash(string(MapJSON())) }
