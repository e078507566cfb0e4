package schema_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// everything has a property of each class, in both precisions where there are two, and for each
// audience.
type everything struct {
	Pos    geom.Vec3  `net:"pos,others=1cm,draw=hermite"`
	Vel    geom.Vec3  `net:"vel,others=2cm/s"`
	Flag   geom.Vec2  `net:"pos,1cm,draw=step"`
	Yaw    geom.Angle `net:"angle,12bit,others=8bit"`
	Pitch  float64    `net:"angle,1deg"`
	Heat   float64    `net:"float,0.25,others=2"`
	Score  int        `net:"int,-3..999"`
	Level  uint8      `net:"int,1..255"`
	Money  int64      `net:"int,-2147483648..2147483647"`
	Alive  bool       `net:"bool"`
	Until  clock.Tick `net:"tick"`
	Target ID         `net:"handle"`
	Name   string     `net:"text,13"`
	Stick  geom.Vec2  `net:"stick,6bit"`
	Jump   bool       `net:"press"`
	Ammo   uint16     `net:"int,0..30,to=owner"`
	Ready  clock.Tick `net:"tick,to=owner"`
	Phase  float64    `net:"float,1/128,kept"`
	Secret int        `net:"int,0..9,server"`
}

// Gait is an integer type of the rules.
type Gait uint8

// rigid has the properties of what turns in space, and the classes that came later.
type rigid struct {
	Team    ID         `net:"handle,team"`
	Car     ID         `net:"handle,parent"`
	Pos     geom.Vec3  `net:"pos,1mm,others=1cm,4cm@30m,16cm@100m,draw=dr:10cm,warp=3m,slow=10cm/s"`
	Vel     geom.Vec3  `net:"vel,others=1cm/s,2cm/s@100m"`
	Turn    geom.Quat  `net:"quat,others=9bit,8bit@30m"`
	Spin    geom.Vec3  `net:"spin,others=2deg/s"`
	Look    geom.View  `net:"view,14bit,others=8bit"`
	Heading geom.Angle `net:"angle,2deg,draw=dr:4deg"`
	Rate    float64    `net:"spin,1deg/s"`
	Gait    Gait       `net:"enum,idle|walk|run,group=1"`
	Gear    int        `net:"enum,park|drive,far=50m"`
	Skin    [9]byte    `net:"bytes,group=1"`
	Key     [1]byte    `net:"bytes,to=owner"`
	Blob    [32]byte   `net:"bytes,group=1"`
	Heat    float64    `net:"float,0.25,-20..60,others=1"`
	Plan    uint16     `net:"int,0..9,to=team"`
	Own     geom.Quat  `net:"quat,20bit,to=owner"`
	Rough   geom.Quat  `net:"quat,4bit,others=4bit,draw=step"`
	Fine    geom.View  `net:"view,3deg,others=6deg"`
	Kept    geom.Angle `net:"spin,kept"`
}

// inComments makes comments of lines, for files of vectors.
func inComments(s string) string {
	return "# " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n# ") + "\n"
}

