package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"meanwhile/internal/engine"
	"meanwhile/netcode/clock"
)

// A mark says which save a stored record is of, so that a world that is restored after a crash does
// not replace a newer record by its own.
type mark struct {
	loads uint64     // how many times it had been loaded and then saved
	world uint64     // that saved it, see journal.Header
	tick  clock.Tick // of that world
}

// markField is the field of a stored record that has its mark. No field of a struct has this name.
const markField = "~saved"

func (m mark) String() string {
	if m == (mark{}) {
		return ""
	}
	return fmt.Sprintf("%d.%x.%d", m.loads, m.world, m.tick)
}

// parseMark returns the mark that a text has, the zero mark if it has none.
func parseMark(text string) (m mark) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return m
	}
	loads, err1 := strconv.ParseUint(parts[0], 10, 64)
	world, err2 := strconv.ParseUint(parts[1], 16, 64)
	tick, err3 := strconv.ParseUint(parts[2], 10, 32)
	if err1 != nil || err2 != nil || err3 != nil {
		return m
	}
	return mark{loads, world, clock.Tick(tick)}
}

// markOf returns the mark of a record as it is stored.
func markOf(stored []byte) mark {
	var field struct {
		Saved string `json:"~saved"`
	}
	if json.Unmarshal(stored, &field) != nil { // no object, so it has none
		return mark{}
	}
	return parseMark(field.Saved)
}

// newer reports whether a record that is stored with mark m is newer than the one that a world has
// at a tick. base is the mark with which the world loaded its own.
func (m mark) newer(base mark, world uint64, tick clock.Tick) bool {
	switch {
	case m.loads == base.loads+1 && m.world == world:
		return m.tick > tick
	case m.loads == base.loads && m.world == base.world:
		return m.tick > base.tick
	case m.loads < base.loads:
		return false // what base names was never stored
	}
	return true // somebody else has loaded and saved it since
}

// A marked is a copy of a record and its mark. As JSON it is the record with one field more.
type marked struct {
	v    any
	mark mark
}

func (m marked) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(m.v)
	body, isObject := bytes.CutSuffix(b, []byte("}"))
	if err != nil || !isObject {
		return b, err
	}
	body = bytes.Clone(body)
	if len(body) > 1 {
		body = append(body, ',')
	}
	return fmt.Appendf(body, `"%s":"%s"}`, markField, m.mark), nil
}

// take returns a copy of a record for the store if it has changed since the last call, else nil.
func (r *room) take(rec *engine.Record) any {
	v := rec.Take()
	if v == nil {
		return nil
	}
	return marked{v, mark{parseMark(rec.Mark()).loads + 1, r.world, r.srv.Tick()}}
}

// fill makes a record what was stored, which may be nothing.
func fill(rec *engine.Record, stored []byte) error {
	rec.SetMark("")
	if stored != nil {
		rec.SetMark(markOf(stored).String())
	}
	return rec.Fill(func(into any) error {
		reflect.ValueOf(into).Elem().SetZero()
		if stored == nil {
			return nil
		}
		return json.Unmarshal(stored, into)
	})
}
