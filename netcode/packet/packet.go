// Package packet is what the datagrams of a session say behind their header, besides records and
// the reliable section: the commands of a player and the flags before them, the server's feedback
// on commands, the payloads of events, and heartbeats.
//
// Each message has its Append and its Decode side by side here, and server and client use nothing
// else, so that no field or limit has a second home. The bytes are described in docs/PROTOCOL.md
// and pinned in testdata.
//
// A datagram of a client is a wire.Header, an Uplink and commands. One of a server is a
// wire.Header, a Feedback, records (package snapshot) and a section of messages (package reliable);
// a Heartbeat is a header alone.
package packet

import "time"

// KeepAlive is how long a side that has nothing to send waits before it sends a packet all the
// same. Address translators of home routers forget a UDP path after 30 s, and QUIC closes an idle
// connection after as long.
const KeepAlive = 10 * time.Second
