package bridge

import (
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/netcode/wire"
	"meanwhile/server"
)

// No bytes from a server make a page fail.
func FuzzServer(f *testing.F) {
	rules, err := zap.Game.Rules()
	if err != nil {
		f.Fatal(err)
	}
	srv, err := server.New(rules, server.Config{})
	if err != nil {
		f.Fatal(err)
	}
	_, w, err := srv.Connect(0, "ann")
	if err != nil {
		f.Fatal(err)
	}
	welcome, err := w.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	var out server.Outbox
	for range 10 {
		srv.Begin(srv.Now().Add(srv.Period()))
		srv.Encode(0, srv.Clients(), &out)
		srv.End()
	}
	for i := range out.Len() {
		_, d := out.At(i)
		f.Add(welcome, []byte(nil), append([]byte(nil), d...))
	}
	f.Add(welcome, []byte{3, 1, 8, 0, 0, 0, 0, 0}, []byte{0})
	f.Fuzz(func(t *testing.T, first, later, datagram []byte) {
		b, err := New(rules, Config{Random: func([]byte) {}, Send: func(d []byte, _ float64, _ bool) {
			if len(d) > wire.MaxDatagram {
				t.Errorf("a datagram of %d bytes", len(d))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		b.Set("packets", 1)
		b.Hello(nil, "")
		if b.Welcome(first, 1000).Refused != "" {
			b.Welcome(welcome, 1000)
		}
		now := 1000.0
		for i := range 8 {
			b.Receive(datagram, now)
			if i == 4 {
				b.Set("away", 1)
			}
			for range b.Frame(now, now) {
				b.Me(0)
				b.Tick([]float64{1, 1, 1, 1}, 0)
			}
			if d := b.Draw(); int(d[1]) != len(d) {
				t.Errorf("%v floats, %d", d[1], len(d))
			}
			b.Drawn()
			b.Texts()
			now += float64(time.Second/60) / 1e6 * float64(i*i)
			if len(datagram) > 5 { // the next one
				datagram[3]++
				b.Dropped(wire.Seq(datagram[3]))
			}
		}
		b.Message(later)
		b.Lost()
		b.Hello(nil, "")
	})
}
