package bridge

import (
	"math"
	"strings"
	"testing"
	"time"

	"meanwhile/examples/zap"
	"meanwhile/game"
	"meanwhile/session"
)

// Every answer that a server may send in place of a welcome, and later.
func TestRefusals(t *testing.T) {
	p := newWorld(t, &zap.Game).page("ann", nil)
	own := p.w.rules.Text
	encode := func(r session.Refusal) []byte {
		b, err := r.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	newer := encode(session.Refusal{Code: session.WrongVersion})
	newer[1] = 9
	for _, c := range []struct {
		name   string
		msg    []byte
		want   string
		late   bool // try again
		stay   bool // as a later message: come back
		notice bool // and say so
	}{
		{"other rules", encode(session.Refusal{Code: session.WrongSchema,
			SchemaText: strings.Replace(own, "Aim angle x1 sim=360", "Aim angle x1 sim=180", 1)}),
			"The server plays another version of zap: pilot.Aim has sim=180 there and sim=360 here.", false, false, false},
		{"other rules, without their text", encode(session.Refusal{Code: session.WrongSchema}),
			"The server plays another version of zap. Reload the page.", false, false, false},
		{"a newer server", newer,
			"The server speaks version 9 of the protocol, this page version 4. Reload the page.", false, false, false},
		{"full", encode(session.Refusal{Code: session.RoomFull, Text: "Room lobby has its 8 players."}),
			"Room lobby has its 8 players.", true, true, true},
		{"about to end", encode(session.Refusal{Code: session.ShuttingDown}),
			"The server is shutting down.", true, true, true},
		{"about to end, in its words", encode(session.Refusal{Code: session.ShuttingDown, Text: "back at noon"}),
			"Back at noon.", true, true, true},
		{"put out", encode(session.Refusal{Code: session.Removed, Text: "Enough."}), "Enough.", false, false, false},
		{"elsewhere", encode(session.Refusal{Code: session.TakenOver}),
			"The server refused: joined again elsewhere.", false, true, false},
		{"cut short", newer[:5],
			"The server refused, but its reason cannot be read (session: message is truncated).", true, true, false},
		{"noise", []byte("hello"),
			"The server's answer is not one of ours (session: message is of kind 104, want 2).", true, true, false},
		{"nothing", nil, "The server's answer is not one of ours (session: message is truncated).", true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := p.Welcome(c.msg, p.now())
			if a.Refused != c.want || a.RetryMs > 0 != c.late {
				t.Errorf("%+v, want %q, again: %v", a, c.want, c.late)
			}
			later := p.Message(c.msg)
			if (later.Goodbye == "") != c.stay || later.Goodbye != "" && later.Goodbye != c.want {
				t.Errorf("as a later message %+v", later)
			}
			if c.notice && later.Notice != c.want {
				t.Errorf("as a later message %+v, want the notice %q", later, c.want)
			}
			p.joined = true
		})
	}
	p.w.run(raceLasts + time.Second)
	const elsewhere = "You joined elsewhere."
	if later := p.Message(encode(session.Refusal{Code: session.TakenOver, Text: elsewhere})); later.Goodbye != elsewhere {
		t.Errorf("taken over much later: %+v", later)
	}

	// Two pages of one player do not take over from each other for ever.
	for turn := range mostRaces + 1 {
		msg, err := p.welcome.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if a := p.Welcome(msg, p.now()); a.Refused != "" {
			t.Fatal(a.Refused)
		}
		p.w.run(raceLasts / 4)
		later := p.Message(encode(session.Refusal{Code: session.TakenOver, Text: elsewhere}))
		if (later.Goodbye == elsewhere) != (turn == mostRaces) {
			t.Errorf("taken over %d times: %+v", turn+1, later)
		}
	}
}

// A hello carries the key that the page keeps for its player, if it is one.
func TestHelloOfGuest(t *testing.T) {
	w := newWorld(t, &zap.Game)
	for digits, want := range map[string][16]byte{"": {}, "0a" + strings.Repeat("0", 28) + "fF": {0x0a, 15: 0xff}} {
		b, err := New(w.rules, Config{Guest: digits, Random: func([]byte) {}})
		if err != nil {
			t.Fatal(err)
		}
		if h, err := session.DecodeHello(b.Hello(nil, "")); h.Guest != want || err != nil {
			t.Errorf("%q became %x, %v", digits, h.Guest, err)
		}
	}
	for _, digits := range []string{"0a", strings.Repeat("0", 31) + "g", strings.Repeat("+1", 16)} {
		_, err := New(w.rules, Config{Guest: digits})
		if err == nil || !strings.Contains(err.Error(), "32 hexadecimal digits") {
			t.Errorf("%q gave %v", digits, err)
		}
	}
}

