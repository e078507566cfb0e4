package headless_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"meanwhile/examples/arena"
	"meanwhile/headless"
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

// BenchmarkFrame is one frame of a bot among 64 in arena, at 30 frames a second: on the average,
// with the memory of the others between, and without a connection.
func BenchmarkFrame(b *testing.B) {
	r, err := arena.Game.Rules()
	if err != nil {
		b.Fatal(err)
	}
	s, err := server.New(r, server.Config{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	type seat struct {
		id  server.PlayerID
		bot *headless.Bot
	}
	var seats []seat
	at := map[server.PlayerID]*headless.Bot{}
	for range 64 {
		id, welcome, err := s.Connect(0, "bot")
		if err != nil {
			b.Fatal(err)
		}
		bot, err := headless.NewBot(r, welcome, 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		seats, at[id] = append(seats, seat{id, bot}), bot
	}
	var out server.Outbox
	now, ticks, next := clock.Time(0), 0, 0
	tick := func() {
		now += clock.Time(s.Period())
		s.Begin(now)
		out.Reset()
		s.Encode(0, s.Clients(), &out)
		s.End()
		for i := range out.Len() {
			to, datagram := out.At(i)
			at[to].Receive(now, datagram)
		}
		ticks++
	}
	frame := func() {
		p := seats[next%len(seats)]
		datagram, err := p.bot.Frame(now)
		if err != nil {
			b.Fatal(err)
		}
		if datagram != nil {
			s.Receive(p.id, now, datagram)
		}
		next++
	}
	runtime.LockOSThread() // so that the thread's clock is ours
	defer runtime.UnlockOSThread()
	var spent time.Duration
	frames := 0
	b.ReportAllocs()
	for b.Loop() {
		for next >= ticks/2*len(seats) {
			tick()
		}
		from := threadTime(b)
		for range seats {
			frame()
		}
		if now > clock.Time(10*time.Second) {
			spent, frames = spent+threadTime(b)-from, frames+len(seats)
		}
	}
	b.ReportMetric(float64(spent)/float64(max(frames, 1)), "cpu-ns/frame")
}

// threadTime returns the CPU time of this thread.
func threadTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	const thisThread = 1 // RUSAGE_THREAD of Linux
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		b.Skip(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
