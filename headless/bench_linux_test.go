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

// A seat is a player of a room in a benchmark.
type seat struct {
	id  server.PlayerID
	bot *headless.Bot
}

// newRoom returns a room of arena with n bots, also by their numbers.
func newRoom(b *testing.B, n int) (s *server.Server, seats []seat, at map[server.PlayerID]*headless.Bot) {
	b.Helper()
	r, err := arena.Game.Rules()
	if err != nil {
		b.Fatal(err)
	}
	if s, err = server.New(r, server.Config{Seed: 1}); err != nil {
		b.Fatal(err)
	}
	at = map[server.PlayerID]*headless.Bot{}
	for range n {
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
	return s, seats, at
}

// BenchmarkFrame is one frame of a bot among 64 in arena, at 30 frames a second: on the average,
// with the memory of the others between, and without a connection.
func BenchmarkFrame(b *testing.B) {
	s, seats, at := newRoom(b, 64)
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

// BenchmarkTick is a tick of a room of arena with 100 players at 30 frames a second, encoding apart:
// on the average, with what the players themselves use of the processor's caches between.
func BenchmarkTick(b *testing.B) {
	s, seats, at := newRoom(b, 100)
	runtime.LockOSThread() // so that the thread's clock is ours
	defer runtime.UnlockOSThread()
	var out server.Outbox
	var beginning, encoding time.Duration
	now, ticks, packets := clock.Time(0), 0, 0
	for b.Loop() {
		now += clock.Time(s.Period())
		from := threadTime(b)
		s.Begin(now)
		begun := threadTime(b)
		out.Reset()
		s.Encode(0, s.Clients(), &out)
		encoded := threadTime(b)
		s.End()
		for i := range out.Len() {
			to, datagram := out.At(i)
			at[to].Receive(now, datagram)
		}
		for i := int(s.Tick()) % 2; i < len(seats); i += 2 {
			datagram, err := seats[i].bot.Frame(now)
			if err != nil {
				b.Fatal(err)
			}
			if datagram != nil {
				s.Receive(seats[i].id, now, datagram)
			}
		}
		if now > clock.Time(5*time.Second) {
			beginning, encoding = beginning+begun-from, encoding+encoded-begun
			ticks, packets = ticks+1, packets+out.Len()
		}
	}
	b.ReportMetric(float64(beginning)/float64(max(ticks, 1)), "begin-ns/tick")
	b.ReportMetric(float64(encoding)/float64(max(ticks, 1)), "encode-ns/tick")
	b.ReportMetric(float64(encoding)/float64(max(packets, 1)), "encode-ns/packet")
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
