package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	topEvery   = time.Second
	topTimeout = 5 * time.Second
	// maxFigures is how many bytes of a server's figures are read.
	maxFigures = 4 << 20
	// topSpan is how many scrapes a screen looks back: rates of one second are mostly noise.
	topSpan = 10
	// topWidth is how many columns a screen has.
	topWidth = 80
	// topReasons is how many reasons are shown of those that count most.
	topReasons = 3
)

// top holds the flags of meanwhile top.
type top struct {
	Address string `arg:"" help:"What the server's --metrics says, such as 127.0.0.1:9090."`
	Once    bool   `help:"Print one screen, over all the time since the server began, and end."`
}

// run shows the server until ctx ends. The first screen, and --once, cover all the time since the
// server began, later ones the last seconds.
func (t *top) run(ctx context.Context, stdout io.Writer) error {
	u, err := t.url()
	if err != nil {
		return usageError{err}
	}
	first, err := askFigures(ctx, u)
	if err != nil {
		return err
	}
	screen := first.screen(figures{}, 0) + busiest(askRooms(ctx, u))
	if t.Once {
		_, err = io.WriteString(stdout, screen)
		return err
	}
	ticker := time.NewTicker(topEvery)
	defer ticker.Stop()
	type scrape struct {
		at time.Time
		figures
	}
	for past := []scrape{{time.Now(), first}}; ; {
		if _, err := fmt.Fprintf(stdout, "\x1b[H\x1b[2J%s", screen); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		next, err := askFigures(ctx, u)
		if err != nil { // a server that starts again is back soon
			screen = cut(err.Error()) + "\n"
			continue
		}
		now := time.Now()
		screen = next.screen(past[0].figures, now.Sub(past[0].at)) + busiest(askRooms(ctx, u))
		if past = append(past, scrape{now, next}); len(past) > topSpan {
			past = past[1:]
		}
	}
}

// url returns where the server's figures are.
func (t *top) url() (*url.URL, error) {
	address := t.Address
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an address such as 127.0.0.1:9090", t.Address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	return u, nil
}

// figures are the samples of a scrape, by name and labels as Prometheus' text format writes them:
// meanwhile_players{what="bot"}.
type figures map[string]float64

// askFigures fetches the figures of a server.
func askFigures(ctx context.Context, u *url.URL) (figures, error) {
	ctx, stop := context.WithTimeout(ctx, topTimeout)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/plain; version=0.0.4")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("no server answers at %s: %w", u.Host, err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(io.LimitReader(response.Body, maxFigures))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s breaks off: %w", u.Host, err)
	}
	f := parseFigures(string(b))
	if _, ok := f["meanwhile_rooms"]; !ok || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s without a server's figures; give the address after --metrics of the server",
			u, response.Status)
	}
	return f, nil
}

// topRooms is how many rooms are shown of those that cost most.
const topRooms = 5

// A busyRoom is what a screen shows of a room: a part of what app/site says at /rooms.
type busyRoom struct {
	Room            string
	Players, Bots   int
	Load, Stretch   float64
	Longest         float64 `json:"longest_tick_ms"`
	Played          float64 `json:"played_s"`
	Sent, Lost      float64
	Hitches         float64
	ReportedHitches float64 `json:"reported_hitches"`
}

// askRooms fetches the rooms that cost most; none where the server does not say.
func askRooms(ctx context.Context, u *url.URL) (rooms []busyRoom) {
	ctx, stop := context.WithTimeout(ctx, topTimeout)
	defer stop()
	at := *u
	at.Path, at.RawQuery = strings.TrimSuffix(u.Path, "/metrics")+"/rooms", fmt.Sprintf("n=%d", topRooms)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK ||
		json.NewDecoder(io.LimitReader(response.Body, maxFigures)).Decode(&rooms) != nil {
		return nil
	}
	return rooms
}

// busiest shows rooms. Strangers choose their names.
func busiest(rooms []busyRoom) string {
	if len(rooms) == 0 {
		return ""
	}
	text := "\n" + cut(fmt.Sprintf("%-16s %7s %5s %5s %7s %10s %6s %7s | %7s", "rooms by load", "players", "bots", "load",
		"stretch", "longest ms", "loss", "hitches", "hitches")) + "\n"
	for _, r := range rooms[:min(len(rooms), topRooms)] {
		name := []rune(strconv.Quote(r.Room))
		text += cut(
			fmt.Sprintf("%-16s %7d %5d %5.2f %7.2f %10.4g %6s %7s | %7s", string(name[:min(len(name), 16)]), r.Players,
				r.Bots, r.Load, r.Stretch, r.Longest, share(r.Lost, r.Sent), perMinute(r.Hitches, r.Played),
				perMinute(r.ReportedHitches, r.Played)),
		) + "\n"
	}
	return text
}

