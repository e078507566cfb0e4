package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"meanwhile/game"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/wire"
)

type squeak struct {
	Text string `net:"text,100"`
}

type dig struct {
	Deep int `net:"int,0..9"`
}

var (
	squeaks = game.NewMessage[squeak]("squeak", 2, 3)
	orders  = game.NewMessage[squeak]("order", 0, 0)
	digs    = game.NewRequest[dig, squeak]("dig", 10, 10)
)

func (n *nest) squeak(w *game.World, from game.ID, s squeak) {
	n.heard = append(n.heard, fmt.Sprint(from, " ", s.Text))
	squeaks.SendAll(w, nil, s)
}

func (n *nest) dig(w *game.World, from game.ID, d dig) (squeak, error) {
	n.heard = append(n.heard, fmt.Sprint(from, " digs ", d.Deep))
	switch d.Deep {
	case 9:
		return squeak{}, errors.New("too deep")
	}
	return squeak{Text: strings.Repeat("deep ", d.Deep)}, nil
}

// talker is a peer that sends messages without minding how often.
type talker struct {
	*peer
	sender *reliable.Sender
}

func (n *nest) talker(name string) *talker {
	sender, err := reliable.NewSender(reliable.Config{})
	if err != nil {
		n.t.Fatal(err)
	}
	return &talker{n.connect(name), sender}
}

func (p *talker) queue(kind int, body []byte) {
	p.n.t.Helper()
	if err := p.sender.Send(reliable.Message{Tick: 7, Kind: uint8(kind), AtOnce: true, Body: body}); err != nil {
		p.n.t.Fatal(err)
	}
}

// datagram returns the next datagram with messages, if some have to be sent.
func (p *talker) datagram() []byte {
	b := p.packet()
	return p.sender.Append(b, uint16(p.seq), wire.MaxDatagram-len(b), p.n.now, time.Second)
}

func (p *talker) deliver() {
	p.n.s.Receive(p.id, p.n.now, p.datagram())
	p.sender.Delivered(uint16(p.seq))
}

func text(s string) []byte {
	return append([]byte{uint8(len(s))}, s...)
}

const squeakKind, orderKind, digKind = packet.FirstMessage, packet.FirstMessage + 1, packet.FirstMessage + 2

// Messages that come faster than the game allows wait for their turn, in order. More than wait are
// dropped, and whoever goes on is sent away. What cannot be read counts, too.
func TestFloodOfWords(t *testing.T) {
	n := newNest(t, Config{})
	eve, ann := n.talker("eve"), n.talker("ann")
	n.tick(nil)
	for i := range maxWaiting {
		eve.queue(squeakKind, text(fmt.Sprint(i)))
	}
	eve.deliver()
	ann.queue(squeakKind, text("me, too"))
	ann.deliver()
	n.tick(nil)
	if len(n.heard) != 4 || !slices.Contains(n.heard, fmt.Sprint(n.s.Avatar(ann.id), " me, too")) {
		t.Fatalf("in one tick the rules heard %q, want 3 of eve and 1 of ann", n.heard)
	}
	for range 40 * 20 { // seconds
		n.tick(nil)
	}
	if len(n.heard) != maxWaiting+1 {
		t.Errorf("the rules heard %d squeaks, want %d", len(n.heard), maxWaiting+1)
	}
	for i, s := range slices.DeleteFunc(n.heard, func(s string) bool { return strings.HasSuffix(s, "too") }) {
		if !strings.HasSuffix(s, fmt.Sprint(" ", i)) {
			t.Fatalf("squeak %d is %q", i, s)
		}
	}
	if ends := n.s.Ends(); len(ends) > 0 {
		t.Errorf("%+v end", ends)
	}

	// What the others may not send, what is no text, too much, and nothing that there is.
	before, _ := n.s.Stats(eve.id)
	for _, m := range []struct {
		kind int
		body []byte
	}{
		{orderKind, text("jump")}, {squeakKind, text("\xff")}, {squeakKind, text("\x00")}, {digKind, nil}, {3, nil},
		{packet.FirstMessage + 3, nil}, {255, text("7")}, {squeakKind, append(text("x"), 0)},
	} {
		eve.queue(m.kind, m.body)
		eve.deliver()
		for range 20 {
			n.tick(nil)
		}
	}
	if st, _ := n.s.Stats(eve.id); st.Refused != before.Refused+8 || st.Heard != before.Heard {
		t.Errorf("%d refused and %d heard, want 8 and 0", st.Refused-before.Refused, st.Heard-before.Heard)
	}
	for n.s.Ends() == nil {
		eve.queue(orderKind, text("jump"))
		eve.deliver()
		n.tick(nil)
		if st, _ := n.s.Stats(eve.id); st.Refused > maxRefused+1 {
			t.Fatalf("%d messages were refused", st.Refused)
		}
	}
	if st, _ := n.s.Stats(eve.id); st.Refused != maxRefused+1 {
		t.Errorf("%d messages were refused, want %d", st.Refused, maxRefused+1)
	}
	eve.queue(orderKind, text("jump"))
	eve.deliver()
	n.tick(nil)
	if ends := n.s.Ends(); len(ends) > 0 {
		t.Errorf("sent away again: %+v", ends)
	}
}

