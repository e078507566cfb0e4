package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
)

const (
	// shareEvery is the time between two divisions of the host's budget.
	shareEvery = 250 * time.Millisecond
	// shareMemory is for how many divisions a share counts as used after it was taken away: a
	// second, for what was sent under it, and one each for a late division and a late tick.
	shareMemory = 7
)

// A share is one human's part of the host's budget. Its caps are in bytes a second.
type share struct {
	p    *player      // nil: nobody yet, or nobody any more
	cap  atomic.Int64 // what may be sent
	most atomic.Int64 // what the player's own limits allow

	past  [shareMemory]int64 // caps, the newest first
	bytes uint64             // sent by the last division
	usage int64              // bytes a second, smoothed
	want  int64
}

// usable returns what the share may still use in the present second.
func (s *share) usable() int64 {
	most := s.cap.Load()
	for _, c := range s.past {
		most = max(most, c)
	}
	return most
}

// shares divides the budget of the host among its humans. The sum of what they may send in any one
// second never exceeds it: what one loses another gets only a second later. Each gets what it
// wants, if that is less than an equal part, and those who want more get equal parts of the rest.
type shares struct {
	mu    sync.Mutex
	total int64 // 0: there is no budget
	usual int64 // what most players may have
	list  []*share
}

// join waits until there is a share for one more player, and returns it; nil where there is no
// budget.
func (a *shares) join(ctx context.Context) (*share, error) {
	if a.total == 0 {
		return nil, nil
	}
	ticker := time.NewTicker(shareEvery / 4)
	defer ticker.Stop()
	for {
		if s := a.enter(); s != nil {
			return s, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, refusal(session.Busy, "the server sends as much as it may")
		}
	}
}

// enter returns a share of the least budget, nil if nothing is left for it at present.
func (a *shares) enter() *share {
	a.mu.Lock()
	defer a.mu.Unlock()
	free := a.free()
	if free < server.MinBudget {
		return nil
	}
	s := &share{}
	s.cap.Store(max(min(free/2, a.usual), server.MinBudget))
	s.most.Store(s.cap.Load())
	a.list = append(a.list, s)
	return s
}

// belongs notes whose share it is.
func (a *shares) belongs(s *share, p *player) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.p = p
	s.bytes = p.sentBytes.Load() + p.sent.Load()*wire.Overhead // over connections before
}

// leave gives up a share.
func (a *shares) leave(s *share) {
	if s == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s.p = nil
	s.past[0] = s.usable()
	s.cap.Store(0)
	s.most.Store(0)
}

// free returns what no share may use in the present second.
func (a *shares) free() int64 {
	free := a.total
	for _, s := range a.list {
		free -= s.usable()
	}
	return free
}

// run divides the budget until ctx ends.
func (a *shares) run(ctx context.Context) {
	ticker := time.NewTicker(shareEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.divide()
		case <-ctx.Done():
			return
		}
	}
}

// divide gives each share a new cap.
func (a *shares) divide() {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.list[:0]
	for _, s := range a.list {
		now := s.cap.Load()
		copy(s.past[1:], s.past[:])
		s.past[0] = now
		if s.usable() > 0 {
			s.measure(now)
			kept = append(kept, s)
		}
	}
	clear(a.list[len(kept):])
	a.list = kept
	// Players may come and find room.
	spare := min(a.total/32+server.MinBudget, a.total/4)
	part := func(s *share, level int64) int64 { return min(s.want, level) }
	level, all := a.level(a.total-spare, part)
	if all { // what is left is for whoever wants more soon
		part = func(s *share, level int64) int64 { return max(s.want, min(s.most.Load(), level)) }
		level, _ = a.level(a.total-spare, part)
	}
	var rise int64
	target := func(s *share) int64 {
		if s.most.Load() == 0 {
			return 0
		}
		return max(part(s, level), server.MinBudget)
	}
	for _, s := range a.list {
		if now, t := s.cap.Load(), target(s); t <= now {
			s.cap.Store(t)
		} else {
			rise += t - now
		}
	}
	free := max(a.free()-spare, 0)
	for _, s := range a.list {
		if now, t := s.cap.Load(), target(s); t > now {
			// What it could use in the last second is its own already.
			own := min(t, s.usable())
			s.cap.Store(own + (t-own)*min(free, rise)/max(rise, 1))
		}
	}
}

// measure finds out what a share is used for.
func (s *share) measure(now int64) {
	s.want = now
	if s.p == nil {
		return
	}
	bytes := s.p.sentBytes.Load() + s.p.sent.Load()*wire.Overhead
	s.usage += (int64(bytes-s.bytes)*int64(time.Second/shareEvery) - s.usage) / 4
	s.bytes = bytes
	most := s.most.Load()
	s.want = min(max(2*s.usage, server.MinBudget), most)
	if s.usage >= now/2 {
		s.want = most
	}
}

// level returns the highest level with which the parts make up at most total, and whether a higher
// one would change nothing.
func (a *shares) level(total int64, part func(s *share, level int64) int64) (level int64, all bool) {
	sum := func(level int64) (sum int64) {
		for _, s := range a.list {
			sum += part(s, level)
		}
		return sum
	}
	low, high := int64(0), int64(server.MaxBudget)
	if sum(high) <= total {
		return high, true
	}
	for low < high {
		if middle := (low + high + 1) / 2; sum(middle) <= total {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, false
}