func kindOf[T any](t testing.TB) *schema.Kind {
	t.Helper()
	k, err := schema.New(strings.ToLower(reflect.TypeFor[T]().Name()), reflect.TypeFor[T](), 60)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// extract returns the simulation integers of a struct with the one field v.
func extract(t testing.TB, v any, tag string) []int64 {
	t.Helper()
	k, err := one(v, tag)
	if err != nil {
		t.Fatal(err)
	}
	s := reflect.New(k.Type)
	s.Elem().Field(0).Set(reflect.ValueOf(v))
	out := make([]int64, k.Sims)
	k.Extract(s.UnsafePointer(), out)
	return out
}

func TestExtract(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const most = schema.MaxValue
	for _, c := range []struct {
		v    any
		tag  string
		want []int64
	}{
		{geom.Vec2{X: 1, Y: -1}, "pos", []int64{256000, -256000}},
		{geom.Vec2{X: 0.004, Y: -0.004}, "pos,1cm", []int64{0, 0}},
		{geom.Vec2{X: 0.005, Y: -0.005}, "pos,1cm", []int64{1, 0}}, // half a step goes upwards
		{geom.Vec2{X: nan, Y: inf}, "pos,1cm", []int64{0, most}},
		{geom.Vec2{X: -inf, Y: 1e300}, "pos,1cm", []int64{-most, most}},
		{geom.Vec2{X: 3e12, Y: -2.8e12}, "pos,1cm", []int64{most, -280000000000000}}, // 2^48 = 281474976710656
		{geom.Vec3{Z: math.SmallestNonzeroFloat64}, "vel", []int64{0, 0, 0}},
		{geom.Vec2{X: 1}, "vel", []int64{8533, 0}}, // 256 steps/mm / 30 ticks/s
		{0.0, "angle,1deg", []int64{0}},
		{math.Pi, "angle,1deg", []int64{180}},
		{-math.Pi, "angle,1deg", []int64{180}},
		{-math.Pi / 2, "angle,1deg", []int64{270}},
		{5 * math.Pi, "angle,1deg", []int64{180}},
		{-1e-9, "angle,1deg", []int64{0}},
		{359.6 * math.Pi / 180, "angle,1deg", []int64{0}},
		{nan, "angle,1deg", []int64{0}},
		{inf, "angle,1deg", []int64{most % 360}},
		{-inf, "angle,1deg", []int64{360 - most%360}},
		{1e300, "angle,16bit", []int64{0}}, // 2^48 turns of a power of two
		{0.3, "float,0.1", []int64{3}},
		{-0.25, "float,0.1", []int64{-2}},
		{nan, "float,0.1", []int64{0}},
		{1e9, "float,1e-9", []int64{most}},
		{5, "int,0..9", []int64{5}},
		{-5, "int,0..9", []int64{0}},
		{math.MaxInt, "int,0..9", []int64{9}},
		{math.MinInt, "int,-4..9", []int64{-4}},
		{uint64(math.MaxUint64), "int,0..9", []int64{9}},
		{uint(math.MaxUint), "int,0..9", []int64{9}},
		{int8(-128), "int,-128..127", []int64{-128}},
		{0, "int,3..9", []int64{3}},
		{true, "bool", []int64{1}},
		{true, "press", []int64{1}},
		{clock.Tick(math.MaxUint32), "tick", []int64{math.MaxUint32}},
		{ID(7), "handle", []int64{7}},
		{"", "text,8", []int64{0, 0}},
		{"abcdefgh", "text,8", []int64{'a' | 'b'<<8 | 'c'<<16 | 'd'<<24, 'e' | 'f'<<8 | 'g'<<16 | 'h'<<24}},
		{"abcdefghi", "text,8", []int64{'a' | 'b'<<8 | 'c'<<16 | 'd'<<24, 'e' | 'f'<<8 | 'g'<<16 | 'h'<<24}},
		{"abcdé", "text,5", []int64{'a' | 'b'<<8 | 'c'<<16 | 'd'<<24, 0}}, // the last character does not fit
		{"a\x00b\xffc", "text,4", []int64{'a' | 'b'<<8 | 'c'<<16}},        // neither zeros nor what is not UTF-8
		{"\xf0\x9f\x8e", "text,4", []int64{0}},                            // a character cut short
		{"\ufffd", "text,4", []int64{0xef | 0xbf<<8 | 0xbd<<16}},          // this one is a character of its own
		{geom.Vec2{X: 1, Y: 0}, "stick,5bit", []int64{15, 0}},
		{geom.Vec2{X: 3, Y: 4}, "stick,5bit", []int64{9, 12}},      // 15 x 3/5, 15 x 4/5
		{geom.Vec2{X: -1, Y: -1}, "stick,5bit", []int64{-10, -11}}, // 10.6 rounds to 11, and 11, 11 lies outside
		{geom.Vec2{X: 0.5, Y: -0.5}, "stick,2bit", []int64{1, 0}},
		{geom.Vec2{X: nan, Y: 1}, "stick,5bit", []int64{0, 15}},
		{geom.Vec2{X: inf, Y: 1}, "stick,5bit", []int64{0, 0}},
		{geom.Vec2{X: 1e200, Y: 1}, "stick,5bit", []int64{0, 0}},
	} {
		if got := extract(t, c.v, c.tag); !slices.Equal(got, c.want) {
			t.Errorf("%T(%v) as %s is %v, want %v", c.v, c.v, c.tag, got, c.want)
		}
	}
}

// random draws numbers for promises: a chain of splitmix64.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// wild is a number of any size, mostly within a world.
func (r *random) wild() float64 {
	switch v := r.next(); v % 8 {
	case 0:
		return math.Float64frombits(r.next())
	case 1:
		return [...]float64{0, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, -1e300, math.Copysign(0, -1), 0.5}[v>>8%8]
	case 2:
		return float64(int64(r.next()) >> (v >> 8 % 64))
	default:
		return (float64(v>>11)/(1<<53) - 0.5) * 200
	}
}

func (r *random) text() string {
	b := make([]byte, r.next()%40)
	for i := range b {
		b[i] = byte(r.next() >> (r.next() % 3 * 3))
	}
	if r.next()%2 == 0 {
		return string([]rune(string(b)))
	}
	return string(b)
}

// fill gives every field of a struct some value.
func (r *random) fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			r.fill(f)
		case reflect.Float64:
			f.SetFloat(r.wild())
		case reflect.Bool:
			f.SetBool(r.next()%2 == 0)
		case reflect.String:
			f.SetString(r.text())
		case reflect.Array:
			for j := range f.Len() {
				f.Index(j).SetUint(r.next() % 256)
			}
		default:
			if f.CanInt() {
				f.SetInt(int64(r.next()) >> (r.next() % 64))
			} else {
				f.SetUint(r.next() >> (r.next() % 64))
			}
		}
	}
}