// A message that is longer than the game's longest is refused with the datagram that carries it,
// before it is put together.
func TestOversizedWord(t *testing.T) {
	n := newNest(t, Config{})
	eve := n.talker("eve")
	n.tick(nil)
	eve.queue(squeakKind, make([]byte, 900))
	eve.deliver()
	if n.s.Drops().Malformed != 1 || len(eve.n.heard) > 0 {
		t.Errorf("%+v", n.s.Drops())
	}
}

// A datagram that acknowledges what was never sent changes nothing: its messages are not heard, and
// come again with the next one.
func TestHostileAckSaysNothing(t *testing.T) {
	n := newNest(t, Config{})
	eve := n.talker("eve")
	n.tick(nil)
	eve.queue(squeakKind, text("hi"))
	eve.seq++
	var bits wire.BitWriter
	bits.Reset(nil)
	h := wire.Header{Seq: eve.seq, Stamp: n.now.Stamp(), HasAck: true, Ack: wire.Ack{Latest: wire.FirstSeq + 1000}}
	h.Append(&bits, wire.Known{})
	packet.Uplink{}.Append(&bits)
	packet.AppendCommands(&bits, n.s.rules.Command, nil, h.Ack)
	b := bits.Bytes()
	b = eve.sender.Append(b, uint16(eve.seq), wire.MaxDatagram-len(b), n.now, time.Second)
	n.s.Receive(eve.id, n.now, b)
	n.tick(nil)
	if n.s.Drops().HostileAck != 1 || len(n.heard) > 0 {
		t.Fatalf("%+v; the rules heard %q", n.s.Drops(), n.heard)
	}
	eve.sender.Lost(uint16(eve.seq))
	eve.deliver()
	n.tick(nil)
	if len(n.heard) != 1 {
		t.Errorf("the rules heard %q", n.heard)
	}
}

// Requests are answered or refused, each under its number.
func TestAnswers(t *testing.T) {
	n := newNest(t, Config{})
	p := n.talker("ann")
	n.tick(nil)
	for i, deep := range []byte{2, 9} {
		var w wire.BitWriter
		w.Reset(packet.Request(40 + i).Append(nil))
		packet.AppendMessage(&w, n.s.rules.Messages[2].Payload, 7, []int64{int64(deep)})
		p.queue(digKind, w.Bytes())
	}
	p.deliver()
	for range 3 {
		n.tick(func(_ PlayerID, b []byte) { p.take(b) })
	}
	if len(p.events) != 2 {
		t.Fatalf("%d answers", len(p.events))
	}
	number, payload, _, refused, err := packet.DecodeAnswer(p.events[0].Body)
	if number != 40 || string(payload) != string(text("deep deep ")) || refused || err != nil ||
		p.events[0].Kind != digKind {
		t.Errorf("%d: %q, %v", number, payload, err)
	}
	number, _, why, refused, err := packet.DecodeAnswer(p.events[1].Body)
	if number != 41 || why != "too deep" || !refused || err != nil {
		t.Errorf("%d: %q, %v", number, why, err)
	}
}

// What waited when a connection was lost is heard once, and so is what comes over the next one,
// also from a client that begins anew.
func TestWordsOverResume(t *testing.T) {
	for _, kept := range []bool{true, false} {
		n := newNest(t, Config{})
		p := n.talker("ann")
		n.tick(nil)
		for i := range 5 {
			p.queue(squeakKind, text(fmt.Sprint("before ", i)))
		}
		first := p.datagram()
		n.s.Receive(p.id, n.now, first)
		n.tick(nil)
		n.s.Suspend(p.id, n.now)
		for range 30 {
			n.tick(nil)
		}
		w, ok := n.s.Resume(p.id, n.now, kept)
		if !ok || w.Kept != kept {
			t.Fatalf("%+v", w)
		}
		if kept {
			p.sender.LostAll() // though they had arrived
		} else {
			p.sender, _ = reliable.NewSender(reliable.Config{})
			p.seq = wire.FirstSeq - 1
			p.recv = wire.NewIncoming(w.Tick, w.ServerTime, w.Period)
		}
		p.queue(squeakKind, text("after"))
		p.deliver()
		for range 60 {
			n.tick(nil)
		}
		me := fmt.Sprint(n.s.Avatar(p.id))
		want := []string{
			me + " before 0",
			me + " before 1",
			me + " before 2",
			me + " before 3",
			me + " before 4",
			me + " after",
		}
		if !slices.Equal(n.heard, want) {
			t.Errorf("kept %v: the rules heard %q, want %q", kept, n.heard, want)
		}
	}
}

