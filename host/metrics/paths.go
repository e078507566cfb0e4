package metrics

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"meanwhile/host"
)

// Metrics of humans, by the class of their paths: near ones have a round trip of up to 50 ms,
// middle ones up to 150 ms, far ones a longer one.
var (
	descRTT     = desc("rtt_seconds", "Round trips of the network alone, of each player once a second.", "path")
	descViewAge = desc("view_age_seconds", "How old the picture was by which a player acted when its command ran, "+
		"once a second: its playout delay, and the way up with its reserve.", "path")
	descHitches = desc("hitches_total",
		"Times that pictures stood still before players who acted, since the next packet was missing.", "path")
	descReportedDelay = desc(
		"reported_delay_seconds",
		"The playout delay that a client claims, about once a second while "+
			"its player looks; claims above 1.02 s are cut off.",
		"path",
	)
	descReported = desc("reported_total", "What clients claim that their players saw: hitches, in which the whole "+
		"picture stood still, stalls of single entities while others moved, short pauses included, and corrections of the "+
		"prediction.", "path", "what")
	descPlayed = desc("played_seconds_total", "Time that players were connected in rooms.", "path")
	descDown   = desc("client_datagrams_total",
		"Datagrams to players: sent, lost of these, and withheld since too much was in flight.", "path", "what")
	descBits = desc("sent_bits_total",
		"Bits sent to players, by kind; rest is messages, and 42 bytes for each datagram.", "path", "kind")
	descRecordBits = desc("record_bits_total", "Bits of records in a sample of the datagrams, of one client in every "+
		"seventh tick of a room, by kind and property of the game; head is the rest of its records. Compare shares.",
		"kind", "property")
	descBudget = desc("budget_bytes_total",
		"Bytes that budgets allowed for players, and that were sent, 42 for each datagram included.", "path", "what")
	descCommands = desc("commands_total", "Commands of players: ticks without one, commands that came late or too early, "+
		"those judged by what the player saw, and of these by another picture than it claims.", "path", "what")
	descStretch = desc("max_stretch", "How much slower time runs in the most overloaded room; 1 is as it should be.")
)

// records makes the metrics of records by kind and property.
func records(h *host.Host, s *host.Stats, ch chan<- prometheus.Metric) {
	for _, b := range h.Spendings(s.RecordBits) {
		ch <- prometheus.MustNewConstMetric(descRecordBits, prometheus.CounterValue, float64(b.Bits), b.Kind,
			cmp.Or(b.Property, "head"))
	}
}

// paths makes the metrics of humans by class.
func paths(s *host.Stats, ch chan<- prometheus.Metric) {
	for class := range host.PathClasses {
		p, path := &s.Paths[class], class.String()
		count := func(d *prometheus.Desc, v uint64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append([]string{path}, labels...)...)
		}
		ch <- delays(descRTT, &p.RTT, path)
		ch <- delays(descViewAge, &p.ViewAge, path)
		ch <- delays(descReportedDelay, &p.ReportedDelay, path)
		count(descReported, p.ReportedHitches, "hitches")
		count(descReported, p.Stalls, "stalls")
		count(descReported, p.Corrections, "corrections")
		ch <- prometheus.MustNewConstMetric(descPlayed, prometheus.CounterValue, p.Played.Seconds(), path)
		count(descHitches, p.Hitches)
		count(descDown, p.Sent, "sent")
		count(descDown, p.Lost, "lost")
		count(descDown, p.Choked, "withheld")
		rest := p.SentBytes * 8
		for _, k := range []struct {
			kind string
			bits uint64
		}{
			{"header", p.HeaderBits}, {"feedback", p.FeedbackBits}, {"moving", p.MovingBits}, {"first_sight", p.FirstBits},
			{"gone", p.GoneBits}, {"other", p.OtherBits},
		} {
			count(descBits, k.bits, k.kind)
			rest -= min(k.bits, rest)
		}
		count(descBits, rest, "rest")
		count(descBudget, p.AllowedBytes, "allowed")
		count(descBudget, p.SentBytes, "sent")
		count(descCommands, p.Starved, "starved")
		count(descCommands, p.Late, "late")
		count(descCommands, p.TooEarly, "too_early")
		count(descCommands, p.Judged, "judged")
		count(descCommands, p.Clamped, "clamped")
	}
	transports(s, ch)
	stretch := 1.0
	for _, r := range s.Rooms {
		stretch = max(stretch, r.Stretch)
	}
	ch <- prometheus.MustNewConstMetric(descStretch, prometheus.GaugeValue, stretch)
}

// Metrics of humans, by how they are connected.
var (
	descConnected = desc("connected_players", "Players with a connection.", "transport")
	descCarried   = desc("transport_datagrams_total",
		"Datagrams to players: sent, lost of these, and withheld since too much was in flight.", "transport", "what")
	descCarriedBytes = desc("transport_bytes_total",
		"Bytes of datagrams to players, 42 for each datagram included.", "transport")
	descOnTransport = desc(
		"transport_played_seconds_total",
		"Time that players were connected in rooms.",
		"transport",
	)
	descTransportHitches = desc("transport_hitches_total", "Times that pictures stood still: seen, as the server "+
		"concludes from the commands of players who acted, and reported, as clients claim.", "transport", "what")
)

// transports makes the metrics of humans by transport.
func transports(s *host.Stats, ch chan<- prometheus.Metric) {
	for i, name := range host.Transports {
		t, connected := &s.Transports[i], 0
		for j := range s.Rooms {
			connected += s.Rooms[j].Connected[i]
		}
		count := func(d *prometheus.Desc, v float64, what ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, append([]string{name}, what...)...)
		}
		ch <- prometheus.MustNewConstMetric(descConnected, prometheus.GaugeValue, float64(connected), name)
		count(descCarried, float64(t.Sent), "sent")
		count(descCarried, float64(t.Lost), "lost")
		count(descCarried, float64(t.Choked), "withheld")
		count(descCarriedBytes, float64(t.SentBytes))
		count(descOnTransport, t.Played.Seconds())
		count(descTransportHitches, float64(t.Hitches), "seen")
		count(descTransportHitches, float64(t.ReportedHitches), "reported")
	}
}

// delays makes a histogram.
func delays(d *prometheus.Desc, of *host.Delays, path string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(host.DelayBounds))
	n := uint64(0)
	for i, bound := range host.DelayBounds {
		n += of.Counts[i]
		buckets[bound.Seconds()] = n
	}
	return prometheus.MustNewConstHistogram(d, n+of.Counts[len(host.DelayBounds)], of.Sum.Seconds(), buckets, path)
}
