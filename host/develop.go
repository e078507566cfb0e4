package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"meanwhile/netcode/wire"
)

// maxFaultText bounds what players read of a fault of the rules, in bytes.
const maxFaultText = 240

// faultText is the first line of an error of the rules.
func faultText(err error) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "game: "), "\n")
	return wire.CutText(first, maxFaultText)
}

// noteFault keeps the newest fault of the rules for Fault.
func (h *Host) noteFault(err error) {
	if h.cfg.Develop {
		text := faultText(err)
		h.fault.Store(&text)
	}
}

// Fault returns the first line of what the rules did wrong last, where Config.Develop is set; ""
// means nothing so far.
func (h *Host) Fault() string {
	if text := h.fault.Load(); text != nil {
		return *text
	}
	return ""
}

// Checkpoint writes all rooms of Config.Journal to the disk as they are now, for a program that
// then ends at once, without a goodbye to anybody, and goes on with them when it is started again.
// It waits for the disk, and fails if some rooms would not go on with this moment.
func (h *Host) Checkpoint() error {
	h.mu.Lock()
	rooms := slices.Collect(maps.Values(h.rooms))
	h.mu.Unlock()
	var errs []error
	for _, r := range rooms {
		if r.archive == nil {
			continue
		}
		written := make(chan savedFile, 1)
		asked := r.call(func() {
			err := r.srv.Checkpoint()
			if err == nil {
				err = r.saveTo(func(a *archive) {
					var err error
					if a.broken.Load() {
						err = errSlowDisk
					}
					written <- savedFile{err: err}
				}, func(_ string, err error) { written <- savedFile{err: err} })
			}
			if err != nil {
				written <- savedFile{err: err}
			}
		})
		if !asked {
			continue // it has ended
		}
		if _, err := awaitFile(written); err != nil {
			errs = append(errs, fmt.Errorf("room %s: %w", r.name, err))
		}
	}
	return errors.Join(errs...)
}
