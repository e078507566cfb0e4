package packet

import (
	"math"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// A Claim is what a client says that a command hit, by its own prediction. The server never trusts
// it: it counts how often its own verdict is the same. The zero Claim says nothing: the rules looked
// at nobody, or the client did not predict the command.
//
//	1 bit      whether rules looked at others as the player saw them; none follows if not
//	1 bit      whether they hit one; none follows if not
//	10 bits    its ID, modulo ClaimTargets
//	12 bits    a hash that stands for how it was drawn
type Claim uint32

const (
	// ClaimTargets is the modulus of the ID in a Claim.
	ClaimTargets = 1 << claimTargetBits

	claimTargetBits = 10
	claimHashBits   = 12

	looked, hit Claim = 1, 2 // flags below the target, which is below the hash
	targetAt          = 2
	hashAt            = targetAt + claimTargetBits
)

// Missed is the Claim of a command that looked at others and hit nobody.
const Missed = looked

// HitClaim returns the Claim of a command that hit entity id, which was drawn with a hash.
func HitClaim(id uint32, hash uint16) Claim {
	return looked | hit | Claim(id%ClaimTargets)<<targetAt | Claim(hash%(1<<claimHashBits))<<hashAt
}

// Stated reports whether c says something.
func (c Claim) Stated() bool { return c&looked != 0 }

// Target returns what c says of the ID of the entity that was hit. ok is false if none was.
func (c Claim) Target() (id uint32, ok bool) { return uint32(c>>targetAt) % ClaimTargets, c&hit != 0 }

func (c Claim) append(w *wire.BitWriter) {
	if w.Bool(c.Stated()); !c.Stated() {
		return
	}
	if w.Bool(c&hit != 0); c&hit != 0 {
		w.Bits(uint64(c>>targetAt), claimTargetBits+claimHashBits)
	}
}

func decodeClaim(r *wire.BitReader) Claim {
	switch {
	case !r.Bool():
		return 0
	case !r.Bool():
		return Missed
	}
	return looked | hit | Claim(r.Bits(claimTargetBits+claimHashBits))<<targetAt
}

// MaxReceipts is how many receipts a datagram carries at most. The others follow.
const MaxReceipts = 4

// MaxReceiptBytes is how many bytes these have at most.
const MaxReceiptBytes = 141

// Orders of the Exp-Golomb codes of a Receipt.
const (
	receiptTickOrder   = 4
	receiptTargetOrder = 7
	receiptPlaceOrder  = 10
)

const (
	reasonBits = 4
	// maxPlace bounds Receipt.At both ways: 10,000 km. Append and decode cut what is beyond it.
	maxPlace = 1_000_000_000
)

// A Receipt tells the player how the server judged one of its commands that hit something, by its
// client's Claim or by the server's own verdict.
//
//	           tick-Tick, signed, of order 4
//	1 bit      Same; none follows if set
//	4 bits     Reason
//	1 bit      Hit
//	1 bit      whether there is a Target; then its ID minus 1, of order 7, and At, 3 integers, signed, of order 10
type Receipt struct {
	Tick   clock.Tick // of the command
	Same   bool       // the server saw and hit the same
	Reason uint8      // why another past was judged than the command states; 0: the same was
	Hit    bool       // the server hit Target
	// Target is the entity that the client claims to have hit or, without such a claim, that the
	// server hit. 0: the player saw none like it.
	Target uint32
	At     [3]int64 // where Target was judged, in centimetres
}

func (x *Receipt) append(w *wire.BitWriter, tick clock.Tick) {
	w.Varint(int64(tick)-int64(x.Tick), receiptTickOrder)
	if w.Bool(x.Same); x.Same {
		return
	}
	w.Bits(uint64(x.Reason), reasonBits)
	w.Bool(x.Hit)
	if w.Bool(x.Target != 0); x.Target != 0 {
		w.Uvarint(uint64(x.Target)-1, receiptTargetOrder)
		for _, v := range x.At {
			w.Varint(min(max(v, -maxPlace), maxPlace), receiptPlaceOrder)
		}
	}
}

func decodeReceipt(r *wire.BitReader, tick clock.Tick) (x Receipt) {
	x.Tick = tickBefore(tick, r.Varint(receiptTickOrder))
	if x.Same = r.Bool(); x.Same {
		return x
	}
	x.Reason = uint8(r.Bits(reasonBits))
	x.Hit = r.Bool()
	if r.Bool() {
		x.Target = uint32(min(r.Uvarint(receiptTargetOrder), math.MaxUint32-1)) + 1
		for i := range x.At {
			x.At[i] = min(max(r.Varint(receiptPlaceOrder), -maxPlace), maxPlace)
		}
	}
	return x
}

// Receipts are those in one datagram.
type Receipts struct {
	N    int
	List [MaxReceipts]Receipt // the first N
}

// append writes a bit before each, and one that none follows, which is left out after the last
// possible.
func (l *Receipts) append(w *wire.BitWriter, tick clock.Tick) {
	for i := range l.N {
		w.Bool(true)
		l.List[i].append(w, tick)
	}
	if l.N < MaxReceipts {
		w.Bool(false)
	}
}

func decodeReceipts(r *wire.BitReader, tick clock.Tick) (l Receipts) {
	for l.N < MaxReceipts && r.Bool() {
		l.List[l.N] = decodeReceipt(r, tick)
		l.N++
	}
	return l
}
