package schema_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
)

// id is a handle as package game declares it, which this package cannot import.
type ID uint32

// one returns the kind of a struct with one field F of v's type and the given tag.
func one(v any, tag string) (*schema.Kind, error) {
	return schema.New("one", oneType(v, tag), 30)
}

func oneType(v any, tag string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeOf(v),
		Tag: reflect.StructTag(fmt.Sprintf("net:%q", tag))}})
}

func TestTags(t *testing.T) {
	v2, v3 := geom.Vec2{}, geom.Vec3{}
	const mm256, cm = 256000, 100 // steps a metre
	for _, c := range []struct {
		v    any
		tag  string
		want schema.Prop
	}{
		{v2, "pos", schema.Prop{Class: schema.Pos, Comps: 2, Sim: mm256, Obs: cm, Draw: schema.Linear}},
		{v3, "pos", schema.Prop{Class: schema.Pos, Comps: 3, Sim: mm256, Obs: cm, Draw: schema.Linear}},
		{v2, "pos,1cm", schema.Prop{Class: schema.Pos, Comps: 2, Sim: cm, Obs: cm, Draw: schema.Linear}},
		{v2, "pos,1mm", schema.Prop{Class: schema.Pos, Comps: 2, Sim: 1000, Obs: cm, Draw: schema.Linear}},
		{v2, "pos,2m",
			schema.Prop{Class: schema.Pos, Comps: 2, Sim: 0.5, Obs: 0.5, Draw: schema.Linear}}, // observers cannot know better
		{v2, "pos,1/64mm,others=1/4cm", schema.Prop{Class: schema.Pos, Comps: 2, Sim: 64000, Obs: 400, Draw: schema.Linear}},
		{v2, "pos,others=1m,1cm,draw=step,group=3", schema.Prop{Class: schema.Pos, Comps: 2, Sim: cm, Obs: 1, Group: 3}},
		{v2, "vel",
			schema.Prop{Class: schema.Vel, Comps: 2, Sim: mm256 / 30.0, Obs: cm,
				Draw: schema.Linear}}, // 1/256 mm a tick at 30 Hz
		{v3, "vel,1mm/s,others=5cm/s", schema.Prop{Class: schema.Vel, Comps: 3, Sim: 1000, Obs: 20, Draw: schema.Linear}},
		{geom.Angle(0), "angle",
			schema.Prop{Class: schema.Angle, Comps: 1, Sim: 65536, Obs: 65536, SimTurn: 65536, Turn: 65536,
				Draw: schema.Linear}},
		{0.0, "angle,1deg",
			schema.Prop{Class: schema.Angle, Comps: 1, Sim: 360, Obs: 360, SimTurn: 360, Turn: 360, Draw: schema.Linear}},
		{0.0, "angle,0.5deg",
			schema.Prop{Class: schema.Angle, Comps: 1, Sim: 720, Obs: 720, SimTurn: 720, Turn: 720, Draw: schema.Linear}},
		{0.0, "angle,12bit,others=8bit",
			schema.Prop{Class: schema.Angle, Comps: 1, Sim: 4096, Obs: 256, SimTurn: 4096, Turn: 256, Draw: schema.Linear}},
		{0.0, "float,0.25", schema.Prop{Class: schema.Float, Comps: 1, Sim: 4, Obs: 4, Draw: schema.Linear, Group: 1}},
		{0.0, "float,1/8,others=0.5,draw=step", schema.Prop{Class: schema.Float, Comps: 1, Sim: 8, Obs: 2, Group: 1}},
		{0, "int,-5..5", schema.Prop{Class: schema.Int, Comps: 1, Sim: 1, Obs: 1, Min: -5, Max: 5, Group: 1}},
		{int8(0), "int,-128..127", schema.Prop{Class: schema.Int, Comps: 1, Sim: 1, Obs: 1, Min: -128, Max: 127, Group: 1}},
		{uint64(0), "int,0..2147483647", schema.Prop{Class: schema.Int, Comps: 1, Sim: 1, Obs: 1, Max: 1<<31 - 1, Group: 1}},
		{0, "int,7..7", schema.Prop{Class: schema.Int, Comps: 1, Sim: 1, Obs: 1, Min: 7, Max: 7, Group: 1}},
		{false, "bool", schema.Prop{Class: schema.Bool, Comps: 1, Sim: 1, Obs: 1, Group: 1}},
		{clock.Tick(0), "tick,to=owner",
			schema.Prop{Class: schema.Tick, Comps: 1, Sim: 1, Obs: 1, Group: 1, Audience: schema.Owner}},
		{v2, "pos,16mm,wire=near",
			schema.Prop{Class: schema.Pos, Comps: 2, Sim: 62.5, Obs: 62.5, Draw: schema.Linear, Near: 16}},
		{"", "text,9,ref", schema.Prop{Class: schema.Text, Comps: 3, Sim: 1, Obs: 1, Max: 9, Group: 2, Ref: true}},
		{ID(0), "handle,server",
			schema.Prop{Class: schema.Handle, Comps: 1, Sim: 1, Obs: 1, Group: 1, Audience: schema.Server}},
		{"", "text,12", schema.Prop{Class: schema.Text, Comps: 3, Sim: 1, Obs: 1, Max: 12, Group: 2}},
		{"", "text,31,group=1,kept",
			schema.Prop{Class: schema.Text, Comps: 8, Sim: 1, Obs: 1, Max: 31, Group: 1, Audience: schema.Kept}},
		{v2, "stick", schema.Prop{Class: schema.Stick, Comps: 2, Sim: 15, Obs: 15, Group: 1}}, // -15..15 fits 5 bits
		{v2, "stick,8bit", schema.Prop{Class: schema.Stick, Comps: 2, Sim: 127, Obs: 127, Group: 1}},
		{geom.View{}, "view",
			schema.Prop{Class: schema.View, Comps: 2, Sim: 65536, Obs: 65536, SimTurn: 65536, Turn: 65536, Draw: schema.Linear}},
		{geom.View{}, "view,1deg,others=2deg",
			schema.Prop{Class: schema.View, Comps: 2, Sim: 360, Obs: 180, SimTurn: 360, Turn: 180, Draw: schema.Linear}},
		{geom.Quat{}, "quat", schema.Prop{Class: schema.Quat, Comps: 3, Sim: 65536, Obs: 512, Draw: schema.Linear}},
		{geom.Quat{}, "quat,8bit", schema.Prop{Class: schema.Quat, Comps: 3, Sim: 256, Obs: 256, Draw: schema.Linear}},
		{geom.Quat{}, "quat,20bit,others=16bit,draw=step",
			schema.Prop{Class: schema.Quat, Comps: 3, Sim: 1 << 20, Obs: 65536}},
		{v3, "spin,1deg/s",
			schema.Prop{Class: schema.Spin, Comps: 3, Sim: 360 / (2 * math.Pi), Obs: 360 / (2 * math.Pi), Draw: schema.Linear}},
		{geom.Angle(0), "spin,2deg/s",
			schema.Prop{Class: schema.Spin, Comps: 1, Sim: 180 / (2 * math.Pi), Obs: 180 / (2 * math.Pi), Draw: schema.Linear}},
		{uint8(0), "enum,idle|walk|run",
			schema.Prop{Class: schema.Enum, Comps: 1, Sim: 1, Obs: 1, Max: 2, Group: 1, Names: "idle|walk|run"}},
		{[4]byte{}, "bytes", schema.Prop{Class: schema.Bytes, Comps: 1, Sim: 1, Obs: 1, Max: 4, Group: 2}},
		{[32]byte{}, "bytes,kept",
			schema.Prop{Class: schema.Bytes, Comps: 8, Sim: 1, Obs: 1, Max: 32, Group: 2, Audience: schema.Kept}},
		{0.0, "float,0.5,-2..3",
			schema.Prop{Class: schema.Float, Comps: 1, Sim: 2, Obs: 2, Min: -4, Max: 6, Draw: schema.Linear, Group: 1}},
		{0.0, "float,-2..3,0.5",
			schema.Prop{Class: schema.Float, Comps: 1, Sim: 2, Obs: 2, Min: -4, Max: 6, Draw: schema.Linear, Group: 1}},
		{ID(0), "handle,team,to=owner",
			schema.Prop{Class: schema.Handle, Comps: 1, Sim: 1, Obs: 1, Group: 1, Audience: schema.Owner}},
		{false, "press", schema.Prop{Class: schema.Press, Comps: 1, Sim: 1, Obs: 1, Group: 1}},
	} {
		k, err := one(c.v, c.tag)
		if err != nil {
			t.Errorf("%T %s: %v", c.v, c.tag, err)
			continue
		}
		p, w := k.Props[0], c.want
		if p.Audience == schema.Everyone {
			w.Group = 0 // the only group there is
		}
		got := schema.Prop{Class: p.Class, Comps: p.Comps, Sim: p.Sim, Obs: p.Obs, SimTurn: p.SimTurn, Turn: p.Turn,
			Draw: p.Draw, Min: p.Min, Max: p.Max, Group: p.Group, Names: p.Names, Audience: p.Audience, Ref: p.Ref, Near: p.Near}
		if !reflect.DeepEqual(got, w) {
			t.Errorf("%T %s: %+v, want %+v", c.v, c.tag, got, w)
		}
		if team := strings.Contains(c.tag, "team"); team != (k.Team == 0) {
			t.Errorf("%T %s: the team is property %d", c.v, c.tag, k.Team)
		}
	}
}

