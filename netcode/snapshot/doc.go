// Package snapshot sends the state of a world to clients as small differences, and lets the server
// know exactly what each client holds.
//
// The server has one [History] of the world and, for each client, a [View]: the entities in the
// client's sight and what the client is known to hold of them. A [Writer] codes what a View lists
// as due into packets; the client's [Store] reads them. Acknowledgements go back to the View. These
// words are used throughout:
//
//   - Slot: a small number that stands for an entity in packets to one client, 0 to 511. An entity
//     gets one when it comes into the client's sight. The slot can be used again once no packet can
//     arrive that mentions its old entity.
//   - Group: properties of a kind that are sent together. An entity's owner receives one group of
//     its own, [OwnerGroup], at simulation precision.
//   - Record: the state of one group at one tick, as a packet carries it. The first record of each
//     group, a first sight, stands alone; the next ones are differences.
//   - Baseline: the older state of the same group that a record is a difference from. The client is
//     known to hold it, because it acknowledged the packet that carried it. Packets mostly need not
//     name it: both sides know which packets the server knew to be applied when it wrote this one
//     (wire.Agreement).
//   - Prior: the acknowledged state before the baseline; with both, a record may predict where the
//     movement goes.
//   - Ledger: the ticks of the records sent and acknowledged, for each group of each slot. It has
//     no values: those live once, in the History, however many clients there are.
//   - Bound: how soon the next record of an entity comes at the latest, see motion.Wait.
//   - Level: how coarse values are for a client far away, see schema.Kind.Levels.
//
// A packet that is lost is not sent again. Its content becomes due again in its newest version, so
// the last state always arrives, and nothing is sent of what rests.
//
// The files: format.go has all numbers that both sides must agree on; history.go, dense.go, ledger.go,
// slots.go, departed.go, view.go, lookback.go and writer.go are the server's; store.go, group.go and reader.go
// the client's.
package snapshot
