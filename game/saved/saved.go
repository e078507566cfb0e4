// Package saved is what lasts beyond a world: a record for each player, such as level, purse and
// kills, and one for each room, such as a table of the best. The host loads a record before rules
// see it, and stores what they changed every few seconds, when a player leaves and when it ends.
// Rules only read and write a struct; no tick waits for a disk or a database.
//
//	type Profile struct {
//		Version int
//		Gold    int
//	}
//
//	var Profiles = saved.ForPlayers[Profile]()
//
//	var Game = game.Definition[Cmd]{
//		Saved: saved.List(Profiles),
//		Join: func(w *game.World, name string) game.ID {
//			p := Profiles.Of(w, 0) // who joins; zero for a new player
//			if p.Version == 0 {
//				p.Version, p.Gold = 1, 100
//			}
//			return Heroes.Spawn(w, Hero{Name: name, Gold: p.Gold})
//		},
//	}
//
// # What a record is
//
// A record is a comparable struct of exported fields: numbers, bools, texts, arrays and structs. A
// callback that panics leaves it as it was. It is stored as JSON, with a field "~saved" of the
// host's beside its own, so fields may be added, taken out and put elsewhere: a new one is zero at
// first, and one that the struct no longer has is dropped at the next save. Keep a renamed field's
// old name in a json tag. What else has to change, Join changes, by a version in the record.
//
// # Where there is none
//
// Records live on the server. In a client, for a spectator, and for what is no player's avatar, Of
// returns a zero record and writes to it are discarded. Rules that clients predict should therefore
// not depend on records: copy what they need into an entity. Bots, and players without an account
// or a key, have a record that ends with their stay, and so has every player of a host without a
// store: Lasts tells them apart.
package saved

import (
	"reflect"

	"meanwhile/game"
	"meanwhile/internal/engine"
)

// Players is a handle on the records of players.
type Players[T comparable] struct{ s *engine.Saved }

// Rooms is a handle on the records of rooms.
type Rooms[T comparable] struct{ s *engine.Saved }

// ForPlayers declares the record of each player. A game has at most one such declaration.
func ForPlayers[T comparable]() Players[T] { return Players[T]{declare[T](false)} }

// ForRooms declares the record of each room. A game has at most one such declaration.
func ForRooms[T comparable]() Rooms[T] { return Rooms[T]{declare[T](true)} }

func declare[T comparable](ofRoom bool) *engine.Saved {
	s := &engine.Saved{OfRoom: ofRoom, Type: reflect.TypeFor[T](),
		New: func() engine.RecordState { return new(record[T]) }}
	engine.Made(s)
	return s
}

// Of returns the record of player me; in Join, 0 is the player who joins. It is never nil, and
// valid until the callback returns.
func (p Players[T]) Of(w *game.World, me game.ID) *T {
	e := (*engine.World)(w)
	return of[T](e, e.OfPlayer(me))
}

// Lasts reports whether the record of player me is stored.
func (p Players[T]) Lasts(w *game.World, me game.ID) bool {
	r := (*engine.World)(w).OfPlayer(me)
	return r != nil && r.Lasts()
}

// Of returns the record of the room. It is never nil, and valid until the callback returns.
func (r Rooms[T]) Of(w *game.World) *T {
	e := (*engine.World)(w)
	return of[T](e, e.OfRoom())
}

func of[T comparable](w *engine.World, r *engine.Record) *T {
	if r == nil {
		return new(T)
	}
	state, ok := w.Lend(r).(*record[T])
	if !ok {
		panic("saved: this record is not listed in the Saved of the game")
	}
	return &state.now
}

// declared is a handle of any type.
type declared interface{ declared() *engine.Saved }

func (p Players[T]) declared() *engine.Saved { return p.s }
func (r Rooms[T]) declared() *engine.Saved   { return r.s }

// List lists handles for a Definition.
func List(handles ...declared) []*engine.Saved {
	var all []*engine.Saved
	for _, h := range handles {
		s := h.declared()
		engine.Listed(s)
		all = append(all, s)
	}
	return all
}

// A record is the state of one record.
type record[T comparable] struct {
	now  T // as the callback that runs has it
	kept T // as the last one left it
}

func (r *record[T]) Settle(keep bool) (changed bool) {
	switch {
	case r.now == r.kept:
		return false
	case keep:
		r.kept = r.now
		return true
	}
	r.now = r.kept
	return false
}

func (r *record[T]) Copy() any {
	v := r.kept
	return &v
}

func (r *record[T]) Fill(decode func(into any) error) error {
	err := decode(&r.kept)
	r.now = r.kept
	return err
}
