package hostile

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"meanwhile/headless"
	"meanwhile/netcode/wire"
	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

// A tamperer is a connection that changes what its player sends.
type tamperer struct {
	transport.Conn
	r   *raid
	rnd *rand.Rand
	// change returns what is sent in place of b, which it may change.
	change func(t *tamperer, b []byte) [][]byte
	sent   [][]byte // the last ones, of those who repeat them
}

// Send implements transport.Conn.
func (t *tamperer) Send(b []byte) {
	for _, c := range t.change(t, slices.Clone(b)) {
		t.r.count()
		t.Conn.Send(c)
	}
}

// players plays with n players whose datagrams are changed on the way.
func (r *raid) players(n int, limits session.Limits, change func(t *tamperer, b []byte) [][]byte) {
	r.again(n, func(rnd *rand.Rand) error {
		conn, err := r.Dial(r.ctx, r.over)
		if err != nil {
			return err
		}
		p, err := headless.Join(r.ctx, &tamperer{Conn: conn, r: r, rnd: rnd, change: change},
			headless.Config{Rules: r.Rules, Clock: r.Clock, Name: "eve", Bot: r.Rules.Bot(), Limits: limits})
		if err != nil {
			return err
		}
		return p.Run(r.ctx)
	})
}

// intruders lets n clients in that do not play; act is what they do, until it returns or their
// connection ends.
func (r *raid) intruders(n int, act func(conn transport.Conn, rnd *rand.Rand)) {
	r.again(n, func(rnd *rand.Rand) error {
		conn, err := r.Dial(r.ctx, r.over)
		if err != nil {
			return err
		}
		defer func() {
			conn.Close(session.Goodbye)
			<-conn.Done()
		}()
		if err := r.enter(conn, rnd, ""); err != nil {
			return err
		}
		act(conn, rnd)
		return conn.Err()
	})
}

// hello returns a hello of a further player.
func (r *raid) hello(rnd *rand.Rand, room string) []byte {
	h := session.Hello{Schema: r.Rules.Hash, Name: "eve", Room: room}
	for i := 0; i < len(h.Nonce); i += 8 {
		binary.LittleEndian.PutUint64(h.Nonce[i:], rnd.Uint64())
	}
	b, err := h.Append(nil)
	if err != nil {
		panic(err) // all of it is known
	}
	return b
}

// enter says hello and waits for the welcome.
func (r *raid) enter(conn transport.Conn, rnd *rand.Rand, room string) error {
	return r.greet(conn, r.hello(rnd, room))
}

// greet sends a hello and returns nil for a welcome.
func (r *raid) greet(conn transport.Conn, hello []byte) error {
	if err := conn.SendMessage(hello); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx, transport.HelloTimeout)
	defer cancel()
	m, err := conn.ReceiveMessage(ctx)
	if err != nil {
		return err
	}
	if session.KindOf(m) == session.KindRefusal {
		return session.Refused(m, r.Rules.Text)
	}
	return nil
}

// mutate flips one to sixteen bits.
func mutate(t *tamperer, b []byte) [][]byte {
	for range 1 + t.rnd.IntN(16) {
		bit := t.rnd.IntN(8 * len(b))
		b[bit/8] ^= 1 << (bit % 8)
	}
	return [][]byte{b}
}

// resize cuts a datagram anywhere, or appends rubbish to it.
func resize(t *tamperer, b []byte) [][]byte {
	if t.rnd.IntN(3) > 0 {
		return [][]byte{b[:t.rnd.IntN(len(b)+1)]}
	}
	for range t.rnd.IntN(64) {
		b = append(b, byte(t.rnd.Uint32()))
	}
	return [][]byte{b[:min(len(b), transport.MaxDatagram)]}
}

// remembered is how many datagrams a client keeps to send again: more than the server's window.
const remembered = 4 * wire.Window

