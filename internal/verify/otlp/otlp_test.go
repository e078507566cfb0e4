// Package otlp_test reads what host/otlp sends with the code that is generated from
// OpenTelemetry's own .proto files. It stands here so that no game that imports Meanwhile needs the
// module.
package otlp_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"meanwhile/host"
	"meanwhile/host/otlp"
)

// A collector keeps what it gets. MetricsData and TracesData are the same bytes as the requests of
// the services.
type collector struct {
	t       *testing.T
	metrics []*metrics.MetricsData
	traces  []*trace.TracesData
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s %s, %v: %v", r.Method, r.URL, r.Header, err)
	}
	into := proto.Message(new(metrics.MetricsData))
	if r.URL.Path == "/base/v1/traces" {
		into = new(trace.TracesData)
	} else if r.URL.Path != "/base/v1/metrics" {
		c.t.Errorf("somebody asks for %s", r.URL)
	}
	if err := (proto.UnmarshalOptions{}).Unmarshal(b, into); err != nil {
		c.t.Errorf("%s: %v", r.URL.Path, err)
	}
	if n := len(into.ProtoReflect().GetUnknown()); n > 0 {
		c.t.Errorf("%s: %d bytes of fields that OpenTelemetry does not have", r.URL.Path, n)
	}
	switch into := into.(type) {
	case *metrics.MetricsData:
		c.metrics = append(c.metrics, into)
	case *trace.TracesData:
		c.traces = append(c.traces, into)
	}
}

// words writes attributes as text.
func words(attributes []*common.KeyValue) string {
	var list []string
	for _, a := range attributes {
		v := a.Value.GetStringValue()
		if n, ok := a.Value.Value.(*common.AnyValue_IntValue); ok {
			v = fmt.Sprint(n.IntValue)
		}
		list = append(list, a.Key+"="+v)
	}
	return strings.Join(list, " ")
}

// points writes the data points of a metric as text, without their times.
func points(m *metrics.Metric) (text string, times []uint64) {
	add := func(start, at uint64, format string, args ...any) {
		text += fmt.Sprintf(format, args...) + "\n"
		times = append(times, start, at)
	}
	switch d := m.Data.(type) {
	case *metrics.Metric_Gauge:
		for _, p := range d.Gauge.DataPoints {
			add(p.StartTimeUnixNano, p.TimeUnixNano, "gauge [%s] %v", words(p.Attributes), p.GetAsDouble())
		}
	case *metrics.Metric_Sum:
		for _, p := range d.Sum.DataPoints {
			add(p.StartTimeUnixNano, p.TimeUnixNano, "sum %v %v [%s] %v", d.Sum.AggregationTemporality, d.Sum.IsMonotonic,
				words(p.Attributes), p.GetAsDouble())
		}
	case *metrics.Metric_Histogram:
		for _, p := range d.Histogram.DataPoints {
			add(p.StartTimeUnixNano, p.TimeUnixNano, "histogram %v [%s] %d %v %v %v", d.Histogram.AggregationTemporality,
				words(p.Attributes), p.Count, p.GetSum(), p.BucketCounts, p.ExplicitBounds)
		}
	case *metrics.Metric_Summary:
		for _, p := range d.Summary.DataPoints {
			text := ""
			for _, q := range p.QuantileValues {
				text += fmt.Sprintf(" %v:%v", q.Quantile, q.Value)
			}
			add(p.StartTimeUnixNano, p.TimeUnixNano, "summary [%s] %d %v%s", words(p.Attributes), p.Count, p.Sum, text)
		}
	default:
		text = "nothing"
	}
	return m.Unit + " " + m.Description + "\n" + text, times
}

// figures are metrics of each sort.
func figures() *prometheus.Registry {
	r := prometheus.NewRegistry()
	rooms := prometheus.NewGauge(prometheus.GaugeOpts{Name: "rooms", Help: "Open rooms."})
	sent := prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "sent_bytes_total", Help: "Sent."},
		[]string{"path", "what"},
	)
	delay := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "delay_seconds", Help: "Delay.",
		Buckets: []float64{0.25, 0.5}})
	pause := prometheus.NewSummary(prometheus.SummaryOpts{Name: "pause_seconds", Help: "Pause.",
		Objectives: map[float64]float64{0.5: 0}})
	r.MustRegister(rooms, sent, delay, pause)
	rooms.Set(2.5)
	sent.WithLabelValues("near", "sent").Add(70)
	sent.WithLabelValues("far", "lost").Add(3)
	for _, v := range []float64{0.125, 0.25, 0.375, 4} {
		delay.Observe(v)
	}
	pause.Observe(0.5)
	return r
}

