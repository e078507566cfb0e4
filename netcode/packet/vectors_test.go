package packet_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"meanwhile/internal/verify/golden"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/wire"
)

func commandText(c *packet.Command) string {
	without := ""
	for i := range wire.Seq(wire.Window) {
		if c.Without>>i&1 != 0 {
			without += fmt.Sprintf(" without %d", c.Newest-1-i)
		}
	}
	return fmt.Sprintf(
		"tick %d moment %d claim %x seen %d eye %d newest %d%s %v",
		c.Tick,
		c.Moment,
		c.Claim,
		c.Seen,
		c.Eye,
		c.Newest,
		without,
		c.Vals,
	)
}

// Commands as bytes, pinned. They change only together with docs/PROTOCOL.md and the version of the
// protocol.
func TestCommandVectors(t *testing.T) {
	k := commandKind(t)
	order := func(tick clock.Tick, seen clock.TickFrac, newest wire.Seq, at map[int]int64) packet.Command {
		c := packet.Command{Tick: tick, Seen: seen, Newest: newest, Vals: make([]int64, k.Sims)}
		for i, v := range at {
			c.Vals[i] = v
		}
		k.Clamp(c.Vals)
		return c
	}
	const moveX, moveY, fire, weapon, look = 0, 1, 3, 5, 13
	run := map[int]int64{moveX: 15, aim: 16384}
	shoot := map[int]int64{moveX: 15, aim: 16390, fire: 1, weapon: 2}
	click := order(101, 96*256+7, 38, shoot)
	click.Moment, click.Eye = 200, 99*256+61
	missed, met := click, click
	missed.Claim, met.Tick, met.Claim = packet.Missed, 102, packet.HitClaim(2051, 0xabc)
	late := func(c packet.Command, without uint64) packet.Command {
		c.Without = without
		return c
	}
	second := order(102, 97*256+20, 40, shoot)
	second.Eye = 100*256 + 75
	slow := order(100, 95*256+7, 38, shoot)
	slow.Eye = 80 * 256
	turn := func(tick clock.Tick, yaw, pitch, aim int64) packet.Command {
		return order(tick, (tick - 5).Frac(), 38, map[int]int64{look: yaw, look + 1: pitch, 2: aim})
	}
	var b strings.Builder
	b.WriteString(
		"# Commands in a datagram that acknowledges packet 40 as newest, at a server near tick 100: name, bytes, and each\n" +
			"# command: its tick, the moment of its presses in 1/256 ticks, its claim (1: looked, 2: hit, then the ID in 10 " +
			"bits\n" +
			"# and the hash, hexadecimal), the playout time of the picture in 1/256 ticks, the newest packet in it, and its\n" +
			"# integers. The command, as schema text:\n",
	)
	_, props, _ := strings.Cut(strings.TrimSuffix(k.Text(), "\n"), "\n")
	fmt.Fprintf(&b, "# command rate=%d\n# %s\n", k.Rate, strings.ReplaceAll(props, "\n", "\n# "))
	for _, c := range []struct {
		name string
		cmds []packet.Command
	}{
		{"none", nil},
		{"one that does nothing, without a picture", []packet.Command{order(100, 0, 40, nil)}},
		{"one that runs", []packet.Command{order(100, 95*256+7, 38, run)}},
		{"runs on, then shoots", []packet.Command{order(100, 95*256+7, 38, run), order(101, 96*256+7, 38, run),
			order(102, 97*256+9, 40, shoot)}},
		{"clicks twice", []packet.Command{click, second}},
		{"draws too seldom", []packet.Command{slow}},
		{"the picture comes with the second one", []packet.Command{order(100, 0, 40, nil), order(101, 90*256, 40,
			nil), order(102, 91*256, 40, nil)}},
		{"a picture of the future and one of long ago are cut", []packet.Command{order(100, 100*256+50, 0xff00, run),
			order(101, 101*256+50, 40, run)}},
		{"packets were overtaken, and one of them never arrived", []packet.Command{order(100, 95*256+7, 38, run),
			late(order(101, 96*256+7, 38, run), 1|1<<1|1<<3|1<<10), late(order(102, 97*256+7, 40, run), 1<<2|1<<63)}},
		{"a press with its moment, and one without", []packet.Command{order(100, 95*256+7, 38, run), click,
			order(102, 97*256+7, 38, shoot)}},
		{"shots that claim to have missed, and to have hit entity 2051", []packet.Command{missed, met}},
		{"turns evenly, then not, over the end of a turn", []packet.Command{turn(100, 4000, 4090, 65000),
			turn(101, 4040, 4093, 65200), turn(102, 4080, 0, 65400), turn(103, 25, 3, 66), turn(104, 66, 3, 268)}},
	} {
		var w wire.BitWriter
		w.Reset(nil)
		packet.AppendCommands(&w, k, c.cmds, wire.Ack{Latest: 40, History: ^uint64(0) &^ 4})
		fmt.Fprintf(&b, "\n%s\n  %x\n", c.name, w.Bytes())
		var r wire.BitReader
		r.Reset(w.Bytes())
		got, err := packet.DecodeCommands(&r, k, nil, 40, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			fmt.Fprintf(&b, "  %s\n", commandText(&got[i]))
		}
	}
	text := golden.Check(t, "testdata/commands.txt", b.String())
	for block := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		data, err := hex.DecodeString(strings.TrimSpace(lines[1]))
		if err != nil {
			t.Fatal(err)
		}
		var r wire.BitReader
		r.Reset(data)
		got, err := packet.DecodeCommands(&r, k, nil, 40, 100)
		if err != nil || len(got) != len(lines)-2 {
			t.Errorf("%s: %d commands, %v", lines[0], len(got), err)
			continue
		}
		for i := range got {
			if text := commandText(&got[i]); text != strings.TrimSpace(lines[i+2]) {
				t.Errorf("%s: command %d is %s", lines[0], i, text)
			}
		}
	}
}

// Claims that cannot be written are cut, and what follows them is read all the same.
func TestCommandsBeyondTheirLimits(t *testing.T) {
	k := commandKind(t)
	var cmds []packet.Command
	for i := range clock.Tick(6) {
		c := packet.Command{Tick: 100 + i, Seen: (100 + i).Frac() + clock.TickFrac(i*200) - 300,
			Newest: wire.Seq(60000 + 1000*uint16(i)), Vals: make([]int64, k.Sims)}
		k.Clamp(c.Vals)
		cmds = append(cmds, c)
	}
	var w wire.BitWriter
	w.Reset(nil)
	packet.AppendCommands(&w, k, cmds, wire.Ack{Latest: 64990, History: ^uint64(0)})
	w.Bits(0x15, 5)
	var r wire.BitReader
	r.Reset(w.Bytes())
	got, err := packet.DecodeCommands(&r, k, nil, 64990, 100)
	if err != nil || len(got) != len(cmds) || r.Bits(5) != 0x15 {
		t.Fatalf("%d commands, %v", len(got), err)
	}
	for i := range got {
		want := cmds[i]
		want.Seen = min(want.Seen, want.Tick.Frac())
		if back := 64990 - want.Newest; back > 127 {
			want.Newest = 64990 - 127
		}
		if commandText(&got[i]) != commandText(&want) {
			t.Errorf("command %d: %s, want %s", i, commandText(&got[i]), commandText(&want))
		}
	}
}
