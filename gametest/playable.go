package gametest

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// What MustBePlayable demands.
const (
	leastAgreement    = 0.95 // share of the shots
	mostHitchesPerMin = 3.0
	// leastShots is how many shots say anything about their share.
	leastShots = 20
)

// MustBePlayable fails the test, with everything that was measured, unless the match could be
// played: the server agreed with 95 % of the shots, if there were 20, and a moving thing had at
// most 3 hitches a minute. Call it after Run. Rules that need more, or less because several players
// fight for one thing, ask Quality.
func (m *Match[C]) MustBePlayable(t TB) {
	t.Helper()
	q := m.Quality()
	if why := q.unplayable(); why != "" {
		t.Errorf("not playable: %s\n%s", why, q)
	}
}

// unplayable says what a match lacked; "" if nothing.
func (q *Quality) unplayable() string {
	var why []string
	if q.Shots >= leastShots && q.Agreement < leastAgreement {
		why = append(why, fmt.Sprintf("the server agreed with %.1f %% of the events that Act emitted for its own player, "+
			"not with %.0f (%s)", 100*q.Agreement, 100*leastAgreement, q.denied))
	}
	if q.HitchesPerMin > mostHitchesPerMin {
		why = append(why, fmt.Sprintf("%.1f hitches a minute, more than %.0f", q.HitchesPerMin, mostHitchesPerMin))
	}
	return strings.Join(why, "; ")
}

// String returns a table: a line for each figure, with its unit and what it means.
func (q Quality) String() string {
	var b strings.Builder
	row := func(name, value, unit, meaning string) {
		fmt.Fprintf(&b, "  %-22s %8s %-9s %s\n", name, value, unit, meaning)
	}
	number := func(name string, v float64, unit, meaning string) {
		digits := 1
		if v != 0 && math.Abs(v) < 1 {
			digits = 3
		}
		row(name, fmt.Sprintf("%.*f", digits, v), unit, meaning)
	}
	count := func(name string, n int, unit, meaning string) { row(name, fmt.Sprint(n), unit, meaning) }
	const percent = 100
	if q.Shots > 0 {
		number("agreement", percent*q.Agreement, "%", "of the shots were judged as their shooters saw them")
	} else {
		row("agreement", "-", "", "there was no shot")
	}
	count("shots", q.Shots, "", "that count for it: events that Act emitted for its own player")
	count("late shots", q.LateShots, "", "of them came late, and were judged right all the same")
	count("interrupted", q.Interrupted, "", "shots do not count: somebody else had changed the shooter")
	count("cut off", q.CutOff, "", "shots do not count: there was an outage")
	number("outages", percent*q.OutageShare, "%", "of the time nothing had arrived for half a second")
	number("hitches", q.HitchesPerMin, "a minute", "a moving thing was drawn without a record after the drawn moment")
	number("jolts", q.JoltsPerMin, "a minute", "a thing was drawn to leap")
	number("view error p95", q.ViewErrorP95, "m", "between what was drawn and the truth of that moment")
	number("error now p95", q.ErrorNowP95, "m", "between what was drawn and the newest that could be known")
	number("view age", float64(q.ViewAge)/float64(time.Millisecond), "ms", "how far behind the server others were drawn")
	count("clean mispredictions", q.CleanMispredictions, "", "predictions were wrong without another player's doing")
	count("corrections", q.Corrections, "", "predictions were wrong, for any reason")
	number("correction p99", q.CorrectionP99, "m", "how far they moved the avatar")
	number("starved", percent*q.StarvedShare, "%", "of the states lacked a command, which had not arrived in time")
	number("touched", percent*q.TouchedShare, "%", "of the states were changed by others, or changed others")
	number("down", q.DownKbps, "kbit/s", "to each player")
	number("up", q.UpKbps, "kbit/s", "from each player")
	number("most in a second", float64(q.MaxWindowBits)/1000, "kbit", "to any player")
	return strings.TrimSuffix(b.String(), "\n")
}
