package rate

import (
	"strings"
	"testing"
	"time"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
	"pgregory.net/rapid"
)

func TestCapacityConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  CapacityConfig
		want string
	}{
		{CapacityConfig{}, "Floor 0 B/s is outside"},
		{CapacityConfig{Floor: 1000}, "Ceiling 0 B/s is outside"},
		{CapacityConfig{Floor: 1000, Ceiling: 500}, "Floor 1000 B/s is above Ceiling 500 B/s"},
		{CapacityConfig{Floor: 1000, Ceiling: 5000, Start: 6000}, "Start 6000 B/s is outside [Floor 1000 B/s, " +
			"Ceiling 5000 B/s]"},
	} {
		if _, err := NewCapacity(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
}

// flood is a server that always has more to send than the rate allows, 20 times a second, over a
// path on which the client answers each datagram at once.
type flood struct {
	rate, rtt float64 // means after 5 s: B/s delivered with overhead, ms
	final     BytesPerSecond
	maxWindow int // bytes in any second
	trace     []arrival
}

// arrival is one datagram that the path delivered.
type arrival struct {
	sent clock.Time
	took time.Duration
	rate BytesPerSecond // the estimate when it arrived
}

func run(t testing.TB, p netsim.Profile, cfg CapacityConfig, demand int, seconds int) flood {
	return runWith(t, p, cfg, demand, seconds, 0)
}

// runWith is run on a path that carries later bit/s down from the twentieth second on, unless later
// is 0.
func runWith(t testing.TB, p netsim.Profile, cfg CapacityConfig, demand, seconds int, later int64) flood {
	path, err := netsim.NewPath(3, p)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCapacity(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w, _ := NewWindow(c.Rate())
	type packet struct {
		sent clock.Time
		size int
		done bool
	}
	var (
		log      []packet
		inFlight int
		checked  int
		loop     netsim.Loop
		out      flood
		acks     int
	)
	buf := make([]byte, 1200)
	var up, down OneWay
	var trips RTT
	finish := func(i int) bool {
		if log[i].done {
			return false
		}
		log[i].done = true
		inFlight -= log[i].size + wire.Overhead
		return true
	}
	loop.Every(0, 50*time.Millisecond, func() bool {
		now := loop.Now()
		for checked < len(log) && (log[checked].done || now.Sub(log[checked].sent) > c.rtt.Timeout()) {
			if finish(checked) {
				c.Missing(now)
			}
			checked++
		}
		if w.SetBudget(c.Rate()) != nil {
			t.Fatal("rate out of bounds")
		}
		// A packet each time: a twentieth of the rate, as far as the window and the limit allow.
		// and 200 B at least, more rarely.
		size := min(max(int(c.Rate())/20-wire.Overhead, 200), 1150)
		if demand > 0 && demand < size {
			size = demand
		} else {
			c.Limited()
		}
		full := inFlight > 0 && inFlight+size+wire.Overhead > Limit(c.Rate(), c.rtt.Least())
		if w.Room(now) < size || full {
			return true
		}
		w.Spend(now, size)
		inFlight += size + wire.Overhead
		out.maxWindow = max(out.maxWindow, w.Used(now))
		buf[0], buf[1], buf[2] = byte(len(log)), byte(len(log)>>8), byte(len(log)>>16)
		log = append(log, packet{sent: now, size: size})
		path.Down.Push(now, buf[:size])
		return true
	})
	loop.Every(0, time.Millisecond, func() bool {
		now := loop.Now()
		for {
			data, at, ok := path.Down.Pop(now)
			if !ok {
				break
			}
			data[3], data[4], data[5] = byte(at/1e5), byte(at/1e5>>8), byte(at/1e5>>16) // when it arrived
			i := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
			out.trace = append(out.trace, arrival{log[i].sent, at.Sub(log[i].sent), c.Rate()})
			path.Up.Push(at, data[:20])
			if at > 5e9 {
				out.rate += float64(len(data)+wire.Overhead) / float64(seconds-5)
			}
		}
		for {
			data, at, ok := path.Up.Pop(now)
			if !ok {
				break
			}
			i := int(data[0]) | int(data[1])<<8 | int(data[2])<<16
			rtt := at.Sub(log[i].sent)
			finish(i)
			// The queue on the way up is no concern of the way down.
			there := clock.Time(int(data[3])|int(data[4])<<8|int(data[5])<<16) * 1e5
			known := at.Add(-up.Queued(at, at.Sub(there)))
			trips.Sample(at, rtt)
			c.Delivered(known, log[i].size+wire.Overhead, trips.Least()+down.Queued(known, there.Sub(log[i].sent)))
			if at > 5e9 {
				acks++
				out.rtt += float64(rtt) / 1e6
			}
		}
		return true
	})
	loop.At(20e9, func() {
		if p.Down.Rate = later; later != 0 && path.Set(p) != nil {
			t.Fatal("unusable path")
		}
	})
	loop.Run(clock.Time(seconds) * 1e9)
	out.rtt /= float64(max(acks, 1))
	out.final = c.Rate()
	return out
}

// The estimate leaves paths alone that carry the ceiling, whatever they lose or jitter. It finds
// the rate of those that do not, with a short queue.
func TestCapacityOnPaths(t *testing.T) {
	for _, c := range []struct {
		p        netsim.Profile
		ceiling  int     // kbit/s
		min, max float64 // delivered after the first 5 s, kbit/s
		rtt      float64 // mean, ms, at most
	}{
		{netsim.Fiber, 64, 63, 64.1, 30},
		{netsim.HotelWiFi, 64, 62, 64.1, 50},
		{netsim.BurstLoss, 64, 60, 64.1, 60},
		{netsim.CityLTE, 64, 57, 64.1, 100},
		{netsim.UrbanLTE, 64, 57, 64.1, 110},
		{netsim.TrainLTE, 64, 45, 64.1, 300}, // an uplink that stops for seconds
		{netsim.EVDO, 64, 40, 64.1, 300},
		{netsim.LAN, 64, 63, 64.1, 3},
		{netsim.Ocean, 64, 55, 64.1, 180}, // loses 5 %
		// 240 ms and 187 ms to send 242 B down and 62 B up are the empty path; the rest is queue.
		{netsim.Modem, 64, 11, 13.1, 560},
		{netsim.Modem, 512, 11, 13.1, 560},
		{netsim.Holdout(4), 64, 60, 64.1, 50},
	} {
		o := run(t, c.p, CapacityConfig{Floor: kbit(8), Ceiling: kbit(c.ceiling)}, 0, 120)
		if kbit := o.rate * 8 / 1000; kbit < c.min || kbit > c.max || o.rtt > c.rtt {
			t.Errorf("%s, ceiling %d kbit/s: %.1f kbit/s delivered at a round trip of %.0f ms; want %.1f to %.1f "+
				"and at most %.0f ms",
				c.p.Name, c.ceiling, kbit, o.rtt, c.min, c.max, c.rtt)
		}
		if most := c.ceiling * 1000 / 8; o.maxWindow > most {
			t.Errorf("%s: %d B in a second, ceiling %d", c.p.Name, o.maxWindow, most)
		}
	}
}

// A path that shrinks is found out within a second and a half, and the queue of that time is gone one and a half
// later; a telephone line under a large budget within two seconds. The queue does not come back, and
// the path is used.
//
// seeds: B14
func TestCapacityFindsWhatThePathCarries(t *testing.T) {
	cable := netsim.Profile{Name: "cable", Down: netsim.LinkConfig{Delay: 30 * time.Millisecond, Rate: 41_000},
		Up: netsim.LinkConfig{Delay: 30 * time.Millisecond}}
	for _, c := range []struct {
		p              netsim.Profile
		later          int64
		change         clock.Time
		found, settled time.Duration
		carries        float64       // bytes a second
		queue          time.Duration // at most, once settled
	}{
		{cable, 30_000, 20e9, 1500 * time.Millisecond, 3 * time.Second, 30_000 / 8, 250 * time.Millisecond},
		{cable, 0, 0, time.Second, 3 * time.Second, 41_000 / 8, 250 * time.Millisecond},
		{netsim.Modem, 0, 0, 2 * time.Second, 4 * time.Second, 13_000 / 8, 500 * time.Millisecond},
	} {
		o := runWith(t, c.p, CapacityConfig{Floor: kbit(8), Ceiling: kbit(64)}, 0, 120, c.later)
		found := false
		for _, a := range o.trace {
			since := a.sent.Add(a.took).Sub(c.change)
			if since < 0 {
				continue
			}
			if !found && float64(a.rate) <= c.carries*1.05 {
				if found = true; since > c.found {
					t.Errorf("%s to %d bit/s: found after %v, want %v", c.p.Name, c.later, since, c.found)
				}
			}
			empty := c.p.Down.Delay + time.Duration(242*1e9/c.carries) // of the usual packet
			if queue := a.took - empty; since > c.settled && queue > c.queue {
				t.Errorf("%s to %d bit/s: a queue of %v after %v", c.p.Name, c.later, queue, since)
				break
			}
		}
		if !found {
			t.Errorf("%s to %d bit/s: never found", c.p.Name, c.later)
		}
		if least := 0.86 * c.carries; o.rate < least && c.change == 0 {
			t.Errorf("%s: %.0f bytes a second delivered, want %.0f", c.p.Name, o.rate, least)
		}
	}
}

// A rate that was not the limit does not grow: the path has not shown that it carries more.
func TestCapacityNeedsDemand(t *testing.T) {
	cfg := CapacityConfig{Floor: 1000, Ceiling: 64_000, Start: 8_000}
	if o := run(t, netsim.Fiber, cfg, 100, 30); o.final != 8000 {
		t.Errorf("with little to send the rate went to %d B/s", o.final)
	}
	if o := run(t, netsim.Fiber, cfg, 0, 60); o.final != 64_000 {
		t.Errorf("with much to send the rate went to %d B/s", o.final)
	}
}

// A new ceiling holds at once. One that is higher is used at once, unless the path was the limit.
func TestCapacityCeiling(t *testing.T) {
	c, _ := NewCapacity(CapacityConfig{Floor: 1000, Ceiling: 8000})
	for _, x := range []struct{ ceiling, want BytesPerSecond }{{4000, 4000}, {9000, 9000}, {1000, 1000}, {2000, 2000}} {
		if err := c.SetCeiling(x.ceiling); err != nil || c.Rate() != x.want {
			t.Errorf("ceiling %d: rate %d, %v", x.ceiling, c.Rate(), err)
		}
	}
	for range lossSpan {
		c.Missing(0)
	}
	c.Delivered(1e9, 100, 50*time.Millisecond)
	c.Delivered(3e9, 100, 50*time.Millisecond)
	found := c.Rate()
	if err := c.SetCeiling(5000); err != nil || found >= 2000 || c.Rate() != found {
		t.Errorf("a path that carries %d: rate %d under a new ceiling", found, c.Rate())
	}
	if c.SetCeiling(999) == nil || c.SetCeiling(MaxBudget+1) == nil || c.Rate() != found {
		t.Error("an unusable ceiling is taken")
	}
}

// Whatever is reported, the rate stays between floor and ceiling.
func TestCapacityBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := NewCapacity(CapacityConfig{Floor: 1000, Ceiling: 9000, Start: 3000})
		if err != nil {
			t.Fatal(err)
		}
		now := clock.Time(0)
		for range 300 {
			now += clock.Time(rapid.Int64Range(-1e8, 1e9).Draw(t, "gap"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				c.Missing(now)
			case 1:
				c.Limited()
			default:
				c.Delivered(now, rapid.Int().Draw(t, "size")%1_000_000, time.Duration(rapid.Int64().Draw(t, "rtt")))
			}
			if r := c.Rate(); r < 1000 || r > 9000 {
				t.Fatalf("rate %d", r)
			}
			if l := c.loss(); l < 0 || l > 1 {
				t.Fatalf("loss %v", l)
			}
		}
	})
}

