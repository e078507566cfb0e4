package host

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"meanwhile/client"
	"meanwhile/game"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
	"meanwhile/netcode/wire"
	"meanwhile/server"
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
		datagram := func(seq wire.Seq) []byte {
			var w wire.BitWriter
			w.Reset(nil)
			h := wire.Header{Seq: seq, Stamp: s.Clock()().Stamp(), Elicits: true}
			h.Append(&w, wire.Known{})
			packet.Uplink{}.Append(&w)
			packet.AppendCommands(&w, rules.Command, nil, wire.Ack{})
			return w.Bytes()
		}
		deaf.Send(datagram(wire.FirstSeq)) // who sent nothing is not waited for
		for seq := wire.FirstSeq; eve.Err() == nil && seq < 1000; seq++ {
			for range 20 {
				_ = sender.Send(reliable.Message{Kind: packet.FirstMessage, AtOnce: true, Body: []byte("\x01x")})
			}
			b := datagram(seq)
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
		if st.Players != 2 || st.Absent != 1 {
			t.Errorf("%d players, %d of them absent: the deaf one is not waited for", st.Players, st.Absent)
		}
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

type question struct {
	N int `net:"int,0..99"`
}

// A request that is open when the connection is lost is answered once after the player came back,
// wherever the request or its answer was lost, and refused where the player begins anew or ends.
func TestRequestsOverALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stones, questions := game.NewKind[stone]("stone"), game.NewRequest[question, question]("question", 5, 5)
		asked := 0 // by the room's loop alone
		def := game.Definition[stone]{Name: "talk", Kinds: game.Kinds(stones),
			Join: func(w *game.World, name string) game.ID { return stones.Spawn(w, stone{}) },
			Act:  func(w *game.World, me game.ID, c stone) {},
			Messages: game.Messages(questions.On(func(w *game.World, from game.ID, q question) (question, error) {
				asked++
				return question{q.N + 1}, nil
			})),
		}
		rules, err := def.Rules()
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t, Config{Rules: rules})
		defer s.end()
		var open atomic.Bool
		open.Store(true)
		var mu sync.Mutex
		var heard []string
		r := s.roamWith("ann", open.Load, func(c *client.Client, w *client.Word) {
			mu.Lock()
			defer mu.Unlock()
			if a, ok := client.Answered(c, w, questions); ok {
				heard = append(heard, fmt.Sprint(w.Call, " ", a.N))
			} else if w.Refused {
				heard = append(heard, fmt.Sprint(w.Call, " ", w.Refusal))
			}
		}, nil)
		time.Sleep(5 * time.Second)
		ask := func(n int) {
			t.Helper()
			r.Do(func(c *client.Client) {
				if _, err := client.Ask(c, questions, question{n}); err != nil {
					t.Error(err)
				}
			})
		}
		check := func(what string, handled int, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(heard, want) || asked != handled {
				t.Errorf("%s: heard %q, the rules %d requests; want %q and %d", what, heard, asked, want, handled)
			}
			heard = nil
		}
		ask(10)
		time.Sleep(time.Second)
		check("with a connection", 1, "1 11")
		one := server.WordStats{Heard: 1, Told: 1}
		if room, own := s.Stats().Words, s.stats(t).WordStats; room != one || own != one {
			t.Errorf("counted %+v, of the player %+v; want %+v", room, own, one)
		}

		const notice = packet.KeepAlive + 6*time.Second // the world is at rest, so silence means little
		r.conn.Load().dead.Store(true)
		ask(20)
		time.Sleep(notice)
		check("the request was lost", 2, "2 21")

		r.conn.Load().deaf.Store(true)
		ask(30)
		time.Sleep(notice)
		check("the answer was lost", 3, "3 31")

		open.Store(false)
		r.conn.Load().deaf.Store(true)
		ask(40)
		time.Sleep(500 * time.Millisecond)
		r.conn.Load().Conn.Close("") // a clean end: it is waited for 10 s
		time.Sleep(reloadFor + 2*time.Second)
		check("no connection", 4)
		open.Store(true)
		time.Sleep(8 * time.Second)
		check("it began anew", 4, "4 the connection was lost")

		ask(50)
		r.leave()
		if err := <-r.left; err != nil {
			t.Error(err)
		}
		check("it left", 4, "1 the connection was lost")
	})
}
