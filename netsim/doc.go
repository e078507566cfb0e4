// Package netsim is a network in virtual time: links that delay, jitter, lose, double, reorder and
// throttle, drawn from a seed. The caller passes the time; nothing here sleeps. The same seed and
// the same calls give the same nanoseconds on every platform.
//
// A [Link] is one direction and decides for each datagram whether and when it arrives. A [Pipe] is
// a Link with the datagrams that are under way, a [Path] a pair of Pipes, and a [Loop] the queue of
// events that moves virtual time on. A [Profile] names the parameters of both directions:
// [HotelWiFi], [TrainLTE], or [ByName].
//
// Cellular links follow either a recorded trace in the format of the mahimahi emulator
// ([ReadTrace]) or a [Cell], a random process with the mean rate, the burstiness and the outages of
// such recordings.
package netsim
