package weather

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"meanwhile/geom"
	"meanwhile/netcode/wire"
	"meanwhile/netsim"
)

// A Plan is a match with faults. One plan gives one result.
type Plan struct {
	Seed   uint64   `json:"seed"`
	Game   string   `json:"game"`
	Paths  []string `json:"paths"`  // of the players, names of profiles
	Rate   int      `json:"rate"`   // ticks a second, of games that leave it open
	Send   int      `json:"send"`   // packets a second, likewise
	Things int      `json:"things"` // creatures, likewise
	See    int      `json:"see"`    // entities that a player knows at most, likewise
	Queued bool     `json:"queued"` // commands wait for their turn, likewise
	Budget int      `json:"budget_bps"`
	End    int      `json:"end_ms"` // when the last fault is over
	Faults []fault  `json:"faults"`
}

// A fault is one thing that goes wrong.
type fault struct {
	Kind string `json:"kind"`
	At   int    `json:"at_ms"`
	For  int    `json:"for_ms"`
	Who  int    `json:"player"` // index; -1: all, or the server
	Size int    `json:"size"`   // see kinds
}

// until returns when the fault is over, in milliseconds.
func (f fault) until() int { return f.At + f.For }

func (f fault) String() string {
	return fmt.Sprintf("%s %d+%d p%d x%d", f.Kind, f.At, f.For, f.Who, f.Size)
}

// String returns the plan in one line, which Parse reads.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d game %s paths %s rate %d send %d things %d see %d queued %t budget %d end %d",
		p.Seed, p.Game, strings.Join(p.Paths, ","), p.Rate, p.Send, p.Things, p.See, p.Queued, p.Budget, p.End)
	for _, f := range p.Faults {
		b.WriteString("; " + f.String())
	}
	return b.String()
}

// Text returns the plan for reading, one fault a line.
func (p Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s, %d players on %s, %d bit/s down, faults until %.1f s\n", p.Seed, p.Game, len(p.Paths),
		strings.Join(p.Paths, " "), p.Budget, float64(p.End)/1000)
	for _, f := range p.Faults {
		who := "server and all"
		if f.Who >= 0 {
			who = "player " + strconv.Itoa(f.Who)
		}
		fmt.Fprintf(&b, "  %6.2f s  %-10s for %5.2f s  size %-6d %s\n", float64(f.At)/1000, f.Kind, float64(f.For)/1000,
			f.Size, who)
	}
	return b.String()
}

// Parse reads what Plan.String returned.
func Parse(text string) (p Plan, err error) {
	parts := strings.Split(text, ";")
	words := strings.Fields(parts[0])
	if len(words)%2 != 0 {
		return p, fmt.Errorf("weather: %q is no plan: a name without a value", parts[0])
	}
	numbers := map[string]*int{"rate": &p.Rate, "send": &p.Send, "things": &p.Things, "see": &p.See,
		"budget": &p.Budget, "end": &p.End}
	for i := 0; i < len(words); i += 2 {
		name, value := words[i], words[i+1]
		switch {
		case name == "seed":
			p.Seed, err = strconv.ParseUint(value, 10, 63)
		case name == "game":
			p.Game = value
		case name == "paths":
			p.Paths = strings.Split(value, ",")
		case name == "queued":
			p.Queued, err = strconv.ParseBool(value)
		case numbers[name] != nil:
			*numbers[name], err = strconv.Atoi(value)
		default:
			return p, fmt.Errorf("weather: plans have no %q", name)
		}
		if err != nil {
			return p, fmt.Errorf("weather: %s %s: %w", name, value, err)
		}
	}
	for _, part := range parts[1:] {
		var f fault
		if _, err := fmt.Sscanf(strings.TrimSpace(part), "%s %d+%d p%d x%d", &f.Kind, &f.At, &f.For, &f.Who,
			&f.Size); err != nil {
			return p, fmt.Errorf("weather: %q is no fault: %w", part, err)
		}
		p.Faults = append(p.Faults, f)
	}
	return p, p.check()
}

