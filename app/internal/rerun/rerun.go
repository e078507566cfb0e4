package rerun

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"meanwhile/app/internal/bridge"
	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/playout"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

// A Rerun is a page's engine that gets again what it got. See New.
type Rerun struct {
	// Layout says what the floats of a Frame mean.
	Layout *Layout

	b        *bridge.Bridge
	in       reader
	frame    int
	ms       float64
	playouts []time.Duration
	of       *client.Client // whose the what-ifs are
	whatIfs  []*client.WhatIf
	before   []uint64 // hitches of earlier sessions, of each
}

// A Frame is what the page drew once.
type Frame struct {
	Number int     // from 1 on
	Ms     float64 // the page's clock
	// Same says that the floats are the page's own, bit for bit.
	Same bool
	// Reported says that the player reported the moment with this frame on the screen.
	Reported bool
	// Floats are what was drawn, see docs/BRIDGE.md. They are valid until the next frame.
	Floats []float64
	// WhatIf is how others would be drawn with each of the playout delays that New got.
	WhatIf []Playout
}

// A Playout is how late others are drawn, and how often they stood still until then since nothing
// newer had arrived. Zero: nothing is drawn yet.
type Playout struct {
	Late    time.Duration
	Hitches uint64
}

// New returns a Rerun that begins with the first frame of a log. playouts are other delays than the
// page had, for what-ifs beside it; 0 adapts. The page itself is replayed as it was: one that drew
// otherwise would send other packets, and the recorded answers to them would make no sense.
func New(rules *game.Rules, l *Log, playouts ...time.Duration) (*Rerun, error) {
	if l.Header.Game != rules.Name {
		return nil, fmt.Errorf("rerun: it is of game %s, not of %s", l.Header.Game, rules.Name)
	}
	if l.Header.Bridge != bridge.Version {
		return nil, fmt.Errorf("rerun: it speaks version %d of the bridge, this program %d", l.Header.Bridge, bridge.Version)
	}
	// See site.Site.config: the version of the protocol, the hash of the rules, that of the
	// program.
	if want := fmt.Sprintf("%d-%016x-", session.Version, rules.Hash); !strings.HasPrefix(l.Header.Schema, want) {
		return nil, fmt.Errorf("rerun: it is of other rules of %s: %s, not %s", rules.Name, l.Header.Schema, want)
	}
	for _, d := range playouts {
		if _, err := playout.New(playout.Config{Fixed: d}); err != nil {
			return nil, fmt.Errorf("rerun: %w", err)
		}
	}
	r := &Rerun{in: reader{b: l.entries}, playouts: playouts, before: make([]uint64, len(playouts))}
	b, err := bridge.New(rules, bridge.Config{
		Game: rules.Name,
		Random: func([]byte) {
			// Nothing that is drawn follows from a nonce.
		},
		Send:  func([]byte, float64, bool) {},
		Clock: r.clock,
	})
	if err != nil {
		return nil, err
	}
	r.b = b
	r.Layout = &Layout{}
	return r, json.Unmarshal([]byte(b.Layout()), r.Layout)
}

// clock is what the page's clock said when the engine asked.
func (r *Rerun) clock() time.Duration {
	if len(r.in.b) == 0 || r.in.b[0] != entryClock {
		r.in.fail("an instant is missing")
		return 0
	}
	r.in.byte()
	r.in.clock += r.in.signed()
	return time.Duration(float64(r.in.clock) / 1000 * float64(time.Millisecond)) // as package app has it
}

// Next replays up to the next frame that the page drew, and io.EOF follows the last one.
func (r *Rerun) Next() (f Frame, err error) {
	defer func() {
		if v := recover(); v != nil { // of rules, or of a log that nobody wrote
			err = fmt.Errorf("rerun: the engine failed after frame %d: %v", r.frame, v)
		}
	}()
	for len(r.in.b) > 0 && r.in.err == nil {
		if f, ok := r.entry(); ok && r.in.err == nil {
			return f, nil
		}
	}
	if r.in.err != nil {
		return Frame{}, r.in.err
	}
	return Frame{}, io.EOF
}