// parseFigures reads Prometheus' text format. It skips what it cannot read.
func parseFigures(text string) figures {
	f := make(figures)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || line[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(line[i+1:], 64); err == nil {
			f[line[:i]] = v
		}
	}
	return f
}

// since returns by how much the figures grew since before. Where a figure fell, the server started
// again: all of it is new.
func (f figures) since(before figures) figures {
	d := make(figures, len(f))
	for k, v := range f {
		if d[k] = v - before[k]; d[k] < 0 {
			d[k] = v
		}
	}
	return d
}

// sum adds the figures of a name with all the labels given, such as path="near".
func (f figures) sum(name string, labels ...string) float64 {
	sum := 0.0
	for k, v := range f {
		series, rest, _ := strings.Cut(k, "{")
		if series == "meanwhile_"+name &&
			!slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(rest, l) }) {
			sum += v
		}
	}
	return sum
}

// quantile returns the bound of a histogram below which a share of its values lie, as text in
// milliseconds.
func (f figures) quantile(name string, share float64, labels ...string) string {
	counts := make(map[float64]float64) // by bound
	for k, v := range f {
		rest, ok := strings.CutPrefix(k, "meanwhile_"+name+"_bucket{")
		if !ok || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(rest, l) }) {
			continue
		}
		_, le, _ := strings.Cut(rest, `le="`)
		le, _, _ = strings.Cut(le, `"`)
		if bound, err := strconv.ParseFloat(le, 64); err == nil {
			counts[bound] += v
		}
	}
	all := counts[math.Inf(1)]
	if all <= 0 {
		return "-"
	}
	bounds := make([]float64, 0, len(counts))
	for bound := range counts {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	last := 0.0
	for _, bound := range bounds {
		if math.IsInf(bound, 1) {
			break
		}
		if last = bound; counts[bound] >= share*all {
			return fmt.Sprintf("%.4g", bound*1000)
		}
	}
	return fmt.Sprintf(">%.4g", last*1000)
}

// A reason is one of those that a metric counts.
type reason struct {
	name  string
	count float64
}

// reasons returns the reasons that count most, and how often all did.
func (f figures) reasons(name string) string {
	var list []reason
	for k, v := range f {
		if rest, ok := strings.CutPrefix(k, "meanwhile_"+name+`{reason="`); ok && v > 0 {
			list = append(list, reason{strings.TrimSuffix(rest, `"}`), v})
		}
	}
	slices.SortFunc(list, func(a, b reason) int {
		if a.count != b.count {
			return int(b.count - a.count)
		}
		return strings.Compare(a.name, b.name)
	})
	text := fmt.Sprintf("%.0f", f.sum(name))
	for i, r := range list[:min(len(list), topReasons)] {
		text += fmt.Sprintf("%s %s %.0f", map[bool]string{true: ":", false: ","}[i == 0], r.name, r.count)
	}
	return text
}

// records returns which properties take most of the bits of records, with their shares.
func (f figures) records() string {
	var list []reason
	for k, v := range f {
		labels, ok := strings.CutPrefix(k, `meanwhile_record_bits_total{kind="`)
		if kind, property, found := strings.Cut(labels, `",property="`); ok && found && v > 0 {
			list = append(list, reason{kind + "." + strings.TrimSuffix(property, `"}`), v})
		}
	}
	slices.SortFunc(list, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.name, b.name))
	})
	text := "-"
	for i, r := range list[:min(len(list), topReasons)] {
		part := fmt.Sprintf("%s %s", r.name, share(r.count, f.sum("record_bits_total")))
		if text += ", " + part; i == 0 {
			text = part
		}
	}
	return text
}

