package server

import "meanwhile/internal/engine"

// SetRecord gives a player who has just been connected its record, before the tick in which Join
// sees it. The record is the caller's again once the player is gone and one more tick has run, in
// which Leave saw it. Between End and the next Begin the caller may Take from it.
func (s *Server) SetRecord(id PlayerID, rec *engine.Record) {
	if _, p := s.find(id); p != nil {
		p.record = rec
	}
}

// SetRoomRecord gives the world the record of its room, before the first tick.
func (s *Server) SetRoomRecord(rec *engine.Record) { s.eng.SetRoomRecord(rec) }

// Record returns the record of a player, nil if it has none that lasts.
func (s *Server) Record(id PlayerID) *engine.Record {
	if _, p := s.find(id); p != nil {
		return p.record
	}
	return nil
}

// RoomRecord returns the record of the room, nil if the game saves nothing of rooms.
func (s *Server) RoomRecord() *engine.Record { return s.eng.World().OfRoom() }

// Players appends the players who are connected or suspended, by rising ID.
func (s *Server) Players(dst []PlayerID) []PlayerID {
	for _, p := range s.clients {
		dst = append(dst, p.id)
	}
	return dst
}