// Where ticks take longer than nominal, as under load, players who send as often as the game allows
// do not fall behind: their clients count in real time.
func TestWordsKeepUpWithSlowTicks(t *testing.T) {
	n := newNest(t, Config{})
	p := n.talker("ann")
	n.tick(nil)
	const spacing = 3
	for i := range 200 {
		for begin := n.now; n.now.Sub(begin) < 500*time.Millisecond; { // two a second are allowed
			n.now = n.now.Add((spacing - 1) * n.s.Period())
			n.tick(nil)
		}
		p.queue(squeakKind, text(fmt.Sprint(i)))
		p.deliver()
	}
	n.tick(nil)
	if ends := n.s.Ends(); len(n.heard) < 198 || len(ends) > 0 {
		t.Errorf("the rules heard %d of 200 squeaks; %+v end", len(n.heard), ends)
	}
}

// A player without a connection to whom more is said than is kept for it stays, and begins anew.
func TestTooManyWordsForTheAbsent(t *testing.T) {
	n := newNest(t, Config{})
	ann := n.talker("ann")
	n.tick(nil)
	n.s.Suspend(ann.id, n.now)
	_, p := n.s.find(ann.id)
	for range reliable.DefaultMaxParts + 1 {
		p.tell(0, 0, text("hello"))
	}
	if ends := n.s.Ends(); len(ends) > 0 {
		t.Fatalf("%+v end", ends)
	}
	if w, ok := n.s.Resume(ann.id, n.now, true); !ok || w.Kept {
		t.Errorf("a client that lacks a message goes on: %+v", w)
	}
	n.s.Suspend(ann.id, n.now)
	if w, ok := n.s.Resume(ann.id, n.now, true); !ok || !w.Kept {
		t.Errorf("the next time it does not go on: %+v", w)
	}
}

// After a message that found no room no other one is sent, though a shorter one would find some:
// what arrives is without a gap.
func TestShortWordAfterTheMissedOne(t *testing.T) {
	for _, absent := range []bool{false, true} {
		n := newNest(t, Config{})
		ann := n.talker("ann")
		n.tick(nil)
		if absent {
			n.s.Suspend(ann.id, n.now)
		}
		_, p := n.s.find(ann.id)
		for !p.missed {
			p.tell(0, 0, make([]byte, 1000))
		}
		pending, told := p.down.messages.Pending(), p.wordStats.Told
		p.tell(0, 0, text("short"))
		if p.down.messages.Pending() != pending || p.wordStats.Told != told {
			t.Errorf("absent %v: a message follows one that is lost", absent)
		}
		if !p.down.queue(reliable.Message{Kind: squeakKind, AtOnce: true, Priority: vital, Body: text("short")}) {
			t.Fatal("there is no room for a short message, so this says nothing")
		}
	}
}

// A player with a connection to whom nothing gets through loses that, and not its avatar: it begins
// anew over the next one, and may lose that, too.
func TestTooManyWordsForTheDeaf(t *testing.T) {
	n := newNest(t, Config{})
	ann := n.talker("ann")
	n.tick(nil)
	_, p := n.s.find(ann.id)
	for range 2 {
		for range reliable.DefaultMaxParts + 1 {
			p.tell(0, 0, text("hello"))
		}
		if ends := n.s.Ends(); len(ends) != 1 || ends[0].Player != ann.id || ends[0].Refused {
			t.Fatalf("%+v end, want the deaf one, who may come back", ends)
		}
		n.s.Suspend(ann.id, n.now)
		n.tick(nil)
		if w, ok := n.s.Resume(ann.id, n.now, true); !ok || w.Kept {
			t.Fatalf("a client that lacks a message goes on: %+v", w)
		}
		before, _ := n.s.Stats(ann.id)
		p.tell(0, 0, text("hello"))
		if after, _ := n.s.Stats(ann.id); after.Told != before.Told+1 {
			t.Error("nothing is sent to it any more")
		}
	}
}

// A message that arrived before a tick is handled before the commands of that tick, and what it
// changes is an outside influence on the prediction.
func TestWordsGoBeforeCommands(t *testing.T) {
	n := newNest(t, Config{})
	p := n.talker("ann")
	n.tick(nil)
	order := ""
	n.act = func(w *game.World, me game.ID, c antCmd) { order += fmt.Sprint(len(n.heard), " ") }
	p.queue(squeakKind, text("now"))
	p.deliver()
	n.tick(nil)
	n.tick(nil)
	if order != "1 1 " {
		t.Errorf("messages before each Act: %s, want 1 1", order)
	}
}
