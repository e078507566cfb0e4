// Package otlp sends the figures of a host, and spans of what took long, to an OpenTelemetry
// collector: OTLP over HTTP, as protobuf. It stands apart so that a program that hosts games
// without it links nothing of it.
package otlp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"meanwhile/host"
)

const (
	// exportEvery is from one export to the next.
	exportEvery = 10 * time.Second
	// maxSpans is how many spans wait for the next export. Further ones are dropped and counted.
	maxSpans = 1024
	// exportTimeout bounds one request.
	exportTimeout = 5 * time.Second
	// maxAnswer is how many bytes are read of a collector's answer.
	maxAnswer = 4 << 10
)

// Config describes an Exporter. URL must be set.
type Config struct {
	// URL is that of the collector, such as http://127.0.0.1:4318. Metrics go to /v1/metrics below
	// it, spans to /v1/traces.
	URL string
	// Service and Version say what is watched: the game, and the build of its program. Empty ones
	// are left out. A random service.instance.id tells several servers of a service apart.
	Service, Version string
	// Log gets a line when exports begin to fail, and when they work again. Nil discards it.
	Log *slog.Logger
}

// An Exporter sends figures and spans. Run sends them; Span is for host.Config.Spans.
type Exporter struct {
	cfg      Config
	metrics  string // addresses
	traces   string
	resource []byte // as protobuf
	began    time.Time
	client   http.Client
	spans    chan host.Span
	dropped  atomic.Uint64
	failing  bool
	buf      []byte
}

// New returns an Exporter. It fails on a URL that is not one of http or https with a host.
func New(cfg Config) (*Exporter, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" {
		return nil, fmt.Errorf("otlp: %q is no address of a collector, such as http://127.0.0.1:4318", cfg.URL)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	base := strings.TrimSuffix(cfg.URL, "/")
	e := &Exporter{cfg: cfg, metrics: base + "/v1/metrics", traces: base + "/v1/traces", began: time.Now(),
		client: http.Client{Timeout: exportTimeout}, spans: make(chan host.Span, maxSpans)}
	for _, a := range [...][2]string{{"service.name", cfg.Service}, {"service.version", cfg.Version},
		{"service.instance.id", rand.Text()}} {
		if a[1] != "" {
			e.resource = appendText(e.resource, resourceAttributes, a[0], a[1])
		}
	}
	return e, nil
}

// Span queues a span for the next export, or drops it. It never blocks. Strangers cause admissions,
// which leave half of the queue to others.
func (e *Exporter) Span(s host.Span) {
	if s.Name == host.SpanAdmission && len(e.spans) >= maxSpans/2 {
		e.dropped.Add(1)
		return
	}
	select {
	case e.spans <- s:
	default:
		e.dropped.Add(1)
	}
}

// Run exports figures, such as those of metrics.Registry, and spans until ctx ends, and then once
// more. It is called once.
func (e *Exporter) Run(ctx context.Context, figures prometheus.Gatherer) {
	ticker := time.NewTicker(exportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.export(ctx, figures)
		case <-ctx.Done():
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), exportTimeout)
			defer stop()
			e.export(last, figures)
			return
		}
	}
}

// export sends all that there is, and says in the log when that begins to fail or works again. What
// a collector does not accept is not sent again: figures go on, and spans are samples.
func (e *Exporter) export(ctx context.Context, figures prometheus.Gatherer) {
	err := e.exportMetrics(ctx, figures)
	if failed := e.exportSpans(ctx); err == nil {
		err = failed
	}
	if ctx.Err() != nil || (err != nil) == e.failing {
		return
	}
	if e.failing = err != nil; e.failing {
		e.cfg.Log.Warn("figures do not reach the collector; the next try follows", "error", err)
	} else {
		e.cfg.Log.Info("figures reach the collector again", "spans_dropped", e.dropped.Load())
	}
}

func (e *Exporter) exportMetrics(ctx context.Context, figures prometheus.Gatherer) error {
	families, err := figures.Gather()
	if err != nil {
		return err
	}
	e.buf = appendMetrics(e.buf[:0], e.resource, families, e.began, time.Now())
	return e.post(ctx, e.metrics)
}

func (e *Exporter) exportSpans(ctx context.Context) error {
	n := len(e.spans)
	if n == 0 {
		return nil
	}
	spans := make([]host.Span, n)
	for i := range spans {
		spans[i] = <-e.spans
	}
	e.buf = appendSpans(e.buf[:0], e.resource, spans)
	return e.post(ctx, e.traces)
}

// post sends what is in buf.
func (e *Exporter) post(ctx context.Context, to string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(e.buf))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	answer, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode/100 != 2 {
		return errors.New("otlp: the collector answers " + answer.Status + ": " + strings.ToValidUTF8(string(said), "?"))
	}
	return nil
}
