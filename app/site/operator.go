package site

import (
	"fmt"
	"net/http"
	"net/http/pprof"

	"meanwhile/host/metrics"
)

// operator answers whoever runs the server, on an address of its own: it says more than players may
// know, and some of it costs much to make.
func (s *Site) operator() http.Handler {
	mux := http.NewServeMux()
	s.figures(mux)
	s.orders(mux)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return s.known(mux)
}

// figures adds /metrics and /receipts to mux.
func (s *Site) figures(mux *http.ServeMux) {
	mux.Handle("GET /metrics", metrics.Handler(s.host, s.gate, s.refused.Load))
	mux.HandleFunc("GET /receipts", s.receipts)
}
