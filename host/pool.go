package host

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"meanwhile/server"
)

// encodeRange is how many clients a goroutine encodes at a time. Smaller ranges would cost more to
// hand over than they save; larger ones would leave processors idle at the end of a tick.
const encodeRange = 16

// A pool is the goroutines that help rooms to encode, shared by all rooms of a host. A room always
// works at its own batch too, so a busy pool delays nobody.
type pool struct {
	work chan *batch // unbuffered: only an idle helper receives
	wg   sync.WaitGroup
}

func newPool(helpers int) *pool {
	p := &pool{work: make(chan *batch)}
	for range helpers {
		p.wg.Go(func() {
			for b := range p.work {
				b.help()
				b.wg.Done()
			}
		})
	}
	return p
}

// close ends the helpers and waits for them. No batch may be running.
func (p *pool) close() {
	close(p.work)
	p.wg.Wait()
}

// A batch is the encoding of one tick of one room, divided into ranges of clients. The room reuses
// it for every tick.
type batch struct {
	r      *room
	total  int             // clients
	ranges int32           // how many ranges they make
	next   atomic.Int32    // the range that is encoded next
	outs   []server.Outbox // one for each range
	wg     sync.WaitGroup  // helpers at work
	failed atomic.Pointer[failure]
}

// A failure is a panic in code that a room runs.
type failure struct {
	value any
	stack []byte
}

func (f *failure) Error() string { return fmt.Sprintf("host: panic: %v", f.value) }

// caught makes a failure of what recover returned.
func caught(v any) *failure { return &failure{v, debug.Stack()} }

// run encodes for every client and sends the datagrams. It returns a panic of the encoder.
func (b *batch) run(p *pool, clients int) *failure {
	b.total, b.ranges = clients, int32((clients+encodeRange-1)/encodeRange)
	for len(b.outs) < int(b.ranges) {
		b.outs = append(b.outs, server.Outbox{})
	}
	b.next.Store(0)
	b.failed.Store(nil)
hand:
	for range b.ranges - 1 {
		b.wg.Add(1)
		select {
		case p.work <- b:
		default:
			b.wg.Done()
			break hand
		}
	}
	b.help()
	b.wg.Wait()
	return b.failed.Load()
}

// help encodes ranges until none is left.
func (b *batch) help() {
	defer func() {
		if v := recover(); v != nil {
			b.failed.Store(caught(v))
		}
	}()
	for {
		i := int(b.next.Add(1)) - 1
		if i >= int(b.ranges) {
			return
		}
		out := &b.outs[i]
		out.Reset()
		b.r.srv.Encode(i*encodeRange, min((i+1)*encodeRange, b.total), out)
		for j := range out.Len() {
			to, data := out.At(j)
			if p := b.r.players[to]; p != nil {
				p.send(b.r.h.clock(), data)
			}
		}
	}
}

// waitFor waits for wg, at most for patience, and reports whether it ended in time.
func waitFor(wg *sync.WaitGroup, patience time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		wg.Wait()
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
