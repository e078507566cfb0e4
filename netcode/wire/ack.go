package wire

// FirstSeq is the sequence number of the first packet of a session, each way.
const FirstSeq Seq = 1

// Received is the receiver's side of acknowledgement: which packets may still be applied and which
// were. The zero Received has seen nothing; packets before FirstSeq count as applied, so that a
// session without loss never spends bytes on its history.
type Received struct {
	ack Ack
	any bool
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
}

func (r *Received) begin() {
	if !r.any {
		r.ack = Ack{Latest: FirstSeq - 1, History: ^uint64(0)}
	}
}

// Ack returns the acknowledgement to send; ok is false before the first packet.
func (r *Received) Ack() (a Ack, ok bool) { return r.ack, r.any }
