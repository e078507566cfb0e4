package schema_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/schema"
)

// What each word makes of a property is in the text that both sides compare.
func TestTextOfEveryWord(t *testing.T) {
	k := kindOf[rigid](t)
	golden.Check(t, "testdata/rigid.txt", fmt.Sprintf("%shash %016x\n", k.Text(), schema.Hash(k.Text())))
	base := "Pos pos,others=1cm;Vel vel;Who handle;Side int,0..3,team;Go enum,idle|run"
	seen := map[string]string{}
	for _, change := range []string{"", "Who handle,parent", "Pos pos,others=1cm,2cm@30m", "Pos pos,others=1cm,4cm@30m",
		"Pos pos,others=1cm,2cm@31m", "Pos pos,others=1cm,warp=2m",
		"Go enum,idle|run,far=50m", "Pos pos,others=1cm,draw=dr:5cm", "Pos pos,others=1cm,draw=dr:6cm", "Side " +
			"int,0..3", "Go enum,idle|walk", "Go enum,run|idle", "Who handle,to=team"} {
		tags := map[string]string{}
		for _, part := range append(strings.Split(base, ";"), change) {
			name, tag, _ := strings.Cut(part, " ")
			tags[name] = tag
		}
		var fields []string
		for _, name := range []string{"Pos", "Vel", "Who", "Side", "Go"} {
			fields = append(fields, name+" "+tags[name])
		}
		k, err := structOf(30, fields...)
		if err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if old, ok := seen[k.Text()]; ok {
			t.Errorf("%q and %q have the same text %s", change, old, k.Text())
		}
		seen[k.Text()] = change
	}
}

// structOf makes a kind at 30 Hz of fields written "Name tag", with Go types from the class.
func structOf(rate int, fields ...string) (*schema.Kind, error) {
	var f []reflect.StructField
	for _, s := range fields {
		name, tag, _ := strings.Cut(s, " ")
		class, _, _ := strings.Cut(tag, ",")
		v := map[string]any{"pos": geom.Vec2{}, "vel": geom.Vec2{}, "angle": geom.Angle(0), "spin": geom.Angle(0),
			"view": geom.View{}, "quat": geom.Quat{}, "int": 0, "enum": 0, "handle": ID(0),
			"float": 0.0, "bool": false, "text": "", "bytes": [5]byte{}}[class]
		f = append(f,
			reflect.StructField{Name: name, Type: reflect.TypeOf(v), Tag: reflect.StructTag(fmt.Sprintf("net:%q", tag))})
	}
	return schema.New("k", reflect.StructOf(f), rate)
}

