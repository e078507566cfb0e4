package otlp

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestNew(t *testing.T) {
	for _, url := range []string{"", "collector:4318", "127.0.0.1:4318", "ftp://collector", "http://", "http://:4318",
		"http://c/?a=b"} {
		if _, err := New(Config{URL: url}); err == nil || !strings.Contains(err.Error(), "no address of a collector") {
			t.Errorf("%q: %v", url, err)
		}
	}
	for url, want := range map[string]string{"http://c:4318": "http://c:4318/v1/traces",
		"https://c/a/": "https://c/a/v1/traces"} {
		if e, err := New(Config{URL: url}); err != nil || e.traces != want {
			t.Errorf("%q: %+v, %v", url, e, err)
		}
	}
}

// A collector that is away makes one line in the log, and one when it is back.
func TestCollectorIsAway(t *testing.T) {
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not \xff now", status)
	}))
	defer server.Close()
	var log bytes.Buffer
	e, err := New(Config{URL: server.URL, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	none := prometheus.NewRegistry()
	for range 3 {
		e.export(t.Context(), none)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "503 Service Unavailable: not ? now") {
		t.Errorf("while it is away: %q", got)
	}
	log.Reset()
	status = http.StatusOK
	for range 3 {
		e.export(t.Context(), none)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "again") {
		t.Errorf("when it is back: %q", got)
	}
}
