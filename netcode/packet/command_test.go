package packet_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/schema"
	"meanwhile/netcode/wire"
)

// order is a command with a property of every class.
type order struct {
	Move   geom.Vec2  `net:"stick,5bit"`
	Aim    geom.Angle `net:"angle,16bit"`
	Fire   bool       `net:"press"`
	Run    bool       `net:"bool"`
	Weapon int        `net:"int,1..9"`
	Target uint32     `net:"handle"`
	Since  clock.Tick `net:"tick"`
	At     geom.Vec2  `net:"pos,1cm"`
	Zoom   float64    `net:"float,0.1"`
	Say    string     `net:"text,8"`
	Look   geom.View  `net:"view,12bit"`
}

func commandKind(t testing.TB) *schema.Kind {
	t.Helper()
	k, err := schema.New("command", reflect.TypeFor[order](), 30)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const aim = 2 // where the integer of order.Aim is

// Commands arrive as they were sent, with what each player saw, however far that lies back.
func TestCommandsRoundTrip(t *testing.T) {
	k := commandKind(t)
	var scratch []packet.Command
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, packet.MaxCommands).Draw(t, "commands")
		last := clock.Tick(rapid.Uint32Range(64, 1<<32-1).Draw(t, "tick"))
		near := int64(last) + rapid.Int64Range(-8191, 8191).Draw(t, "the server's tick")
		now := clock.Tick(min(max(near, 0), math.MaxUint32))
		latest := wire.Seq(rapid.Uint16().Draw(t, "latest"))
		seen := clock.TickFrac(0)
		if n > 0 && rapid.Bool().Draw(t, "sees") {
			first := (last - clock.Tick(n-1)).Frac()
			seen = first - clock.TickFrac(rapid.Int64Range(0, min(1<<20, int64(first)-1)).Draw(t, "ago"))
		}
		newest := latest - wire.Seq(rapid.IntRange(0, 127).Draw(t, "packets"))
		ack := wire.Ack{Latest: latest, History: rapid.Uint64().Draw(t, "acknowledged")}
		var cmds []packet.Command
		for i := range n {
			c := packet.Command{Tick: last - clock.Tick(n-1-i), Seen: seen, Newest: newest}
			if i > 0 && rapid.Bool().Draw(t, "same") {
				c.Vals = cmds[i-1].Vals
			} else {
				for range k.Sims {
					c.Vals = append(c.Vals, rapid.Int64Range(-1<<40, 1<<40).Draw(t, "value"))
				}
				k.Clamp(c.Vals)
				if i > 1 && rapid.Bool().Draw(t, "turns on") {
					c.Vals[aim] = 2*cmds[i-1].Vals[aim] - cmds[i-2].Vals[aim] + rapid.Int64Range(-9, 9).Draw(t, "jerk")
					k.Clamp(c.Vals)
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "lacks") == 0 {
				c.Without = rapid.Uint64().Draw(t, "without")
			}
			if packet.HasPress(k, c.Vals) {
				c.Moment = rapid.Uint8().Draw(t, "moment")
				back := rapid.IntRange(0, packet.MaxEyeBack*clock.FracPerTick).Draw(t, "eye")
				c.Eye = packet.BoundEye((c.Tick-1).Frac()-clock.TickFrac(back), c.Tick)
			}
			cmds = append(cmds, c)
			if seen == 0 && rapid.IntRange(0, 5).Draw(t, "begins to see") == 0 {
				seen = c.Tick.Frac() - 1
			} else if seen > 0 {
				seen += clock.TickFrac(rapid.Int64Range(0, 300).Draw(t, "advance"))
				seen = min(seen, (c.Tick + 1).Frac())
			}
			newest += wire.Seq(rapid.IntRange(0, int(min(latest-newest, 3))).Draw(t, "new"))
		}
		var w wire.BitWriter
		w.Reset(nil)
		packet.AppendCommands(&w, k, cmds, ack)
		bits := w.Len()
		w.Bits(0b101, 3) // what follows is not read
		var r wire.BitReader
		r.Reset(w.Bytes())
		got, err := packet.DecodeCommands(&r, k, scratch, latest, now)
		if err != nil || len(got) != n {
			t.Fatalf("%d of %d commands, %v", len(got), n, err)
		}
		if r.Bits(3) != 0b101 {
			t.Fatalf("not %d bits were read", bits)
		}
		scratch = got[:cap(got)]
		for i, c := range got {
			if want := cmds[i].Without & (ack.History >> (latest - c.Newest)); c.Without != want {
				t.Fatalf("command %d: packets %#x were overtaken, want %#x", i, c.Without, want)
			}
			if w := &cmds[i]; c.Tick != w.Tick || c.Seen != w.Seen || c.Newest != w.Newest || c.Moment != w.Moment ||
				c.Eye != w.Eye ||
				!slices.Equal(c.Vals,
					w.Vals) {
				t.Fatalf("command %d: got %+v, want %+v", i, c, *w)
			}
		}
	})
}

