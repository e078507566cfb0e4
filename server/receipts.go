package server

import (
	"math"
	"time"

	"meanwhile/game"
	"meanwhile/geom"
	"meanwhile/netcode/clock"
	"meanwhile/netcode/packet"
	"meanwhile/netcode/rewind"
	"meanwhile/netcode/wire"
)

// A Receipt says how one command was judged whose rules asked what the player saw.
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
	receiptRoom = wire.MaxHeader + 128
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

// tell queues a receipt for the player.
func (l *receipts) tell(x packet.Receipt) {
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

// end writes a receipt of the command that just ran, if it looked at others.
func (v *seer) end(cmd *packet.Command) {
	p := v.p
	eng, stats, d, claim := p.s.eng, &p.commands.stats, &p.down, cmd.Claim
	target, looked := eng.Target(cmd.Tick)
	if !looked {
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
	x := Receipt{Tick: p.s.tick, Stated: v.receipt.Stated, Used: v.receipt.Used, Bound: v.receipt.Bound,
		Reason: v.receipt.Reason, Off: -1}
	var at geom.Vec3
	var hash uint16
	hit := false
	if target != 0 {
		x.Target, at, hash, hit = eng.See(p.avatar, target, 0, v)
	}
	verdict := packet.Missed
	if hit {
		verdict = packet.HitClaim(uint32(x.Target), hash)
	}
	claimed, claims := claim.Target()
	same := claim == verdict
	if same {
		x.Claimed, x.Off = x.Target, 0
	}
	told := packet.Receipt{Tick: cmd.Tick, Same: same, Reason: uint8(x.Reason), Hit: hit}
	if p.s.rules.Mode == game.Timed {
		told.Tick = p.commands.pressed
	}
	if !same && (claims || hit) {
		about, found := x.Target, hit
		if claims {
			about, at, _, found = eng.See(p.avatar, game.ID(claimed), packet.ClaimTargets, v)
			x.Claimed = about
		}
		if told.Hit = hit && about == x.Target; found {
			x.Off = v.off(about, at, claim)
			if i, ok := p.s.hist.Find(uint32(about)); ok && p.down.view.Has(i) { // else nobody is to know where it is
				told.Target, told.At = uint32(about), centimetres(at)
			}
		}
	}
	if claims || hit {
		d.receipts.tell(told)
	}
	if claim.Stated() {
		x.Verdict = Disagreed
		if same {
			x.Verdict = Agreed
		}
	}
	d.receipts.keep(x)
	stats.verdict(&x)
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

// off returns how many millimetres from where the client claims to have drawn an entity it was
// judged, which was at; -1 if that is not known. A claim has a hash only, so the entity is drawn
// again at the time that the client states.
func (v *seer) off(id game.ID, at geom.Vec3, claim packet.Claim) int32 {
	judged := v.receipt
	if judged.Stated <= 0 || judged.Stated > v.p.s.tick.Frac() {
		return -1
	}
	v.receipt.Used = judged.Stated
	if s := v.p.s; judged.Reason != rewind.Off { // without the bound, which also says how old records may be
		v.receipt = rewind.Judge(judged.Stated, judged.By, s.tick, time.Duration(s.tick)*s.period, s.period)
	}
	_, drawn, hash, ok := v.p.s.eng.See(v.p.avatar, id, 0, v)
	v.receipt = judged
	if !ok || claim != packet.HitClaim(uint32(id), hash) {
		return -1
	}
	return int32(min(math.Round(float64(1000*drawn.Dist(at))), math.MaxInt32))
}

// centimetres rounds a place.
func centimetres(at geom.Vec3) [3]int64 {
	return [3]int64{int64(math.Round(float64(100 * at.X))), int64(math.Round(float64(100 * at.Y))),
		int64(math.Round(float64(100 * at.Z)))}
}
