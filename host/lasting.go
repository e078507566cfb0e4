package host

import (
	"context"

	"meanwhile/netcode/clock"
	"meanwhile/session"
)

// What a room does for what lasts. All of it but load runs in the room's loop.

// lasting is what a room knows of records. The zero value is that of a host without a store.
type lasting struct {
	record   *profile   // of the room; nil: none
	departed []*profile // of players who left, until rules have seen them leave
	kept     clock.Time // when keep ran last
}

// loadRoom loads the room's own record before its first tick.
func (r *room) loadRoom(ctx context.Context) error {
	s := r.h.cfg.Rules.Saved(true)
	if r.h.keeper == nil || s == nil || r.last.record != nil { // a restored room has it
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	p, err := r.h.keeper.acquire(bounded, r.recordKey(), false, r, s)
	if err != nil {
		return err
	}
	r.last.record = p
	r.srv.SetRoomRecord(p.rec)
	return nil
}

// recordKey is the key of the room's own record.
func (r *room) recordKey() string { return roomKey(r.h.cfg.Rules.Name, r.name) }

func roomKey(game, room string) string { return game + "/room/" + room }

// loadPlayer loads the record of a player on the way into a room; nil if it has none. It runs in
// the goroutine of the player's connection.
func (h *Host) loadPlayer(ctx context.Context, r *room, account uint64, guest [session.KeySize]byte) (*profile, error) {
	s := h.cfg.Rules.Saved(false)
	key := playerKey(h.cfg.Rules.Name, account, guest)
	if h.keeper == nil || s == nil || key == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadTimeout) // so that a refusal is still read
	defer cancel()
	return h.keeper.acquire(ctx, key, account == 0, r, s)
}

// takeOver sends away whoever plays with a profile, as it has joined elsewhere.
func (r *room) takeOver(p *profile) {
	for _, q := range append([]*player(nil), r.order...) {
		if q.profile == p {
			r.sendAway(q, session.Refusal{Code: session.TakenOver, Text: "you joined again from elsewhere"})
		}
	}
}

// keep hands over what changed, after a tick: if somebody has left, or every so often. All records
// go together, as of one tick.
func (r *room) keep(now clock.Time) {
	if r.h.keeper == nil || r.of != nil || len(r.last.departed) == 0 && now.Sub(r.last.kept) < r.h.cfg.SaveEvery {
		return
	}
	r.last.kept = now
	r.handOver()
}

// handOver hands over what changed, and gives up the records of those who have left.
func (r *room) handOver() {
	changed := map[string]any{}
	take := func(p *profile) {
		if p == nil {
			return
		}
		if v := r.take(p.rec); v != nil {
			changed[p.key] = v
		}
	}
	for _, p := range r.order {
		take(p.profile)
	}
	for _, p := range r.last.departed {
		take(p)
	}
	take(r.last.record)
	r.h.keeper.put(changed)
	for _, p := range r.last.departed {
		r.h.keeper.release(p)
	}
	r.last.departed = r.last.departed[:0]
}

// keepLast hands over everything when the room has ended. Rules see their players leave, unless it
// is they that failed.
func (r *room) keepLast(why session.Refusal) {
	if r.h.keeper == nil {
		return
	}
	if why.Code != session.InternalError && len(r.last.departed) > 0 {
		func() {
			defer func() {
				if v := recover(); v != nil {
					r.failed(caught(v))
				}
			}()
			r.srv.Begin(r.h.clock())
			r.srv.End()
		}()
	}
	for _, p := range r.order { // a broken world may not have let them go
		if p.profile != nil {
			r.last.departed = append(r.last.departed, p.profile)
		}
	}
	if p := r.last.record; p != nil {
		r.last.departed = append(r.last.departed, p)
	}
	r.handOver()
}
