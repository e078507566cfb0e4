package server

import (
	"math"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/wire"
)

// A Receipt says how one command was judged whose rules asked what the player saw. A command that
// hit several entities has one for each.
type Receipt struct {
	Tick   clock.Tick     // in which the server judged it
	Stated clock.TickFrac // time of what the player saw, as its client says; 0: it says nothing
	Used   clock.TickFrac // time of what was judged
	Bound  clock.TickFrac // the earliest time that was allowed
	Reason rewind.Reason  // why Used is not Stated
	// Verdict compares what the client claims to have hit with what the server hit.
	Verdict Verdict
	Target  game.ID // the entity that the command hit; 0: nobody
	Claimed game.ID // the entity that the client claims to have hit; 0: nobody, or none that the player saw
	// Off is how far in millimetres from where the client drew the entity it was judged. -1: it is
	// not known, as what the client claims to have drawn fits no time.
	Off int32
}

// A Verdict compares what a client claims that its command hit with what the server says.
type Verdict uint8

// The verdicts.
const (
	Unstated  Verdict = iota // the client does not say: its command had no press, or was not predicted
	Agreed                   // both hit the same, drawn in the same way, or nobody
	Disagreed                // they do not
)

func (v Verdict) String() string { return [...]string{"not stated", "agreed", "disagreed"}[v] }

const (
	// receiptRing is how many receipts are kept of a player: the newest.
	receiptRing = 32
	// maxUnsent is how many receipts wait to be sent to a player at most, those included that it is
	// not known to have. Beyond it the oldest is not sent any more.
	maxUnsent = 16
	// receiptRoom is how many bytes a datagram must have room for so that receipts go with it.
	receiptRoom = wire.MaxHeader + packet.MaxReceiptBytes
)

// receipts are those of one player who has shot.
type receipts struct {
	ring   [receiptRing]Receipt
	n      uint64 // so far
	unsent [maxUnsent]unsentReceipt
	waits  int // of unsent
}

// An unsentReceipt is one that the player is not known to have.
type unsentReceipt struct {
	packet.Receipt
	sent bool // in packet seq, of whose fate nothing is known
	seq  wire.Seq
}

// keep keeps a receipt.
func (l *receipts) keep(x Receipt) {
	l.ring[l.n%receiptRing] = x
	l.n++
}

// queue queues a receipt for the player.
func (l *receipts) queue(x packet.Receipt) {
	if l.waits == maxUnsent {
		l.forget(0)
	}
	l.unsent[l.waits] = unsentReceipt{Receipt: x}
	l.waits++
}

func (l *receipts) forget(i int) {
	copy(l.unsent[i:l.waits], l.unsent[i+1:l.waits])
	l.waits--
}

// take moves receipts into packet seq.
func (l *receipts) take(to *packet.Receipts, seq wire.Seq) {
	if l == nil {
		return
	}
	for i := range l.unsent[:l.waits] {
		if x := &l.unsent[i]; !x.sent && to.N < packet.MaxReceipts {
			x.sent, x.seq = true, seq
			to.List[to.N] = x.Receipt
			to.N++
		}
	}
}

// shots returns the receipts from which a datagram of at most room bytes may take some.
func (p *player) shots(room int) *receipts {
	if room < receiptRoom {
		return nil
	}
	return p.down.receipts
}

// settle learns that packet seq was delivered, or that it is missing.
func (l *receipts) settle(seq wire.Seq, delivered bool) {
	if l == nil {
		return
	}
	for i := l.waits - 1; i >= 0; i-- {
		if x := &l.unsent[i]; x.sent && x.seq == seq {
			if x.sent = false; delivered {
				l.forget(i)
			}
		}
	}
}

// Receipts appends to dst the newest receipts of a player, at most receiptRing and the oldest
// first.
func (s *Server) Receipts(id PlayerID, dst []Receipt) []Receipt {
	_, p := s.find(id)
	if p == nil || p.down.receipts == nil {
		return dst
	}
	l := p.down.receipts
	for i := l.n - min(l.n, receiptRing); i < l.n; i++ {
		dst = append(dst, l.ring[i%receiptRing])
	}
	return dst
}

// end writes receipts of the command that just ran, if it looked at others: one for each entity
// that it hit or that its client claims, or one without any.
func (v *seer) end(cmd *packet.Command) {
	p := v.p
	eng, stats, d, claim := p.s.eng, &p.commands.stats, &p.down, cmd.Claim
	if !eng.Looked(cmd.Tick) {
		return
	}
	if !v.judged { // it looked at what clients run ahead alone
		v.judge()
	}
	if d.receipts == nil {
		d.receipts = &receipts{}
	}
	substituted := stats.Substituted // which looking again is not to count
	defer func() { stats.Substituted = substituted }()
	hits, hash := eng.Hits(p.avatar, v, v.hits[0][:0])
	v.hits[0] = hits
	x := Receipt{Tick: p.s.tick, Stated: v.receipt.Stated, Used: v.receipt.Used, Bound: v.receipt.Bound,
		Reason: v.receipt.Reason, Off: -1}
	say := packet.Receipt{Tick: cmd.Tick, Reason: uint8(x.Reason)}
	if p.s.rules.Mode == game.Timed {
		say.Tick = p.commands.pressed
	}
	if claim.Stated() {
		x.Verdict = Disagreed
	}
	if claim == claimOf(hits, hash) {
		x.Verdict = Agreed
		v.agree(hits, x, say)
	} else {
		v.differ(hits, claim, x, say)
	}
	stats.verdict(&x)
}

