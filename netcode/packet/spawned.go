package packet

import (
	"meanwhile/netcode/clock"
	"meanwhile/netcode/wire"
)

// spawnedOrder is the order of the Exp-Golomb code of AppendSpawned.
const spawnedOrder = 3

// AppendSpawned writes what the client may conclude from what a datagram of a tick does not say of
// the entities that it runs ahead, once it has applied the datagram.
//
// settled says that the client then has the state of that tick of every such entity: of what the
// datagram does not mention, the state is that of the newest record. oldest is about what the
// player's commands spawned of kinds with schema.Kind.Exact, as far as it lives and the player may
// know of it: the command of the oldest such entity that the client is not known to have and that
// is not in the datagram; 0: there is none. The client takes back what it spawned ahead by an
// earlier command if the server has no entity for it. A command after tick is written as tick, as
// queued ones may be. Settled datagrams have no oldest.
//
//	1 bit      settled; otherwise
//	1 bit      whether there is no oldest; otherwise tick-oldest, unsigned, of order 3
func AppendSpawned(w *wire.BitWriter, tick clock.Tick, settled bool, oldest clock.Tick) {
	if w.Bool(settled); settled {
		return
	}
	if w.Bool(oldest == 0); oldest != 0 {
		w.Uvarint(uint64(tick-min(oldest, tick)), spawnedOrder)
	}
}

// SpawnedBits returns how many bits AppendSpawned takes at most, for oldest and every later one.
func SpawnedBits(tick, oldest clock.Tick) int {
	if oldest == 0 {
		return 2
	}
	return 2 + wire.UvarintBits(uint64(tick-min(oldest, tick)), spawnedOrder)
}

// DecodeSpawned reads what AppendSpawned wrote. spawned is the newest command of which the client
// knows all that it spawned: newest, the newest that had run, or the one before the oldest of which
// it does not. A datagram that is cut short leaves r Bad.
func DecodeSpawned(r *wire.BitReader, tick, newest clock.Tick) (spawned clock.Tick, settled bool) {
	if r.Bool() {
		return newest, !r.Bad()
	}
	if r.Bool() {
		return newest, false
	}
	oldest := tickBefore(tick, int64(min(r.Uvarint(spawnedOrder), uint64(tick))))
	return min(newest, max(oldest, 1)-1), false
}