// For each mistake the error names struct, field and tag, says what is wrong, and gives an example,
// which works.
func TestWrongTags(t *testing.T) {
	v2, v3 := geom.Vec2{}, geom.Vec3{}
	for _, c := range []struct {
		v         any
		tag, want string
	}{
		{v2, "", `unknown class "", want one of pos vel angle float int bool tick handle text stick press ` +
			"view quat spin enum bytes"},
		{v2, "position", `unknown class "position"`},
		{v2, "pos ", `unknown class "pos "`},
		{0.0, "pos", "class pos does not fit Go type float64, want geom.Vec2 or geom.Vec3"},
		{v2, "angle", "class angle does not fit Go type geom.Vec2, want geom.Angle or float64"},
		{0, "float,1", "class float does not fit Go type int"},
		{0.0, "int,0..1", "class int does not fit Go type float64, want an integer type"},
		{0, "bool", "class bool does not fit Go type int, want bool"},
		{0, "tick", "class tick does not fit Go type int, want game.Tick or game.ID"},
		{uint64(0), "handle", "class handle does not fit Go type uint64"},
		{false, "text,3", "class text does not fit Go type bool, want string"},
		{geom.Vec3{}, "stick", "class stick does not fit Go type geom.Vec3, want geom.Vec2"},
		{"", "press", "class press does not fit Go type string, want bool"},

		{v2, "pos,1", `precision "1", want a length such as 1cm, 1mm or 1/256mm`},
		{v2, "pos,1km", `precision "1km", want a length`},
		{v2, "pos,0cm", `precision "0cm"`},
		{v2, "pos,-1cm", `precision "-1cm"`},
		{v2, "pos,1/0mm", `precision "1/0mm"`},
		{v2, "pos,NaNcm", `precision "NaNcm"`},
		{v2, "pos,Infm", `precision "Infm"`},
		{v2, "pos,1e-9mm", `precision "1e-9mm"`},
		{v2, "pos,1e9m", `precision "1e9m"`},
		{v2, "vel,1cm", `precision "1cm", want a speed such as 1cm/s`},
		{v2, "vel,/s", `precision "/s", want a speed`},
		{0.0, "angle,1", `precision "1", want an angle such as 1deg, or 8bit up to 24bit`},
		{0.0, "angle,360deg", `precision "360deg", want an angle`},
		{0.0, "angle,0bit", `precision "0bit", want an angle`},
		{0.0, "angle,25bit", `precision "25bit", want an angle`},
		{0.0, "float", "class float needs a precision"},
		{0.0, "float,0", `precision "0", want a step such as 0.1`},
		{0.0, "float,1e-310", `precision "1e-310", want a step`}, // one over it is infinite
		{0.0, "float,1e10", `precision "1e10", want a step`},
		{0, "int", "class int needs a precision"},
		{0, "int,5", `precision "5", want a range such as 0..999 within 32 bits`},
		{0, "int,9..0", `precision "9..0", want a range`},
		{0, "int,0..4294967296", `precision "0..4294967296", want a range`},
		{int8(0), "int,0..128", `precision "0..128", want a range that fits Go type int8`},
		{int16(0), "int,-40000..0", `precision "-40000..0", want a range that fits Go type int16`},
		{uint16(0), "int,0..70000", `precision "0..70000", want a range that fits Go type uint16`},
		{uint32(0), "int,-5..5", `precision "-5..5", want a range that fits Go type uint32`},
		{uint64(0), "int,-1..5", `precision "-1..5", want a range that fits Go type uint64`},
		{"", "text", "class text needs a precision"},
		{"", "text,0", `precision "0", want a number of bytes, 1 to 31`},
		{"", "text,32", `precision "32", want a number of bytes, 1 to 31`},
		{v2, "stick,1bit", `precision "1bit", want 2bit up to 16bit`},
		{v2, "stick,17bit", `precision "17bit", want 2bit up to 16bit`},
		{false, "bool,1", `precision "1", want none for class bool`},
		{clock.Tick(0), "tick,5", `precision "5", want none for class tick`},

		{v2, "view", "class view does not fit Go type geom.Vec2, want geom.View"},
		{geom.View{}, "pos", "class pos does not fit Go type geom.View, want geom.Vec2 or geom.Vec3"},
		{v3, "quat", "class quat does not fit Go type geom.Vec3, want geom.Quat"},
		{v2, "spin", "class spin does not fit Go type geom.Vec2, want geom.Vec3, geom.Angle or float64"},
		{"", "enum,a|b", "class enum does not fit Go type string, want an integer type"},
		{"", "bytes", "class bytes does not fit Go type string, want an array of 1 to 32 bytes"},
		{geom.Quat{}, "quat,3bit", `precision "3bit", want 4bit up to 20bit`},
		{geom.Quat{}, "quat,21bit", `precision "21bit", want 4bit up to 20bit`},
		{v3, "spin,1deg", `precision "1deg", want an angular velocity such as 1deg/s`},
		{0, "enum", "class enum needs its words, such as idle|walk|run"},
		{0, "enum,", `unknown or repeated word ""`},
		{0, "enum,a||b", `precision "a||b", want 1 to 256 words such as idle|walk|run, of letters, digits, - and _`},
		{0, "enum,a b|c", `precision "a b|c", want 1 to 256 words`},
		{0, "enum,a|b|a", `precision "a|b|a", want each word once, and a stands there twice`},
		{[5]byte{}, "bytes,5", `precision "5", want none for class bytes`},
		{0.0, "float,0.5,3..2", `range "3..2", want one such as 0..5`},
		{0.0, "float,0.5,0..NaN", `range "0..NaN", want one`},
		{0.0, "float,0.5,0..1,0..2", `unknown or repeated word "0..2"`},
		{0.0, "float,1,0..0.1", "a range of 0..0.1 has to be a step at least"},
		{0.0, "float,1e-9,0..5", "for observers at most 32 bits"},

		{v2, "pos,2cm@30m", `precision "2cm@30m", want a length`},
		{v2, "pos,others=1cm,3cm@30m",
			"3cm@30m: want rising distances, and precisions that are 2, 4, 8, ... up to 65536 times as coarse as others=, " +
				"rising too"},
		{v2, "pos,others=1cm,1cm@30m", "1cm@30m: want rising distances"},
		{v2, "pos,others=1cm,4cm@30m,2cm@60m", "2cm@60m: want rising distances"},
		{v2, "pos,others=1cm,2cm@30m,4cm@30m", "4cm@30m: want rising distances"},
		{v2, "pos,others=1cm,2cm@30", `2cm@30: distance "30", want one such as 50m, from 1mm to 1000km`},
		{v2, "pos,others=1cm,2@30m", `2@30m: precision "2", want a length`},
		{v2, "pos,others=1cm,2cm@1m,4cm@2m,8cm@3m,16cm@4m", "16cm@4m: at most 3 distances fit a property"},
		{v2, "pos,to=owner,others=1cm,2cm@1m", "@ distances is about what others receive, and they do not receive it"},
		{v2, "pos,draw=dr", "draw=dr needs a bound, by how much it may be wrong, such as draw=dr:10cm or draw=dr:2deg"},
		{v2, "pos,draw=dr:", `draw=dr:: precision "", want a length`},
		{v2, "pos,draw=dr:2deg", `draw=dr:2deg: precision "2deg", want a length`},
		{v2, "pos,draw=dr:1mm", "draw=dr:1mm is 0 steps of what observers receive, want 1 to 2^30"},
		{v2, "pos,server,draw=dr:1m", "draw=dr is about what others receive, and they do not receive it"},
		{v2, "vel,draw=dr:1cm/s", "draw=dr:1cm/s does not fit class vel"},
		{v2, "pos,warp=0m", `distance "0m", want one such as 50m`},
		{v2, "pos,warp=2m,warp=3m", `unknown or repeated word "warp=3m"`},
		{v2, "vel,warp=2m", "warp=2m does not fit class vel: it is the distance of a pos"},
		{v2, "pos,others=1m,warp=10cm", "warp=0.1m is 0 steps of what observers receive, want 1 to 2^30"},
		{v2, "pos,kept,warp=2m", "warp= is about what others receive"},
		{v2, "pos,far=", `distance "", want one such as 50m`},
		{0, "int,0..9,far=2000km", `distance "2000km", want one such as 50m, from 1mm to 1000km`},
		{0, "int,0..9,server,far=2m", "far= is about what others receive"},
		{v2, "pos,slow=1cm", "slow=1cm, want a speed such as 1cm/s"},
		{0.0, "angle,slow=1cm/s", "slow=1cm/s, want a speed such as 1deg/s"},
		{0, "int,0..9,slow=1cm/s", "slow=1cm/s does not fit class int, want pos, vel, angle or spin"},
		{v2, "pos,1cm,slow=1cm/s",
			"a step of 10mm is too coarse for slow=1cm/s at 30 Hz, which is 0.333mm a tick; write a precision of 0.33mm or " +
				"finer"},
		{v2, "pos,team", "team does not fit class pos, want int, enum or handle"},
		{0, "int,0..9,parent", "parent does not fit class int, want handle"},
		{ID(0), "handle,parent", "a parent needs a pos for everyone in its group, which is relative to it"},
		{ID(0), "handle,parent,server", "parent is about what others receive"},

		{v2, "pos,1cm,1mm", `unknown or repeated word "1mm"`},
		{v2, "pos,", `unknown or repeated word ""`},
		{v2, "pos,to=team", "to=team needs a property with the word team"},
		{v2, "pos,to=teams", `unknown or repeated word "to=teams"`},
		{v2, "pos,others", `precision "others"`},
		{v2, "pos,others=", `precision "", want a length`},
		{v2, "pos,others=1cm,others=2cm", `unknown or repeated word "others=2cm"`},
		{v2, "pos,1cm,others=1mm", "others is finer than the simulation: 1000 against 100 steps a unit"},
		{0.0, "angle,8bit,others=9bit", "others is finer than the simulation: 512 against 256 steps a unit"},
		{0, "int,0..9,others=0..3", "others=0..3: observers receive class int as it is"},
		{"", "text,9,others=3", "others=3: observers receive class text as it is"},
		{v2, "pos,wire=far", "wire=far does not fit class pos: only wire=near does, for a pos"},
		{v2, "vel,wire=near", "wire=near does not fit class vel: only wire=near does, for a pos"},
		{v2, "pos,wire=near,wire=near", `unknown or repeated word "wire=near"`},
		{v2, "pos,ref", "ref does not fit class pos, only text"},
		{"", "text,9,ref,ref", `unknown or repeated word "ref"`},
		{v2, "stick,8bit,others=4bit", "others=4bit: observers receive class stick as it is"},
		{v2, "pos,draw=spline", "draw=spline does not fit class pos"},
		{v2, "vel,draw=hermite", "draw=hermite does not fit class vel"},
		{0, "int,0..9,draw=linear", "draw=linear does not fit class int"},
		{v2, "pos,draw=step,draw=linear", `unknown or repeated word "draw=linear"`},
		{v2, "pos,group=4", "group=4 is outside 0..3"},
		{v2, "pos,group=-1", "group=-1 is outside 0..3"},
		{v2, "pos,group", `precision "group"`},
		{v2, "pos,group=1,group=1", `unknown or repeated word "group=1"`},
		{v2, "pos,server,to=owner", "to=owner, to=team, server and kept exclude each other"},
		{v2, "pos,kept,kept", "to=owner, to=team, server and kept exclude each other"},
	} {
		_, err := one(c.v, c.tag)
		if err == nil {
			t.Errorf("%T `net:%q` is accepted", c.v, c.tag)
			continue
		}
		if text := err.Error(); !strings.Contains(text, fmt.Sprintf(".F `net:%q`", c.tag)) ||
			!strings.Contains(text, c.want) {
			t.Errorf("%T `net:%q`: %v; want %s", c.v, c.tag, err, c.want)
		}
		_, after, ok := strings.Cut(err.Error(), "an example that works: `net:\"")
		tag, _, _ := strings.Cut(after, "\"")
		if _, err := one(c.v, tag); !ok || err != nil {
			t.Errorf("%T `net:%q`: the example %q does not work: %v", c.v, c.tag, tag, err)
		}
	}
}