func TestExporter(t *testing.T) {
	c := &collector{t: t}
	server := httptest.NewServer(c)
	defer server.Close()
	before := uint64(time.Now().UnixNano())
	e, err := otlp.New(otlp.Config{URL: server.URL + "/base/", Service: "arena", Version: "7"})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Unix(1000, 5)
	e.Span(host.Span{Name: host.SpanTick, Begin: begin, Took: 40 * time.Millisecond, Attrs: []slog.Attr{
		slog.String("room", "a\xff"), slog.Int("tick", -3), slog.Uint64("account", 9), slog.Duration("period", time.Second)}})
	e.Span(host.Span{Name: host.SpanSave, Begin: begin, Err: errors.New("disk full")})
	ended, end := context.WithCancel(t.Context())
	end() // so it exports once
	e.Run(ended, figures())
	if len(c.metrics) != 1 || len(c.traces) != 1 {
		t.Fatalf("%d requests with metrics and %d with spans, want 1 each", len(c.metrics), len(c.traces))
	}
	const who = "service.name=arena service.version=7 service.instance.id="
	of := c.metrics[0].ResourceMetrics[0]
	if got := words(of.Resource.Attributes); !strings.HasPrefix(got, who) || len(got) == len(who) ||
		of.ScopeMetrics[0].Scope.Name != "meanwhile" {
		t.Errorf("metrics are of %q, %q, want %q", got, of.ScopeMetrics[0].Scope.Name, who)
	}
	want := map[string]string{
		"rooms": "1 Open rooms.\ngauge [] 2.5\n",
		"sent_bytes_total": "By Sent.\nsum AGGREGATION_TEMPORALITY_CUMULATIVE true [path=far what=lost] 3\n" +
			"sum AGGREGATION_TEMPORALITY_CUMULATIVE true [path=near what=sent] 70\n",
		"delay_seconds": "s Delay.\nhistogram AGGREGATION_TEMPORALITY_CUMULATIVE [] 4 4.75 [2 1 1] [0.25 0.5]\n",
		"pause_seconds": "s Pause.\nsummary [] 1 0.5 0.5:0.5\n",
	}
	for _, m := range of.ScopeMetrics[0].Metrics {
		text, times := points(m)
		if text != want[m.Name] {
			t.Errorf("%s is\n%s, want\n%s", m.Name, text, want[m.Name])
		}
		delete(want, m.Name)
		if !slices.IsSorted(times[:2]) || times[0] < before || times[1] > uint64(time.Now().UnixNano()) {
			t.Errorf("%s counts from %d to %d, at %d", m.Name, times[0], times[1], before)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing are %v", want)
	}

	from := c.traces[0].ResourceSpans[0]
	spans := from.ScopeSpans[0].Spans
	if got := words(from.Resource.Attributes); !strings.HasPrefix(got, who) || len(spans) != 2 {
		t.Fatalf("%d spans are of %q, want 2 of %q", len(spans), got, who)
	}
	tick, save := spans[0], spans[1]
	if tick.Name != "tick" || tick.StartTimeUnixNano != 1000e9+5 || tick.EndTimeUnixNano != 1000e9+40e6+5 ||
		tick.Kind != trace.Span_SPAN_KIND_INTERNAL || tick.Status != nil ||
		words(tick.Attributes) != "room=a\uFFFD tick=-3 account=9 period=1000000000" {
		t.Errorf("the tick is %v", tick)
	}
	if save.Name != "save" || save.Status.Code != trace.Status_STATUS_CODE_ERROR || save.Status.Message != "disk full" {
		t.Errorf("the save is %v", save)
	}
	ids := map[string]bool{}
	for _, s := range spans {
		ids[hex.EncodeToString(s.TraceId)], ids[hex.EncodeToString(s.SpanId)] = true, true
		if len(s.TraceId) != 16 || len(s.SpanId) != 8 {
			t.Errorf("%s has the numbers %x, %x", s.Name, s.TraceId, s.SpanId)
		}
	}
	if len(ids) != 4 {
		t.Errorf("spans share numbers: %v", ids)
	}
}

// Strangers who are refused leave half of the queue to what else takes long, and nothing waits.
func TestFullQueue(t *testing.T) {
	const most = 1024
	c := &collector{t: t}
	server := httptest.NewServer(c)
	defer server.Close()
	e, err := otlp.New(otlp.Config{URL: server.URL + "/base"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * most {
		e.Span(host.Span{Name: host.SpanAdmission})
	}
	for range 3 * most {
		e.Span(host.Span{Name: host.SpanTick})
	}
	ended, end := context.WithCancel(t.Context())
	end()
	e.Run(ended, prometheus.NewRegistry())
	n := map[string]int{}
	for _, s := range c.traces[0].ResourceSpans[0].ScopeSpans[0].Spans {
		n[s.Name]++
	}
	if want := most / 2; n["admission"] != want || n["tick"] != want {
		t.Errorf("%v, want %d each", n, want)
	}
}