func (r *random) value() int64 {
	return [...]int64{int64(r.next()), int64(r.next()) >> (r.next() % 64), math.MaxInt64, math.MinInt64, schema.MaxValue,
		0}[r.next()%6]
}

// promises checks for some values drawn from seed what a kind promises: rounding is done once, what
// comes from outside is brought to where rounding leads, observers' integers lie within half a
// step, and every code gives back what it was given.
func promises(k *schema.Kind, seed uint64) error {
	r := random(seed * 1e9)
	s := reflect.New(k.Type)
	r.fill(s.Elem())
	a, b := make([]int64, k.Sims), make([]int64, k.Sims)
	once := func(what string) error {
		k.Store(s.UnsafePointer(), a)
		if k.Extract(s.UnsafePointer(), b); !slices.Equal(a, b) {
			return fmt.Errorf("%s: %v becomes %v when stored and extracted again", what, a, b)
		}
		if k.Clamp(b); !slices.Equal(a, b) {
			return fmt.Errorf("%s: %v is clamped to %v", what, a, b)
		}
		return nil
	}
	before := fmt.Sprintf("%+v", s.Elem())
	k.Extract(s.UnsafePointer(), a)
	if err := once(before); err != nil {
		return err
	}
	first := slices.Clone(a)
	for i := range a {
		a[i] = r.value()
	}
	before = fmt.Sprint(a)
	k.Clamp(a)
	if err := once(before); err != nil {
		return err
	}
	tick := int64(uint32(r.next() >> (r.next() % 32)))
	for _, other := range [][]int64{first, a} {
		if err := codes(k, first, other, tick, false); err != nil {
			return err
		}
		obs := func(sims []int64) []int64 {
			row, wide := make([]int32, k.Obs), make([]int64, k.Obs)
			k.Observe(sims, row)
			for i, v := range row {
				wide[i] = int64(v)
			}
			return wide
		}
		if err := observed(k, other, obs(other)); err != nil {
			return err
		}
		if err := codes(k, obs(first), obs(other), tick, true); err != nil {
			return err
		}
	}
	return nil
}