func TestCapacityLoss(t *testing.T) {
	c, _ := NewCapacity(CapacityConfig{Floor: 1000, Ceiling: 9000})
	for i := range 64 {
		if i%4 == 0 {
			c.Missing(0)
		} else {
			c.Delivered(0, 100, -1)
		}
		if i < lossSpan/4-1 && c.loss() != 0 {
			t.Errorf("a share of %v out of %d packets", c.loss(), i+1)
		}
	}
	if c.loss() != 0.25 {
		t.Errorf("loss %v, want 0.25", c.loss())
	}
	for range 32 {
		c.Delivered(0, 100, -1)
	}
	if c.loss() != 0 {
		t.Errorf("32 packets later loss %v", c.loss())
	}
}

// A ceiling that was low for a while does not make a slow path forgotten.
func TestCeilingKeepsWhatWasFound(t *testing.T) {
	c, err := NewCapacity(CapacityConfig{Floor: 400, Ceiling: 8000})
	if err != nil {
		t.Fatal(err)
	}
	c.rate = 1600 // as found on a path
	for _, step := range []struct{ ceiling, want BytesPerSecond }{
		{1500, 1500}, {1200, 1200}, {1400, 1400}, {8000, 1600}, {4000, 1600},
	} {
		if err := c.SetCeiling(step.ceiling); err != nil || c.Rate() != step.want {
			t.Fatalf("ceiling %d: rate %d, %v, want %d", step.ceiling, c.Rate(), err, step.want)
		}
	}
}

// Near the rate at which a queue built up, the rate grows by no more than 4 % a second however long
// that is ago: on a slow path it takes most of a second until a queue is seen.
func TestGrowsSlowlyNearAQueue(t *testing.T) {
	c, err := NewCapacity(CapacityConfig{Floor: 500, Ceiling: 8000, Start: 1600})
	if err != nil {
		t.Fatal(err)
	}
	c.mark = 1600
	for now := clock.Time(time.Minute); now < clock.Time(time.Minute+time.Second); now = now.Add(c.span()) {
		c.grow(now)
	}
	if c.rate < 1640 || c.rate > 1600*105/100 {
		t.Errorf("after a second the rate is %d B/s, want 1640 to 1680", c.rate)
	}
}
