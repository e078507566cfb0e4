package arena

import "meanwhile/geom"

// court is open: covers and towers around a free middle, and doors in its wings.
var court = plan{
	name: "Court", tint: "1,1,1",
	boxes: []geom.Box{
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
	},
	pads: []pad{
		{geom.Vec3{X: 11.5, Y: 9.5}, HealthPack},
		{geom.Vec3{X: 48.5, Y: 9.5}, AmmoPack},
		{geom.Vec3{X: 5.5, Y: 19.5, Z: middle}, HealthPack},
		{geom.Vec3{X: 30, Y: 6, Z: middle}, AmmoPack},
		{geom.Vec3{X: 20, Y: 20}, AmmoPack},
		{geom.Vec3{X: 30, Y: 11.5}, HealthPack},
	},
	gates: []gate{ // between the low walls around the middle
		{box(28, 15.2, 32, 15.8, 0).Floor(), geom.Vec2{X: 30, Y: 17.2}},
	},
}

// harbour has two quays, and platforms that cross over to an island between them.
var harbour = plan{
	name: "Harbour", tint: "0.78,1.04,1.08",
	boxes: []geom.Box{
		box(8, 13, 11, 27, middle), box(8.5, 11.5, 10.5, 13, low), box(8.5, 27, 10.5, 28.5, low), // western quay, steps
		box(27, 18.8, 30, 21.2, middle), box(25.5, 19.2, 27, 20.8, low), // half of the island, and a step
		box(14, 5, 15, 11, high), box(15, 5, 20, 6, high), // sheds in the north
		box(40, 5, 46, 6, high), box(45, 6, 46, 11, high),
		box(23, 9, 28, 10, high), box(32, 9, 37, 10, high), // a wall with a door
		box(29, 4.5, 31, 6, low),                                 // crates behind it
		box(17.5, 9.5, 19, 11, low), box(41, 9.5, 42.5, 11, low), // crates at the sheds
		box(15.5, 18.5, 17, 21.5, low), box(22, 12.5, 24.5, 13.5, low), // covers under the platforms
		box(35.5, 12.5, 38, 13.5, low),
		box(3, 5, 4.5, 6.5, low), box(54, 12, 55.5, 13.5, low), box(3.5, 18, 4.7, 22, high),
	},
	pads: []pad{
		{geom.Vec3{X: 17, Y: 8}, AmmoPack},
		{geom.Vec3{X: 43, Y: 8}, HealthPack},
		{geom.Vec3{X: 9.5, Y: 19.5, Z: middle}, HealthPack},
		{geom.Vec3{X: 28.5, Y: 20, Z: middle}, AmmoPack},
		{geom.Vec3{X: 30, Y: 7.5}, HealthPack},
		{geom.Vec3{X: 20, Y: 19}, AmmoPack},
	},
	gates: []gate{{box(28, 9.2, 32, 9.8, 0).Floor(), geom.Vec2{X: 30, Y: 11.4}}},
	tracks: []track{
		{geom.Vec3{X: 13.5, Y: 17, Z: middle}, geom.Vec3{X: 46.5, Y: 17, Z: middle}, geom.Vec2{X: 5, Y: 3.4}},
	},
}

// works has rooms and narrow ways, doors in the doorways, and platforms beside two balconies.
var works = plan{
	name: "Works", tint: "1.42,1.03,0.74",
	boxes: []geom.Box{
		box(14, 3, 15, 10, high), box(3, 13, 9, 14, high), // room in the north-west
		box(13, 13, 15, 14, high), box(6, 7, 8, 9, low), //
		box(45, 3, 46, 10, high), box(45, 13, 47, 14, high), // room in the north-east
		box(51, 13, 57, 14, high), box(52, 7, 54, 9, low), //
		box(25, 4.5, 35, 7.5, middle), box(23, 5, 25, 7, low), // northern balcony
		box(18, 14.5, 19, 21, high), box(19, 14.5, 23, 15.5, high), // walls around the middle
		box(37, 14.5, 41, 15.5, high),                            //
		box(27.5, 18, 28.7, 19.5, low), box(29, 12, 31, 13, low), // covers
		box(20, 9.5, 22, 10.5, low), box(38, 9.5, 40, 10.5, low), //
		box(9, 18, 10.2, 23, high), box(12.5, 19, 14, 20.5, low), //
		box(3, 17, 4.5, 18.5, low), box(55, 17.5, 56.5, 19, low), //
	},
	pads: []pad{
		{geom.Vec3{X: 5, Y: 5}, HealthPack},
		{geom.Vec3{X: 55, Y: 5}, AmmoPack},
		{geom.Vec3{X: 30, Y: 6, Z: middle}, HealthPack},
		{geom.Vec3{X: 21, Y: 18}, AmmoPack},
		{geom.Vec3{X: 6, Y: 20}, HealthPack},
		{geom.Vec3{X: 18, Y: 6}, AmmoPack},
	},
	gates: []gate{{box(9, 13.2, 13, 13.8, 0).Floor(), geom.Vec2{X: 11, Y: 15.4}}},
	tracks: []track{
		{geom.Vec3{X: 25.5, Y: 9.5, Z: middle}, geom.Vec3{X: 25.5, Y: 30.5, Z: middle}, geom.Vec2{X: 3, Y: 4}},
	},
}
