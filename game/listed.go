//go:build !js

package game

import "meanwhile/internal/engine"

// listKinds notes that a Definition lists kinds, so that a handle that none lists can be named
// before rules use it. listEvents and listMessages are the same for these.
func listKinds(all []anyKind) {
	for _, k := range all {
		if k != nil {
			engine.Listed(k.kind())
		}
	}
}

func listEvents(all []anyEvent) {
	for _, e := range all {
		if e != nil {
			engine.Listed(e.event())
		}
	}
}

func listMessages(all []anyMessage) {
	for _, m := range all {
		if m != nil {
			engine.Listed(m.handled().Message)
		}
	}
}