// replay sends two earlier datagrams after each one.
func replay(t *tamperer, b []byte) [][]byte {
	if t.sent = append(t.sent, b); len(t.sent) > remembered {
		t.sent = t.sent[1:]
	}
	return [][]byte{b, t.sent[t.rnd.IntN(len(t.sent))], t.sent[t.rnd.IntN(len(t.sent))]}
}

// lie acknowledges what was never sent, or nothing, or all, and invents echoes and lost baselines.
func lie(t *tamperer, b []byte) [][]byte {
	var (
		r wire.BitReader
		w wire.BitWriter
	)
	h, err := wire.DecodeUp(&r, b, 0)
	if err != nil {
		return [][]byte{b}
	}
	known := h.Ack.Latest - 1
	switch t.rnd.IntN(6) {
	case 0: // of the future, or of long ago
		h.HasAck, h.Ack = true, wire.Ack{Latest: wire.Seq(t.rnd.Uint32()), History: t.rnd.Uint64()}
		known = h.Ack.Latest - 1 - wire.Window
	case 1: // everything
		h.HasAck, h.Ack.History = true, ^uint64(0)
		known -= wire.Window
	case 2: // nothing but the newest
		h.HasAck, h.Ack.History = true, 0
		known -= wire.Window
	case 3:
		h.Resync = true
	case 4:
		h.HasEcho, h.Echo, h.EchoAt = true, h.Echo+10_000_000, 0
	case 5:
		h.HasAck, h.HasEcho, h.Idle = false, false, !h.Idle
	}
	w.Reset(nil)
	h.Append(&w, wire.Known{Ack: known})
	w.Copy(b, 8*len(b)-r.Left(), r.Left())
	return [][]byte{w.Bytes()}
}

// honestly changes nothing.
func honestly(_ *tamperer, b []byte) [][]byte { return [][]byte{b} }

// all asks for as much as any server sends.
var all = session.Limits{BudgetDown: server.MaxBudget * 8, SendRate: 1000}

// flood sends datagrams of a size as fast as the raid's rate allows.
func flood(size int) func(r *raid) {
	return func(r *raid) {
		r.intruders(4, func(conn transport.Conn, rnd *rand.Rand) {
			b := make([]byte, size)
			for conn.Err() == nil && r.turn() {
				binary.LittleEndian.PutUint32(b, rnd.Uint32())
				conn.Send(b)
			}
		})
	}
}

// shout sends reliable messages of a size that nobody asked for.
func shout(size int) func(r *raid) {
	return func(r *raid) {
		r.intruders(4, func(conn transport.Conn, rnd *rand.Rand) {
			b := make([]byte, size)
			for conn.Err() == nil && r.turn() {
				b[0] = byte(rnd.Uint32())
				_ = conn.SendMessage(b)
			}
		})
	}
}

// play plays honestly over a connection until it or the raid ends. dial, which may be nil, opens
// another.
func (r *raid) play(conn transport.Conn, dial func(context.Context) (transport.Conn, error)) (*headless.Player, error) {
	return headless.Join(r.ctx, conn, headless.Config{Rules: r.Rules, Clock: r.Clock, Name: "eve", Bot: r.Rules.Bot(),
		Dial: dial})
}

// known is for how long a player must be in to be waited for when its connection is lost: three
// seconds, and some for the way.
const known = 3500 * time.Millisecond

// goAndCome loses connections, and resumes over others.
func goAndCome(r *raid) {
	r.again(4, func(*rand.Rand) error {
		dial := func(ctx context.Context) (transport.Conn, error) { return r.Dial(ctx, r.over) }
		conn, err := dial(r.ctx)
		if err != nil {
			return err
		}
		p, err := r.play(conn, dial)
		if err != nil {
			return err
		}
		var cutting sync.WaitGroup
		ctx, stop := context.WithCancel(r.ctx)
		cutting.Go(func() {
			wait(ctx, known)
			for ctx.Err() == nil && r.turn() {
				p.Conn().Close("")
			}
		})
		err = p.Run(r.ctx)
		stop()
		cutting.Wait()
		return err
	})
}
