package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"meanwhile/app/internal/rerun"
	"meanwhile/headless"
	"meanwhile/host"
	"meanwhile/session"
	"meanwhile/transport"
	"meanwhile/transport/websocket"
)

// Who has a session's key may report, from pages that may play here, with a log of bounded size;
// nobody else gets the server to write anything.
func TestReportRequests(t *testing.T) {
	state := t.TempDir()
	s := serve(t, Config{Door: Door{State: state, KeepRooms: true}, Host: host.Config{Rules: rules(t)}}, fake(t))
	key := join(t, s)
	report := func(origin, room string, body []byte) (int, string) {
		r, err := http.NewRequest(http.MethodPost, s.URL()+"report?room="+room, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(b)
	}
	all := filepath.Join(state, "journal", "reports")
	wrong := bytes.Repeat([]byte{7}, session.KeySize)
	for _, c := range []struct {
		origin, room string
		body         []byte
		status       int
		text         string
	}{
		{"https://evil.example", "lobby", key, http.StatusForbidden, "This page may not report here."},
		{"", "lobby", nil, http.StatusForbidden, "Nobody in this room reports with this key."},
		{"", "lobby", key[1:], http.StatusForbidden, "Nobody in this room"},
		{"", "lobby", wrong, http.StatusForbidden, "Nobody in this room"},
		{"", "elsewhere", key, http.StatusNotFound, "There is no such room"},
	} {
		if status, text := report(c.origin, c.room, c.body); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("from %q for %s with %d bytes: %d %s", c.origin, c.room, len(c.body), status, text)
		}
	}
	if list, _ := os.ReadDir(all); len(list) != 0 {
		t.Errorf("%d reports by nobody", len(list))
	}
	if err := os.WriteFile(all, nil, 0o600); err != nil { // a disk that refuses
		t.Fatal(err)
	}
	if status, text := report("", "lobby", join(t, s)); status != 500 || text != "The moment could not be saved.\n" {
		t.Errorf("where nothing can be written: %d %s", status, text)
	}
	if err := os.Remove(all); err != nil {
		t.Fatal(err)
	}
	log := []byte("what a page kept")
	status, text := report("", "lobby", append(bytes.Clone(key), log...))
	var saved struct {
		Name string
		Log  bool
	}
	if err := json.Unmarshal([]byte(text), &saved); status != http.StatusOK || err != nil || !saved.Log {
		t.Fatalf("%d %s", status, text)
	}
	if b, err := os.ReadFile(filepath.Join(all, saved.Name, host.ReportLog)); err != nil || !bytes.Equal(b, log) {
		t.Errorf("%q was saved: %v", b, err)
	}
	status, text = report("", "lobby", key)
	if status != http.StatusTooManyRequests || !strings.Contains(text, "too often") {
		t.Errorf("at once again: %d %s", status, text)
	}
	// Another player, who sends too much, and then a third who has no log.
	large := append(bytes.Clone(join(t, s)), make([]byte, rerun.MaxLog+1)...)
	if status, text := report("", "lobby", large); status != http.StatusOK || !strings.Contains(text, `"log":false`) {
		t.Errorf("a log that is too large: %d %s", status, text)
	}
	if status, text := report("", "lobby", join(t, s)); status != http.StatusOK || !strings.Contains(text, `"log":false`) {
		t.Errorf("no log: %d %s", status, text)
	}
	if logs, _ := filepath.Glob(filepath.Join(all, "*", host.ReportLog)); len(logs) != 1 {
		t.Errorf("logs: %q", logs)
	}
}

// A slow body sends a key and then nothing.
type slowBody struct {
	key    io.Reader
	silent chan<- struct{} // gets a value when all of the key was read
	end    <-chan struct{}
}

func (b *slowBody) Read(into []byte) (int, error) {
	n, err := b.key.Read(into)
	if err == io.EOF {
		b.silent <- struct{}{}
		<-b.end
	}
	return n, err
}

// Strangers who send slowly take no player's place.
func TestSlowReports(t *testing.T) {
	s := serve(t, Config{Door: Door{State: t.TempDir(), KeepRooms: true}, Host: host.Config{Rules: rules(t)}}, fake(t))
	key := join(t, s)
	p := newReports()
	report := func(room string, body io.Reader) int {
		w := httptest.NewRecorder()
		p.answer(s, w, httptest.NewRequest(http.MethodPost, "/report?room="+room, body))
		return w.Code
	}
	silent, end := make(chan struct{}), make(chan struct{})
	var strangers sync.WaitGroup
	defer strangers.Wait()
	defer close(end)
	for range reportsAtOnce {
		strangers.Go(func() {
			if status := report("elsewhere", &slowBody{bytes.NewReader(key), silent, end}); status != http.StatusNotFound {
				t.Errorf("status %d", status)
			}
		})
		<-silent
	}
	if status := report("lobby", bytes.NewReader(key)); status != http.StatusOK {
		t.Errorf("a player beside slow strangers: %d", status)
	}
}

func dial(t *testing.T, s *Site) transport.Conn {
	t.Helper()
	url := "ws" + strings.TrimPrefix(s.URL(), "http") + strings.TrimPrefix(transport.Path, "/")
	conn, err := websocket.Dial(t.Context(), url, websocket.DialConfig{Clock: s.host.Clock()})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// join joins a site as a player, and returns its session's key.
func join(t *testing.T, s *Site) []byte {
	t.Helper()
	conn := dial(t, s)
	t.Cleanup(func() { conn.Close(session.Goodbye) })
	hello, err := session.Hello{Schema: s.cfg.Host.Rules.Hash, Name: "ann"}.Append(nil)
	if err == nil {
		err = conn.SendMessage(hello)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := conn.ReceiveMessage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := session.DecodeWelcome(b)
	if err != nil {
		t.Fatal(err)
	}
	return w.Resume[:]
}

// A server that records nothing says so.
func TestReportWithoutJournals(t *testing.T) {
	s := serve(t, Config{Host: host.Config{Rules: rules(t)}}, fake(t))
	answer, err := http.Post(s.URL()+"report?room=lobby", "", bytes.NewReader(join(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusNotFound || !strings.Contains(string(b), "does not record its rooms") {
		t.Errorf("%d %s", answer.StatusCode, b)
	}
}

// A player without a page reports, too: what the room recorded is saved.
func TestPlayerReports(t *testing.T) {
	state := t.TempDir()
	s := serve(t, Config{Door: Door{State: state, KeepRooms: true}, Host: host.Config{Rules: rules(t)}}, fake(t))
	conn := dial(t, s)
	ann, err := headless.Join(t.Context(), conn, headless.Config{Rules: s.cfg.Host.Rules, Clock: s.host.Clock()})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(session.Goodbye)
	name, err := ann.Report(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	journals, _ := filepath.Glob(filepath.Join(state, "journal", "reports", name, "*"+host.JournalSuffix))
	if len(journals) != 1 {
		t.Errorf("report %q has the journals %q", name, journals)
	}
	if _, err := ann.Report(t.Context(), s.URL()); err == nil || !strings.Contains(err.Error(), "too often") {
		t.Error(err)
	}
}

// The log of the server says how long the log of a page may be.
func TestLongReport(t *testing.T) {
	body := http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("too long")), 4)
	_, err := receive(filepath.Join(t.TempDir(), host.ReportLog), body)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("longer than ", rerun.MaxLog)) {
		t.Error(err)
	}
}
