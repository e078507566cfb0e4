package server

import (
	"slices"

	"meanwhile/game"
	"meanwhile/internal/engine"
	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/reliable"
)

const (
	// maxWaiting is how many messages of one player wait for their turn. A client of ours leaves at
	// most as many unanswered, so more are of one that sends more often than the game allows.
	maxWaiting = 64
	// maxRefused is how many messages of a player are dropped before its connection ends.
	maxRefused = 64
)

// WordStats counts messages of one player, or of all that a world ever had.
type WordStats struct {
	Heard uint64 // messages and requests that the rules got
	// Refused were dropped: more than the game allows, undecodable, or of a kind that players do
	// not send. After maxRefused of them the connection ends.
	Refused uint64
	Told    uint64 // messages and answers that were queued for the player
}

// Words counts the messages of all players.
func (s *Server) Words() WordStats { return s.wordStats }

// words is what one player says to the rules. What comes faster than the game allows waits, so that
// no network makes an honest player look like one who floods.
type words struct {
	receiver reliable.Receiver
	waiting  []word       // in the order in which they were sent
	next     []clock.Time // by message, see engine.MessageKind.Admit
}

// A word is a message or a request that waits.
type word struct {
	message int
	tick    clock.Tick
	body    []byte
}

// An End is a player whose connection is to end.
type End struct {
	Player  PlayerID
	Why     string // a sentence for the player
	Refused bool   // coming back by itself would not help the player; others may, see Suspend
	Err     error  // of the rules, whose Join failed; nil otherwise
}

// Ends returns the players whose connections are to end, each once, since the last call: those who
// send more messages than the game allows, those to whom messages do not get through, and those for
// whom Join failed.
func (s *Server) Ends() []End {
	ends := s.ends
	s.ends = nil
	return ends
}

// end says once that a player's connection is to end.
func (p *player) end(e End) {
	if !p.ended {
		p.ended = true
		e.Player = p.id
		p.s.ends = append(p.s.ends, e)
	}
}

// readWords takes the reliable section of a player's datagram, all of it or nothing.
func (p *player) readWords(section []byte) error {
	if len(section) == 0 || !p.s.rules.Listens() {
		return nil
	}
	if p.words == nil {
		p.words = &words{next: make([]clock.Time, len(p.s.rules.Messages))}
		for i := range p.s.rules.Messages {
			p.words.receiver.MaxBytes = max(p.words.receiver.MaxBytes, p.s.rules.Messages[i].Size+1)
		}
	}
	_, err := p.words.receiver.Read(section)
	return err
}

// collectWords moves the messages that are complete to those that wait.
func (p *player) collectWords() {
	if p.words == nil {
		return
	}
	for {
		m, ok := p.words.receiver.Next()
		if !ok {
			return
		}
		i := int(m.Kind) - packet.FirstMessage
		if i < 0 || i >= len(p.s.rules.Messages) || !p.s.rules.Messages[i].Heard || len(p.words.waiting) >= maxWaiting {
			p.refuse()
			continue
		}
		p.words.waiting = append(p.words.waiting, word{i, m.Tick, slices.Clone(m.Body)})
	}
}

// refuse counts a message that is dropped.
func (p *player) refuse() {
	p.s.wordStats.Refused++
	if p.wordStats.Refused++; p.wordStats.Refused > maxRefused {
		p.end(End{Why: "you sent more messages than this game allows", Refused: true})
	}
}

// hear runs the handlers of the messages whose turn it is. Players take turns at going first, as
// with commands.
func (s *Server) hear() {
	n := len(s.clients)
	for i := range n {
		if p := s.clients[(i+int(s.tick))%n]; p.words != nil {
			p.hear()
		}
	}
}

func (p *player) hear() {
	s, w := p.s, p.words
	done := 0
	for ; done < len(w.waiting); done++ {
		x := &w.waiting[done]
		next, ok := s.rules.Messages[x.message].Admit(w.next[x.message], s.now) // ticks may take longer
		if !ok {
			break // the others keep their order
		}
		w.next[x.message] = next
		if p.run(x) != nil {
			p.refuse()
		}
	}
	if done > 0 {
		w.waiting = slices.Delete(w.waiting, 0, done)
	}
}

// run runs the handler of a message, and queues the answer if it is a request. It fails if the
// message cannot be read.
func (p *player) run(x *word) error {
	s := p.s
	m := &s.rules.Messages[x.message]
	payload, call := x.body, packet.Request(0)
	if m.Answer != nil {
		var err error
		if call, payload, err = packet.DecodeRequest(payload); err != nil {
			return err
		}
	}
	vals := make([]int64, m.Payload.Sims)
	if err := packet.DecodeMessage(payload, m.Payload, x.tick, vals); err != nil {
		return err
	}
	answer, refusal, err := s.eng.Hear(x.message, p.avatar, vals)
	s.fault(err)
	p.wordStats.Heard++
	s.wordStats.Heard++
	if m.Answer == nil {
		return nil
	}
	body := call.AppendGranted(nil)
	if refusal != "" {
		body = call.AppendRefused(nil, refusal)
	} else {
		s.writer.Reset(body)
		packet.AppendMessage(&s.writer, m.Answer, s.tick, answer)
		body = s.writer.Bytes()
	}
	p.tell(x.message, 0, body)
	return nil
}

// tell queues a message or an answer for a player.
func (p *player) tell(message int, from game.ID, body []byte) {
	m := reliable.Message{Tick: p.s.tick, Entity: uint32(from), Kind: uint8(packet.FirstMessage + message),
		AtOnce: true, Priority: vital, Body: body}
	switch {
	case p.missed:
		return
	case !p.down.queue(m):
		p.missed = true // what has no room is lost, so its client cannot go on with what it has
		if !p.absent {
			p.end(End{Why: "messages to you did not get through in time"})
		}
		return
	}
	p.wordStats.Told++
	p.s.wordStats.Told++
}

// tellAll queues what the rules said in this tick.
func (s *Server) tellAll() {
	said := s.eng.Said()
	if len(said) >= engine.MaxSaid {
		s.fault(fault.Errorf("game: the rules of %q sent %d messages in tick %d; what is beyond them is lost",
			s.rules.Name, len(said), s.tick))
	}
	for i := range said {
		m := &said[i]
		s.writer.Reset(s.body[:0])
		packet.AppendMessage(&s.writer, s.rules.Messages[m.Message].Payload, s.tick, m.Vals)
		s.body = s.writer.Bytes()
		for _, p := range s.clients {
			if p.addressed(m) {
				p.tell(m.Message, p.named(m.From), s.body)
			}
		}
	}
}

// addressed reports whether a message of the rules is for the player. A player keeps the ID of an
// avatar that the rules removed until it has another.
func (p *player) addressed(m *engine.Said) bool {
	switch {
	case m.All:
		return true
	case m.To != 0:
		return m.To == p.avatar || m.To == p.lost
	}
	return slices.Contains(m.Players, p.avatar)
}

// named returns the ID of the player who caused a message as another may learn it: 0 where the
// rules hide that player's avatar.
func (p *player) named(from game.ID) game.ID {
	if from == 0 || from == p.avatar || !p.s.rules.Hides() {
		return from
	}
	if i, ok := p.s.hist.Find(uint32(from)); ok && p.allows(i) {
		return from
	}
	return 0
}