// entry replays one entry, and reports whether it is a frame.
func (r *Rerun) entry() (Frame, bool) {
	in, b := &r.in, r.b
	switch kind := in.byte(); kind {
	case entrySetting:
		r.setting(string(in.bytes(wire.MaxDatagram)), in.bytes(wire.MaxDatagram))
	case entryWelcome:
		at, m := in.instant(), in.bytes(session.MaxMessage)
		if in.err == nil {
			b.Welcome(m, at)
			r.follow()
		}
	case entryMessage:
		b.Message(in.bytes(session.MaxMessage))
	case entryLost:
		b.Lost()
	case entryDropped:
		b.Dropped(wire.Seq(in.number()))
	case entryReceive:
		at, d := in.instant(), in.bytes(math.MaxUint16)
		if in.err == nil {
			b.Receive(d, at)
		}
	case entryFrame:
		r.ms = in.instant()
		shown := in.instant()
		if in.err == nil {
			b.Frame(r.ms, shown)
		}
	case entryMe:
		b.Me(in.pressed())
	case entryTick:
		pressed, floats := in.pressed(), in.floats()
		if in.err == nil {
			b.Tick(floats, pressed)
		}
	case entryDraw:
		return r.draw()
	case entryTexts:
		b.Texts()
	case entryHeard:
		b.Heard()
	case entrySay:
		message, floats, texts := in.number(), in.bytes(math.MaxUint16), in.bytes(math.MaxUint16)
		if in.err == nil {
			b.Say(int(min(message, math.MaxInt32)), floatsOf(floats), string(texts))
		}
	case entryLeave:
		b.Leave()
	case entryReport:
		in.bytes(MaxLog)
	default:
		in.fail("there is no entry %d", kind)
	}
	return Frame{}, false
}

// follow begins the what-ifs of another session.
func (r *Rerun) follow() {
	if c := r.b.Client(); c != r.of {
		r.of = c
		for i, w := range r.whatIfs {
			r.before[i] += w.Hitches()
		}
		r.whatIfs = r.whatIfs[:0]
		for _, d := range r.playouts {
			w, err := c.WhatIf(d)
			if err != nil {
				panic(err) // New has tried it
			}
			r.whatIfs = append(r.whatIfs, w)
		}
	}
}

// setting changes a setting to a value in JSON.
func (r *Rerun) setting(name string, value []byte) {
	var v any
	if err := json.Unmarshal(value, &v); r.in.err == nil && err != nil {
		r.in.fail("the setting %q: %v", name, err)
	}
	switch v := v.(type) {
	case bool:
		n := 0.0
		if v {
			n = 1
		}
		r.b.Set(name, n)
	case float64:
		r.b.Set(name, v)
	case string:
		r.b.SetText(name, v)
	}
}

// draw draws, as the page did. A page whose array was too small has drawn nothing, and does it
// again.
func (r *Rerun) draw() (Frame, bool) {
	in := &r.in
	if in.byte() == 0 {
		r.b.Draw()
		return Frame{}, false
	}
	n := in.number()
	if len(in.b) < 4 {
		in.fail("a sum is cut off")
		return Frame{}, false
	}
	sum := uint32(in.b[0]) | uint32(in.b[1])<<8 | uint32(in.b[2])<<16 | uint32(in.b[3])<<24
	in.b = in.b[4:]
	f := r.b.Draw()
	r.b.Drawn()
	r.frame++
	out := Frame{Number: r.frame, Ms: r.ms, Floats: f, Same: uint64(len(f)) == n && sumOf(f) == sum}
	for i, w := range r.whatIfs {
		out.WhatIf = append(out.WhatIf, Playout{w.Delay(), r.before[i] + w.Hitches()})
	}
	if reported, ok := r.reported(); ok {
		out.Reported = true
		out.Same = out.Same && slices.EqualFunc(reported, f, func(x, y float64) bool {
			return math.Float64bits(x) == math.Float64bits(y)
		})
	}
	return out, true
}

// reported returns what the page had on the screen at a report, if one comes before the next frame.
func (r *Rerun) reported() ([]float64, bool) {
	next := r.in // a copy: the entries are read again
	next.command = slices.Clone(next.command)
	for len(next.b) > 0 && next.err == nil {
		switch kind := next.byte(); kind {
		case entryDraw:
			return nil, false
		case entryReport:
			b := next.bytes(MaxLog)
			return floatsOf(b), next.err == nil
		default:
			next.skip(kind)
		}
	}
	return nil, false
}
