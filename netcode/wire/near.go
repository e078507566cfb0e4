package wire

// Nearest returns the number nearest to ref, modulo 1<<32, whose low n bits are given, n from 1 to 32. So the low
// bits of a coordinate suffice where the receiver knows a place near it, its own: the result is
// right if the two are less than 1<<(n-1) steps apart, across every wrap, and does not depend on ref
// otherwise. One coded value serves all receivers.
//
//	coordinate    |31 ............ n|n-1 ....... 0|
//	low                             |      n      |
//
// Further away it is wrong: a sender compares Nearest's result with the coordinate first, and sends
// all 32 bits where they differ.
func Nearest(low uint32, n int, ref int32) int32 {
	return int32(uint32(ref) + uint32(int32((low-uint32(ref))<<uint(32-n))>>uint(32-n)))
}
