package wire

// Nearest returns the number nearest to ref, modulo 1<<32, whose low 16 bits are given. So the low
// bits of a coordinate suffice where the receiver knows a place near it, its own: the result is
// right if the two are less than 1<<15 steps apart, across every wrap, and does not depend on ref
// otherwise. One coded value serves all receivers.
//
//	coordinate    |31 ......... 16|15 ......... 0|
//	low                           |      16      |
//
// Further away it is wrong: a sender compares Nearest's result with the coordinate first, and sends
// all 32 bits where they differ.
func Nearest(low uint16, ref int32) int32 {
	return int32(uint32(ref) + uint32(int32(int16(low-uint16(ref)))))
}
