package packet

import "meanwhile/netcode/wire"

// An Uplink is the state of a client that each of its datagrams states before the commands.
//
//	1 bit   Away
//	1 bit   Sparse
type Uplink struct {
	Away   bool // nobody looks at the client's screen: the server need not send much
	Sparse bool // commands older than those in this datagram may still come; without it the server waits for none
}

// Append writes u.
func (u Uplink) Append(w *wire.BitWriter) {
	w.Bool(u.Away)
	w.Bool(u.Sparse)
}

// DecodeUplink reads an Uplink. A datagram that is cut short leaves r Bad.
func DecodeUplink(r *wire.BitReader) (u Uplink) {
	u.Away = r.Bool()
	u.Sparse = r.Bool()
	return u
}
