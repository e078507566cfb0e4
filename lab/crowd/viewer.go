package crowd

import (
	"fmt"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/motion"
	"meanwhile/netcode/snapshot"
	"meanwhile/session"
)

// viewer is a whole client: it decodes what it receives, and draws 60 frames a second.
type viewer struct {
	*client.Client
	peer  *peer
	queue []flying // on the way to it
	spare [][]byte
	vals  []float64
	cmd   [3]int64

	frames uint32
	drawn  []drawn // by walker
	places []place // newest place of each walker that arrived
	moves  uint64  // records of others that brought another place than the one before

	group, offset int // of the place among a kind's groups and their integers
	numbers       *[]int32
}

// drawn is how a viewer drew a walker.
type drawn struct {
	frame uint32  // in which it did so last; 0: never
	x, y  float64 // cm
	named bool
}

// place is a walker's newest place that a viewer received.
type place struct {
	x, y  int64
	known bool
}

func newViewer(r *Run, p *peer, w session.Welcome) (*viewer, error) {
	c, err := client.New(r.rules, w, r.now, client.Config{SendRate: Rate / upEvery})
	if err != nil {
		return nil, err
	}
	n := r.cfg.Walkers
	v := &viewer{Client: c, peer: p, drawn: make([]drawn, n), places: make([]place, n), numbers: &r.scene.numbers}
	k := r.rules.Kinds[0]
	v.group = -1
	for g := range k.Groups {
		for _, i := range k.Members(g) {
			if i == k.Place {
				v.group, v.offset = g, k.Offset(g, i)
			}
		}
	}
	if v.group < 0 {
		return nil, fmt.Errorf("crowd: no group has the place")
	}
	c.Store().Applied = v.applied
	p.viewer = v
	return v, nil
}

// applied counts records that moved somebody.
func (v *viewer) applied(e *snapshot.Replica, g int, s *motion.State) {
	if g != v.group || e.Mine {
		return
	}
	i := v.walker(game.ID(e.ID))
	if i < 0 {
		return
	}
	p := &v.places[i]
	x, y := s.Vals[v.offset], s.Vals[v.offset+1]
	if p.known && (p.x != x || p.y != y) {
		v.moves++
	}
	*p = place{x, y, true}
}

// walker returns which walker an entity is; -1: none.
func (v *viewer) walker(id game.ID) int32 {
	if int(id) >= len(*v.numbers) {
		return -1
	}
	return (*v.numbers)[id]
}

// put puts a datagram on its way.
func (v *viewer) put(at clock.Time, b []byte) {
	var mem []byte
	if n := len(v.spare); n > 0 {
		mem, v.spare = v.spare[n-1][:0], v.spare[:n-1]
	}
	v.queue = append(v.queue, flying{at, append(mem, b...)})
}

// frame is one frame at the time now. Where nobody looks, nothing is drawn.
func (v *viewer) frame(now clock.Time, r *Run, looks bool) {
	n := 0
	for i := range v.queue {
		f := v.queue[i]
		if f.at > now {
			v.queue[n] = f
			n++
			continue
		}
		v.Receive(f.at, f.data)
		v.spare = append(v.spare, f.data)
	}
	v.queue = v.queue[:n]
	for range v.Frame(now) {
		aim := int64(r.scene.walkers.heading[v.peer.walker] >> 8)
		v.cmd = [3]int64{stick(aim, 0), stick(aim, -64), aim}
		v.Tick(v.cmd[:])
	}
	if looks {
		v.frames++
		v.vals = v.Draw(v.vals, v.note)
		v.Drawn()
	}
	v.Events()
	for b := v.Encode(now); b != nil; b = v.Encode(now) {
		if v.peer.random.chance(loss) {
			continue
		}
		var mem []byte
		if n := len(v.peer.spare); n > 0 {
			mem, v.peer.spare = v.peer.spare[n-1].data, v.peer.spare[:n-1]
		}
		v.peer.up = append(v.peer.up, flying{now.Add(delay), append(mem[:0], b...)})
	}
}

// note notes how an entity is drawn.
func (v *viewer) note(e *client.Entity) {
	if i := v.walker(e.ID); i >= 0 {
		v.drawn[i] = drawn{v.frames, e.Vals[0] * 100, e.Vals[1] * 100, e.Vals[drawnName] != 0}
	}
}