// Bounds of a plan.
const (
	maxPlayers = 64
	maxEnd     = 30 * 60 * 1000 // ms
)

func (p *Plan) check() error {
	if len(p.Paths) < 1 || len(p.Paths) > maxPlayers {
		return fmt.Errorf("weather: %d players are outside [1, %d]", len(p.Paths), maxPlayers)
	}
	if p.End < 0 || p.End > maxEnd {
		return fmt.Errorf("weather: end %d ms is outside [0, %d]", p.End, maxEnd)
	}
	if games[p.Game] == nil {
		return fmt.Errorf("weather: there is no game %q", p.Game)
	}
	for _, name := range p.Paths {
		if _, err := netsim.ByName(name); err != nil {
			return err
		}
	}
	for _, f := range p.Faults {
		if kinds[f.Kind] == nil {
			return fmt.Errorf("weather: there is no fault %q", f.Kind)
		}
		if f.Who < -1 || f.Who >= len(p.Paths) {
			return fmt.Errorf("weather: %v: there is no player %d", f, f.Who)
		}
		if f.At < 0 || f.For < 0 || f.until() > p.End {
			return fmt.Errorf("weather: %v is outside [0, %d] ms", f, p.End)
		}
	}
	return nil
}

// Draw returns the plan of a seed.
func Draw(seed uint64) Plan {
	r := geom.NewRand(seed, 0x77656174686572)
	p := Plan{Seed: seed, Rate: 30, Send: 20, See: 250, Budget: 64_000}
	p.Game = []string{"storm", "storm", "storm", "storm", "storm", "zap", "arena", "kick"}[r.IntN(8)]
	p.Rate = []int{20, 30, 30, 60}[r.IntN(4)]
	p.Send = []int{10, 20, 20, 30}[r.IntN(4)]
	p.Send = min(p.Send, p.Rate)
	p.Things = []int{0, 8, 30, 60, 120}[r.IntN(5)]
	p.See = []int{6, 12, 24, 60, 250}[r.IntN(5)]
	p.Queued = r.IntN(6) == 0
	p.Budget = []int{13_000, 32_000, 64_000, 64_000, 256_000}[r.IntN(5)]
	paths := []string{"lan", "fiber", "wifi", "ocean", "lan", "fiber", "wifi", "lte-a", "burst"}
	for range 1 + r.IntN(4) {
		p.Paths = append(p.Paths, paths[r.IntN(len(paths))])
	}
	p.End = warm + 6000 + 500*r.IntN(21)
	list := drawn(p.Game)
	for range 1 + r.IntN(6) {
		k := list[r.IntN(len(list))]
		f := fault{Kind: k.name, Who: -1}
		if !k.server && (!k.all || r.IntN(4) > 0) {
			f.Who = r.IntN(len(p.Paths))
		}
		f.For = k.least + r.IntN(k.most-k.least+1)
		if r.IntN(3) > 0 { // short ones are more frequent
			f.For = k.least + (f.For-k.least)/4
		}
		f.For -= f.For % 10
		f.Size = k.from + r.IntN(k.to-k.from+1)
		f.At = warm + 10*r.IntN((p.End-warm)/10)
		p.End = max(p.End, f.until())
		p.Faults = append(p.Faults, f)
	}
	slices.SortStableFunc(p.Faults, func(a, b fault) int { return a.At - b.At })
	return p
}

// goesBack reports whether commands go back in the plan: a clock is set, or the server hangs.
func (p *Plan) goesBack() bool {
	return slices.ContainsFunc(p.Faults, func(f fault) bool { return kinds[f.Kind].back })
}

// unsaid returns for how long after a fault the server may remember packets that no acknowledgement
// spoke of: a player who hangs leaves some as well as one whose way up is cut.
func (p *Plan) unsaid() time.Duration {
	sum := 0
	for _, f := range p.Faults {
		sum += f.For
	}
	if sum*p.Send <= wire.Window*1000 {
		return 0
	}
	return wire.LogSize * time.Second / time.Duration(p.Send)
}

// ms returns a time of a plan.
func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