// codes writes and reads each component by itself and as a difference.
func codes(k *schema.Kind, from, to []int64, tick int64, obs bool) error {
	for i := range k.Props {
		q := &k.Props[i]
		at := q.At
		if obs {
			at = q.ObsAt
		}
		for c := at; at >= 0 && c < at+q.Comps; c++ {
			var w wire.BitWriter
			w.Reset(nil)
			q.AppendAbsolute(&w, to[c], obs, tick)
			absolute := w.Len()
			q.AppendDelta(&w, to[c], from[c], obs)
			w.Bits(0x5a, 7)
			if w.Len() > 7+2*120 {
				return fmt.Errorf("%s: %d and %d take %d bits", q.Name, to[c], from[c], w.Len())
			}
			var r wire.BitReader
			r.Reset(w.Bytes())
			left := r.Left()
			if got := q.ReadAbsolute(&r, obs, tick); got != to[c] || r.Bad() || left-r.Left() != absolute {
				return fmt.Errorf("%s, observers %v, tick %d: %d is read as %d, bad %v", q.Name, obs, tick, to[c], got, r.Bad())
			}
			if got := q.ReadDelta(&r, from[c], obs); got != to[c] || r.Bits(7) != 0x5a || r.Bad() {
				return fmt.Errorf("%s, observers %v: %d after %d is read as %d, bad %v", q.Name, obs, to[c], from[c], got, r.Bad())
			}
		}
	}
	return nil
}

// observed compares observers' integers with the exact quotient.
func observed(k *schema.Kind, sims, obs []int64) error {
	for i := range k.Props {
		q := &k.Props[i]
		for c := 0; q.ObsAt >= 0 && c < q.Comps; c++ {
			v, o := sims[q.At+c], obs[q.ObsAt+c]
			switch q.Class {
			case schema.Pos, schema.Vel, schema.Float, schema.Angle, schema.Spin, schema.View:
				exact := new(big.Rat).SetInt64(v)
				exact.Mul(exact, new(big.Rat).SetFloat64(q.Obs)).Quo(exact, new(big.Rat).SetFloat64(q.Sim))
				off, _ := exact.Sub(exact, new(big.Rat).SetInt64(o)).Float64()
				if q.Turn > 0 {
					off = math.Remainder(off, float64(q.Turn))
				}
				saturated := o == math.MaxInt32 && off > 0 || o == math.MinInt32 && off < 0
				if math.Abs(off) > 0.5+1e-6 && !saturated {
					return fmt.Errorf("%s: %d of %v steps a unit is observed as %d of %v, off by %v", q.Name, v, q.Sim, o, q.Obs, off)
				}
			case schema.Quat:
				if err := observedQuat(q, sims[q.At:q.At+3], obs[q.ObsAt:q.ObsAt+3]); err != nil {
					return err
				}
			case schema.Tick, schema.Handle, schema.Text, schema.Bytes:
				if uint32(o) != uint32(v) {
					return fmt.Errorf("%s: %d is observed as %d", q.Name, v, o)
				}
			default:
				if o != v {
					return fmt.Errorf("%s: %d is observed as %d", q.Name, v, o)
				}
			}
		}
	}
	return nil
}

// observedQuat compares the rotations themselves: three components off by half a step each, and the
// fourth by what follows.
func observedQuat(q *schema.Prop, sims, obs []int64) error {
	steps := func(per float64) (base, m int64) { return int64(per), int64(per)/2 - 1 }
	base, m := steps(q.Sim)
	a := schema.UnpackQuat(sims, base, m)
	to, most := steps(q.Obs)
	b := schema.UnpackQuat(obs, to, most)
	for i := range a {
		x, y := float64(a[i])/float64(m), float64(b[i])/float64(most)
		if math.Abs(x-y) > 2.6/float64(most) {
			return fmt.Errorf("%s: %v of %v is observed as %v of %v", q.Name, sims, q.Sim, obs, q.Obs)
		}
	}
	return nil
}