type faulty struct {
	Pos    geom.Vec2 `net:"pos,1furlong"`
	Aim    geom.Angle
	Health int            `net:"int"`
	Names  map[int]string `net:"text,9"`
	Small  float32        // no class takes it
	Fine   bool           `net:"bool"`
	Where  geom.Vec3      `net:"pos,others=1cm,draw=cubic"`
	Lent   struct{ A, B int }
}

// All wrong fields of a struct stand in one error, pinned as its reader sees it.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := schema.New("faulty", reflect.TypeFor[faulty](), 30)
	if err == nil {
		t.Fatal("no error")
	}
	golden.Check(t, "testdata/mistakes.txt", err.Error()+"\n")
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != 7 {
		t.Errorf("%d errors, want one for each of 7 fields", len(joined.Unwrap()))
	}
}

type gliding struct {
	Pos geom.Vec2 `net:"pos,draw=hermite"`
	Vel geom.Vec2 `net:"vel"`
}

func TestLimits(t *testing.T) {
	many := func(n int, v any, tag string) reflect.Type {
		var f []reflect.StructField
		for i := range n {
			f = append(f,
				reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeOf(v),
					Tag: reflect.StructTag(fmt.Sprintf("net:%q", tag))})
		}
		return reflect.StructOf(f)
	}
	hermite := func(fields ...reflect.StructField) reflect.Type { return reflect.StructOf(fields) }
	field := func(name string, v any, tag string) reflect.StructField {
		return reflect.StructField{Name: name, Type: reflect.TypeOf(v), Tag: reflect.StructTag(fmt.Sprintf("net:%q", tag))}
	}
	v2, v3 := geom.Vec2{}, geom.Vec3{}
	for _, c := range []struct {
		name string
		t    reflect.Type
		rate int
		want string // "" for no error
	}{
		{"nothing", nil, 30, "schema: k is a <nil>, want a struct"},
		{"no struct", reflect.TypeFor[int](), 30, "schema: k is a int, want a struct"},
		{"no fields", reflect.TypeFor[struct{}](), 30, ""},
		{"rate 0", reflect.TypeFor[gliding](), 0, "schema: k: rate 0 Hz is outside [1, 1000]"},
		{"rate 1", reflect.TypeFor[gliding](), 1, ""},
		{"rate 1000", reflect.TypeFor[gliding](), 1000, ""},
		{"rate 1001", reflect.TypeFor[gliding](), 1001, "schema: k: rate 1001 Hz is outside [1, 1000]"},
		{"64 properties", many(64, false, "bool"), 30, ""},
		{"65 properties", many(65, false, "bool"), 30, "has 65 properties, at most 64 fit a kind"},
		{"96 integers", many(32, v3, "pos"), 30, ""},
		{"97 integers",
			reflect.StructOf(append([]reflect.StructField{field("B", false, "bool")},
				fieldsOf(many(32, v3, "pos"))...)), 30, "k has 97 integers, at most 96 fit a kind"},
		{"hermite", reflect.TypeFor[gliding](), 60, ""},
		{"hermite without a velocity", hermite(field("Pos", v2, "pos,draw=hermite")), 30, "draws hermite and needs a " +
			"vel property of 2 components for everyone in its group"},
		{"hermite with a velocity of 3 components", hermite(field("Pos", v2, "pos,draw=hermite"), field("Vel", v3, "vel")),
			30, "draws hermite"},
		{"hermite with a velocity elsewhere",
			hermite(field("Pos", v2, "pos,draw=hermite"), field("Vel", v2, "vel,group=2")), 30, "draws hermite"},
		{"hermite with a private velocity", hermite(field("Pos", v2, "pos,draw=hermite"), field("Vel", v2, "vel,to=owner")),
			30, "draws hermite"},
		{"private hermite", hermite(field("Pos", v2, "pos,draw=hermite,to=owner")), 30,
			""}, // nobody draws it between records
	} {
		k, err := schema.New("k", c.t, c.rate)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
		if (k == nil) != (err != nil) {
			t.Errorf("%s: a kind %v beside the error %v", c.name, k != nil, err)
		}
	}
}

