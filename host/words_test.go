package host

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/wire"
	"meanwhile/session"
)

type rumour struct {
	Text string `net:"text,200"`
}

type stone struct {
	X int `net:"int,0..9"`
}

// Those who say more than the game allows are sent away by name, those to whom messages do not get
// through lose their connection, and the others hear every message.
func TestMessagesHaveLimits(t *testing.T) {
	stones, rumours := game.NewKind[stone]("stone"), game.NewMessage[rumour]("rumour", 5, 5)
	def := game.Definition[stone]{Name: "talk", Kinds: game.Kinds(stones),
		Join: func(w *game.World, name string) game.ID { return stones.Spawn(w, stone{}) },
		Act:  func(w *game.World, me game.ID, c stone) {},
		Messages: game.Messages(rumours.On(func(w *game.World, from game.ID, r rumour) {
			for range 10 {
				rumours.SendAll(w, nil, r)
			}
		})),
	}
	rules, err := def.Rules()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, Config{Rules: rules, Budget: 64000})
		defer s.end()
		ann := s.join("ann", "")
		deaf := s.greet(session.Hello{Name: "deaf"})
		eve := s.greet(session.Hello{Name: "eve"})
		time.Sleep(time.Second)

		sender, err := reliable.NewSender(reliable.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for seq := wire.FirstSeq; eve.Err() == nil && seq < 1000; seq++ {
			for range 20 {
				_ = sender.Send(reliable.Message{Kind: packet.FirstMessage, AtOnce: true, Body: []byte("\x01x")})
			}
			var w wire.BitWriter
			w.Reset(nil)
			h := wire.Header{Seq: seq, Stamp: s.Clock()().Stamp(), Elicits: true}
			h.Append(&w, wire.Known{})
			packet.Uplink{}.Append(&w)
			packet.AppendCommands(&w, rules.Command, nil, wire.Ack{})
			b := w.Bytes()
			eve.Send(sender.Append(b, uint16(seq), wire.MaxDatagram-len(b), s.Clock()(), time.Hour))
			sender.Delivered(uint16(seq))
			time.Sleep(50 * time.Millisecond)
		}
		if err := eve.Err(); err == nil || !strings.Contains(err.Error(), "more messages than this game allows") {
			t.Errorf("eve: %v", err)
		}
		for n := 0; deaf.Err() == nil && n < 200; n++ {
			ann.Do(func(c *client.Client) { _ = client.Say(c, rumours, rumour{Text: strings.Repeat("psst", 45)}) })
			time.Sleep(250 * time.Millisecond)
		}
		if err := deaf.Err(); err == nil || !strings.Contains(err.Error(), "did not get through") {
			t.Errorf("deaf: %v", err)
		}
		time.Sleep(2 * lookEvery)
		st := s.Stats()
		if st.Words.Refused <= 64 || st.Words.Heard < 30 || st.SentAway != 2 {
			t.Errorf("%+v, %d were sent away", st.Words, st.SentAway)
		}
		ann.Do(func(c *client.Client) {
			if q := c.Stats(); q.Malformed > 0 || q.WordsLost > 0 {
				t.Errorf("%+v", q)
			}
		})
		ann.leave()
		if err := <-ann.left; err != nil {
			t.Error(err)
		}
	})
}
