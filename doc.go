// Package meanwhile is netcode for games in Go: one authoritative server, players in browsers and native programs,
// and the library between them. The packages, by who needs them:
//
// Write a game:
//
//	game        the contract with the rules: Definition, Kind, Event, World
//	geom        vectors, angles, shapes, rays, tiles; bit-equal on every platform
//	geom/body   balls, crates, carts: a small rigid-body step
//	gametest    whole matches in virtual time, for a game's own tests
//
// Put it in front of players:
//
//	app         a game's program in one line: server, page, bots, flags
//	web         the page's library, as JavaScript modules
//
// One world, one connection, without sockets:
//
//	server      an authoritative world
//	client      one player's side
//
// Run them:
//
//	host        many worlds in one process; host/metrics and host/otlp measure them, host/bolt keeps
//	            what lasts, host/journal records and replays them, host/freeze makes their checkpoints
//	headless    players without a screen
//	session     handshake, resume, connect tokens
//	transport   memory, QUIC, WebTransport, WebSocket
//
// The mechanisms, each usable alone:
//
//	netcode/clock     ticks, instants, the estimate of the server's time
//	netcode/wire      bits, sequence numbers, header, acknowledgements
//	netcode/packet    commands, feedback, events, heartbeats
//	netcode/reliable  reliable messages inside datagrams
//	netcode/rate      round trips, loss, budgets, what the path carries
//	netcode/estimate  how much delay is worth how many hitches
//	netcode/schema    what the network sees of a Go struct
//	netcode/codec     entropy coding of record bodies
//	netcode/motion    integer arithmetic on recorded states
//	netcode/snapshot  history, records, what each client is known to have
//	netcode/interest  who is visible
//	netcode/playout   when others are drawn
//	netcode/lobby     a lobby without the engine: places by sequence number
//	netcode/predict   running ahead, and correcting
//	netcode/rewind    what a player saw
//
// Prove it:
//
//	lab         experiments that print the figures in the documents
//	netsim      virtual time and seeded links
//	docs        the documents, and the guides as files
//	vet         finds in the source what makes rules differ between machines or runs
//
// Start with README.md and examples/zap; docs/architecture.md shows how the parts work together.
package meanwhile
