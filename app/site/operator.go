package site

import (
	"context"
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"

	"meanwhile/host"
	"meanwhile/host/metrics"
	"meanwhile/host/otlp"
)

// operator answers whoever runs the server, on an address of its own: it says more than players may
// know, and some of it costs much to make.
func (s *Site) operator() http.Handler {
	mux := http.NewServeMux()
	s.figures(mux)
	s.orders(mux)
	mux.HandleFunc("GET /healthz", s.healthy)
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return s.known(mux)
}

// healthy answers whoever watches the server: 503 once it drains, so that nobody sends it players.
func (s *Site) healthy(w http.ResponseWriter, _ *http.Request) {
	if state := s.host.State(); state == "draining" || state == "ended" {
		http.Error(w, state, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// ready answers whether players can come now: not before the host runs.
func (s *Site) ready(w http.ResponseWriter, _ *http.Request) {
	state := s.host.State()
	if state != "ready" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, state)
}

// openExporter makes what sends figures to the collector of --otlp, if there is one.
func (s *Site) openExporter() (err error) {
	if s.cfg.Door.OTLP == "" || s.cfg.Host.Rules == nil { // without rules there is no host either
		return nil
	}
	if s.exporter, err = otlp.New(otlp.Config{URL: s.cfg.Door.OTLP, Service: s.cfg.Host.Rules.Name,
		Version: host.Build(), Log: s.log}); err != nil {
		return fmt.Errorf("--otlp: %s", strings.TrimPrefix(err.Error(), "otlp: "))
	}
	s.cfg.Host.Spans = s.exporter.Span
	return nil
}

// exportFigures sends figures to the collector until the function that it returns is called, which
// sends the last ones.
func (s *Site) exportFigures() (end func()) {
	if s.exporter == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.exporter.Run(ctx, metrics.Registry(s.sources()))
	}()
	return func() {
		stop()
		<-done
	}
}

// sources are those of the figures.
func (s *Site) sources() metrics.Sources {
	from := metrics.Sources{Host: s.host, Gate: s.gate, Refused: s.refused.Load}
	if l := s.login; l != nil {
		from.Tokens = func() (issued, refused, tooMany uint64) {
			return l.issued.Load(), l.refused.Load(), l.tooMany.Load()
		}
	}
	if s.udp != nil {
		from.Garbage = func() uint64 { return s.udp.Counts().Garbage }
	}
	return from
}

// figures adds /metrics, /rooms and /receipts to mux.
func (s *Site) figures(mux *http.ServeMux) {
	mux.Handle("GET /metrics", metrics.Handler(s.sources()))
	mux.HandleFunc("GET /rooms", s.rooms)
	mux.HandleFunc("GET /receipts", s.receipts)
}