func TestWordsTogether(t *testing.T) {
	for _, c := range []struct {
		name   string
		rate   int
		fields []string
		want   string // "" for no error
	}{
		{"two teams", 30, []string{"A int,0..3,team", "B handle,team"},
			".B `net:\"handle,team\"`: A names the entity's team already; an example that works"},
		{"a team without to=team", 30, []string{"A int,0..3,team"}, ""}, // the viewer's
		{"to=team without a team", 30, []string{"A int,0..3,to=team"}, "to=team needs a property with the word team"},
		{"a team that nobody receives", 30, []string{"A int,0..3,team,server", "B bool,to=team"}, ""},
		{"two parents", 30, []string{"P pos", "A handle,parent", "B handle,parent"}, "A names the parent already"},
		{"a parent of nothing", 30, []string{"A handle,parent"}, "a parent needs a pos for everyone in its group"},
		{"a parent elsewhere", 30, []string{"P pos", "A handle,parent,group=1"},
			"a parent needs a pos for everyone in its group"},
		{"dead reckoning without a velocity", 30, []string{"P pos,draw=dr:1m"},
			"draws dr and needs a vel property of 2 components for everyone in its group"},
		{"dead reckoning of an angle without a spin", 30, []string{"A angle,draw=dr:5deg", "V vel"},
			"draws dr and needs a spin property of 1 components"},
		{"a place that not all receive", 30, []string{"A int,0..3", "P pos,far=5m"},
			"far= is measured from the first pos for everyone"},
		{"a distance from a team's place", 30, []string{"A int,0..3,team", "P pos,to=team", "B int,0..9,to=team,far=5m"},
			"far= is measured from the first pos for everyone, and there is none"},
		{"a distance from the owner's place", 30, []string{"P pos,to=owner", "B bool,far=5m"},
			"far= is measured from the first pos for everyone, and there is none"},
		{"a distance from a place beside a team's", 30, []string{"A int,0..3,team", "Q pos,to=team,far=5m", "P pos"}, ""},
		{"a second place that not all receive", 30, []string{"P pos", "Q pos,far=5m"}, ""},
		{"four groups", 30, []string{"A pos", "B bool", "C text,3", "D bool,group=3"}, ""},
		{"five groups", 30, []string{"A pos", "B bool", "C text,3", "D bool,group=3", "E bool,far=9m"},
			"has 5 groups by number, audience and distance, at most 4 fit a kind"},
		{"three distances", 30, []string{"A pos,others=1cm,2cm@10m,4cm@20m", "B vel,others=1cm/s,2cm/s@15m"}, ""},
		{"four distances", 30, []string{"A pos,others=1cm,2cm@10m,4cm@20m", "B vel,others=1cm/s,2cm/s@15m,4cm/s@25m"},
			"has 4 distances at which precisions change, at most 3 fit a kind: [10 15 20 25] m"},

		// A step must not be longer than the way of a tick: 10 cm/s / 30 Hz = 3.3 mm.
		{"a place that moves slowly enough", 30, []string{"A pos,3mm,slow=10cm/s"}, ""},
		{"a place that stalls", 30, []string{"A pos,1cm,slow=10cm/s"},
			"a step of 10mm is too coarse for slow=10cm/s at 30 Hz, which is 3.33mm a tick; write a precision of 3.3mm or " +
				"finer"},
		{"what is advised works", 30, []string{"A pos,3.3mm,slow=10cm/s"}, ""},
		{"just the step", 100, []string{"A pos,1mm,slow=10cm/s"}, ""},
		{"the default", 240, []string{"A pos,slow=1mm/s"}, ""},
		{"1 mm at 60 Hz", 60, []string{"A pos,1mm,slow=25mm/s"},
			"which is 0.417mm a tick; write a precision of 0.4mm or finer"},
		// Friction of 1/s takes 10 mm/s / 60 = 0.167 mm/s away in a tick. Rounding takes no notice
		// of half a step: 0.333 mm/s.
		{"a velocity at the default", 60, []string{"A vel,slow=1cm/s"}, ""},
		{"a velocity that glides for ever", 60, []string{"A vel,1mm/s,slow=1cm/s"},
			"a step of 1mm/s is too coarse for slow=1cm/s at 60 Hz: friction of 1/s takes away 0.167mm/s in a tick, of " +
				"which half a step or less is rounded away for ever; write a precision of 0.33mm/s or finer"},
		{"a velocity as advised", 60, []string{"A vel,0.33mm/s,slow=1cm/s"}, ""},
		{"an angle", 30, []string{"A angle,1deg,slow=10deg/s"},
			"a step of 1deg is too coarse for slow=10deg/s at 30 Hz, which is 0.333deg a tick; write a precision of " +
				"0.33deg or finer"},
		{"an angle as advised", 30, []string{"A angle,0.33deg,slow=10deg/s"}, ""},
		{"a spin", 30, []string{"A spin,1deg/s,slow=10deg/s"}, "friction of 1/s takes away 0.333deg/s in a tick"},
		{"a spin as advised", 30, []string{"A spin,0.66deg/s,slow=10deg/s"}, ""},
	} {
		k, err := structOf(c.rate, c.fields...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
		if (k == nil) != (err != nil) {
			t.Errorf("%s: a kind %v beside the error %v", c.name, k != nil, err)
		}
	}
}

// What slow= refuses does stand still, and what it lets pass moves: simulated, at each precision
// for a while.
func TestSlowIsWhatStalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]int{20, 30, 60, 128}).Draw(t, "rate")
		step := rapid.SampledFrom([]float64{0.1, 0.3, 1, 2, 5, 10}).Draw(t, "millimetres")
		slow := rapid.SampledFrom([]float64{1, 10, 25, 100, 300}).Draw(t, "slow mm/s")
		_, err := structOf(rate, fmt.Sprintf("A pos,%vmm,slow=%vmm/s", step, slow))
		x, v := 0.0, slow/1000/float64(rate)
		for range 10 * rate {
			x = math.Floor((x+v)/(step/1000)+0.5) * (step / 1000)
		}
		if gone := x / (slow / 1000 * 10); err == nil && (gone < 0.5 || gone > 2) || err != nil && gone > 0.999 &&
			gone < 1.001 {
			t.Errorf("%v mm at %d Hz moves %.3f of the way at %v mm/s, but: %v", step, rate, gone, slow, err)
		}
		// Friction of 1/s for 20 s.
		_, err = structOf(rate, fmt.Sprintf("A vel,%vmm/s,slow=%vmm/s", step, slow))
		s := slow
		for range 20 * rate {
			s = math.Floor((s-s/float64(rate))/step+0.5) * step
		}
		if stalls := s >= slow-step/2; stalls != (err != nil) && math.Abs(slow/float64(rate)-step/2) > 1e-9 {
			t.Errorf("%v mm/s at %d Hz ends at %v from %v, but: %v", step, rate, s, slow, err)
		}
	})
}

