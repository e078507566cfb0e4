package netsim

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"time"

	"meanwhile/internal/fault"
	"meanwhile/netcode/clock"
)

// Limits of ReadTrace.
const (
	MaxTraceLines = 10_000_000
	MaxTraceSpan  = 24 * time.Hour
)

// A Trace is a recorded capacity: the milliseconds at which a link could deliver OpportunityBytes.
// It is not changed once read, so any number of links may share it.
type Trace struct {
	opps   []opportunity // by ms, strictly increasing
	period int64         // ms
	total  int64         // opportunities in a period
}

// opportunity is a millisecond that delivers.
type opportunity struct {
	ms    int64
	count int
}

// ReadTrace reads a trace in the format of the mahimahi emulator: one integer per line, a time in
// milliseconds from the start, not decreasing; each line is one opportunity to deliver up to
// OpportunityBytes. The last time is the period after which it repeats, so it must be above 0.
// Empty lines are skipped. Errors name the line.
func ReadTrace(r io.Reader) (*Trace, error) {
	t := &Trace{}
	scan := bufio.NewScanner(r)
	line := 0
	for scan.Scan() {
		line++
		text := trim(scan.Bytes())
		if len(text) == 0 {
			continue
		}
		ms, err := strconv.ParseInt(string(text), 10, 64)
		switch {
		case err != nil:
			return nil, fault.Errorf("netsim: trace line %d: %q is not a whole number of milliseconds", line,
				text[:min(20, len(text))])
		case ms < 0 || ms > int64(MaxTraceSpan/time.Millisecond):
			return nil, fault.Errorf("netsim: trace line %d: %d ms is outside [0, %v]", line, ms, MaxTraceSpan)
		case t.total == MaxTraceLines:
			return nil, fault.Errorf("netsim: trace line %d: more than %d lines", line, MaxTraceLines)
		}
		n := len(t.opps)
		switch {
		case n > 0 && ms < t.opps[n-1].ms:
			return nil, fault.Errorf("netsim: trace line %d: %d ms comes after %d ms", line, ms, t.opps[n-1].ms)
		case n > 0 && ms == t.opps[n-1].ms:
			t.opps[n-1].count++
		default:
			t.opps = append(t.opps, opportunity{ms, 1})
		}
		t.total++
	}
	if err := scan.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fault.Errorf("netsim: trace line %d: longer than %d bytes", line+1, bufio.MaxScanTokenSize)
		}
		return nil, fault.Errorf("netsim: trace line %d: %w", line+1, err)
	}
	if len(t.opps) == 0 {
		return nil, errors.New("netsim: trace: no lines")
	}
	t.period = t.opps[len(t.opps)-1].ms
	if t.period == 0 {
		return nil, fault.Errorf("netsim: trace line %d: the last time, which is the period, is 0 ms; it must be "+
			"above 0", line)
	}
	return t, nil
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for n := len(b); n > 0 && (b[n-1] == ' ' || b[n-1] == '\t' || b[n-1] == '\r'); n-- {
		b = b[:n-1]
	}
	return b
}

// Period returns the time after which the trace repeats.
func (t *Trace) Period() time.Duration { return time.Duration(t.period) * time.Millisecond }

// Mean returns the mean capacity in bit/s.
func (t *Trace) Mean() int64 { return t.total * OpportunityBytes * 8 * 1000 / t.period }

// player walks a Trace: a source of opportunities.
type player struct {
	*Trace
	i    int
	base int64 // ms to add
}

// newPlayer returns a player that plays what lies skip into the trace at start.
func newPlayer(t *Trace, skip time.Duration, start clock.Time) *player {
	p := &player{Trace: t}
	from := int64(skip/time.Millisecond) % t.period
	p.base = int64(start)/int64(time.Millisecond) - from
	for p.i < len(t.opps) && t.opps[p.i].ms < from {
		p.i++
	}
	return p
}

func (p *player) next() (clock.Time, int) {
	if p.i == len(p.opps) {
		// The repetition begins at the last opportunity; one at time 0 falls into the same
		// millisecond.
		p.i, p.base = 0, p.base+p.period
	}
	o := p.opps[p.i]
	p.i++
	return clock.Time((p.base + o.ms) * int64(time.Millisecond)), o.count * OpportunityBytes
}
