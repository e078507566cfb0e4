package rerun

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/app/internal/bridge"
	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/server"
	"meanwhile/session"
)

// A pen writes a log as web/meanwhile/log.js does.
type pen struct {
	b       []byte
	us      int64
	clock   int64
	command []float64
}

func (p *pen) number(n int)   { p.b = binary.AppendUvarint(p.b, uint64(n)) }
func (p *pen) entry(k byte)   { p.b = append(p.b, k) }
func (p *pen) bytes(b []byte) { p.number(len(b)); p.b = append(p.b, b...) }

func (p *pen) instant(ms float64) float64 {
	us := int64(math.Round(ms * 1000))
	p.b = binary.AppendVarint(p.b, us-p.us)
	p.us = us
	return float64(us) / 1000
}

func (p *pen) tick() time.Duration { // of a machine on which everything takes a tenth of a millisecond
	p.entry(entryClock)
	p.b = binary.AppendVarint(p.b, 100)
	p.clock += 100
	return time.Duration(float64(p.clock) / 1000 * float64(time.Millisecond))
}

func (p *pen) floats(f []float64) {
	if len(p.command) != len(f) {
		p.command = make([]float64, len(f))
	}
	p.number(len(f))
	for i := 0; i < len(f); i += 8 {
		at := len(p.b)
		p.b = append(p.b, 0)
		for j := i; j < min(len(f), i+8); j++ {
			if math.Float64bits(f[j]) != math.Float64bits(p.command[j]) {
				p.b[at] |= 1 << (j - i)
				p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(f[j]))
			}
		}
	}
	copy(p.command, f)
}

func (p *pen) draw(f []float64) {
	p.entry(entryDraw)
	p.entry(1)
	p.number(len(f))
	p.b = binary.LittleEndian.AppendUint32(p.b, sumOf(f))
}

func (p *pen) report(f []float64) {
	p.entry(entryReport)
	p.number(8 * len(f))
	for _, v := range f {
		p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(v))
	}
}

