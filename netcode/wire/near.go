package wire

// Truncated coordinates: what is near needs no more of its place than the low bits, since the viewer knows where it is itself. A full
// coordinate is a number of millimetres modulo 1<<32; in steps of 16 mm its low 16 bits tell it apart from all others within
// 524 m of the viewer, on both sides of every wrap. Nothing is said about the reference, so that one short serves all viewers.
//
//	full coordinate    |31 ...... 20|19 ............ 4|3 .. 0|
//	short                           |       16        |
//
// The place comes out on the grid of 16 mm whatever the viewer's low bits are: it does not flicker when the viewer moves.
// It comes out wrong if viewer and place are further apart than the window, which happens when the sender's idea of where the viewer is
// differs from the viewer's own; a sender that can name a reference that both hold asks Near first, and sends the whole
// coordinate otherwise. Height works the same way.
const (
	ShortStep = 16                             // millimetres of one step of a short
	ShortNear = 1 << 15 * ShortStep            // window: a place at least this far away in either direction may be another one's
	shortBits = 4                              // of the step
	_         = uint(ShortStep - 1<<shortBits) // they agree
)

// Short returns the short of a full coordinate in millimetres.
func Short(full int32) uint16 { return uint16(uint32(full) >> shortBits) }

// Near reports whether FullCoordinate will bring back full, on the grid of ShortStep, for that viewer.
func Near(full, viewer int32) bool {
	return FullCoordinate(Short(full), viewer) == full&^(ShortStep-1)
}

// FullCoordinate returns the coordinate nearest to the viewer's that has the given short: a multiple of ShortStep at most ShortNear away.
func FullCoordinate(short uint16, viewer int32) int32 {
	damped := uint32(viewer) &^ (ShortStep - 1)
	delta := int32(int16(short-Short(viewer))) << shortBits // the sign is that of the shorter way round
	return int32(damped + uint32(delta))
}

// Nearest does the same for coordinates in steps of any size: it returns the one nearest to ref, modulo 1<<32, whose low 16 bits are given.
func Nearest(low uint16, ref int32) int32 {
	return int32(uint32(ref) + uint32(int32(int16(low-uint16(ref)))))
}
