package lab

import (
	"cmp"
	"slices"

	"meanwhile/lab/baseline"
	reference "meanwhile/lab/crowd"
	"meanwhile/netcode/interest"
)

var groupsExperiment = &experiment{
	name:  "groups",
	about: "who is in sight: each viewer for itself, or groups of viewers that share a search",
	notes: `A thousand walkers, four of five of them within 100 m of the centre, refresh what they know four times a
second: the nearest 250, and 16 more that were known already. <b>meanwhile</b> searches for each viewer,
<b>groups</b> for the centre of gravity of those within radius_m of it, as Ryzom's Ring did.
<b>viewers_per_group</b> is how many share a search. <b>of_250</b> and <b>of_50</b> are the shares of a
viewer's true nearest 250 and 50 that it knows. <b>changes</b> are the entities that come or go with a refresh
of one viewer, <b>moves_per_s</b> how often it changes its group. <b>cpu_us</b> is the CPU time of a refresh
of one viewer, which differs from machine to machine.`,
	takes:    byPolicy,
	policies: []string{ours, "groups"},
	run:      runGroups,
}

// The model of groups.
const (
	groupsWalkers = 1000
	groupsSee     = 250
	groupsMargin  = 16
	groupsLooks   = 4    // refreshes a second
	groupsCell    = 4000 // millimetres, as on the server
)

func runGroups(r *run) error {
	seconds := 20
	if r.quick {
		seconds = 5
	}
	for _, policy := range r.chosen {
		radii := []int{0}
		if policy != ours {
			radii = []int{2, 5, 10, 20}
		}
		for _, radius := range radii {
			m, err := measureGroups(radius, seconds)
			if err != nil {
				return err
			}
			r.emit(Row{r.name, "", policy, r.seed, Values{{"radius_m", radius}}, m.metrics(seconds)})
		}
	}
	return nil
}

// sharing is a crowd whose viewers share searches.
type sharing struct {
	walkers *reference.Walkers
	at      []baseline.Place
	grid    *interest.Grid
	groups  *baseline.Groups // nil: each for itself
	set     interest.Set
	last2   []int64
	knows   [][]int32
	of      []int32 // group of each viewer before

	looks, changes, moves, searches int
	far                             int64 // most that a viewer is away from its group's centre, squared
	of250, of50, asked              int
	spent                           float64 // microseconds
}

// measureGroups lets a crowd look for some seconds, after as many to settle. radius is in metres;
// 0: each looks for itself.
func measureGroups(radius, seconds int) (*sharing, error) {
	s := &sharing{walkers: reference.NewWalkers(groupsWalkers, true), at: make([]baseline.Place, groupsWalkers),
		last2: make([]int64, groupsWalkers), knows: make([][]int32, groupsWalkers), of: make([]int32, groupsWalkers)}
	var err error
	if s.grid, err = interest.NewGrid(groupsCell); err != nil {
		return nil, err
	}
	s.step()
	if radius > 0 {
		if s.groups, err = baseline.NewGroups(int32(radius*1000), groupsSee, groupsMargin, s.at); err != nil {
			return nil, err
		}
	}
	for i := range 2 * seconds * groupsLooks {
		if i == seconds*groupsLooks {
			s.looks, s.changes, s.moves, s.searches, s.spent, s.far = 0, 0, 0, 0, 0, 0
		}
		for range reference.Rate / groupsLooks {
			s.step()
		}
		s.look()
	}
	for i := 0; i < groupsWalkers; i += groupsWalkers / 100 {
		s.compare(i)
	}
	return s, nil
}

// step moves all walkers by a tick.
func (s *sharing) step() {
	s.walkers.Step()
	for i := range s.at {
		x, y := s.walkers.At(i)
		s.at[i] = baseline.Place{X: 10 * x, Y: 10 * y}
	}
}

// look refreshes what everybody knows.
func (s *sharing) look() {
	began := cpuTime()
	s.grid.Reset()
	for i, p := range s.at {
		s.grid.Insert(int32(i), p.X, p.Y)
	}
	s.grid.Build()
	if s.groups != nil {
		s.groups.Follow(s.at, s.grid)
		s.searches += s.groups.Len()
	}
	for i, p := range s.at {
		if s.groups != nil {
			now := s.groups.Known(i)
			s.changes += differences(s.knows[i], now)
			s.knows[i] = append(s.knows[i][:0], now...)
			continue
		}
		v := interest.Viewer{X: p.X, Y: p.Y, Nearest: groupsSee, Margin: groupsMargin, Last2: s.last2[i]}
		members := s.set.Follow(s.grid, &v, s.knows[i])
		s.last2[i], s.changes = s.set.Reach2, s.changes+len(s.set.Entered)+len(s.set.Left)
		s.knows[i] = s.knows[i][:0]
		for _, m := range members {
			s.knows[i] = append(s.knows[i], m.Index)
		}
		s.searches++
	}
	s.spent += float64((cpuTime() - began).Microseconds())
	s.looks++
	if s.groups == nil {
		return
	}
	for i, p := range s.at {
		now, away := s.groups.Group(i, p)
		if now != s.of[i] {
			s.moves++
		}
		s.of[i], s.far = now, max(s.far, away)
	}
}

// differences returns how many numbers are in one list alone.
func differences(a, b []int32) (n int) {
	var in [groupsWalkers]uint8
	for _, i := range a {
		in[i] ^= 1
	}
	for _, i := range b {
		in[i] ^= 1
	}
	for _, v := range in {
		n += int(v)
	}
	return n
}

// compare counts how much of its true nearest a viewer knows.
func (s *sharing) compare(viewer int) {
	all := make([]interest.Neighbour, len(s.at))
	me := s.at[viewer]
	for i, p := range s.at {
		dx, dy := int64(p.X-me.X), int64(p.Y-me.Y)
		all[i] = interest.Neighbour{Dist2: dx*dx + dy*dy, Index: int32(i)}
	}
	slices.SortFunc(all, func(a, b interest.Neighbour) int {
		return cmp.Or(cmp.Compare(a.Dist2, b.Dist2), cmp.Compare(a.Index, b.Index))
	})
	s.asked++
	for rank, n := range all[:groupsSee] {
		if slices.Contains(s.knows[viewer], n.Index) {
			s.of250++
			if rank < 50 {
				s.of50++
			}
		}
	}
}

func (s *sharing) metrics(seconds int) Values {
	looked := float64(s.looks * groupsWalkers)
	return Values{{"viewers_per_group", looked / float64(s.searches)},
		{"of_250", float64(s.of250) / float64(s.asked*groupsSee)}, {"of_50", float64(s.of50) / float64(s.asked*50)},
		{"changes", float64(s.changes) / looked}, {"moves_per_s", float64(s.moves) / groupsWalkers / float64(seconds)},
		{"cpu_us", s.spent / looked}}
}
