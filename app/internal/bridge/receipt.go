package bridge

import "meanwhile/client"

// receiptName is the event that the engine itself adds to those of a game whose commands have
// presses: how the server judged a shot of the own player.
const receiptName = "receipt"

// receiptLayout describes that event to the page. The reasons are those of package rewind.
const receiptLayout = `{"name":"receipt","fields":[{"name":"target","type":"number"},{"name":"hit","type":"bool"},` +
	`{"name":"seen","type":"vec3"},{"name":"used","type":"vec3"},{"name":"offMm","type":"number"},` +
	`{"name":"reason","type":"enum","names":["exact","none stated","too old","in the future","switched off",` +
	`"older than the path asks for","a jump"]}]}`

// receipt writes one receipt as that event.
func (b *Bridge) receipt(r *client.Receipt) {
	w, hit := &b.write, 0.0
	if r.Hit {
		hit = 1
	}
	b.key++
	w.out = append(w.out, float64(len(w.events)), b.key, float64(b.client.Me()), flagMine, float64(r.Target), hit,
		r.Seen.X, r.Seen.Y, r.Seen.Z, r.Used.X, r.Used.Y, r.Used.Z, 1000*r.Seen.Dist(r.Used), float64(r.Reason))
}
