package engine

import "reflect"

// A Saved declares what lasts beyond a world: one record of each player, or one of the room.
type Saved struct {
	OfRoom bool
	Type   reflect.Type
	New    func() RecordState // returns a new zero record
}

// A RecordState is a record with its type. Package saved has the only one.
type RecordState interface {
	// Settle ends a callback that had the record: it keeps what the callback wrote, or takes it
	// back, and reports whether the record changed.
	Settle(keep bool) (changed bool)
	// Copy returns a pointer to a copy of what is kept.
	Copy() any
	// Fill passes a pointer to the record on, to be filled with what was stored.
	Fill(decode func(into any) error) error
}

// A Record is what one player, or a room, keeps beyond the world. The owner of the world owns it.
type Record struct {
	state   RecordState
	lasts   bool
	lent    bool // to the callback that runs
	changed bool // since Take
	mark    string
}

// NewRecord returns a zero record. lasts says whether somebody stores it.
func (s *Saved) NewRecord(lasts bool) *Record { return &Record{state: s.New(), lasts: lasts} }

// Fill fills the record with what was stored. decode gets a pointer to it. The record is unusable
// after an error.
func (r *Record) Fill(decode func(into any) error) error { return r.state.Fill(decode) }

// Take returns a pointer to a copy of the record if it has changed since the last call, else nil.
func (r *Record) Take() any {
	if !r.changed {
		return nil
	}
	r.changed = false
	return r.state.Copy()
}

// Mark returns what SetMark set: the owner's name for the save that the record was loaded from.
func (r *Record) Mark() string { return r.mark }

// SetMark sets it.
func (r *Record) SetMark(m string) { r.mark = m }

// Whole returns a pointer to a copy of the record, and whether it lasts.
func (r *Record) Whole() (v any, lasts bool) { return r.state.Copy(), r.lasts }

// Touch makes Take return the record even if it has not changed.
func (r *Record) Touch() { r.changed = true }

// Saved returns what lasts of each player, or of a room; nil if nothing does.
func (r *Rules) Saved(ofRoom bool) *Saved {
	for _, s := range r.saved {
		if s.OfRoom == ofRoom {
			return s
		}
	}
	return nil
}

// saved checks what lasts. There is one record of a player and one of a room, so that each is
// stored and read whole.
func (c *compiler) saved(all []*Saved) {
	for i, s := range all {
		if s == nil {
			c.fail("Saved[%d] was not made by package saved", i)
			continue
		}
		what := "players"
		if s.OfRoom {
			what = "rooms"
		}
		if c.r.Saved(s.OfRoom) != nil {
			c.fail("Saved lists two records of %s: put both into one struct", what)
		}
		if s.Type.Kind() != reflect.Struct {
			c.fail("the record of %s is a %v, not a struct", what, s.Type)
		} else {
			c.plain(what, s.Type, s.Type.Name())
		}
		c.r.saved = append(c.r.saved, s)
	}
}

// plain refuses what a copy would share with its original, and what is never stored.
func (c *compiler) plain(what string, t reflect.Type, path string) {
	switch t.Kind() {
	case reflect.Array:
		c.plain(what, t.Elem(), path+"[]")
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				c.fail("the record of %s: %s.%s is not exported, so it would not be stored", what, path, f.Name)
				continue
			}
			c.plain(what, f.Type, path+"."+f.Name)
		}
	case reflect.Pointer, reflect.Interface, reflect.Chan, reflect.Slice, reflect.Map, reflect.Func,
		reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		c.fail("the record of %s: %s is a %v; records are numbers, bools, texts, arrays and structs", what, path, t)
	}
}

// SetRoomRecord sets the record of the room, before the first tick.
func (e *Engine) SetRoomRecord(r *Record) { e.w.ofRoom = r }

// OfPlayer returns the record of a player for rules; in Join, 0 is who joins. It is nil in a client
// and for who has none.
func (w *World) OfPlayer(me ID) *Record {
	if me == 0 && w.phase == joining {
		return w.joiner
	}
	return w.records[me]
}

// OfRoom returns the record of the room for rules; nil in a client.
func (w *World) OfRoom() *Record { return w.ofRoom }

// Lend returns the state of a record to the callback that runs, which may write to it.
func (w *World) Lend(r *Record) RecordState {
	if !r.lent {
		r.lent = true
		w.lent = append(w.lent, r)
	}
	return r.state
}

// Lasts reports whether somebody stores the record.
func (r *Record) Lasts() bool { return r.lasts }

// settleRecords ends what the present callback did to records.
func (w *World) settleRecords(keep bool) {
	for _, r := range w.lent {
		r.lent = false
		if r.state.Settle(keep) {
			r.changed = true
		}
	}
	w.lent = w.lent[:0]
}
