// Package metrics offers the counters of a host to Prometheus. It stands apart so that a program
// that hosts games without it links no Prometheus.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"meanwhile/host"
	"meanwhile/netcode/rewind"
	"meanwhile/session"
	"meanwhile/transport"
)

// Sources are where figures come from. Host must be set.
type Sources struct {
	Host *host.Host
	Gate *transport.Gate // of the listeners; nil: its figures are left out
	// Refused returns how many TCP connections were refused. Nil: they are left out.
	Refused func() uint64
	// Tokens returns what became of requests for connect tokens: issued, refused, and beyond the limit
	// of an address. Nil: they are left out.
	Tokens func() (issued, refused, tooMany uint64)
	// Garbage returns how many datagrams were dropped because they could be no QUIC for a server.
	// Nil: they are left out.
	Garbage func() uint64
}

// Registry has the counters of a host and what belongs to it, of the Go runtime and of the process.
// Strangers choose the names of rooms, so no metric has one as a label.
func Registry(from Sources) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{from}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// Handler serves a Registry in Prometheus' text format.
func Handler(from Sources) http.Handler {
	return promhttp.HandlerFor(Registry(from), promhttp.HandlerOpts{})
}

// A collector makes metrics of host.Stats each time Prometheus asks.
type collector struct{ Sources }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("meanwhile_"+name, help, labels, nil)
}

var (
	descTick     = desc("tick_seconds", "How long a tick of a room took, encoding included.")
	descRooms    = desc("rooms", "Open rooms.")
	descPlayers  = desc("players", "Players in open rooms.", "what")
	descGreeting = desc("greeting", "Connections that are neither admitted nor refused yet.")
	descOpened   = desc("rooms_total", "Rooms opened, closed and failed.", "what")
	descAccepted = desc("connections_total", "Connections accepted.")
	descDropped  = desc("refused_connections_total",
		"TCP connections closed at once: too many are open, or one address opens them too often.")
	descGarbage = desc("garbage_datagrams_total",
		"Datagrams that were dropped before QUIC read them: by their first bytes and size they could be none for a server.")
	descTokens = desc("token_requests_total",
		"Requests of pages for connect tokens: issued, refused, and too many of one address.", "what")
	descJoined   = desc("joined_total", "Players admitted.")
	descResumed  = desc("resumed_total", "Players who came back over another connection.")
	descAbsent   = desc("absent_players", "Players without a connection who may come back.")
	descRefused  = desc("refused_total", "Players refused, by reason.", "reason")
	descFlooded  = desc("flooded_total", "Players put out because they sent too much, by what.", "reason")
	descLogs     = desc("log_lines_dropped_total", "Log lines that were not written, since there were too many.")
	descVisitors = desc("visitors_total",
		"Clients that said no hello: refused at the gate, or put out to make place for others.", "what")
	descFaults    = desc("faults_total", "Callbacks of the rules that panicked.")
	descLoad      = desc("load", "The busiest room's load: the part of the last second that it spent in ticks.")
	descReceived  = desc("received_datagrams_total", "Datagrams from players, by what became of them.", "what")
	descSent      = desc("sent_datagrams_total", "Datagrams handed to connections.")
	descSentBytes = desc("sent_bytes_total", "Bytes of datagrams handed to connections, without transport headers.")
	descMaxWindow = desc("max_second_bytes",
		"The most bytes that one player was sent in any one second, 42 for each datagram included.")
	descBlocked = desc("blocked_datagrams_total",
		"Datagrams that newer ones displaced before a slow path accepted them.")
	descTextOverflow = desc("text_ref_overflow_total",
		"Texts that were not sent because no reference was free, counted once a tick.")
	descVerdicts = desc("verdicts_total",
		"Shots of players whose clients claim to have hit what the server did, or something else.", "what")
	descJudged = desc("judged_total",
		"Commands that were judged by what their player saw, by why another picture was judged than they claim.", "reason")
	descAgreement = desc("least_agreement",
		"The part of shots that agreed in the open room where it is least, of rooms with 100 of them; 1 without such a room.")
	descContradicted = desc("contradicted_total", "Commands that contradict what their clients acknowledged.")
	descSuspicion    = desc(
		"max_suspicion",
		"The highest suspicion of a player in an open room, from 0 to 100; see /receipts.",
	)

	descRecords = desc("records_total", "Records of what lasts, by what became of them; a save that fails is one.", "what")
	descWaiting = desc("records_waiting", "Records that changed and are not stored yet.")
	descWords   = desc("messages_total",
		"Messages between players and rules: heard by the rules, refused, and sent to players.", "what")
	descSentAway = desc(
		"sent_away_total",
		"Players whose connections ended as they sent too many messages, or did not receive any.",
	)
	descSpectators = desc("spectators", "Clients that watch open rooms.")
	descDesyncs    = desc("desyncs_total",
		"Times that a room, computed again from its log, came out otherwise; of rooms that are watched or checked.")
	descSilent = desc("silent_total", "Players removed because nothing had arrived from them for too long.")
)

