package bridge

import (
	"reflect"
	"testing"

	"meanwhile/geom"
	"meanwhile/netcode/schema"
)

type rigid struct {
	Pos  geom.Vec3 `net:"pos"`
	Turn geom.Quat `net:"quat"`
	Look geom.View `net:"view"`
	Spin geom.Vec3 `net:"spin"`
	Rate float64   `net:"spin"`
	Gait uint8     `net:"enum,idle|walk|run"`
	Key  [5]byte   `net:"bytes"`
	Kept bool      `net:"bool,server"`
}

// The type that a page gets for each class, and how many numbers.
func TestLayoutOfClasses(t *testing.T) {
	k, err := schema.New("rigid", reflect.TypeFor[rigid](), 30)
	if err != nil {
		t.Fatal(err)
	}
	var j jsonWriter
	j.fields("properties", k, false)
	want := `"properties":[{"name":"pos","type":"vec3"},{"name":"turn","type":"quat"},{"name":"look","type":"view"},` +
		`{"name":"spin","type":"vec3"},` +
		`{"name":"rate","type":"number"},{"name":"gait","type":"enum","names":["idle","walk","run"]},` +
		`{"name":"key","type":"bytes","length":5}]`
	if got := string(j.b); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	l, err := layoutOf(k, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range l.props {
		n += l.props[i].floats()
	}
	if want := 3 + 3 + 2 + 3 + 1 + 1 + 2; n != want {
		t.Errorf("%d numbers, want %d", n, want)
	}
}
