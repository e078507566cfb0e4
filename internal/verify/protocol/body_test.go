package protocol_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// everything is a kind with every model: places with and without a velocity, angles, and what has
// none.
type everything struct {
	Pos    geom.Vec3  `net:"pos,others=1cm"`
	Vel    geom.Vec3  `net:"vel,others=2cm/s"`
	Eye    geom.Vec2  `net:"pos,1mm,others=5mm"`
	Aim    geom.Angle `net:"angle,12bit,others=1deg"`
	Heat   float64    `net:"float,0.1,group=0"`
	Charge int        `net:"int,0..100,group=0"`
	Flag   geom.Vec3  `net:"pos,1cm,others=8cm,group=1"`
	Turn   geom.Angle `net:"angle,16bit,others=10bit,group=1"`
	Alone  geom.Angle `net:"angle,8bit,group=2"`
	Name   string     `net:"text,8,group=2"`
	Ammo   int        `net:"int,0..9,to=owner"`
}

// A reader that was written from the document reads what package schema writes.
func TestBodies(t *testing.T) {
	for _, rate := range []int{20, 60} {
		k, err := schema.New("everything", reflect.TypeFor[everything](), rate)
		if err != nil {
			t.Fatal(err)
		}
		coder := codec.For(k)
		d := newReader(t, "kind "+k.Text())
		r := rand.New(rand.NewPCG(1, uint64(rate)))
		for n := range 30_000 {
			g := r.IntN(len(k.Groups) + 1)
			obs := g < len(k.Groups)
			if !obs {
				g = schema.OwnerGroup
			}
			var props []*schema.Prop
			for _, i := range k.Members(g) {
				props = append(props, &k.Props[i])
			}
			states := [3][]int64{} // the state before, the baseline, the record
			wide := r.IntN(4) == 0
			for i := range states {
				for _, p := range props {
					for c := range p.Comps {
						v := int64(0)
						if i > 0 {
							v = states[i-1][len(states[i])]
						}
						if i == 0 || r.IntN(3) > 0 {
							v += (r.Int64N(2001) - 1000) >> r.IntN(11) << r.IntN(1+16*r.IntN(2))
						}
						if wide && r.IntN(4) == 0 {
							v = r.Int64() >> (16 + r.IntN(48))
						}
						switch {
						case p.Class == schema.Angle:
							tn := p.SimTurn
							if obs {
								tn = p.Turn
							}
							v = ((v % tn) + tn) % tn
						case p.Class == schema.Int:
							v = min(max(v, p.Min), p.Max)
						case p.Class == schema.Text:
							v = int64(uint32(v) & 0x7f7f7f7f)
							if obs {
								v = int64(int32(v))
							}
						case obs:
							v = int64(int32(v))
						}
						_ = c
						states[i] = append(states[i], v)
					}
				}
			}
			age, gap := clock.Tick(1+r.IntN(127)>>r.IntN(7)), clock.Tick(1+r.IntN(62)>>r.IntN(6))
			prior := states[0]
			if r.IntN(4) == 0 {
				prior, gap = nil, 0
			}
			set, at := uint64(0), 0
			for i := range k.Props {
				for _, p := range props {
					if p == &k.Props[i] && !slices.Equal(states[1][at:at+p.Comps], states[2][at:at+p.Comps]) {
						set |= 1 << i
					}
				}
				if slices.Contains(props, &k.Props[i]) {
					at += k.Props[i].Comps
				}
			}
			var w wire.BitWriter
			w.Reset(nil)
			codec.Append(
				&w,
				coder,
				g,
				states[2],
				&codec.Base[int64]{Vals: states[1], Prior: prior, Age: age, Gap: gap},
				set,
				500,
			)
			size := w.Len()
			got, read, err := d.Difference(d.Schema.Kinds[0], g, states[1], prior, int64(age), int64(gap), w.Bytes())
			if err != nil || !slices.Equal(got, states[2]) {
				t.Fatalf(
					"record %d, group %d, age %d, gap %d, after %d, %d: %d is read as %d, %v",
					n,
					g,
					age,
					gap,
					states[0],
					states[1],
					states[2],
					got,
					err,
				)
			}
			if read != size {
				t.Fatalf("record %d has %d bits, %d were read", n, size, read)
			}
		}
	}
}
