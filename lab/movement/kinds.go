package movement

import (
	"fmt"
	"reflect"
	"unsafe"

	"meanwhile/geom"
	"meanwhile/netcode/schema"
)

// Precision is how precisely a kind has a movement, in words of schema's tags.
type Precision struct {
	Pos, Vel, Angle, Float string // Float is the height again, as a number
}

// Fine is the precision that bits are counted at.
var Fine = Precision{Pos: "1cm", Vel: "1cm/s", Angle: "8bit"}

// FineCars is Fine for cars.
var FineCars = Precision{Pos: "1cm", Vel: "1cm/s", Angle: "9bit"}

// Kind returns the network's kind for a sort: for walkers a place in the plane, for shooters a
// place and the direction of view, for cars a place, a velocity and three angles. An empty word
// leaves that property out.
func Kind(s Sort, p Precision, rate int) (*schema.Kind, error) {
	var fields []reflect.StructField
	add := func(name string, zero any, class, precision string) {
		if precision != "" {
			tag := fmt.Sprintf(`net:"%s,%s,others=%s"`, class, precision, precision)
			fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeOf(zero),
				Tag: reflect.StructTag(tag)})
		}
	}
	if s == Walkers {
		add("Pos", geom.Vec2{}, "pos", p.Pos)
		return schema.New(s.String(), reflect.StructOf(fields), rate)
	}
	add("Pos", geom.Vec3{}, "pos", p.Pos)
	if s == Cars {
		add("Vel", geom.Vec3{}, "vel", p.Vel)
	}
	add("Yaw", geom.Angle(0), "angle", p.Angle)
	add("Height", 0.0, "float", p.Float)
	if s == Cars {
		add("Pitch", geom.Angle(0), "angle", p.Angle)
		add("Roll", geom.Angle(0), "angle", p.Angle)
	}
	return schema.New(s.String(), reflect.StructOf(fields), rate)
}

// Values returns the simulation integers and the observer integers of each sample of a track, as a
// kind of [Kind] has them.
func Values(k *schema.Kind, track []Sample) (sim [][]int64, obs [][]int32) {
	v := reflect.New(k.Type)
	set := func(name string, x any) {
		if f := v.Elem().FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(x))
		}
	}
	flat := k.Type.Field(0).Type == reflect.TypeFor[geom.Vec2]()
	for _, s := range track {
		if flat {
			set("Pos", geom.Vec2{X: s.X, Y: s.Y})
		} else {
			set("Pos", geom.Vec3{X: s.X, Y: s.Y, Z: s.Z})
		}
		set("Vel", geom.Vec3{X: s.VX, Y: s.VY, Z: s.VZ})
		set("Height", s.Z)
		set("Yaw", geom.Angle(s.Yaw))
		set("Pitch", geom.Angle(s.Pitch))
		set("Roll", geom.Angle(s.Roll))
		a, b := make([]int64, k.Sims), make([]int32, k.Obs)
		k.Extract(unsafe.Pointer(v.Pointer()), a)
		k.Observe(a, b)
		sim, obs = append(sim, a), append(obs, b)
	}
	return sim, obs
}
