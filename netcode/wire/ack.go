package wire

// FirstSeq is the sequence number of the first packet of a session, each way.
const FirstSeq Seq = 1

// Received is the receiver's side of acknowledgement: which packets may still be applied and which
// were. The zero Received has seen nothing; packets before FirstSeq count as applied, so that a
// session without loss never spends bytes on its history.
//
// It also knows what the peer knows of that: the peer applied a packet of ours, or a later one,
// each of which stated all that the peer might not know.
type Received struct {
	ack   Ack
	any   bool
	known Seq // the peer knows which of its packets up to this one were applied

	stating    bool
	stated, by Seq // our packet by, and each since, states those up to stated
}

// Accepts reports whether packet s may be applied: it was not applied yet and is not more than
// Window older than the newest.
func (r *Received) Accepts(s Seq) bool {
	r.begin()
	if s.Newer(r.ack.Latest) {
		return true
	}
	applied, known := r.ack.Has(s)
	return known && !applied
}

// Applied notes that packet s was applied completely. Only then may it be acknowledged: otherwise
// the sender would believe that the receiver holds what it does not.
func (r *Received) Applied(s Seq) {
	r.begin()
	r.any = true
	switch {
	case s.Newer(r.ack.Latest):
		d := uint16(s - r.ack.Latest)
		r.ack.History = r.ack.History<<d | 1<<(d-1) // a shift by 64 or more gives 0, as it must
		r.ack.Latest = s
	case s != r.ack.Latest:
		r.ack.History |= 1 << uint16(r.ack.Latest-s-1) // beyond the window nothing
	}
	if r.ack.Latest-r.known > 1<<14 { // before the distance to it turns round; the window is far behind
		r.known = r.ack.Latest - 1<<14
	}
	if !s.Newer(r.known) { // overtaken: the peer knows it as not applied
		r.known = s - 1
	}
	if r.stating && !s.Newer(r.stated) {
		r.stating = false
	}
}

// Stated notes that our packet seq carries the acknowledgement.
func (r *Received) Stated(seq Seq) {
	if !r.stating && r.ack.Latest.Newer(r.known) {
		r.stating, r.stated, r.by = true, r.ack.Latest, seq
	}
}

// Delivered notes that the peer applied our packet seq.
func (r *Received) Delivered(seq Seq) {
	if r.stating && !r.by.Newer(seq) {
		r.stating, r.known = false, r.stated
	}
}

// Known returns the newest packet up to which the peer knows which of its packets were applied.
func (r *Received) Known() Seq { return r.known }

func (r *Received) begin() {
	if !r.any {
		r.ack = Ack{Latest: FirstSeq - 1, History: ^uint64(0)}
	}
}

// Ack returns the acknowledgement to send; ok is false before the first packet.
func (r *Received) Ack() (a Ack, ok bool) { return r.ack, r.any }

// A Statement is what packets state until the peer is known to have applied one of those that did.
// The zero Statement was not stated yet.
type Statement struct {
	from  Seq // first packet that stated it
	any   bool
	known bool
}

// Stated notes that packet seq states it, as each since has.
func (s *Statement) Stated(seq Seq) {
	if !s.any {
		s.any, s.from = true, seq
	}
}

// Learned notes that the peer learned it otherwise.
func (s *Statement) Learned() { s.any, s.known = true, true }

// Begun reports whether a packet stated it.
func (s *Statement) Begun() bool { return s.any }

// Delivered notes that the peer applied packet seq.
func (s *Statement) Delivered(seq Seq) {
	if s.any && !s.from.Newer(seq) {
		s.known = true
	}
}

// Known reports whether the peer knows it.
func (s *Statement) Known() bool { return s.known }

// A Basis is the packets that a client drew a frame from: all up to Newest that it had applied by
// then. A packet that was overtaken may be older than Newest and applied later.
type Basis struct {
	Newest  Seq
	Without uint64 // bit i: packet Newest-1-i was not applied by then; older ones cannot be applied any more
}

// Has reports whether a packet is part of the basis, if it was ever applied.
func (b Basis) Has(s Seq) bool {
	d := b.Newest - s
	return d < 1<<15 && (d == 0 || d > Window || b.Without>>(d-1)&1 == 0)
}