func fieldsOf(t reflect.Type) (f []reflect.StructField) {
	for i := range t.NumField() {
		f = append(f, t.Field(i))
	}
	return f
}

// Groups without members leave no hole, each group's integers lie together, and what only the owner
// or nobody receives has no place among them.
func TestLayout(t *testing.T) {
	type s struct {
		Name   string    `net:"text,5"`
		Secret int       `net:"int,0..9,server"`
		Pos    geom.Vec3 `net:"pos"`
		Ammo   int       `net:"int,0..9,to=owner"`
		Late   bool      `net:"bool,group=3"`
		Yaw    float64   `net:"angle"`
		Phase  float64   `net:"float,0.1,kept"`
	}
	k, err := schema.New("s", reflect.TypeFor[s](), 30)
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, p := range k.Props {
		at = append(at, fmt.Sprint(p.Name, " ", p.At, " ", p.ObsAt, " ", p.Group))
	}
	if got, want := strings.Join(at, ", "), "Name 0 4 1, Secret 2 -1 1, Pos 3 0 0, Ammo 6 -1 1, Late 7 6 2, Yaw 8 3 "+
		"0, Phase 9 -1 1"; got != want {
		t.Errorf("name, place, observers' place and group: %s; want %s", got, want)
	}
	if got, want := fmt.Sprint(short(k), k.Owned, k.Sims, k.Obs, k.PlaceProp().ObsAt,
		k.PlaceProp().Millimetres()), "[{[2 5] 0 4 true} {[0] 4 2 false} {[4] 6 1 false}] [0 2 3 4 5] 10 7 0 "+
		"10"; got != want {
		t.Errorf("groups, owned, integers, observers' integers, place: %s; want %s", got, want)
	}
}

