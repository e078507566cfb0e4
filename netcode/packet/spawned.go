package packet

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// spawnedOrder is the order of the Exp-Golomb code of AppendSpawned.
const spawnedOrder = 3

// AppendSpawned writes up to which command the client knows what its player's commands spawned,
// once it has applied the datagram of a tick: every entity of a kind with schema.Kind.Exact that
// lives, and that the player may know of. The client takes back what it spawned ahead by such a
// command if the server has no entity for it.
//
// oldest is the command of the oldest of those entities that the client is not known to have and
// that is not in the datagram; 0: there is none. A command after tick is written as tick, as
// queued ones may be.
//
//	1 bit      whether there is none; otherwise tick-oldest, unsigned, of order 3
func AppendSpawned(w *wire.BitWriter, tick, oldest clock.Tick) {
	if w.Bool(oldest == 0); oldest != 0 {
		w.Uvarint(uint64(tick-min(oldest, tick)), spawnedOrder)
	}
}

// SpawnedBits returns how many bits AppendSpawned takes, at most so many for every later oldest.
func SpawnedBits(tick, oldest clock.Tick) int {
	if oldest == 0 {
		return 1
	}
	return 1 + wire.UvarintBits(uint64(tick-min(oldest, tick)), spawnedOrder)
}

// DecodeSpawned reads what AppendSpawned wrote and returns the newest command of which the client
// knows all: newest, the newest that had run, or the one before the oldest of which it does not. A
// datagram that is cut short leaves r Bad.
func DecodeSpawned(r *wire.BitReader, tick, newest clock.Tick) clock.Tick {
	if r.Bool() {
		return newest
	}
	oldest := tickBefore(tick, int64(min(r.Uvarint(spawnedOrder), uint64(tick))))
	return min(newest, max(oldest, 1)-1)
}
