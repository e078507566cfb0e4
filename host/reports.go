package host

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"meanwhile/server"
	"meanwhile/session"
	"meanwhile/transport"
)

const (
	// ReportLog is the name of a player's own log in the folder of a report, beside the room's
	// journal.
	ReportLog = "player.log"

	reportsDir = "reports"
	// reportFrom has in each report the address that reported, as far as one can be known.
	reportFrom = "from"
	// keptReports is how many reports of players there are at most, see makePlace.
	keptReports = 20
	// MaxReportLog is how many bytes are kept free for a ReportLog.
	MaxReportLog = 17 << 20
	// reportSpacing is the least time between two reports of a player.
	reportSpacing = 10 * time.Second
	// reportsAtOnce is how many reports all players together may make at once, and so many again in
	// reportsRefill: each copies the journal of a room.
	reportsAtOnce, reportsRefill = 6, time.Minute
)

// Errors of Report, as sentences for the player.
var (
	ErrNotRecorded = errors.New("host: this server does not record its rooms, so it keeps no reports")
	ErrStranger    = errors.New("host: nobody in this room reports with this key")
	ErrTooOften    = errors.New("host: moments are reported too often; try again in a few seconds")
)

// newReports returns the rate of all reports.
func newReports() *transport.Rates[struct{}] {
	return transport.NewRates[struct{}](reportsAtOnce, reportsRefill)
}

// Report saves what was recorded of the last minutes of a room, as Save does, because a player who
// has one of its resume keys reports the moment. It returns the folder that it made, which has the
// journal, and to which the caller may add ReportLog; and who the player is.
func (h *Host) Report(room string, key [session.KeySize]byte) (dir string, by server.PlayerID, err error) {
	if h.cfg.Journal == "" {
		return "", 0, ErrNotRecorded
	}
	h.mu.Lock()
	r := h.rooms[room]
	h.mu.Unlock()
	if r == nil {
		return "", 0, fmt.Errorf("%w: %q", ErrNoRoom, room)
	}
	saved := make(chan savedFile, 1)
	var p *player
	ran := r.call(func() {
		if p, err = r.reporter(key); err == nil {
			address := "" // not known
			if p.address.IsValid() {
				address = p.address.String()
			}
			done := func(dir string, err error) { saved <- savedFile{dir, err} }
			err = r.saveTo(func(a *archive) { done(a.report(p.id, address)) }, done)
		}
	})
	switch {
	case !ran:
		return "", 0, fmt.Errorf("%w: %q", ErrNoRoom, room)
	case err != nil:
		return "", 0, err
	}
	dir, err = awaitFile(saved)
	return dir, p.id, err
}

// reporter returns the player who may report now with a resume key.
func (r *room) reporter(key [session.KeySize]byte) (*player, error) {
	i := slices.IndexFunc(r.order, func(p *player) bool {
		return slices.ContainsFunc(p.back.keys, func(k issuedKey) bool { // bots have none
			return subtle.ConstantTimeCompare(k.key[:], key[:]) == 1
		})
	})
	if i < 0 {
		return nil, ErrStranger
	}
	p, now := r.order[i], r.h.clock()
	if p.reported != 0 && now.Sub(p.reported) < reportSpacing || !r.h.reports.Take(struct{}{}) {
		return nil, ErrTooOften
	}
	p.reported = max(now, 1)
	return p, nil
}

// report copies the newest segments into a folder of its own, and returns its name. It runs in the
// goroutine.
func (a *archive) report(by server.PlayerID, address string) (string, error) {
	segments, bytes, err := a.newest()
	if err != nil {
		return "", err
	}
	all := filepath.Join(a.root, reportsDir)
	makePlace(all, "", keptReports, address, bytes+MaxReportLog, func(dir string) string {
		b, _ := os.ReadFile(filepath.Join(dir, reportFrom))
		return string(b)
	})
	dir := filepath.Join(all, fmt.Sprintf("%s-%s-p%d", a.name, time.Now().UTC().Format(savedAt), by))
	err = a.copyTo(filepath.Join(dir, "room"+JournalSuffix), segments)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, reportFrom), []byte(address), 0o600)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}