// screen shows what a server does now, and what it did since before: where passed is not 0, that
// was so long ago, and datagrams are shown by the second.
func (f figures) screen(before figures, passed time.Duration) string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(cut(fmt.Sprintf(format, args...)) + "\n") }
	d, seconds, per, span := f.since(before), 1.0, "", "since the server began"
	if passed > 0 {
		seconds, per, span = passed.Seconds(), "/s", fmt.Sprintf("in the last %.0f s", passed.Seconds())
	}
	line("rooms %-6.0f players %-6.0f bots %-6.0f absent %-5.0f greeting %-5.0f load %.2f", f.sum("rooms"),
		f.sum("players", `"human"`), f.sum("players", `"bot"`), f.sum("absent_players"), f.sum("greeting"), f.sum("load"))
	line("time runs %.2f times slower in the worst room; suspicion up to %.0f of 100", f.sum("max_stretch"),
		f.sum("max_suspicion"))
	line("")
	line("%s:", span)
	line("ticks        p50 %s ms   p99 %s ms   faults %.0f", d.quantile("tick_seconds", 0.5),
		d.quantile("tick_seconds", 0.99), d.sum("faults_total"))
	line("datagrams    in %.0f%s   out %.0f%s, %.0f kbit%s   displaced %.0f, blocked %.0f",
		d.sum("received_datagrams_total", `"taken"`)/seconds, per, d.sum("sent_datagrams_total")/seconds, per,
		d.sum("sent_bytes_total")*8/1000/seconds, per, d.sum("received_datagrams_total", `"displaced"`),
		d.sum("blocked_datagrams_total"))
	line("records      %s", d.records())
	line("")
	line("%-7s %8s %8s %9s %6s %8s %7s | %9s %8s", "path", "rtt p50", "rtt p95", "view p95", "loss", "hitches", "budget",
		"delay p95", "hitches")
	for _, path := range []string{"near", "middle", "far"} {
		label := fmt.Sprintf("path=%q", path)
		line("%-7s %8s %8s %9s %6s %8s %7s | %9s %8s", path, d.quantile("rtt_seconds", 0.5, label),
			d.quantile("rtt_seconds", 0.95, label), d.quantile("view_age_seconds", 0.95, label),
			share(d.sum("client_datagrams_total", label, `"lost"`), d.sum("client_datagrams_total", label, `"sent"`)),
			perMinute(d.sum("hitches_total", label), d.sum("played_seconds_total", label)),
			share(d.sum("budget_bytes_total", label, `"sent"`), d.sum("budget_bytes_total", label, `"allowed"`)),
			d.quantile("reported_delay_seconds", 0.95, label),
			perMinute(d.sum("reported_total", label, `"hitches"`), d.sum("played_seconds_total", label)))
	}
	line("(ms; hitches of a player in a minute; right of | what clients claim)")
	line("")
	line("%-13s %7s %9s %6s %10s %8s | %8s", "transport", "players", "kbit"+per, "loss", "withheld", "hitches", "hitches")
	for _, transport := range []string{"quic", "webtransport", "websocket", "other"} {
		label := fmt.Sprintf("transport=%q", transport)
		if f.sum("transport_played_seconds_total", label) == 0 {
			continue
		}
		sent, played := d.sum("transport_datagrams_total", label, `"sent"`), d.sum("transport_played_seconds_total", label)
		line("%-13s %7.0f %9.0f %6s %10s %8s | %8s", transport, f.sum("connected_players", label),
			d.sum("transport_bytes_total", label)*8/1000/seconds,
			share(d.sum("transport_datagrams_total", label, `"lost"`), sent),
			share(d.sum("transport_datagrams_total", label, `"withheld"`), sent),
			perMinute(d.sum("transport_hitches_total", label, `"seen"`), played),
			perMinute(d.sum("transport_hitches_total", label, `"reported"`), played))
	}
	line("")
	line("since the server began:")
	line("refused      %s", f.reasons("refused_total"))
	line("flooded      %s", f.reasons("flooded_total"))
	line("closed       %.0f at the door, %.0f visitors refused, %.0f put out, %.0f silent, %.0f sent away",
		f.sum("refused_connections_total"), f.sum("visitors_total", `"refused"`), f.sum("visitors_total", `"put_out"`),
		f.sum("silent_total"), f.sum("sent_away_total"))
	line("dropped      %.0f malformed, %.0f duplicate, %.0f hostile acknowledgements",
		f.sum("received_datagrams_total", `"malformed"`), f.sum("received_datagrams_total", `"duplicate"`),
		f.sum("received_datagrams_total", `"hostile_ack"`))
	line("shots        %.0f judged, %.0f clamped, %.0f agreed, %.0f disagreed", f.sum("commands_total", `"judged"`),
		f.sum("commands_total", `"clamped"`), f.sum("verdicts_total", `"agreed"`), f.sum("verdicts_total", `"disagreed"`))
	return b.String()
}

// share returns a part in per cent.
func share(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*part/whole)
}

// perMinute returns how often something happens in a minute.
func perMinute(times, seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", times*60/seconds)
}

// cut bounds a line to the screen.
func cut(line string) string {
	if r := []rune(line); len(r) > topWidth {
		return string(r[:topWidth])
	}
	return line
}
