package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"meanwhile/game"
	"meanwhile/host/journal"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
)

// A room is followed by second worlds, which compute it again from what is recorded of it: a
// gallery, in which spectators see it late, and a check, which sees it as early as it can. Both
// compare.

const (
	// MinWatchLate is how late spectators are at least: the log comes in blocks, see package journal.
	MinWatchLate = time.Second
	// defaultWatchLate is how late they are: what they see is of little use to a player whom they
	// tell of it.
	defaultWatchLate = 10 * time.Second
	// MaxSpectators is the largest bound of the spectators of a room.
	MaxSpectators = 1024

	// checkEvery is how often a check looks for what is recorded.
	checkEvery = 100 * time.Millisecond
	// followPause is for how long a check waits after it has ended, before it begins anew: each time
	// twice as long, up to checkpointSpan, until it has compared something.
	followPause = time.Second
	// maxFollowLag is how far a follower may fall behind its time until it gives up: this machine is
	// too slow for it.
	maxFollowLag = 5 * time.Second
	// followHang is how late a tick of a gallery may be. Beyond it all that follow are later.
	followHang = 500 * time.Millisecond
	// followBurst is how many ticks that are late a gallery computes at once.
	followBurst = 4
)

// put keeps a chunk of what is recorded wherever it is wanted.
func (r *room) put(c journal.Chunk) bool {
	ok := r.archive == nil || r.archive.put(c)
	if r.tail != nil {
		r.tail.Put(c)
	}
	return ok
}

// follow returns a follower of the room. It is called from outside of the room's loop.
func (r *room) follow(newest bool) (f *journal.Follower, err error) {
	err = journal.ErrNothing
	r.call(func() { f, err = r.srv.Follow(r.tail, newest) })
	return f, err
}

// check compares the room with a second world until ctx ends.
func (r *room) check(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var f *journal.Follower
	pause := followPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		var err error
		if f == nil {
			f, err = r.follow(true)
		}
		if err == nil {
			err = r.compare(ctx, f)
		}
		if err == nil {
			pause = followPause
			timer.Reset(checkEvery)
			continue
		}
		f = nil
		timer.Reset(pause)
		if !errors.Is(err, journal.ErrNothing) {
			r.followed(err)
			pause = min(2*pause, checkpointSpan) // one that can never begin must not fill the log
		}
	}
}

// compare computes what is recorded so far.
func (r *room) compare(ctx context.Context, f *journal.Follower) error {
	for ctx.Err() == nil {
		at, err := f.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if behind := r.h.clock().Sub(at); behind > checkpointSpan+maxFollowLag {
			return fmt.Errorf("host: the check is %v behind", behind.Round(time.Second))
		}
		before := f.Differs()
		if _, err := f.Step(); err != nil {
			return err
		}
		if before == nil && f.Differs() != nil {
			r.differs(f)
		}
	}
	return nil
}

// checkpointSpan is how old the newest checkpoint may be, by which a check begins.
const checkpointSpan = 40 * time.Second

// differs reports that a follower came out otherwise than the room. It is called by the follower's
// goroutine.
func (r *room) differs(f *journal.Follower) {
	r.n.desyncs.Add(1)
	d := f.Differs()
	r.log.Error("the room, computed again, came out otherwise: its rules are not deterministic, or memory fails",
		"tick", d.Tick, "clock", time.Duration(d.Time).Round(time.Millisecond))
	again, err := f.Save()
	if err != nil {
		r.log.Error("the other world could not be saved", "error", err)
	}
	r.call(func() {
		now := r.h.clock()
		if r.parted != 0 && now.Sub(r.parted) < saveSpacing {
			return
		}
		r.parted = max(now, 1)
		if r.archive != nil {
			r.saveMoment("desync", nil)
			_ = r.saveTo(func(a *archive) { a.keep("again", again) }, nil)
		}
		_ = r.srv.Checkpoint() // it says what differs; Lost says why not
	})
}

// keep saves a journal beside the moments. It runs in the archive's goroutine.
func (a *archive) keep(why string, b []byte) {
	if len(b) > maxSaved {
		a.log.Error("the other world could not be saved", "error",
			fmt.Errorf("host: it has %d bytes, at most %d are saved", len(b), maxSaved))
		return
	}
	name := a.momentPath(why, int64(len(b)))
	f, err := a.create(name)
	if err == nil {
		_, err = f.Write(b)
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(name) // it is torn
		}
	}
	if err != nil {
		a.log.Error("the other world could not be saved", "error", err)
	}
}

// followed logs why a follower has ended.
func (r *room) followed(err error) {
	var p *journal.Parting
	if errors.As(err, &p) {
		r.log.Error("where the room and the world that follows it differ", "tick", p.Tick, "what", p.What)
		return
	}
	r.log.Warn("what follows the room begins anew", "reason", err)
}

// A gallery is what the spectators of a room watch. They are the players of a room of their own,
// whose world is the audience of a world that follows.
type gallery struct {
	r    *room // that they watch
	f    *journal.Follower
	late time.Duration
	next clock.Time      // when a tick may be due
	why  session.Refusal // why it ended; the zero Refusal: it has not, or its world failed
}

