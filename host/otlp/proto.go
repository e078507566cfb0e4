package otlp

import (
	"crypto/rand"
	"log/slog"
	"math"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"

	"meanwhile/host"
)

// Numbers of fields, from the .proto files of opentelemetry-proto 1.x: common, resource, metrics
// and trace. A test reads what is written here with the code that is generated from those files.
const (
	// ExportMetricsServiceRequest and ExportTraceServiceRequest, ResourceMetrics and ResourceSpans,
	// ScopeMetrics and ScopeSpans have the same numbers.
	requestResources = 1
	resourceResource = 1
	resourceScopes   = 2
	scopeScope       = 1
	scopeEntries     = 2

	resourceAttributes = 1 // Resource
	scopeName          = 1 // InstrumentationScope

	keyValueKey   = 1 // KeyValue
	keyValueValue = 2
	anyString     = 1 // AnyValue
	anyInt        = 3

	metricName        = 1 // Metric
	metricDescription = 2
	metricUnit        = 3
	metricGauge       = 5
	metricSum         = 7
	metricHistogram   = 9
	metricSummary     = 11
	dataPoints        = 1 // Gauge, Sum, Histogram, Summary
	dataTemporality   = 2 // Sum, Histogram
	dataMonotonic     = 3 // Sum
	cumulative        = 2 // AggregationTemporality

	pointStart        = 2 // NumberDataPoint, HistogramDataPoint, SummaryDataPoint
	pointTime         = 3
	numberValue       = 4
	numberAttributes  = 7
	countCount        = 4 // HistogramDataPoint, SummaryDataPoint
	countSum          = 5
	histogramCounts   = 6
	histogramBounds   = 7
	histogramAttrs    = 9
	summaryQuantiles  = 6
	summaryAttributes = 7
	quantileQuantile  = 1 // ValueAtQuantile
	quantileValue     = 2

	spanTrace      = 1 // Span
	spanID         = 2
	spanName       = 5
	spanKind       = 6
	spanStart      = 7
	spanEnd        = 8
	spanAttributes = 9
	spanStatus     = 15
	kindInternal   = 1
	statusMessage  = 2 // Status
	statusCode     = 3
	statusError    = 2
)

// scope names who made figures and spans.
const scope = "meanwhile"

// appendMessage writes a message that write writes as a field.
func appendMessage(b []byte, field protowire.Number, write func(b []byte) []byte) []byte {
	return appendBytes(b, field, write(nil))
}

func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// appendString writes a string, which protobuf wants to be UTF-8.
func appendString(b []byte, field protowire.Number, v string) []byte {
	return appendBytes(b, field, []byte(strings.ToValidUTF8(v, "\uFFFD")))
}

func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	return appendFixed(b, field, math.Float64bits(v))
}

func appendVarint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// appendText writes an attribute.
func appendText(b []byte, field protowire.Number, key, value string) []byte {
	return appendMessage(b, field, func(b []byte) []byte {
		return appendMessage(appendString(b, keyValueKey, key), keyValueValue, func(b []byte) []byte {
			return appendString(b, anyString, value)
		})
	})
}

// appendAttr writes an attribute of a span: numbers as numbers, spans of time in nanoseconds, all
// else as text.
func appendAttr(b []byte, field protowire.Number, a slog.Attr) []byte {
	v, n := a.Value.Resolve(), int64(0)
	switch v.Kind() {
	case slog.KindInt64:
		n = v.Int64()
	case slog.KindUint64:
		n = int64(v.Uint64())
	case slog.KindDuration:
		n = int64(v.Duration())
	default:
		return appendText(b, field, a.Key, v.String())
	}
	return appendMessage(b, field, func(b []byte) []byte {
		return appendMessage(appendString(b, keyValueKey, a.Key), keyValueValue, func(b []byte) []byte {
			return appendVarint(b, anyInt, uint64(n))
		})
	})
}

// appendRequest writes a request with entries of one resource and one scope.
func appendRequest(b, resource []byte, entries func(b []byte) []byte) []byte {
	return appendMessage(b, requestResources, func(b []byte) []byte {
		return appendMessage(appendBytes(b, resourceResource, resource), resourceScopes, func(b []byte) []byte {
			b = appendMessage(b, scopeScope, func(b []byte) []byte { return appendString(b, scopeName, scope) })
			return entries(b)
		})
	})
}

// appendMetrics writes a request with the metrics of a scrape, counted from began on.
func appendMetrics(b, resource []byte, families []*dto.MetricFamily, began, now time.Time) []byte {
	return appendRequest(b, resource, func(b []byte) []byte {
		for _, f := range families {
			b = appendMessage(b, scopeEntries, func(b []byte) []byte { return appendFamily(b, f, began, now) })
		}
		return b
	})
}