// claimOf returns what a client claims that hit these.
func claimOf(hits []engine.Hit, hash uint16) packet.Claim {
	if len(hits) == 0 {
		return packet.Missed
	}
	return packet.HitClaim(uint32(hits[len(hits)-1].ID), hash)
}

// agree writes receipts of a command whose client claims what it hit.
func (v *seer) agree(hits []engine.Hit, x Receipt, say packet.Receipt) {
	l := v.p.down.receipts
	if len(hits) == 0 {
		x.Off = 0
		l.keep(x)
		return
	}
	for _, h := range hits {
		x.Target, x.Claimed, x.Off = h.ID, h.ID, 0
		l.keep(x)
	}
	say.Same = true
	l.queue(say)
}

// differ writes receipts of a command whose client claims something else than what it hit.
func (v *seer) differ(hits []engine.Hit, claim packet.Claim, x Receipt, say packet.Receipt) {
	p := v.p
	l := p.down.receipts
	claimed, claims := claim.Target()
	drawn := v.drawn(claim)
	for _, h := range hits {
		y := x
		y.Target = h.ID
		if claims && uint32(h.ID)%packet.ClaimTargets == claimed {
			y.Claimed, claims = h.ID, false
		}
		y.Off = off(drawn, h)
		l.keep(y)
		l.queue(v.about(h, true, say))
	}
	if claims {
		var other engine.Hit
		other.ID, other.At, _, _ = p.s.eng.See(p.avatar, game.ID(claimed), packet.ClaimTargets, v)
		if x.Claimed = other.ID; other.ID != 0 {
			x.Off = off(drawn, other)
		}
		l.queue(v.about(other, false, say))
	}
	if claims || len(hits) == 0 {
		l.keep(x)
	}
}

// about returns what the player learns of an entity, which it is not to know the place of if it
// left its sight.
func (v *seer) about(h engine.Hit, hit bool, say packet.Receipt) packet.Receipt {
	say.Hit = hit
	if i, ok := v.p.s.hist.Find(uint32(h.ID)); ok && v.p.down.view.Has(i) {
		say.Target, say.At = uint32(h.ID), centimetres(h.At)
	}
	return say
}

// verdict counts a receipt. One that is judged by the present says nothing of the rewind.
func (s *CommandStats) verdict(x *Receipt) {
	switch {
	case x.Reason == rewind.None || x.Reason == rewind.Off:
	case x.Verdict == Agreed:
		s.Agreed++
	case x.Verdict == Disagreed:
		s.Disagreed++
	}
}

// drawn returns where the client drew what it claims to have hit; nil if that is not known. A claim
// has a hash only, so entities are drawn again at the time that the client states: those that were
// hit, and the one that the claim names.
func (v *seer) drawn(claim packet.Claim) []engine.Hit {
	judged, s := v.receipt, v.p.s
	id, claims := claim.Target()
	if !claims || judged.Stated <= 0 || judged.Stated > s.tick.Frac() {
		return nil
	}
	v.receipt.Used = judged.Stated
	if judged.Reason != rewind.Off { // without the bound, which also says how old records may be
		v.receipt = rewind.Judge(judged.Stated, judged.By, s.tick, time.Duration(s.tick)*s.period, s.period)
	}
	list, hash := s.eng.Hits(v.p.avatar, v, v.hits[1][:0])
	if claim != claimOf(list, hash) {
		list = list[:0]
		if id, at, hash, ok := s.eng.See(v.p.avatar, game.ID(id), packet.ClaimTargets, v); ok &&
			claim == packet.HitClaim(uint32(id), hash) {
			list = append(list, engine.Hit{ID: id, At: at})
		}
	}
	v.receipt, v.hits[1] = judged, list
	return list
}

// off returns how many millimetres from where the client drew an entity it was judged; -1 if that
// is not known.
func off(drawn []engine.Hit, judged engine.Hit) int32 {
	for _, h := range drawn {
		if h.ID == judged.ID {
			return int32(min(math.Round(float64(1000*h.At.Dist(judged.At))), math.MaxInt32))
		}
	}
	return -1
}

// centimetres rounds a place.
func centimetres(at geom.Vec3) [3]int64 {
	return [3]int64{int64(math.Round(float64(100 * at.X))), int64(math.Round(float64(100 * at.Y))),
		int64(math.Round(float64(100 * at.Z)))}
}
