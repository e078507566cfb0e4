package schema

import (
	"reflect"
	"slices"
	"testing"

	"meanwhile/geom"
)

// Without distances in its tags a kind gets levels at which nobody sees the difference: a place is
// wrong by less than a 1000th of the distance.
func TestGrade(t *testing.T) {
	type plain struct {
		Pos  geom.Vec2  `net:"pos"`
		To   geom.Vec2  `net:"pos"` // of somewhere else
		Vel  geom.Vec2  `net:"vel"`
		Aim  geom.Angle `net:"angle"`
		Yaw  geom.Angle `net:"angle,8bit"`
		Tilt geom.Angle `net:"angle,1deg"`
		HP   int        `net:"int,0..99"`
	}
	type even struct {
		Pos geom.Vec2 `net:"pos,levels=none"`
		Vel geom.Vec2 `net:"vel"`
	}
	type own struct {
		Pos geom.Vec2 `net:"pos,others=1cm,4cm@30m"`
		Vel geom.Vec2 `net:"vel"`
	}
	type coarse struct {
		Pos geom.Vec2 `net:"pos,1m"`
	}
	type reckoned struct {
		Pos geom.Vec2 `net:"pos,draw=dr:10cm"`
		Vel geom.Vec2 `net:"vel"`
	}
	type placeless struct {
		Vel geom.Vec2 `net:"vel"`
	}
	for _, c := range []struct {
		of     any
		levels []float64
		shifts [][MaxLevels]uint8
	}{
		{plain{}, []float64{20, 80, 320}, [][MaxLevels]uint8{{0, 2, 4, 6}, {}, {0, 2, 4, 6}, {0, 4, 6, 8}, {}, {}, {}}},
		{even{}, []float64{20, 80, 320}, [][MaxLevels]uint8{{}, {0, 2, 4, 6}}},
		{own{}, []float64{30}, [][MaxLevels]uint8{{0, 2}, {}}},
		{coarse{}, nil, [][MaxLevels]uint8{{}}},
		{reckoned{}, nil, [][MaxLevels]uint8{{}, {}}},
		{placeless{}, nil, [][MaxLevels]uint8{{}}},
	} {
		k, err := New("thing", reflect.TypeOf(c.of), 30)
		if err != nil {
			t.Fatal(err)
		}
		k.Grade()
		if !slices.Equal(k.Levels, c.levels) {
			t.Errorf("%T: levels from %v m, want %v", c.of, k.Levels, c.levels)
		}
		for i, want := range c.shifts {
			if got := k.Props[i].Shift; got != want {
				t.Errorf("%T: %s is coarser by %v bits, want %v", c.of, k.Props[i].Name, got, want)
			}
		}
		if p := k.PlaceProp(); p != nil && len(c.levels) == 3 {
			for n, from := range k.Levels {
				if half := float64(int64(1)<<p.Shift[n+1]) / p.Obs / 2; half > from/1000 {
					t.Errorf("%T: from %v m on a place is wrong by %v m", c.of, from, half)
				}
			}
		}
		if len(k.coarse) != len(k.Levels) {
			t.Errorf("%T: %d of %d levels can be coded", c.of, len(k.coarse), len(k.Levels))
		}
	}
}