func TestDecodeCommandsRefuses(t *testing.T) {
	k := commandKind(t)
	cmd := func(tick clock.Tick) packet.Command {
		c := packet.Command{Tick: tick, Vals: make([]int64, k.Sims), Seen: tick.Frac() - 700, Newest: 9,
			Without: uint64(tick) & 7}
		for i := range c.Vals {
			c.Vals[i] = int64(i + 1)
		}
		k.Clamp(c.Vals)
		return c
	}
	encode := func(cmds ...packet.Command) []byte {
		var w wire.BitWriter
		w.Reset(nil)
		packet.AppendCommands(&w, k, cmds, wire.Ack{Latest: 10, History: 63})
		return w.Bytes()
	}
	read := func(b []byte) ([]packet.Command, error) {
		var r wire.BitReader
		r.Reset(b)
		return packet.DecodeCommands(&r, k, nil, 10, 100)
	}
	whole := encode(cmd(100), cmd(101), cmd(102))
	for n := range len(whole) {
		if _, err := read(whole[:n]); !errors.Is(err, wire.ErrTruncated) {
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	many := make([]packet.Command, packet.MaxCommands+1)
	for i := range many {
		many[i] = cmd(clock.Tick(200 + i))
	}
	if _, err := read(encode(many...)); !errors.Is(err, wire.ErrMalformed) ||
		err.Error() != "wire: datagram says what no encoder writes: 65 commands, at most 64 fit a packet" {
		t.Errorf("65 commands: %v", err)
	}
	var w wire.BitWriter
	w.Reset(nil)
	w.Uvarint(3, 2)
	w.Bits(2, 14)
	if _, err := read(append(w.Bytes(), whole...)); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("three commands up to tick 2: %v", err)
	}

	// A frame lacks no packet that could not be applied any more.
	for _, far := range []uint64{63, 64, math.MaxUint32} {
		w.Reset(nil)
		w.Uvarint(1, 2)
		w.Bits(100, 14)
		w.Bool(true)              // some frame lacks a packet
		w.Bits(0, len(k.Props)+1) // no values, no picture
		w.Uvarint(0, 1)
		w.Uvarint(1, 0)
		w.Uvarint(far, 2)
		if got, err := read(w.Bytes()); far == 63 && (err != nil || got[0].Without != 1<<63) ||
			far > 63 && !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("a packet %d before the newest is lacking: %+v, %v", far+1, got, err)
		}
	}

	// Lies about what was seen are no error: the command counts, the claim does not.
	late := cmd(100)
	late.Seen = 101 * clock.FracPerTick
	ahead := cmd(101)
	ahead.Seen = late.Seen + 3*clock.FracPerTick
	got, err := read(encode(late, ahead))
	if err != nil || got[0].Seen > got[0].Tick.Frac() || got[1].Seen > got[1].Tick.Frac() {
		t.Errorf("views of the future: %+v, %v", got, err)
	}
}