// short is what most tests ask of groups.
func short(k *schema.Kind) (out []any) {
	for _, g := range k.Groups {
		out = append(out, fmt.Sprint("{", g.Props, " ", g.At, " ", g.N, " ", g.Moving, "}"))
	}
	return out
}

// The text of a schema is what both sides compare: it and its hash are pinned.
func TestTextAndHash(t *testing.T) {
	k, err := schema.New("everything", reflect.TypeFor[everything](), 60)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/everything.txt", fmt.Sprintf("%shash %016x\n", k.Text(), schema.Hash(k.Text())))
	if strings.Contains(k.Text(), "Secret") {
		t.Error("the text names what never leaves the server")
	}
	// FNV-1a, 64 bits, of "a": the example of its definition.
	if got := schema.Hash("a"); got != 0xaf63dc4c8601ec8c {
		t.Errorf("Hash(a) = %#x", got)
	}
	// Each difference on the wire is a difference of the text.
	seen := map[string]string{}
	for _, tag := range []string{"pos", "pos,1mm", "pos,others=2cm", "pos,draw=step", "pos,to=owner", "pos,kept", "vel",
		"vel,others=2cm/s", "stick", "stick,6bit"} {
		k, err := one(geom.Vec2{}, tag)
		if err != nil {
			t.Fatal(err)
		}
		if old, ok := seen[k.Text()]; ok {
			t.Errorf("%q and %q have the same text %s", tag, old, k.Text())
		}
		seen[k.Text()] = tag
	}
}

