package packet

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// AppendEvent writes the payload of an event that happened at a tick: the properties of its kind in
// order, each by itself in simulation precision. vals are its k.Sims integers.
func AppendEvent(w *wire.BitWriter, k *schema.Kind, tick clock.Tick, vals []int64) {
	for i := range k.Props {
		appendProp(w, &k.Props[i], vals, tick)
	}
}

// DecodeEvent reads the payload of an event into vals, which has k.Sims integers, within the bounds
// of the schema. It fails with wire.ErrTruncated; vals is then not to be used. Bytes behind the
// payload are ignored.
func DecodeEvent(body []byte, k *schema.Kind, tick clock.Tick, vals []int64) error {
	var r wire.BitReader
	r.Reset(body)
	for i := range k.Props {
		decodeProp(&r, &k.Props[i], vals, tick)
	}
	k.Clamp(vals)
	if r.Bad() {
		return wire.ErrTruncated
	}
	return nil
}

// appendProp writes the integers of one property, each by itself.
func appendProp(w *wire.BitWriter, p *schema.Prop, vals []int64, tick clock.Tick) {
	for i := p.At; i < p.At+p.Comps; i++ {
		p.AppendAbsolute(w, vals[i], false, int64(tick))
	}
}

func decodeProp(r *wire.BitReader, p *schema.Prop, vals []int64, tick clock.Tick) {
	for i := p.At; i < p.At+p.Comps; i++ {
		vals[i] = p.ReadAbsolute(r, false, int64(tick))
	}
}
