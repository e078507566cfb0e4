package hostile

import (
	"meanwhile/session"
	"meanwhile/transport"
)

// Attacks are all of them: by players, by strangers, over TCP.
var Attacks = []Attack{
	{Name: "mutated", About: "players whose datagrams have flipped bits", Over: Transports,
		act: func(r *raid) { r.players(4, session.Limits{}, mutate) }},
	{Name: "truncated", About: "players whose datagrams are cut short or have rubbish at their end", Over: Transports,
		act: func(r *raid) { r.players(4, session.Limits{}, resize) }},
	{Name: "replayed", About: "players who send each datagram several times, up to seconds later", Over: Transports,
		act: func(r *raid) { r.players(4, session.Limits{}, replay) }},
	{Name: "lying", About: "players who acknowledge what was never sent, and invent echoes and losses", Over: Transports,
		act: func(r *raid) { r.players(4, session.Limits{}, lie) }},
	{Name: "greedy", About: "players who ask for all that a server can send", Over: Transports,
		act: func(r *raid) { r.players(16, all, honestly) }},
	{Name: "tiny", About: "players who send 20,000 of the smallest datagrams a second", Over: Transports,
		Ends: transport.TooManyDatagrams, rate: 20_000, act: flood(transport.MinDatagram)},
	{Name: "large", About: "players who send 2,000 of the largest datagrams a second", Over: Transports,
		Ends: transport.TooManyDatagrams, rate: 2000, act: flood(transport.MaxDatagram)},
	{Name: "messages", About: "players who send 200 messages of 32 kB a second", Over: Transports,
		Ends: transport.TooManyMessages, rate: 200, act: shout(32 << 10)},
	{Name: "strays", About: "players who send messages that nobody asked for", Over: Transports,
		Ends: "too many messages that nobody asked for", rate: 100, act: shout(20)},
	{Name: "pings", About: "players who send 400,000 pings a second", Over: []string{"websocket"},
		Ends: transport.TooManyMessages, rate: 4000, act: stream(2, frame(final|opPing, 0, nil))},
	{Name: "torrent", About: "players who send 400,000 datagrams a second in one stream", Over: []string{"websocket"},
		Ends: transport.TooManyDatagrams, rate: 4000,
		act: stream(4, frame(final|opBinary, 1+transport.MinDatagram, make([]byte, 1+transport.MinDatagram)))},
	{Name: "returning", About: "players who lose their connection five times a second, and resume", Over: Transports,
		rate: 20, act: goAndCome},
	{Name: "deaf", About: "32 players who read nothing", Over: []string{"websocket"}, act: deafen},
	{Name: "garbled", About: "players whose path flips, cuts, repeats and invents QUIC's own packets",
		Over: []string{"quic", "webtransport"}, act: garble},
	// Nobody is put out for it: whoever sees a player's packets could else have the player put out.
	{Name: "multiplied", About: "two players whose path repeats each of QUIC's packets 100 times",
		Over: []string{"quic", "webtransport"}, act: multiply},

	{Name: "standing", About: "60 strangers a second, from five addresses, who connect and say nothing",
		Over: Transports, rate: 60, act: stand},
	{Name: "stammering", About: "60 strangers a second whose hello is damaged, or of other rules", Over: Transports,
		rate: 60, act: stammer},
	{Name: "rooms", About: "a stranger who opens 20 rooms a second, and leaves each at once", Over: Transports,
		rate: 20, act: openRooms},
	{Name: "occupying", About: "a stranger who fills the room from one address and does nothing there",
		Over: []string{"websocket"}, Away: true, rate: 20, act: occupy},
	{Name: "half-open", About: "100 handshakes a second whose answers nobody gets", Over: []string{"quic"}, rate: 100,
		act: halfOpen},
	{Name: "litter", About: "20,000 datagrams a second that are no QUIC, or begin like it", Over: []string{"udp"},
		rate: 20_000, act: litter},
	{Name: "deluge", About: "100,000 such datagrams a second, 50 a step", Over: []string{"udp"},
		rate: 100_000 / delugeStep, act: deluge},

	{Name: "frames", About: "WebSocket frames that no browser sends: huge, endless, compressed, text, unmasked",
		Over: []string{"websocket"}, rate: 100, act: ramble},
	{Name: "dawdling", About: "300 TCP connections that send half a header, or nothing", Over: []string{"http"},
		act: dawdle},
	{Name: "stalled", About: "500 TCP connections that ask for the program and read nothing", Over: []string{"http"},
		act: stall},
	{Name: "browsing", About: "2,000 requests a second: pages, an operator's addresses, paths out of the folder",
		Over: []string{"http"}, rate: 2000, act: browse},
}
