package weather

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Plans of a few seeds pass. A hundred others run in .ci/run, new ones by command.
func TestSeeds(t *testing.T) {
	n := 24
	if testing.Short() {
		n = 8
	}
	var wg sync.WaitGroup
	results := make([]Result, n)
	for half := range 2 {
		wg.Go(func() {
			for i := half; i < n; i += 2 {
				results[i] = Run(Draw(uint64(i + 1)))
			}
		})
	}
	wg.Wait()
	var sum Result
	for _, r := range results {
		sum.Add(&r)
		if r.Failed != nil {
			t.Errorf("%v\n%sreplay: meanwhile lab weather --seed %d", r.Failed, r.Plan.Text(), r.Plan.Seed)
		}
	}
	if sum.Compared < 30_000 || sum.Sights < 1000 || sum.Words < 400 || sum.Faults < n {
		t.Errorf("%d states and %d pictures were compared, %d words arrived, %d faults: the plans test little", sum.Compared,
			sum.Sights, sum.Words, sum.Faults)
	}
}

// A plan as text is the same plan.
func TestPlansAsText(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(400) {
		p := Draw(seed)
		q, err := Parse(p.String())
		if err != nil || q.String() != p.String() {
			t.Fatalf("%v, %v\n%v", err, p, q)
		}
		for _, f := range p.Faults {
			seen[f.Kind] = true
		}
	}
	for _, k := range kindList {
		if !seen[k.name] {
			t.Errorf("no plan has the fault %s", k.name)
		}
	}
	for _, bad := range []string{"", "seed", "seed 1 game zap paths lan end -1", "seed 1 game golf paths lan end 9000",
		"seed 1 game zap paths moon end 9000", "seed 1 game zap paths lan end 9000; cut 1000+9000 p0 x0",
		"seed 1 game zap paths lan end 9000; rain 1000+10 p0 x0", "seed 1 game zap paths lan end 9000; cut 1000+10 p1 x0",
		"seed 1 game zap paths lan end 9000; cut"} {
		if _, err := Parse(bad); err == nil ||
			!strings.HasPrefix(err.Error(), "weather: ") && !strings.Contains(bad, "moon") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Plans that found a fault pass since it is mended.
func TestPlans(t *testing.T) {
	for _, c := range []struct{ what, plan string }{
		{"a shot soon after a connection was lost for two seconds: the log of the server still has the last record from " +
			"before, which is acknowledged only now", "seed 5655 game storm paths lan,ocean rate 60 send 20 things 0 see 250 " +
			"queued false budget 32000 end 15820; suspend 13750+2070 p1 x0"},
		{"a command that came early, as the path became faster: an entity whose end has been acknowledged since it was made",
			"seed 301066 game storm paths lan,lte-a,lan,lan rate 60 send 20 things 7 see 12 queued false budget 64000 end 6000"},
		{"no way up for longer than an acknowledgement reaches back: of some packets it stays unknown whether they were seen",
			"seed 300263 game storm paths lan rate 30 send 30 things 30 see 250 queued false budget 64000 end 19710; " +
				"cut-up 13950+5760 p0 x0"},
		{"the same, and the log has forgotten what these packets carried",
			"seed 1002876 game storm paths lte-a rate 60 send 30 things 30 see 24 queued false budget 64000 end 19670; " +
				"cut-up 13110+6560 p0 x0"},
		{"commands that run as they arrive, and a first round trip out of an outage: the lead stays 1 s too long",
			"seed 1000011 game storm paths lan rate 60 send 20 things 0 see 250 queued true budget 13000 end 25240; " +
				"server-stop 11580+11520 p-1 x0; corrupt 11960+20 p0 x16; stop 23050+2190 p0 x0"},
		{"a clock that is set while commands are under way: those made anew are not those that the server has",
			"seed 1001791 game storm paths lan,ocean rate 60 send 10 things 0 see 60 queued false budget 256000 end 15380; " +
				"cut 7300+1630 p1 x0; reorder 12130+3250 p1 x216; nudge 14270+0 p1 x281"},
		{"a program that hangs: of some packets the server does not know that they were not seen",
			"seed 2000531 game storm paths lan,lan,lan,lan rate 20 send 20 things 3 see 60 queued false budget 64000 " +
				"end 13960; stutter 9440+4520 p3 x488"},
		{"another connection that ends before the server could say that it began anew",
			"seed 2001859 game zap paths ocean rate 20 send 20 things 0 see 250 queued false budget 256000 end 19160; " +
				"corrupt 18490+590 p0 x34; suspend 19140+20 p0 x0"},
		{"damage in what a player says", "seed 2001733 game storm paths wifi,ocean,lan,wifi rate 60 send 20 things 8 " +
			"see 60 queued true budget 32000 end 7210; panic-referee 6050+470 p-1 x0; corrupt 6600+610 p1 x32"},
		{"a hang of 4.8 s at 13 kbit/s: what arrived meanwhile is shown for a while",
			"seed 3000214 game storm paths wifi rate 30 send 10 things 120 see 250 queued false budget 13000 end 19790; " +
				"stop 15020+4770 p0 x0"},
		{"a path that becomes faster before the lead knows it",
			"seed 3000059 game kick paths lan rate 30 send 20 things 0 see 250 queued false budget 32000 end 15360; " +
				"suspend 12130+930 p0 x0; delay 13110+2250 p0 x890"},
		{"a datagram of a damaged player that waits when the damage ends",
			"seed 3000123 game storm paths lan,fiber rate 60 send 10 things 0 see 12 queued false budget 13000 end 19040; " +
				"roam 11030+0 p1 x2; replay 13150+40 p1 x226; corrupt 17990+1050 p1 x10"},
		{"damage in a datagram to a client that has just begun",
			"seed 2000371 game storm paths wifi rate 30 send 20 things 0 see 250 queued false budget 64000 end 8460; " +
				"restart 6890+1530 p0 x0; corrupt 8420+40 p0 x48"},
		{"a path that loses a second of packets by itself while the playout delay is compared",
			"seed 301149 game storm paths lan,ocean rate 60 send 10 things 0 see 24 queued true budget 64000 end 16370; " +
				"suspend 6610+180 p1 x0"},
		{"a step to a slower path that loses packets in runs, where few come",
			"seed 3001040 game storm paths wifi,fiber rate 20 send 20 things 60 see 24 queued false budget 32000 end 12070; " +
				"send-rate 10380+1690 p1 x5; roam 11730+0 p1 x3"},
		{"steps to slower paths, with outages",
			"seed 3001394 game storm paths fiber rate 30 send 10 things 0 see 60 queued false budget 256000 end 17530; " +
				"roam 6210+0 p0 x2; flap 7430+3630 p0 x162; roam 9900+0 p0 x3; flap 14990+2540 p0 x357"},
		{"a slower path that goes up and down, after an outage and little before it",
			"seed 83454773 game storm paths lan rate 30 send 10 things 0 see 250 queued false budget 64000 end 21200; " +
				"corrupt 9380+20 p0 x12; cut 15300+5900 p0 x0; roam 18930+0 p0 x3"},
		{"shots after an outage at players who left in it",
			"seed 12001122 game storm paths lan rate 30 send 20 things 0 see 12 queued false budget 32000 end 12330; " +
				"guests 9700+770 p-1 x6; cut 10100+2230 p0 x0"},
		{"a record that the log has forgotten, beside an older one that it remembers as there was a silence between them",
			"seed 3000214 game storm paths wifi rate 30 send 10 things 120 see 250 queued false budget 13000 end 19790; " +
				"restart 12340+3120 p0 x0; stop 15020+4770 p0 x0"},
		{"the same after a connection that was lost",
			"seed 5000276 game storm paths lan,fiber rate 30 send 20 things 120 see 24 queued false budget 256000 end 16600; " +
				"stutter 9810+1350 p1 x371; suspend 14910+1690 p1 x0"},
		{"a clock that jumps ahead while a tick takes 0.4 s: what is heard first after it comes late",
			"seed 5000309 game arena paths lan,lan rate 20 send 20 things 0 see 250 queued false budget 32000 end 8960; " +
				"server-slow 8060+900 p-1 x400; clock 8130+0 p1 x14169"},
		{"a server that stops for 6.7 s, and sleeps for 0.4 s of them, just after the player's clock was set back",
			"seed 6000895 game storm paths lan rate 30 send 10 things 0 see 12 queued false budget 64000 end 13400; " +
				"clock 6600+0 p0 x-12735; server-stop 6670+6730 p-1 x0; server-sleep 12120+420 p-1 x0"},
		{"a path that loses 21 datagrams in a row by itself: the first one after them has none of the removals among them",
			"seed 6000917 game storm paths lan,lan,lan,ocean rate 30 send 10 things 60 see 12 queued false budget 13000 " +
				"end 18390"},
		{"damage that takes one of a server's words, and ends before the client has another connection",
			"seed 77578183 game storm paths lan,burst,lan rate 60 send 30 things 60 see 60 queued false budget 32000 " +
				"end 15230; flap 7230+1800 p1 x68; corrupt 14060+1170 p1 x47"},
		{"a budget that becomes smaller while a tick takes 0.3 s: heartbeats, too, keep to the new one",
			"seed 134762399 game storm paths ocean rate 30 send 20 things 15 see 250 queued false budget 13000 end 17930; " +
				"budget 14500+3430 p0 x191; server-slow 17780+20 p-1 x282"},
	} {
		p, err := Parse(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		if r := Run(p); r.Failed != nil || r.Sights == 0 && !p.Queued && p.Game == "storm" {
			t.Errorf("%s: of %d pictures: %v", c.what, r.Sights, r.Failed)
		}
	}
}

// Numbers of packets wrap while a path loses and reorders, breaks, and a player hangs.
func TestNumbersThatWrap(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT CHECKED with -short: 19 minutes of play, until the numbers of packets wrap")
	}
	p, err := Parse("seed 17 game storm paths lan,wifi rate 60 send 60 things 0 see 12 queued false budget 256000 " +
		"end 1110000; loss 1085000+3000 p1 x30; reorder 1089000+6000 p-1 x120; cut 1091000+1500 p0 x0; " +
		"hang 1099000+1800 p1 x0")
	if err != nil {
		t.Fatal(err)
	}
	if r := Run(p); r.Failed != nil || r.Sent < 2<<16 {
		t.Errorf("%d datagrams to two players: %v", r.Sent, r.Failed)
	}
}

// A failing plan is shrunk to what makes it fail.
func TestShrink(t *testing.T) {
	p, err := Parse("seed 5 game storm paths wifi,ocean,lan rate 30 send 20 things 60 see 24 queued false budget 64000 " +
		"end 20000; loss 6500+900 p0 x20; cut 8000+3000 p1 x0; hang 9000+700 p2 x0; stop 12000+500 p1 x0; delay " +
		"15000+2000 p-1 x90")
	if err != nil {
		t.Fatal(err)
	}
	small := shrink(p, func(q Plan) bool {
		for _, f := range q.Faults {
			if f.Kind == "cut" && f.For >= 1000 && len(q.Paths) > 0 {
				return true
			}
		}
		return false
	})
	if len(small.Faults) != 1 || small.Faults[0].For >= 2000 || len(small.Paths) != 1 || small.Things != 0 ||
		small.End != small.Faults[0].until() || small.Paths[0] != "lan" {
		t.Errorf("shrunk to %v", small)
	}
}

// What the checks look at fails if it is not as it must be: a client that hides what it received,
// and one that is sent more than its budget.
func TestChecksFail(t *testing.T) {
	for _, c := range []struct {
		sort  string
		spoil func(w *world)
	}{
		{"budget", func(w *world) { w.seats[0].watched.limit = 900 }},
		{"deaf", func(w *world) { w.seats[0].cut[1] = 1 }},
		{"blind", func(w *world) { w.seats[0].cut[0] = 1 }},
		{"words", func(w *world) { w.seats[0].watched.news = 100 }},
		{"monotone", func(w *world) { w.seats[0].watched.command = 1 << 30 }},
		{"panic", func(w *world) { w.seats[0].p.OnFrame = func() { panic("a panic") } }},
	} {
		p, err := Parse("seed 5 game storm paths lan rate 30 send 20 things 20 see 24 queued false budget 64000 end 9000")
		if err != nil {
			t.Fatal(err)
		}
		w, err := newWorld(&p)
		if err != nil {
			t.Fatal(err)
		}
		w.run(4000)
		c.spoil(w)
		func() {
			defer func() {
				if v := recover(); v != nil {
					w.fail("panic: %v", v)
				}
			}()
			w.play()
		}()
		if w.failed == nil || sort(w.failed) != c.sort {
			t.Errorf("%s: %v", c.sort, w.failed)
		}
	}
}

// An entity may be held for three seconds in which packets come: of four in which the path carries
// nothing one counts, and the first packet after them need not say what left.
func TestHeldTooLong(t *testing.T) {
	p, err := Parse("seed 5 game storm paths lan rate 30 send 20 things 20 see 24 queued false budget 64000 end 9000")
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(&p)
	if err != nil {
		t.Fatal(err)
	}
	w.run(6000)
	s := w.seats[0]
	s.distrust()
	held := s.p.Client.Store().Entities()
	held[len(held)-1].ID = 1 << 20 // the server shows no such entity
	w.sim.OnTick = func() { s.checkKnown(w.sim.Loop.Now(), calmFor, true) }
	s.cut[0]++
	w.run(10_000)
	s.cut[0]--
	if w.run(11_500); w.failed != nil {
		t.Errorf("after a second and a half with packets, and one of four without: %v", w.failed)
	}
	if w.run(12_500); w.failed == nil || sort(w.failed) != "stale" {
		t.Errorf("after two and a half, and one of four: %v", w.failed)
	}
}

// A property with far= that the client dropped, received again and is to drop once more is judged by
// what it received last.
func TestFarDroppedTwice(t *testing.T) {
	p, err := Parse("seed 5000464 game storm paths wifi,fiber rate 60 send 20 things 30 see 24 queued false " +
		"budget 13000 end 19000; mtu 6280+2650 p0 x347; away 8480+940 p0 x0; loss 13560+1050 p-1 x72")
	if err != nil {
		t.Fatal(err)
	}
	if r := Run(p); r.Failed != nil || r.Blurred != 0 || r.Sights < 800 {
		t.Errorf("%v; details of %d pictures of %d differ", r.Failed, r.Blurred, r.Sights)
	}
}

// A world that begins anew while two faults of this kind overlap, with guests who are invited
// meanwhile, and a server whose clock stood still twice, which overlapped, too.
func TestBeginsAnew(t *testing.T) {
	p, err := Parse("seed 6 game storm paths lan,wifi rate 30 send 20 things 20 see 24 queued false budget 64000 " +
		"end 16000; server-sleep 7000+3000 p-1 x0; server-sleep 8000+3000 p-1 x0; " +
		"anew 12000+1500 p-1 x0; anew 12500+1500 p-1 x0; guests 13000+2000 p-1 x3; guests 14500+1000 p-1 x2")
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWorld(&p)
	if err != nil {
		t.Fatal(err)
	}
	w.run(12000)
	if behind := time.Duration(w.sim.Loop.Now() - w.sim.Server.Now()); behind.Round(time.Second) != 4*time.Second {
		t.Errorf("the server's clock slept from 7 s to 11 s and is %v behind", behind)
	}
	before := w.sim.Server
	if w.play(); w.failed != nil || w.sim.Server == before || w.result.worlds != 2 || w.sim.Server.Clients() != 2 {
		t.Errorf("%v; %d worlds were opened anew, %d players", w.failed, w.result.worlds, w.sim.Server.Clients())
	}
}

// A match that goes on in another server at every third tick sends the same bytes as one that
// stays.
func TestMoved(t *testing.T) {
	const stays = "seed 5 game storm paths wifi,lan rate 30 send 20 things 30 see 24 queued false budget 64000 end 9000"
	p, err := Parse(stays)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Parse(stays + "; move 6500+2000 p-1 x3")
	if err != nil {
		t.Fatal(err)
	}
	a, b := Run(p), Run(q)
	if a.Failed != nil || b.Failed != nil || b.moves < 15 || a.hash != b.hash {
		t.Errorf("%v, and moved %d times %v; hashes %x and %x", a.Failed, b.moves, b.Failed, a.hash, b.hash)
	}
}