// leastShots is how many shots a room has whose agreement counts.
const leastShots = 100

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.Host.Stats()
	put := func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, t, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) { put(d, prometheus.GaugeValue, v, labels...) }
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		put(d, prometheus.CounterValue, float64(v), labels...)
	}
	load, agreement, suspicion, watched := 0.0, 1.0, 0, 0
	for _, r := range s.Rooms {
		watched += r.Watched
		load, suspicion = max(load, r.Load), max(suspicion, r.Suspicion)
		if all := r.Agreed + r.Disagreed; all >= leastShots {
			agreement = min(agreement, float64(r.Agreed)/float64(all))
		}
	}
	gauge(descRooms, float64(len(s.Rooms)))
	gauge(descPlayers, float64(s.Players), "human")
	gauge(descPlayers, float64(s.Bots), "bot")
	gauge(descGreeting, float64(s.Greeting))
	gauge(descLoad, load)
	count(descOpened, s.Opened, "opened")
	count(descOpened, s.Closed, "closed")
	count(descOpened, s.Failed, "failed")
	count(descAccepted, s.Accepted)
	if c.Refused != nil {
		count(descDropped, c.Refused())
	}
	if c.Garbage != nil {
		count(descGarbage, c.Garbage())
	}
	if c.Tokens != nil {
		issued, refused, tooMany := c.Tokens()
		count(descTokens, issued, "issued")
		count(descTokens, refused, "refused")
		count(descTokens, tooMany, "too_many")
	}
	count(descJoined, s.Joined)
	count(descResumed, s.Resumed)
	gauge(descAbsent, float64(s.Absent))
	for code := session.Malformed; code <= session.NoCode; code++ {
		count(descRefused, s.Refused[code], code.String())
	}
	for _, reason := range transport.Floods {
		count(descFlooded, s.Flooded[reason], reason)
	}
	if c.Gate != nil {
		refused, out := c.Gate.Counts()
		count(descVisitors, refused, "refused")
		count(descVisitors, out, "put_out")
	}
	count(descLogs, s.LogDropped)
	count(descFaults, s.Faults)
	count(descDesyncs, s.Desyncs)
	gauge(descSpectators, float64(watched))
	count(descSilent, s.Silent)
	count(descVerdicts, s.Agreed, "agreed")
	count(descVerdicts, s.Disagreed, "disagreed")
	gauge(descAgreement, agreement)
	gauge(descSuspicion, float64(suspicion))
	count(descContradicted, s.Contradicted)
	for reason, n := range s.Reasons {
		count(descJudged, n, rewind.Reason(reason).String())
	}
	count(descRecords, s.Records.Loaded, "loaded")
	count(descRecords, s.Records.LoadFailed, "load_failed")
	count(descRecords, s.Records.Saved, "saved")
	count(descRecords, s.Records.SaveFailed, "save_failed")
	count(descRecords, s.Records.Refused, "refused")
	gauge(descWaiting, float64(s.Records.Waiting))
	count(descTextOverflow, s.TextRefOverflow)
	count(descWords, s.Words.Heard, "heard")
	count(descWords, s.Words.Refused, "refused")
	count(descWords, s.Words.Told, "sent")
	count(descSentAway, s.SentAway)
	count(descReceived, s.Received, "taken")
	count(descReceived, s.Displaced, "displaced")
	count(descReceived, s.Drops.Malformed, "malformed")
	count(descReceived, s.Drops.Duplicate, "duplicate")
	count(descReceived, s.Drops.HostileAck, "hostile_ack")
	count(descReceived, s.Drops.Unknown, "unknown_player")
	count(descSent, s.Sent)
	count(descSentBytes, s.SentBytes)
	gauge(descMaxWindow, float64(s.MaxWindow))
	count(descBlocked, s.Blocked)
	ch <- ticks(s)
	paths(&s, ch)
	records(c.Host, &s, ch)
}

// ticks makes a histogram of the ticks of all rooms.
func ticks(s host.Stats) prometheus.Metric {
	buckets := make(map[float64]uint64, len(host.TickBounds))
	n := uint64(0)
	for i, bound := range host.TickBounds {
		n += s.TickTimes[i]
		buckets[bound.Seconds()] = n
	}
	return prometheus.MustNewConstHistogram(descTick, n+s.TickTimes[len(host.TickBounds)], s.Busy.Seconds(), buckets)
}