func TestLevels(t *testing.T) {
	k := kindOf[rigid](t)
	if !slices.Equal(k.Levels, []float64{30, 100}) {
		t.Fatalf("levels begin at %v", k.Levels)
	}
	shifts := map[string][schema.MaxLevels]uint8{"Pos": {0, 2, 4}, "Vel": {0, 0, 1}, "Turn": {0, 1, 1}}
	for i := range k.Props {
		if q := &k.Props[i]; q.Shift != shifts[q.Name] {
			t.Errorf("%s is coarser by %v bits, want %v", q.Name, q.Shift, shifts[q.Name])
		}
	}
	pos := &k.Props[2]
	for _, c := range [][2]int32{{0, 0}, {1, 0}, {2, 4}, {5, 4}, {6, 8}, {-1, 0}, {-2, 0}, {-3, -4},
		{math.MaxInt32, math.MaxInt32 - 3}, {math.MinInt32, math.MinInt32}} {
		if got := pos.Coarsen(c[0], 1); got != c[1] {
			t.Errorf("%d cm is %d cm from 30 m, want %d", c[0], got, c[1])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		q := &k.Props[rapid.SampledFrom([]int{2, 3, 4}).Draw(t, "property")]
		level := rapid.IntRange(0, 2).Draw(t, "level")
		v := rapid.Int32().Draw(t, "value")
		if q.Class == schema.Quat {
			v = rapid.Int32Range(-255, 512+255).Draw(t, "component")
		}
		got := q.Coarsen(v, level)
		if d := int64(got) - int64(v); d > 1<<q.Shift[level] || d < -1<<q.Shift[level] {
			t.Fatalf("%s: %d is %d at level %d", q.Name, v, got, level)
		}
		if again := q.Coarsen(got, level); again != got || got&(1<<q.Shift[level]-1) != 0 {
			t.Fatalf("%s: %d is %d at level %d, and that %d", q.Name, v, got, level, again)
		}
	})
}

func TestPlain(t *testing.T) {
	for _, c := range []struct{ tag, want string }{
		{"pos", ""}, {"pos,others=1cm", ""}, {"pos,server", ""}, {"int,0..9,far=9m",
			"far= is for entities only"}, {"pos,warp=9m", "warp= is for entities only"},
		{"pos,others=1cm,2cm@9m", "@ distances is for entities only"}, {"int,0..9,team", "team is for entities only"},
	} {
		k, err := structOf(30, "A "+c.tag, "B pos")
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Plain(false); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.tag, err, c.want)
		}
		if team := strings.HasSuffix(c.tag, ",team"); team && k.Plain(true) != nil {
			t.Errorf("%s: an event may have a team, but: %v", c.tag, k.Plain(true))
		}
	}
}

// Team and distance each have a record of their own, which says for whom it is.
func TestGroupsByAudience(t *testing.T) {
	k := kindOf[rigid](t)
	var got []string
	for _, g := range k.Groups {
		s := fmt.Sprint(g.Audience, " ", g.Far, " ", g.Moving, " ", len(g.Warps), ":")
		for _, i := range g.Props {
			s += " " + k.Props[i].Name
		}
		got = append(got, s)
	}
	want := []string{"0 0 true 1: Car Pos Vel Turn Spin Look Heading Rate Rough Fine",
		"0 0 true 0: Team Gait Skin Blob Heat", "0 50 false 0: Gear", "4 0 false 0: Plan"}
	if !slices.Equal(got, want) {
		t.Errorf("groups\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if k.Team != 0 || k.Parent != 1 || k.Place != 2 || k.Facing != 4 {
		t.Errorf("team %d, parent %d, place %d, facing %d", k.Team, k.Parent, k.Place, k.Facing)
	}
}
