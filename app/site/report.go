package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"meanwhile/app/internal/rerun"
	"meanwhile/host"
	"meanwhile/session"
	"meanwhile/transport"
)

const (
	// reportPath is where players report a moment, see docs/BRIDGE.md.
	reportPath = "/report"
	// reportTimeout bounds a report, in which a player's log is sent.
	reportTimeout = time.Minute
	// reportsAtOnce is how many are made and received at once, of players alone.
	reportsAtOnce = 4
	// reportTries is how many times one address may ask, and so many again in reportRefill.
	reportTries, reportRefill = 10, time.Minute
)

// What package host keeps free for a log has room for the longest one.
const _ = uint(host.MaxReportLog - rerun.MaxLog)

// errManyReports is why a report waits for others.
var errManyReports = errors.New("too many reports; try again in a minute")

// reports receives what players report.
type reports struct {
	rates *transport.Rates[netip.Addr]
	busy  chan struct{}
}

func newReports() *reports {
	return &reports{transport.NewRates[netip.Addr](reportTries, reportRefill), make(chan struct{}, reportsAtOnce)}
}

// answer answers POST /report of a player, whose body is one of its resume keys and the log of its
// page: it saves both the room's journal and the log in one folder, and says its name.
func (p *reports) answer(s *Site, w http.ResponseWriter, r *http.Request) {
	if !s.origins.Allow(r.Header.Get("Origin"), r.Host) {
		http.Error(w, "This page may not report here.", http.StatusForbidden)
		return
	}
	if from, counted := transport.Origin(r.RemoteAddr); counted && !p.rates.Take(from) {
		http.Error(w, sentence(errManyReports.Error()), http.StatusTooManyRequests)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(reportTimeout))
	name, log, err := p.save(s, r.URL.Query().Get("room"), http.MaxBytesReader(w, r.Body, session.KeySize+rerun.MaxLog))
	if err == nil {
		w.Header().Set("Content-Type", types[".json"])
		_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "log": log})
		return
	}
	status, text := http.StatusForbidden, sentence(strings.TrimPrefix(err.Error(), "host: "))
	switch {
	case errors.Is(err, host.ErrStranger):
	case errors.Is(err, host.ErrTooOften), errors.Is(err, errManyReports):
		status = http.StatusTooManyRequests
	case errors.Is(err, host.ErrNotRecorded), errors.Is(err, host.ErrNoRoom):
		status = http.StatusNotFound
	default: // it names files, which are not the player's business
		s.log.Error("a report could not be saved", "error", err)
		status, text = http.StatusInternalServerError, "The moment could not be saved."
	}
	http.Error(w, text, status)
}

// save saves a report, and returns its name and whether it has a log.
func (p *reports) save(s *Site, room string, body io.Reader) (name string, log bool, err error) {
	var key [session.KeySize]byte
	if _, err := io.ReadFull(body, key[:]); err != nil {
		return "", false, host.ErrStranger
	}
	if name, log, err = p.keep(s, room, key, body); err != nil && !errors.Is(err, host.ErrStranger) {
		_, _ = io.Copy(io.Discard, body) // browsers read no answer before all is sent
	}
	return name, log, err
}

// keep is save once the key is known. It has a place among reportsAtOnce for no longer than it
// takes: whoever sends slowly what nobody keeps holds up no other.
func (p *reports) keep(
	s *Site, room string, key [session.KeySize]byte, body io.Reader,
) (name string, log bool, err error) {
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	default:
		return "", false, errManyReports
	}
	dir, by, err := s.host.Report(room, key)
	if err != nil {
		return "", false, err
	}
	name = filepath.Base(dir)
	path := filepath.Join(dir, host.ReportLog)
	n, err := receive(path, body)
	if err != nil || n == 0 {
		_ = os.Remove(path)
	}
	if err != nil {
		s.log.Warn("the page's log of a report did not arrive", "room", room, "player", by, "error", err)
	}
	s.log.Warn("a player reported a moment", "room", room, "player", by, "file", dir, "bytes", n)
	return name, err == nil && n > 0, nil
}

// receive writes what it reads to a new file.
func receive(path string, from io.Reader) (n int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("site: a report: %w", err)
	}
	n, err = io.Copy(f, from)
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		err = fmt.Errorf("site: the log of a report is longer than %d bytes", rerun.MaxLog)
	}
	return n, errors.Join(err, f.Close())
}