// A race sends the same hello twice. The next join sends another, with the session to resume.
func TestHello(t *testing.T) {
	w := newWorld(t, &zap.Game)
	p := w.page("  Zoë\x00\x1b[31m "+strings.Repeat("ü", 40), nil)
	read := func() session.Hello {
		h, err := session.DecodeHello(p.Hello([]byte{7, 8}, "7f212k"))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first, again := read(), read()
	if string(first.Token) != "\x07\x08" || first.Code != "7f212k" {
		t.Errorf("token %x, code %q", first.Token, first.Code)
	}
	if first.Nonce != again.Nonce || first.Nonce == [16]byte{} {
		t.Errorf("nonces %x and %x of one join", first.Nonce, again.Nonce)
	}
	if want := "Zoë[31m " + strings.Repeat("ü", 19); first.Name != want {
		t.Errorf("the name became %q, %d bytes, want %q", first.Name, len(first.Name), want)
	}
	p.connect()
	if third := read(); third.Nonce == first.Nonce {
		t.Error("two joins with one nonce")
	}
	p.resume, p.place = [16]byte{5}, "den"
	w.run(2 * time.Second)
	if h := read(); h.Resume != [16]byte{5} || !h.Kept {
		t.Errorf("asks to resume %x, kept %v", h.Resume, h.Kept)
	}
	const long = "The name of the room is 65 bytes long; at most 64 are possible."
	if _, err := New(w.rules, Config{Room: strings.Repeat("x", 65)}); err == nil || err.Error() != long {
		t.Errorf("a room with a long name: %v", err)
	}
	if _, err := New(w.rules, Config{Game: "chess"}); err == nil {
		t.Error("another game was taken")
	}
}

// The last picture stays until the new connection has one.
func TestReconnect(t *testing.T) {
	w := newWorld(t, &zap.Game)
	p, other := w.page("ann", nil), w.page("bob", nil)
	other.input = func([]float64) []float64 { return []float64{math.Sin(other.now() / 300), 0, 0, 0} }
	w.run(3 * time.Second)
	blank := 0
	p.each = func() {
		if len(p.world["pilot"]) < 2 || p.mine() == nil {
			blank++
		}
	}
	old := p.mine().id
	w.srv.Disconnect(p.id)
	delete(w.pages, p.id)
	p.Lost()
	w.run(time.Second)
	if p.stats["state"] != float64(connecting) {
		t.Errorf("state %v without a connection", p.stats["state"])
	}
	sent := p.sent
	w.run(time.Second)
	if p.sent != sent {
		t.Error("datagrams into nowhere")
	}
	p.connect()
	w.run(2 * time.Second)
	if blank > 0 {
		t.Errorf("%d pictures without everybody", blank)
	}
	if me := p.mine(); me.id == old || p.stats["state"] != float64(playing) {
		t.Errorf("avatar %v, state %v", me.id, p.stats["state"])
	}
	if n := len(p.world["pilot"]); n != 2 {
		t.Errorf("%d pilots", n)
	}
}

// A session that the server kept continues where it was; a page that was loaded again begins anew
// with its avatar.
func TestResumed(t *testing.T) {
	for _, reload := range []bool{false, true} {
		w := newWorld(t, &zap.Game)
		p := w.page("ann", nil)
		w.run(2 * time.Second)
		before, me := p.client, p.mine().id
		p.Lost()
		w.srv.Suspend(p.id, w.loop.Now())
		w.run(300 * time.Millisecond)
		again, ok := w.srv.Resume(p.id, w.loop.Now(), !reload)
		if !ok {
			t.Fatal("not resumed")
		}
		if reload {
			p.client, p.previous = nil, nil
		}
		a := p.Welcome(encoded(t, again), p.now())
		if a.Refused != "" || a.Note != "" {
			t.Fatalf("%+v", a)
		}
		if !reload && p.client != before {
			t.Error("what was known is forgotten")
		}
		w.run(time.Second)
		p.input = func([]float64) []float64 { return []float64{0, 1, 0, 0} }
		y := p.mine().props["pos"][1]
		w.run(time.Second)
		if p.mine().props["pos"][1] < y+1 && y < 20 {
			t.Error("does not move")
		}
		if p.mine().id != me {
			t.Errorf("avatar %v, was %v", p.mine().id, me)
		}
	}
}

func encoded(t *testing.T, w session.Welcome) []byte {
	t.Helper()
	b, err := w.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A page keeps a key where it is loaded again, and learns why it could not go on.
func TestResumeKey(t *testing.T) {
	w := newWorld(t, &zap.Game)
	p := w.page("ann", nil)
	w.run(time.Second)
	first := p.welcome
	first.Resume, first.Room = [session.KeySize]byte{1, 2, 3, 4, 0xab, 15: 0xcd}, "den-2"
	a := p.Welcome(encoded(t, first), p.now())
	const kept = "01020304ab00000000000000000000cdden-2"
	if a.Resume != kept {
		t.Errorf("to be kept: %q, want %q", a.Resume, kept)
	}
	b, err := New(w.rules, Config{Resume: kept, Random: func(b []byte) { b[0] = 7 }})
	if err != nil {
		t.Fatal(err)
	}
	hello, err := session.DecodeHello(b.Hello(nil, ""))
	if err != nil || hello.Resume != first.Resume || hello.Room != "den-2" || hello.Kept {
		t.Errorf("loaded again it says %+v, %v", hello, err)
	}
	for _, bad := range []string{"", kept[:32], "x" + kept[1:], kept[:31], kept + strings.Repeat("x", 64)} {
		b, err := New(w.rules, Config{Resume: bad, Random: func(b []byte) { b[0] = 7 }})
		if err != nil {
			t.Fatal(err)
		}
		if hello, _ := session.DecodeHello(b.Hello(nil, "")); hello.Resume != [session.KeySize]byte{} {
			t.Errorf("kept %q: resumes with %x", bad, hello.Resume)
		}
	}
	for _, c := range []struct {
		run, guest byte
		want       string
	}{
		{1, 0, "Your place was not kept, so you begin anew."},
		{9, 0, "The server has restarted. You begin anew."},
		{9, 5, "The server has restarted."}, // it keeps what players gain
	} {
		p.Lost()
		p.guest[0] = c.guest
		next := first
		next.Resume = [session.KeySize]byte{c.run, 2, 3, 4, 5}
		if a := p.Welcome(encoded(t, next), p.now()); a.Note != c.want || a.Refused != "" {
			t.Errorf("%+v, want the note %q", a, c.want)
		}
		p.Welcome(encoded(t, first), p.now())
	}
}

// A farewell says when the room ends, and where to go.
func TestFarewell(t *testing.T) {
	p := newWorld(t, &zap.Game).page("ann", nil)
	for _, c := range []struct {
		f    session.Farewell
		want Reply
	}{
		{session.Farewell{In: 1500 * time.Millisecond}, Reply{Notice: "The server is about to end.", InMs: 1500}},
		{session.Farewell{In: 0, To: "https://b.example/", Text: "bye"},
			Reply{Notice: "Bye.", To: "https://b.example/"}},
	} {
		b, err := c.f.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Message(b); got != c.want || !p.joined {
			t.Errorf("%+v, want %+v; in: %v", got, c.want, p.joined)
		}
	}
}

// A server with nothing to send is not silent, and neither is one while this machine slept.
func TestState(t *testing.T) {
	w := newWorld(t, &zap.Game)
	p := w.page("ann", nil)
	w.run(2 * time.Second)
	for range 20 {
		w.run(time.Second)
		if s := p.stats["state"]; s != float64(playing) {
			t.Fatalf("state %v while nothing happens, %v ms after the last datagram", s, p.stats["silentMs"])
		}
	}
	p.input = func([]float64) []float64 { return []float64{math.Sin(p.now() / 300), 0, 0, 0} }
	w.run(2 * time.Second)
	p.Set("lossPct", 100)
	w.run(time.Second)
	if s := p.stats["state"]; s != float64(silent) {
		t.Errorf("state %v when nothing has arrived for %v ms", s, p.stats["silentMs"])
	}
	w.run(10 * time.Second)
	if s := p.stats["state"]; s != float64(lost) {
		t.Errorf("state %v when nothing has arrived for %v ms", s, p.stats["silentMs"])
	}
	p.Set("lossPct", 0)
	w.run(2 * time.Second)
	if s := p.stats["state"]; s != float64(playing) {
		t.Errorf("state %v when all is well again", s)
	}

	// Minutes between two frames, as after a machine slept.
	p.frozen = true
	w.run(3 * time.Minute)
	p.frozen = false
	w.run(time.Second / 30)
	if s := p.stats["state"]; s != float64(playing) {
		t.Errorf("state %v right after sleep", s)
	}
	w.run(2 * time.Second)
	before := p.mine().props["pos"][0]
	w.run(300 * time.Millisecond)
	if p.mine().props["pos"][0] == before {
		t.Error("does not move after sleep")
	}
}

// The avatar of a hidden tab stands still, the server counts no missing commands, and the tab comes
// back at once.
func TestAway(t *testing.T) {
	w := newWorld(t, &zap.Game)
	p, other := w.page("ann", nil), w.page("bob", nil)
	p.input = func([]float64) []float64 { return []float64{math.Sin(p.now() / 300), math.Cos(p.now() / 300), 0, 0} }
	w.run(3 * time.Second)
	starved := func() uint64 {
		s, ok := w.srv.Stats(p.id)
		if !ok {
			t.Fatal("the server does not know the page")
		}
		return s.Starved
	}
	seen := func() []float64 {
		for _, e := range other.world["pilot"] {
			if e.id == p.mine().id {
				return e.props["vel"]
			}
		}
		t.Fatal("ann is not to be seen")
		return nil
	}
	before := starved()
	p.hidden = true
	p.Set("away", 1)
	w.run(2 * time.Second)
	if v := seen(); v[0] != 0 || v[1] != 0 {
		t.Errorf("a page that is away moves at %v m/s", v)
	}
	w.run(2 * time.Minute)
	if n := starved() - before; n > 3 {
		t.Errorf("%d commands were starved by a page that is away", n)
	}
	p.hidden = false
	p.Set("away", 0)
	was := p.mine().props["pos"]
	w.run(200 * time.Millisecond)
	if now := p.mine().props["pos"]; now[0] == was[0] && now[1] == was[1] {
		t.Error("does not move 200 ms after the return")
	}
	if p.stats["state"] != float64(playing) {
		t.Errorf("state %v after the return", p.stats["state"])
	}
	corrections := p.stats["corrections"]
	w.run(2 * time.Second)
	if n := starved() - before; n > 3 {
		t.Errorf("%d commands were starved, two seconds after the return included", n)
	}
	if n := p.stats["corrections"] - corrections; n > 3 {
		t.Errorf("%v corrections in two seconds after the return", n)
	}
	if v := seen(); v[0] == 0 && v[1] == 0 {
		t.Error("others do not see it move")
	}
}

// A game that a page could not use is refused at the start, by the field's name.
func TestUnusable(t *testing.T) {
	type hidden struct {
		Stalled bool `net:"bool"`
	}
	for _, c := range []struct {
		def  interface{ Rules() (*game.Rules, error) }
		want string
	}{
		{&game.Definition[zap.Cmd]{Name: "g", Kinds: game.Kinds(game.NewKind[hidden]("thing")), Join: join,
			Act: func(*game.World, game.ID, zap.Cmd) {}},
			"thing.Stalled would hide the stalled that each object has in the page; give it another name."},
	} {
		rules, err := c.def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(rules, Config{}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func join(*game.World, string) game.ID { return 0 }

// A page asks for its limits when it is in, and again when they change.
//
// seeds: B14
func TestPageAsksForLimits(t *testing.T) {
	p := newWorld(t, &zap.Game).page("ann", map[string]float64{"downKbps": 13})
	p.Set("downHz", 6)
	p.Set("downKbps", 0)
	want := []session.Limits{{BudgetDown: 13_000}, {BudgetDown: 13_000, SendRate: 6}, {SendRate: 6}}
	if len(p.messages) != len(want) {
		t.Fatalf("%d messages, want %d", len(p.messages), len(want))
	}
	for i, m := range p.messages {
		if got, err := session.DecodeLimits(m); err != nil || got != want[i] {
			t.Errorf("message %d asks for %+v, %v; want %+v", i, got, err, want[i])
		}
	}
	answer, _ := session.Limits{BudgetDown: 48_000, SendRate: 6}.Append(nil)
	if say := p.Message(answer); say != (Reply{}) || p.welcome.BudgetDown != 48_000 {
		t.Errorf("%+v, and %d bit/s", say, p.welcome.BudgetDown)
	}
	p.w.run(time.Second)
	if got := p.stats["budgetBps"]; got != 6000 {
		t.Errorf("the page shows a budget of %v bytes/s", got)
	}
}