// FuzzTag: no tag makes New panic, and a kind that it accepts keeps its promises.
func FuzzTag(f *testing.F) {
	for _, tag := range []string{"pos,others=1cm,draw=linear", "vel,1/256mm/s", "angle,8bit,others=3deg",
		"float,0.1,group=2", "int,-9..9,to=owner", "bool,server",
		"tick", "handle,kept", "text,7", "stick,16bit", "press", "pos,1/0cm", "int,..", "float,1e-9,others=1e9",
		"pos,0x1p-20m,others=999m", "angle,=,", "int,-2147483648..2147483647", "quat,9bit,others=4bit,4bit@1m",
		"view,1deg,others=2deg,4deg@5m",
		"spin,2deg/s,slow=1deg/s", "enum,a|b|c,team", "bytes", "float,1,-5..5", "handle,parent",
		"pos,far=1km,warp=2m,draw=dr:1cm", "pos,slow=1mm/s,others=1cm,2cm@9m,4cm@10m,8cm@11m"} {
		f.Add(tag)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		for _, v := range []any{geom.Vec2{}, geom.Vec3{}, geom.View{}, geom.Quat{}, 0.0, 0, int8(0), uint16(0), uint32(0),
			false, "", [5]byte{}} {
			typ := oneType(v, tag)
			k, err := schema.New("fuzzed", typ, 30)
			if err != nil {
				continue
			}
			for seed := range uint64(20) {
				if err := promises(k, seed); err != nil {
					t.Fatalf("%T %q: %v", v, tag, err)
				}
			}
		}
	})
}