// Whatever arrives is refused, or is a command that a player could have made.
func FuzzDecodeCommands(f *testing.F) {
	k := commandKind(f)
	for n := range 4 {
		var cmds []packet.Command
		for i := range n {
			c := packet.Command{Tick: clock.Tick(50 + i), Vals: make([]int64, k.Sims),
				Seen: clock.Tick(40 + i).Frac(), Newest: 7, Without: uint64(i)}
			for j := range c.Vals {
				c.Vals[j] = int64(i * j)
			}
			k.Clamp(c.Vals)
			cmds = append(cmds, c)
		}
		var w wire.BitWriter
		w.Reset(nil)
		packet.AppendCommands(&w, k, cmds, wire.Ack{Latest: 9, History: 255})
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r wire.BitReader
		r.Reset(b)
		cmds, err := packet.DecodeCommands(&r, k, nil, 9, 50)
		if err != nil {
			if !errors.Is(err, wire.ErrTruncated) && !errors.Is(err, wire.ErrMalformed) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if len(cmds) > packet.MaxCommands {
			t.Fatalf("%d commands", len(cmds))
		}
		for i := range cmds {
			c := &cmds[i]
			if i > 0 && c.Tick != cmds[i-1].Tick+1 || c.Tick == 0 {
				t.Fatalf("tick %d after %d", c.Tick, cmds[max(i-1, 0)].Tick)
			}
			clamped := slices.Clone(c.Vals)
			k.Clamp(clamped)
			if !slices.Equal(clamped, c.Vals) {
				t.Fatalf("values %v, which no player can make", c.Vals)
			}
			if c.Seen < 0 || c.Seen > c.Tick.Frac() {
				t.Fatalf("command of tick %d saw %d", c.Tick, c.Seen)
			}
		}
		var w wire.BitWriter // what was read can be written again
		w.Reset(nil)
		packet.AppendCommands(&w, k, cmds, wire.Ack{Latest: 9, History: 255})
		again := bytes.Clone(w.Bytes())
		r.Reset(again)
		if cmds2, err := packet.DecodeCommands(&r, k, nil, 9, 50); err != nil || len(cmds2) != len(cmds) {
			t.Fatalf("written again: %d of %d, %v", len(cmds2), len(cmds), err)
		}
	})
}

func TestPressesAndNeutral(t *testing.T) {
	k := commandKind(t)
	at := func(name string) int {
		for i := range k.Props {
			if k.Props[i].Name == name {
				return k.Props[i].At
			}
		}
		t.Fatalf("no property %s", name)
		return 0
	}
	vals := make([]int64, k.Sims)
	for i := range vals {
		vals[i] = 3
	}
	vals[at("Fire")], vals[at("Run")] = 1, 1
	if !packet.HasPress(k, vals) {
		t.Error("a press is not seen")
	}
	want := slices.Clone(vals)
	want[at("Fire")] = 0
	if packet.ClearPresses(k, vals); !slices.Equal(vals, want) || packet.HasPress(k, vals) {
		t.Errorf("unpressed: %v, want %v", vals, want)
	}
	vals[at("Fire")] = 1
	want[at("Move")], want[at("Move")+1], want[at("Run")] = 0, 0, 0
	if packet.Neutral(k, vals); !slices.Equal(vals, want) {
		t.Errorf("neutral: %v, want %v", vals, want)
	}
}

// Reading reuses its memory.
func TestDecodeCommandsAllocatesNothing(t *testing.T) {
	k := commandKind(t)
	var cmds []packet.Command
	for i := range 10 {
		cmds = append(cmds, packet.Command{Tick: clock.Tick(10 + i), Vals: make([]int64, k.Sims),
			Seen: clock.Tick(5 + i).Frac(), Newest: 3, Without: 1})
		k.Clamp(cmds[i].Vals)
	}
	var w wire.BitWriter
	var r wire.BitReader
	var scratch []packet.Command
	var buf []byte
	n := testing.AllocsPerRun(100, func() {
		w.Reset(buf[:0])
		packet.AppendCommands(&w, k, cmds, wire.Ack{Latest: 3, History: 3})
		buf = w.Bytes()
		r.Reset(buf)
		got, err := packet.DecodeCommands(&r, k, scratch, 3, 20)
		if err != nil {
			t.Fatal(err)
		}
		scratch = got
	})
	if n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