// unit returns the unit of a metric as UCUM writes it, by its name.
func unit(name string) string {
	name = strings.TrimSuffix(name, "_total")
	switch {
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "By"
	case strings.HasSuffix(name, "_bits"):
		return "bit"
	}
	return "1"
}

// appendFamily writes a Metric: a metric with all its labels.
func appendFamily(b []byte, f *dto.MetricFamily, began, now time.Time) []byte {
	b = appendString(b, metricName, f.GetName())
	b = appendString(b, metricDescription, f.GetHelp())
	b = appendString(b, metricUnit, unit(f.GetName()))
	field := protowire.Number(metricGauge)
	switch f.GetType() {
	case dto.MetricType_COUNTER:
		field = metricSum
	case dto.MetricType_HISTOGRAM:
		field = metricHistogram
	case dto.MetricType_SUMMARY:
		field = metricSummary
	}
	return appendMessage(b, field, func(b []byte) []byte {
		for _, m := range f.Metric {
			b = appendMessage(b, dataPoints, func(b []byte) []byte {
				b = appendFixed(b, pointStart, uint64(began.UnixNano()))
				b = appendFixed(b, pointTime, uint64(now.UnixNano()))
				return appendPoint(b, f.GetType(), m)
			})
		}
		switch field {
		case metricSum:
			b = appendVarint(appendVarint(b, dataTemporality, cumulative), dataMonotonic, 1)
		case metricHistogram:
			b = appendVarint(b, dataTemporality, cumulative)
		}
		return b
	})
}

// appendPoint writes the rest of a data point.
func appendPoint(b []byte, kind dto.MetricType, m *dto.Metric) []byte {
	attributes := protowire.Number(numberAttributes)
	switch kind {
	case dto.MetricType_COUNTER:
		b = appendDouble(b, numberValue, m.Counter.GetValue())
	case dto.MetricType_GAUGE:
		b = appendDouble(b, numberValue, m.Gauge.GetValue())
	case dto.MetricType_HISTOGRAM:
		b, attributes = appendHistogram(b, m.Histogram), histogramAttrs
	case dto.MetricType_SUMMARY:
		b, attributes = appendSummary(b, m.Summary), summaryAttributes
	default:
		b = appendDouble(b, numberValue, m.Untyped.GetValue())
	}
	for _, l := range m.Label {
		b = appendText(b, attributes, l.GetName(), l.GetValue())
	}
	return b
}

// appendHistogram writes buckets that count for themselves; Prometheus' count all below them, too.
func appendHistogram(b []byte, h *dto.Histogram) []byte {
	b = appendFixed(b, countCount, h.GetSampleCount())
	b = appendDouble(b, countSum, h.GetSampleSum())
	var counts, bounds []byte
	below := uint64(0)
	for _, bucket := range h.Bucket {
		if math.IsInf(bucket.GetUpperBound(), 1) {
			break
		}
		counts = protowire.AppendFixed64(counts, bucket.GetCumulativeCount()-below)
		bounds = protowire.AppendFixed64(bounds, math.Float64bits(bucket.GetUpperBound()))
		below = bucket.GetCumulativeCount()
	}
	counts = protowire.AppendFixed64(counts, h.GetSampleCount()-below)
	return appendBytes(appendBytes(b, histogramCounts, counts), histogramBounds, bounds)
}

func appendSummary(b []byte, s *dto.Summary) []byte {
	b = appendFixed(b, countCount, s.GetSampleCount())
	b = appendDouble(b, countSum, s.GetSampleSum())
	for _, q := range s.Quantile {
		b = appendMessage(b, summaryQuantiles, func(b []byte) []byte {
			return appendDouble(appendDouble(b, quantileQuantile, q.GetQuantile()), quantileValue, q.GetValue())
		})
	}
	return b
}

// appendSpans writes a request with spans. Each is a trace of its own.
func appendSpans(b, resource []byte, spans []host.Span) []byte {
	return appendRequest(b, resource, func(b []byte) []byte {
		for i := range spans {
			b = appendMessage(b, scopeEntries, func(b []byte) []byte { return appendSpan(b, &spans[i]) })
		}
		return b
	})
}

func appendSpan(b []byte, s *host.Span) []byte {
	var id [24]byte
	_, _ = rand.Read(id[:]) // it never fails
	b = appendBytes(appendBytes(b, spanTrace, id[:16]), spanID, id[16:])
	b = appendVarint(appendString(b, spanName, s.Name), spanKind, kindInternal)
	b = appendFixed(b, spanStart, uint64(s.Begin.UnixNano()))
	b = appendFixed(b, spanEnd, uint64(s.Begin.Add(s.Took).UnixNano()))
	for _, a := range s.Attrs {
		b = appendAttr(b, spanAttributes, a)
	}
	if s.Err != nil {
		b = appendMessage(b, spanStatus, func(b []byte) []byte {
			return appendVarint(appendString(b, statusMessage, s.Err.Error()), statusCode, statusError)
		})
	}
	return b
}