func zapRules(t testing.TB) *game.Rules {
	t.Helper()
	rules, err := zap.Game.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// record plays a page for some frames over 20 ms each way, and returns its log.
func record(t testing.TB, rules *game.Rules, frames int) []byte {
	return recordAt(t, rules, frames, func(i int) float64 { return 16.6667 * float64(i) })
}

// recordAt is record with frames at instants, in milliseconds.
func recordAt(t testing.TB, rules *game.Rules, frames int, instant func(frame int) float64) []byte {
	t.Helper()
	p := &pen{b: []byte(magic)}
	head, err := json.Marshal(Header{Bridge: bridge.Version, Game: rules.Name, Agent: "a test",
		Schema: fmt.Sprintf("%d-%016x-0", session.Version, rules.Hash)})
	if err != nil {
		t.Fatal(err)
	}
	p.bytes(head)
	srv, err := server.New(rules, server.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	id, w, err := srv.Connect(0, "ann")
	if err != nil {
		t.Fatal(err)
	}
	type flight struct {
		at   clock.Time
		data []byte
	}
	var up, down []flight
	now := 1000.0
	b, err := bridge.New(
		rules,
		bridge.Config{Clock: p.tick, Random: func([]byte) {}, Send: func(d []byte, _ float64, _ bool) {
			up = append(up, flight{clock.Time(now*1e6) + 20e6, bytes.Clone(d)})
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	p.entry(entrySetting)
	p.bytes([]byte("packets"))
	p.bytes([]byte("1"))
	b.Set("packets", 1)
	welcome, err := w.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.entry(entryWelcome)
	at := p.instant(now)
	p.bytes(welcome)
	b.Welcome(welcome, at)
	var out server.Outbox
	for i := range frames {
		now = 1000 + instant(i+1)
		for until := clock.Time((now - 1000) * 1e6); srv.Now().Add(srv.Period()) <= until; {
			when := srv.Now().Add(srv.Period())
			for len(up) > 0 && up[0].at-1000e6 <= when {
				srv.Receive(id, up[0].at-1000e6, up[0].data)
				up = up[1:]
			}
			srv.Begin(when)
			out.Reset()
			srv.Encode(0, srv.Clients(), &out)
			srv.End()
			for j := range out.Len() {
				_, d := out.At(j)
				down = append(down, flight{when + 1000e6 + 20e6, bytes.Clone(d)})
			}
		}
		for len(down) > 0 && float64(down[0].at)/1e6 <= now {
			p.entry(entryReceive)
			at := p.instant(float64(down[0].at) / 1e6)
			p.bytes(down[0].data)
			b.Receive(down[0].data, at)
			down = down[1:]
		}
		p.entry(entryFrame)
		at := p.instant(now)
		shown := p.instant(now - 5)
		for range b.Frame(at, shown) {
			p.entry(entryMe)
			p.entry(1)
			b.Me(p.instant(now - 3))
			command := []float64{1, 0, 0.5, float64(i % 7 / 6)}
			p.entry(entryTick)
			p.entry(1)
			pressed := p.instant(now - 3)
			p.floats(command)
			b.Tick(command, pressed)
		}
		f := b.Draw()
		p.draw(f)
		if i == frames-1 { // what comes before the report draws nothing, and does nothing here
			p.entry(entryDropped)
			p.number(9)
			p.entry(entryMessage)
			p.bytes([]byte{99, 1})
			p.report(f)
		}
		b.Drawn()
		p.entry(entryTexts)
		b.Texts()
		p.entry(entryHeard)
		b.Heard()
	}
	return p.b
}

// play replays a log to its end.
func play(t testing.TB, rules *game.Rules, b []byte, playouts ...time.Duration) (frames []Frame, err error) {
	t.Helper()
	l, err := Parse(b)
	if err != nil {
		return nil, err
	}
	r, err := New(rules, l, playouts...)
	if err != nil {
		return nil, err
	}
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return frames, nil
		} else if err != nil {
			return frames, err
		}
		f.Floats = slices.Clone(f.Floats)
		frames = append(frames, f)
	}
}

// A page's log is replayed to the floats that the page drew, in each frame.
func TestSamePicture(t *testing.T) {
	rules := zapRules(t)
	log := record(t, rules, 120)
	frames, err := play(t, rules, log)
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) != 120 || !frames[119].Reported || frames[0].Reported {
		t.Fatalf("%d frames", len(frames))
	}
	for _, f := range frames {
		if !f.Same {
			t.Fatalf("frame %d is another one", f.Number)
		}
	}
	r := mustNew(t, rules, log)
	pic, err := r.Layout.Read(frames[119].Floats)
	if err != nil {
		t.Fatal(err)
	}
	mine := slices.IndexFunc(pic.Entities, func(e Entity) bool { return e.Mine })
	if mine < 0 || pic.Entities[mine].ID != pic.Me || !pic.Entities[mine].Placed || pic.Stats["delayMs"] <= 0 {
		t.Errorf("%+v", pic)
	}
	for n := range frames[119].Floats {
		if _, err := r.Layout.Read(frames[119].Floats[:n]); err == nil && n < len(frames[119].Floats)-4*64 {
			t.Errorf("%d of %d floats are a picture", n, len(frames[119].Floats))
		}
	}
}

func mustNew(t testing.TB, rules *game.Rules, log []byte) *Rerun {
	t.Helper()
	l, err := Parse(log)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(rules, l)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A page that drew something else is found out, at the first such frame: by its sum, and by what it
// sent with the report.
func TestAnotherPicture(t *testing.T) {
	rules := zapRules(t)
	log := record(t, rules, 60)
	draws := 0
	for i := bytes.LastIndexByte(log, entryDraw); draws == 0; i = bytes.LastIndexByte(log[:i], entryDraw) {
		other := slices.Clone(log)
		other[i+4] ^= 1
		frames, err := play(t, rules, other)
		if err == nil && len(frames) == 60 && !frames[59].Same && frames[58].Same {
			draws++
		}
	}
	log[len(log)-20] ^= 1 // of what was sent with the report
	if frames, err := play(t, rules, log); err == nil && frames[59].Same {
		t.Error("what the page had on the screen is not compared")
	}
}

// What if the page had another playout delay? Others are drawn as much later or earlier, and the page
// itself as it was, also where it draws few frames: 15 a second, or one while its tab is hidden.
func TestAnotherPlayout(t *testing.T) {
	rules := zapRules(t)
	for name, at := range map[string]func(frame int) float64{
		"60 frames a second": func(i int) float64 { return 16.6667 * float64(i) },
		"15 frames a second": func(i int) float64 { return 66.6667*float64(i) + float64(i*i%23) },
		"a hidden tab":       func(i int) float64 { return 66.6667*float64(i) + 1000*float64(min(max(i-100, 0), 6)) },
	} {
		ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
		playouts := []time.Duration{0, ms(50), ms(100), ms(150), ms(300)}
		frames, err := play(t, rules, recordAt(t, rules, 300, at), playouts...)
		if err != nil || len(frames) != 300 {
			t.Fatalf("%s: %d frames: %v", name, len(frames), err)
		}
		layout := mustNew(t, rules, record(t, rules, 1)).Layout
		late, settled := make([]time.Duration, len(playouts)), 0
		for i, f := range frames {
			if !f.Same {
				t.Fatalf("%s: frame %d is another one", name, f.Number)
			}
			pic, err := layout.Read(f.Floats)
			if err != nil {
				t.Fatal(err)
			}
			own := time.Duration(pic.Stats["delayMs"] * 1e6)
			age := time.Duration(pic.Stats["ageMs"] * 1e6)
			if off := max(f.WhatIf[0].Late, age) - own; own > 0 && off.Abs() > time.Microsecond {
				t.Fatalf("%s: frame %d is %v late, computed again %v", name, f.Number, own, f.WhatIf[0].Late)
			}
			if i < 200 { // the delay moves slowly
				continue
			}
			settled++
			for j, q := range f.WhatIf {
				late[j] += q.Late
			}
		}
		for j := 1; j < len(playouts); j++ {
			mean := late[j] / time.Duration(settled)
			if above := mean - playouts[j]; above < ms(15) || above > ms(60) {
				t.Errorf("%s, a playout delay of %v: %v late in the mean", name, playouts[j], mean)
			}
		}
		if last := frames[299].WhatIf; last[1].Hitches < last[4].Hitches {
			t.Errorf("%s: %d hitches at 50 ms, %d at 300", name, last[1].Hitches, last[4].Hitches)
		}
	}
	l, _ := Parse(record(t, rules, 1))
	if _, err := New(rules, l, time.Hour); err == nil {
		t.Error("a playout delay of an hour")
	}
}

// No part of a log does anything but end: with an error that says so, or where an entry ends.
func TestCutOff(t *testing.T) {
	rules := zapRules(t)
	log := record(t, rules, 6)
	whole := 0
	for n := range log {
		frames, err := play(t, rules, log[:n])
		switch {
		case err == nil:
			whole++
		case !errors.Is(err, ErrMalformed):
			t.Fatalf("%d of %d bytes: %v", n, len(log), err)
		}
		if len(frames) > 6 {
			t.Fatalf("%d frames", len(frames))
		}
	}
	if whole == 0 || whole > len(log)/4 {
		t.Errorf("%d of %d parts are whole", whole, len(log))
	}
}

// Logs of other games, rules and bridges are refused.
func TestOtherLogs(t *testing.T) {
	rules := zapRules(t)
	log := record(t, rules, 2)
	for _, c := range [][2]string{
		{`"Game":"zap"`, `"Game":"zip"`}, {`"Schema":"`, `"Schema":"9`}, {`"Bridge":2`, `"Bridge":1`},
		{magic, "xeanwhile page log 1\n"},
	} {
		other := bytes.Replace(log, []byte(c[0]), []byte(c[1]), 1)
		if len(other) != len(log) { // the header's length
			other[len(magic)]++
		}
		l, err := Parse(other)
		if err == nil {
			_, err = New(rules, l)
		}
		if err == nil || bytes.Equal(other, log) {
			t.Errorf("%s for %s is not refused", c[1], c[0])
		}
	}
	if _, err := Parse(make([]byte, MaxLog+1)); err == nil {
		t.Error("a log that is too long")
	}
}

// The bytes of the parts that entries are made of, kept: who changes them changes
// web/meanwhile/log.js with it. What they are read as is what was written.
func TestLogGolden(t *testing.T) {
	var b strings.Builder
	p := &pen{}
	note := func(name string) {
		fmt.Fprintf(&b, "%s %x\n", name, p.b)
		p.b = p.b[:0]
	}
	r := &reader{}
	check := func(name string, ok bool) {
		if !ok || r.err != nil || len(r.b) != 0 {
			t.Errorf("%s: read otherwise, %d bytes left: %v", name, len(r.b), r.err)
		}
	}
	for _, n := range []int{0, 127, 128, 300, 1 << 40} {
		p.number(n)
		r.b = slices.Clone(p.b)
		name := fmt.Sprint("number ", n)
		check(name, r.number() == uint64(n))
		note(name)
	}
	for _, ms := range []float64{0.001, 16.668, 16.667, 1e9, -5.25} {
		want := p.instant(ms)
		r.b = slices.Clone(p.b)
		name := fmt.Sprint("instant ", ms)
		check(name, r.instant() == want && want == ms)
		note(name)
	}
	for _, f := range [][]float64{{1, 0, 0.5}, {1, 0, 0.5}, {1, -2, 0.5}, {0, 0, 0, 0, 0, 0, 0, 0, 9}} {
		p.floats(f)
		r.b = slices.Clone(p.b)
		name := fmt.Sprint("command ", f)
		check(name, slices.Equal(r.floats(), f))
		note(name)
	}
	p.bytes([]byte("away"))
	r.b = slices.Clone(p.b)
	check("bytes", string(r.bytes(4)) == "away")
	note("bytes away")
	fmt.Fprintf(&b, "sum of 1 -0 2.5 %08x\n", sumOf([]float64{1, math.Copysign(0, -1), 2.5}))
	golden.Check(t, "testdata/page.txt", b.String())
}

// No log makes a replay fail otherwise than with an error.
func FuzzNext(f *testing.F) {
	rules := zapRules(f)
	log := record(f, rules, 8)
	f.Add(log)
	head := len(log) - len(mustNew(f, rules, log).in.b)
	for _, entries := range [][]byte{
		{entryLost, entryLeave, entryDropped, 3, entryTexts, entryHeard},
		{entryMessage, 2, 1, 2, entrySay, 0, 0, 0, entrySetting, 4, 'a', 'w', 'a', 'y', 1, '1'},
		{entryDraw, 0, entryMe, 0, entryTick, 0, 0, entryReport, 0},
	} {
		f.Add(append(slices.Clone(log[:head]), entries...))
		f.Add(append(slices.Clone(log), entries...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = play(t, rules, b, 0, 100*time.Millisecond)
	})
}
