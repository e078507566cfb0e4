//go:build !js

package engine

import (
	"errors"
	"slices"

	"meanwhile/internal/fault"
)

// A declared handle is a *Kind, *Message or *Saved that is the value of a package variable.
type declared struct {
	handle any
	line   string // where it was made
	listed bool   // in a Definition that is the value of a package variable
}

// handles has all of them. It is written only while packages are initialised, which one goroutine
// does.
var handles []declared

// Made notes a new handle.
func Made(handle any) {
	if line := fault.Variable("internal/engine", "game", "game/saved"); line != "" {
		handles = append(handles, declared{handle: handle, line: line})
	}
}

// Listed notes that a Definition lists a handle.
func Listed(handle any) {
	if i := find(handle); i >= 0 && fault.Variable("internal/engine", "game", "game/saved") != "" {
		handles[i].listed = true
	}
}

// handles returns what the Definition of r lists.
func (r *Rules) handles() (all []any) {
	for _, k := range slices.Concat(r.kinds, r.events) {
		all = append(all, k)
	}
	for _, m := range r.messages {
		all = append(all, m.Message)
	}
	for _, s := range r.saved {
		all = append(all, s)
	}
	return all
}

func find(handle any) int {
	return slices.IndexFunc(handles, func(d declared) bool { return d.handle == handle })
}

// Unlisted returns an error about handles in package variables that no game of the program lists:
// rules that use one fail, or lose what they write to it. It knows nothing, and returns nil, where
// a function listed something of r: it may have listed others, too.
func (r *Rules) Unlisted() error {
	for _, h := range r.handles() {
		if i := find(h); i < 0 || !handles[i].listed {
			return nil
		}
	}
	var errs []error
	for _, d := range handles {
		if d.listed {
			continue
		}
		var what, list string
		switch h := d.handle.(type) {
		case *Kind:
			what, list = fault.Sprintf("event %q (%v)", h.Name, h.Type), "Events"
			if h.New != nil {
				what, list = fault.Sprintf("kind %q (%v)", h.Name, h.Type), "Kinds"
			}
		case *Message:
			what, list = fault.Sprintf("message %q (%v)", h.Name, h.Type), "Messages"
		case *Saved:
			what, list = fault.Sprintf("record %v", h.Type), "Saved"
		}
		errs = append(errs, fault.Errorf("%s, made at %s, is not listed: add it to %s, or take it out", what, d.line, list))
	}
	if len(errs) == 0 {
		return nil
	}
	return fault.Errorf("game: %s: %w", r.Name, errors.Join(errs...))
}