func TestPromises(t *testing.T) {
	for _, k := range []*schema.Kind{kindOf[everything](t), kindOf[rigid](t)} {
		rapid.Check(t, func(t *rapid.T) {
			if err := promises(k, rapid.Uint64().Draw(t, "seed")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The extremes of each property, against each other.
func TestCodesOfExtremes(t *testing.T) {
	extremes(t, kindOf[everything](t))
	extremes(t, kindOf[rigid](t))
}

func extremes(t *testing.T, k *schema.Kind) {
	for i := range k.Props {
		q := &k.Props[i]
		values := []int64{-schema.MaxValue, -1 << 32, math.MinInt32, -1, 0, 1, math.MaxInt32, math.MaxUint32, schema.MaxValue}
		for _, a := range values {
			for _, b := range values {
				from, to := make([]int64, k.Sims), make([]int64, k.Sims)
				for c := q.At; c < q.At+q.Comps; c++ {
					from[c], to[c] = a, b
				}
				k.Clamp(from)
				k.Clamp(to)
				for _, tick := range []int64{0, 1, math.MaxUint32} {
					if err := codes(k, from, to, tick, false); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// A stick is shortened into its disc, keeps its direction, and shortening it again changes nothing.
func TestStickInDisc(t *testing.T) {
	for _, bit := range []int{2, 3, 5, 8, 16} {
		k, err := one(geom.Vec2{}, fmt.Sprintf("stick,%dbit", bit))
		if err != nil {
			t.Fatal(err)
		}
		m := int64(1)<<(bit-1) - 1
		rapid.Check(t, func(t *rapid.T) {
			c := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-m-2, m+2))
			v := []int64{c.Draw(t, "x"), c.Draw(t, "y")}
			was := slices.Clone(v)
			k.Clamp(v)
			if v[0]*v[0]+v[1]*v[1] > m*m {
				t.Fatalf("%v is clamped to %v, outside the disc of %d", was, v, m)
			}
			again := slices.Clone(v)
			if k.Clamp(again); !slices.Equal(v, again) {
				t.Fatalf("%v is clamped to %v, and again to %v", was, v, again)
			}
			x, y := min(max(was[0], -m), m), min(max(was[1], -m), m)
			if x*x+y*y <= m*m && (v[0] != x || v[1] != y) {
				t.Fatalf("%v lies within the disc of %d, but is clamped to %v", was, m, v)
			}
			if cross := x*v[1] - y*v[0]; max(cross, -cross) > 3*(max(x, -x)+max(y, -y)) || x*v[0] < 0 || y*v[1] < 0 {
				t.Fatalf("%v is turned to %v", was, v)
			}
			if x*x+y*y > m*m && v[0]*v[0]+v[1]*v[1] < max(m-3, 0)*max(m-3, 0) {
				t.Fatalf("%v is shortened to %v of %d", was, v, m)
			}
		})
	}
}

func TestDrawnAndExactNumbers(t *testing.T) {
	k := kindOf[everything](t)
	e := everything{Pos: geom.Vec3{X: 1.23456, Y: -2, Z: 3}, Vel: geom.Vec3{X: 9}, Flag: geom.Vec2{X: 0.05, Y: 7},
		Yaw: -1, Pitch: 3, Heat: -5, Score: -2, Level: 200,
		Money: -1 << 31, Alive: true, Until: 1<<32 - 1, Target: 1 << 31, Name: "Zoë", Stick: geom.Vec2{X: 0.6,
			Y: -0.8}, Jump: true, Ammo: 12, Ready: 77, Phase: 0.5, Secret: 9}
	sims := make([]int64, k.Sims)
	k.Extract(unsafe.Pointer(&e), sims)
	row := make([]int32, k.Obs)
	k.Observe(sims, row)
	drawn := make([]int64, k.Obs)
	for i, v := range row {
		drawn[i] = int64(v) * schema.SubSteps
	}

	var seen everything
	seen.Secret, seen.Ammo, seen.Phase = 5, 5, 5 // must not shine through
	k.StoreDrawn(unsafe.Pointer(&seen), drawn)
	want := everything{Pos: geom.Vec3{X: 1.23, Y: -2, Z: 3}, Vel: geom.Vec3{X: 9}, Flag: geom.Vec2{X: 0.05, Y: 7},
		Yaw: geom.Angle(-41 * 2 * math.Pi / 256), Pitch: 172 * 2 * math.Pi / 360, Heat: -4,
		Score: -2, Level: 200, Money: -1 << 31, Alive: true, Until: 1<<32 - 1, Target: 1 << 31,
		Name: "Zoë", Stick: geom.Vec2{X: 19.0 / 31, Y: -24.0 / 31}, Jump: true}
	if err := near(seen, want); err != nil {
		t.Errorf("drawn: %v", err)
	}

	numbers := k.AppendDrawn(nil, drawn)
	if len(numbers) != k.Floats() {
		t.Fatalf("%d numbers, want %d", len(numbers), k.Floats())
	}
	// x y z, velocity, flag, yaw, pitch, heat, score, level, money, alive, until, target, name in
	// fours, stick, jump, and what observers do not receive
	text := func(s string) float64 {
		return float64(uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24)
	}
	wantNumbers := []float64{1.23, -2, 3, 9, 0, 0, 0.05, 7, -41 * 2 * math.Pi / 256, 172 * 2 * math.Pi / 360, -4, -2,
		200, -1 << 31, 1, 1<<32 - 1, 1 << 31, text("Zo\xc3\xab"), 0, 0, 0, 19.0 / 31, -24.0 / 31, 1, 0, 0, 0, 0}
	if err := nearNumbers(numbers, wantNumbers); err != nil {
		t.Errorf("drawn numbers: %v", err)
	}

	exact := k.AppendExact(nil, nil, sims, 65536)
	wantNumbers[0], wantNumbers[8], wantNumbers[10] = float64(sims[0])/256000, float64(sims[8]-4096)*2*math.Pi/4096, -5
	wantNumbers[24], wantNumbers[25], wantNumbers[26] = 12, 77, 64 // kept ones as integers of the rules: 0.5 in 1/128
	wantNumbers[26] = 0.5
	if err := nearNumbers(exact, wantNumbers); err != nil {
		t.Errorf("exact numbers: %v", err)
	}

	// Half way between two states: places and angles in between, the rest as in the later one.
	later := e
	later.Pos.X, later.Yaw, later.Score, later.Alive, later.Name = 2.23456, 3, 7, false, "Zo"
	b := make([]int64, k.Sims)
	k.Extract(unsafe.Pointer(&later), b)
	half := k.AppendExact(nil, sims, b, 32768)
	if math.Abs(half[0]-1.73456) > 1e-5 || half[11] != 7 || half[14] != 0 || half[17] != float64('Z'|'o'<<8) {
		t.Errorf("half way: %v", half)
	}
	// From -1 to 3 radians the short way is over pi: 2.2832 radians, half of it back from -1 is
	// -2.1416.
	if math.Abs(half[8]-(-2.1416)) > 2e-3 {
		t.Errorf("half way from -1 to 3 radians is %v", half[8])
	}
}

func near(got, want everything) error {
	a, b := reflect.ValueOf(got), reflect.ValueOf(want)
	var errs []error
	for i := range a.NumField() {
		if x, y := fmt.Sprintf("%.9v", a.Field(i)), fmt.Sprintf("%.9v", b.Field(i)); x != y {
			errs = append(errs, fmt.Errorf("%s is %s, want %s", a.Type().Field(i).Name, x, y))
		}
	}
	return errors.Join(errs...)
}

func nearNumbers(got, want []float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d numbers %v, want %d", len(got), got, len(want))
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-9*max(1, math.Abs(want[i])) {
			return fmt.Errorf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// Texts that are stored are always valid, whatever arrived.
func TestStoredTextsAreValid(t *testing.T) {
	k, err := one("", "text,7")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := []int64{rapid.Int64().Draw(t, "first"), rapid.Int64().Draw(t, "second")}
		var s string
		k.Store(unsafe.Pointer(&s), v)
		if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Fatalf("%v is stored as %q", v, s)
		}
		k.Clamp(v)
		if k.Store(unsafe.Pointer(&s), v); len(s) > 7 || !utf8.ValidString(s) {
			t.Fatalf("%v is stored as %q", v, s)
		}
	})
}

// The bits of each class of value, pinned. They change only together with docs/PROTOCOL.md and the
// version.
func TestCodeVectors(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Values as bits, in the order in which they are written, at tick 1000: property, who reads it, " +
		"value, by itself;\n" +
		"# then the value that the difference is taken from, and the difference. The kinds, as schema text:\n")
	b.WriteString(inComments("kind " + kindOf[everything](t).Text()))
	b.WriteString(inComments("kind " + kindOf[rigid](t).Text()))
	codeVectors(&b, kindOf[everything](t))
	codeVectors(&b, kindOf[rigid](t))
	golden.Check(t, "testdata/codes.txt", b.String())
}

func codeVectors(b *strings.Builder, k *schema.Kind) {
	for i := range k.Props {
		q := &k.Props[i]
		for _, obs := range []bool{true, false} {
			if obs && q.ObsAt < 0 || !obs && q.Audience == schema.Server {
				continue
			}
			who := map[bool]string{true: "others", false: "owner"}[obs]
			for _, pair := range [][2]int64{{0, 1}, {1, 0}, {100, 103}, {-2, 900}, {3000, 2999},
				{math.MaxInt32, math.MinInt32}} {
				v, base := make([]int64, k.Sims), make([]int64, k.Sims)
				for c := q.At; c < q.At+q.Comps; c++ {
					v[c], base[c] = pair[0], pair[1]
				}
				k.Clamp(v)
				k.Clamp(base)
				x, y := v[q.At], base[q.At]
				if obs {
					row := make([]int32, k.Obs)
					k.Observe(v, row)
					x = int64(row[q.ObsAt])
					k.Observe(base, row)
					y = int64(row[q.ObsAt])
				}
				var w wire.BitWriter
				w.Reset(nil)
				q.AppendAbsolute(&w, x, obs, 1000)
				absolute := bitString(&w)
				w.Reset(nil)
				q.AppendDelta(&w, x, y, obs)
				fmt.Fprintf(b, "%s %s %s %d %s from %d %s\n", q.Name, q.Class, who, x, absolute, y, bitString(&w))
			}
		}
	}
}

func bitString(w *wire.BitWriter) string {
	n := w.Len()
	var r wire.BitReader
	r.Reset(w.Bytes())
	s := make([]byte, n)
	for i := range s {
		s[i] = '0' + byte(r.Bits(1))
	}
	return string(s)
}

// FuzzRead reads every property from any bytes: the result is a value that a history could hold, or
// the reader is bad, and a value that was accepted is read again when it is written.
func FuzzRead(f *testing.F) {
	kinds := []*schema.Kind{kindOf[everything](f), kindOf[rigid](f)}
	k := kinds[0]
	var w wire.BitWriter
	w.Reset(nil)
	for i := range k.Props {
		k.Props[i].AppendAbsolute(&w, 1, false, 1000)
	}
	f.Add(w.Bytes(), uint32(1000), int64(5))
	f.Add([]byte(strings.Repeat("\xff", 300)), uint32(1), int64(math.MinInt64))
	f.Add([]byte{}, uint32(0), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, tick uint32, seed int64) {
		for i := range 4 {
			k, obs := kinds[i/2], i%2 == 0
			var r wire.BitReader
			r.Reset(data)
			base := make([]int64, k.Sims)
			for i := range base {
				base[i] = int64(bits.RotateLeft64(uint64(seed), i*7))
			}
			k.Clamp(base)
			row := make([]int32, k.Obs)
			k.Observe(base, row)
			for i := range k.Props {
				q := &k.Props[i]
				if obs && q.ObsAt < 0 {
					continue
				}
				from := base[q.At]
				if obs {
					from = int64(row[q.ObsAt])
				}
				for _, v := range []int64{q.ReadAbsolute(&r, obs, int64(tick)), q.ReadDelta(&r, from, obs)} {
					if r.Bad() {
						break
					}
					bad := obs && v != int64(int32(v)) || v < -schema.MaxValue || v > schema.MaxValue
					switch q.Class {
					case schema.Int, schema.Enum:
						bad = bad || v < q.Min || v > q.Max
					case schema.Quat:
						per := map[bool]float64{true: q.Obs, false: q.Sim}[obs]
						bad = bad || float64(v) <= -per/2 || float64(v) >= per+per/2
					case schema.Angle, schema.View:
						turn := q.SimTurn
						if obs {
							turn = q.Turn
						}
						bad = bad || v < 0 || v >= turn
					case schema.Bool, schema.Press:
						bad = bad || v&^1 != 0
					case schema.Tick, schema.Handle, schema.Text:
						bad = bad || !obs && v != int64(uint32(v))
					}
					if bad {
						t.Fatalf("%s, observers %v: read %d", q.Name, obs, v)
					}
					if err := codes(&schema.Kind{Props: []schema.Prop{alone(*q)}}, []int64{v}, []int64{v}, int64(tick),
						obs); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

// alone is a property of one component that is the first one.
func alone(q schema.Prop) schema.Prop {
	q.At, q.ObsAt, q.Comps = 0, 0, 1
	return q
}

func TestNoAllocations(t *testing.T) {
	noAllocations[everything](t)
	noAllocations[rigid](t)
}

func noAllocations[T any](t *testing.T) {
	k := kindOf[T](t)
	r := random(1)
	var e T
	r.fill(reflect.ValueOf(&e).Elem())
	sims, row, drawn := make([]int64, k.Sims), make([]int32, k.Obs), make([]int64, k.Obs)
	numbers := make([]float64, 0, k.Floats())
	buf := make([]byte, 0, 1000)
	var w wire.BitWriter
	k.Extract(unsafe.Pointer(&e), sims)
	k.Store(unsafe.Pointer(&e), sims)
	if n := testing.AllocsPerRun(100, func() {
		k.Extract(unsafe.Pointer(&e), sims)
		k.Clamp(sims)
		k.Store(unsafe.Pointer(&e), sims) // the text is the same
		k.Observe(sims, row)
		for i, v := range row {
			drawn[i] = int64(v) * schema.SubSteps
		}
		for i := range k.Props {
			if q := &k.Props[i]; q.ObsAt >= 0 {
				row[q.ObsAt] = q.Coarsen(row[q.ObsAt], 1)
			}
		}
		numbers = k.AppendExact(k.AppendDrawn(numbers[:0], drawn)[:0], sims, sims, 9)
		w.Reset(buf)
		for i := range k.Props {
			k.Props[i].AppendAbsolute(&w, sims[k.Props[i].At], false, 1)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkKind(b *testing.B) {
	k := kindOf[everything](b)
	e := everything{Pos: geom.Vec3{X: 1}, Name: "Zoë", Stick: geom.Vec2{X: 1, Y: 1}}
	sims, row := make([]int64, k.Sims), make([]int32, k.Obs)
	b.Run("extract", func(b *testing.B) {
		for b.Loop() {
			k.Extract(unsafe.Pointer(&e), sims)
		}
	})
	b.Run("store", func(b *testing.B) {
		for b.Loop() {
			k.Store(unsafe.Pointer(&e), sims)
		}
	})
	b.Run("observe", func(b *testing.B) {
		for b.Loop() {
			k.Observe(sims, row)
		}
	})
}
