package site

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
)

// A page of whoever writes the game has one script more, which asks what the program that serves it
// is doing. It is put into pages under "dev" (package app/dev), and by servers for this machine
// alone. The line before it keeps what goes wrong earlier: a page that cannot be read stays empty.
const (
	devStatusPath = "/meanwhile/dev/status"
	devScript     = "\n<script>addEventListener(\"error\", e => (window.meanwhileWrong ??= []).push(e), true)</script>" +
		"\n<script type=\"module\" src=\"/meanwhile/dev/dev.js\"></script>\n"
)

// A Dev is what a program has that "dev" runs.
type Dev struct {
	// Dir has DevStatusFile.
	Dir string
	// Orders is what "dev" says: at its first line the rooms are written to the disk, since the
	// next build is to go on with them, and Exit is called. If it ends without one, End is called.
	Orders io.Reader
	// End ends the site; Exit ends the program at once, without a goodbye to anybody.
	End, Exit func()
}

// DevStatusFile has the DevStatus that pages are shown.
const DevStatusFile = "status.json"

// A DevStatus is what a page is shown.
type DevStatus struct {
	Dev   bool   `json:"dev"`   // the program runs under "dev"
	Build int    `json:"build"` // of the program; a page that knows another one is loaded again
	Page  int    `json:"page"`  // of the page's files; the same
	State string `json:"state"` // what is happening, "" if nothing is
	Error string `json:"error"` // why the newest source is not what runs
	Note  string `json:"note"`  // what the newest build has changed
	Fault string `json:"fault"` // what the rules did wrong last
}

// openDevelop decides whether the site is for whoever writes the game. It runs before the host is
// made.
func (s *Site) openDevelop() {
	s.develop = s.cfg.Dev != nil || s.cfg.Develop && s.cfg.forThisMachine()
	s.cfg.Host.Develop, s.cfg.Host.AnyBuild = s.develop, s.cfg.Dev != nil
}

// forThisMachine reports whether the addresses of a site are those of this machine alone.
func (cfg *Config) forThisMachine() bool {
	ap, err := netip.ParseAddrPort(cfg.Addr)
	return err == nil && ap.Addr().IsLoopback() && cfg.Door.PublicAddr == "" && len(cfg.Door.TrustProxy) == 0
}

// obey follows the orders of "dev".
func (s *Site) obey(d *Dev) {
	if !bufio.NewScanner(d.Orders).Scan() {
		d.End()
		return
	}
	if err := s.host.Checkpoint(); err != nil {
		s.log.Error("the rooms could not be kept as they are", "error", err)
	}
	d.Exit()
}

// devStatus answers what the page's script asks.
func (s *Site) devStatus(w http.ResponseWriter, _ *http.Request) {
	var status DevStatus
	if d := s.cfg.Dev; d != nil {
		b, err := os.ReadFile(filepath.Join(d.Dir, DevStatusFile))
		if err == nil {
			err = json.Unmarshal(b, &status)
		}
		if err != nil {
			http.Error(w, "dev has not said anything", http.StatusNotFound)
			return
		}
		status.Dev = true
	}
	status.Fault = s.host.Fault()
	w.Header().Set("Content-Type", types[".json"])
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(&status)
}