// openGallery returns the room of those who watch the room that a hello asks for. It does not
// retire before entered is called.
func (h *Host) openGallery(hello *session.Hello, by origin) (*room, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[hello.Room]
	switch {
	case h.ctx == nil || h.ctx.Err() != nil:
		return nil, refusal(session.ShuttingDown, shuttingDown)
	case h.cfg.Spectators == 0:
		return nil, refusal(session.NoRoom, "nobody may watch the rooms of this server")
	case r == nil:
		return nil, refusal(session.Busy, "nobody plays in room %s yet", hello.Room)
	}
	if err := h.mayEnter(r, hello.Code, by); err != nil {
		return nil, err
	}
	g := r.gallery
	if g == nil {
		if r.name == h.cfg.Room {
			by = origin{}
		}
		if err := h.mayOpen(by); err != nil {
			return nil, err
		}
		g = makeRoom(h, r.name, by)
		g.log = r.log.With("gallery", true)
		g.archive, g.tail, g.of = nil, nil, &gallery{r: r, late: h.cfg.WatchLate}
		r.gallery = g
		h.countRoom(by)
		ctx := h.ctx
		h.wg.Go(func() { g.runGallery(ctx) })
	}
	g.pending++
	return g, nil
}

// runGallery runs a gallery until ctx ends, its follower ends, or nobody has watched for the grace
// time.
func (r *room) runGallery(ctx context.Context) {
	opened := r.h.clock()
	r.empty, r.looked = opened, opened
	err := r.of.open(ctx, r)
	if err == nil {
		r.log.Info("the room is watched, and computed a second time for that")
		beating, stop := context.WithCancel(context.Background())
		var crew sync.WaitGroup
		crew.Go(func() { r.heart.run(beating) })
		r.why = r.loop(ctx)
		for _, p := range append([]*player(nil), r.order...) {
			r.part(p, r.why)
		}
		stop()
		crew.Wait()
	} else if !errors.As(err, &r.why) {
		r.why = refusal(session.Busy, "room %s cannot be watched at present", r.name)
		r.log.Warn("the room cannot be watched", "error", err)
	}
	r.h.mu.Lock()
	r.h.forget(r)
	r.h.uncountRoom(r.by)
	r.h.n.mu.Lock()
	r.h.n.past.add(traffic(r.stats().Totals))
	r.h.n.mu.Unlock()
	r.h.mu.Unlock()
	close(r.done)
	r.log.Info("the room is not watched any more", "reason", r.why.Text)
}

// traffic returns what was sent and received; the ticks of a gallery are none of the host's own.
func traffic(t Totals) Totals {
	return Totals{Received: t.Received, Displaced: t.Displaced, Sent: t.Sent, SentBytes: t.SentBytes,
		Blocked: t.Blocked, MaxWindow: t.MaxWindow}
}

// open makes the world of a gallery, as it was when its time was.
func (g *gallery) open(ctx context.Context, r *room) (err error) {
	if g.f, err = g.r.follow(false); err != nil {
		return err
	}
	done := false
	for ctx.Err() == nil {
		at, err := g.f.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if wait := at.Add(g.late).Sub(r.h.clock()); err != nil || wait > 0 {
			if done {
				break
			}
			return refusal(session.Busy, "room %s has only just begun; it can be watched in %d s", r.name,
				max(int64(wait/time.Second), 0)+1)
		}
		if _, err := g.f.Step(); err != nil {
			return err
		}
		done = true
	}
	world := g.f.World()
	if world == nil {
		return context.Cause(ctx)
	}
	audience, err := server.NewAudience(world, r.h.cfg.Spectators, g.late)
	if err != nil {
		return err
	}
	r.srv = journal.Record(audience, server.Config{}, journal.Header{}, nil, nil)
	r.setUp()
	return nil
}

// due computes the ticks whose time has come, and reports whether there may be more.
func (g *gallery) due(r *room) bool {
	for range followBurst {
		at, err := g.f.Next()
		now := r.h.clock()
		if errors.Is(err, io.EOF) {
			g.next = now.Add(r.srv.Period())
			return !g.ended()
		}
		if err != nil {
			g.r.followed(err)
			g.why = refusal(session.Busy, "the picture of room %s begins anew", r.name)
			return false
		}
		planned := at.Add(g.late)
		if g.next = planned; planned > now {
			return true
		}
		if behind := now.Sub(planned); behind > followHang {
			g.late += behind
			planned = now
			r.srv.SetLate(g.late)
		}
		if g.late > r.h.cfg.WatchLate+maxFollowLag {
			g.why = refusal(session.Busy, "this server has no time to show room %s at present", r.name)
			return false
		}
		r.heart.begins(r.srv.Tick()+1, planned, r.srv.Period())
		before := g.f.Differs()
		if err := r.tick(planned); err != nil {
			r.failed(err)
			return false
		}
		if before == nil && g.f.Differs() != nil {
			g.r.differs(g.f)
		}
		r.n.ran(r.h.clock().Sub(now))
	}
	g.next = r.h.clock()
	return true
}

// ended reports whether the room has ended and all of it was shown.
func (g *gallery) ended() bool {
	select {
	case <-g.r.done:
		g.why = g.r.why
		return true
	default:
		return false
	}
}

// step computes the next tick of the world. It panics where that cannot be done.
func (g *gallery) step() {
	if _, err := g.f.Step(); err != nil {
		panic(err)
	}
}

// lookFrom lets a spectator look from an entity.
func (r *room) lookFrom(p *player, visit int, id game.ID) {
	if r.players[p.id] == p && p.visit == visit {
		r.srv.LookFrom(p.id, id)
	}
}
