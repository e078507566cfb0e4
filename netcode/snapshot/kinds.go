package snapshot

import (
	"math"

	"meanwhile/netcode/clock"
	"meanwhile/netcode/codec"
	"meanwhile/netcode/schema"
)

// rules are a kind's properties that records depend on, derived once.
type rules struct {
	coder      *codec.Coder             // of their bodies
	ordinary   int                      // group of ordinary updates: the first that is drawn between records
	graded     uint32                   // groups that are coarser at some level
	limits     []limit                  // groups that not everyone receives
	all        uint32                   // all groups
	members    [schema.MaxGroups]uint64 // properties of each group
	observed   uint64                   // properties of all groups
	limitedSet uint32                   // the groups of limits
	later      uint32                   // groups that may come after the first sight
	units      int                      // units of a ledger for one entity: of the groups, and see View.goneUnit
	places     bool                     // entities of the kind have a place
	ahead      bool                     // clients may run entities of the kind ahead: first sights say whose they are
	exact      bool                     // others than the owner may receive exact records of these entities
	rewound    bool                     // someone may ask what a client drew of them
	swept      bool                     // they are drawn within the bounds of their places, see swept
	carries    bool                     // what is on them is drawn within its distance from theirs

	moving  uint32                  // groups that are drawn between records
	lag     [schema.MaxGroups]uint8 // see groupLag
	names   uint64                  // handles, see namesOf
	present bool                    // it is drawn at the present, so its records need no bound

	reckoned bool    // something in the kind is dead reckoned
	levels   []reach // where the levels after the first begin
}

// reach is a distance in square millimetres, and a somewhat shorter one: an entity that was beyond
// the former must come within the latter, so that none goes back and forth on the border.
type reach struct{ from, until int64 }

func reachOf(metres, until float64) reach {
	square := func(m float64) int64 {
		if m = float64(m * 1000); m > 3e9 {
			return math.MaxInt64
		}
		return int64(float64(m * m))
	}
	return reach{square(metres), square(float64(metres * until))}
}

// limit says who receives a group.
type limit struct {
	group uint32 // the set of this one
	team  bool   // only clients of the entity's team
	far   bool   // only clients within reach
	reach
}

// level returns the detail level for a distance; now is the present one.
func (r *rules) level(now uint8, square int64) uint8 {
	n := 0
	for n < len(r.levels) && (square >= r.levels[n].from || n < int(now) && square >= r.levels[n].until) {
		n++
	}
	return uint8(n)
}

func kindsOf(coders []*codec.Coder) []*schema.Kind {
	kinds := make([]*schema.Kind, len(coders))
	for i, c := range coders {
		kinds[i] = c.Kind()
	}
	return kinds
}

func rulesOf(coders []*codec.Coder) []rules {
	all := make([]rules, len(coders))
	for i, c := range coders {
		k, r := c.Kind(), &all[i]
		r.coder = c
		for g := len(k.Groups) - 1; g >= 0; g-- {
			for _, p := range k.Groups[g].Props {
				r.members[g] |= 1 << uint(p)
			}
			r.observed |= r.members[g]
			if k.Groups[g].Moving {
				r.ordinary = g
				r.moving |= 1 << g
			}
			r.lag[g] = uint8(groupLag + log2(int64(len(k.Groups[g].Props))))
			r.reckoned = r.reckoned || k.Groups[g].Reckoned != 0
			if k.Graded(g) {
				r.graded |= 1 << g
			}
			if k.Later(g) {
				r.later |= 1 << g
			}
			if k.Limited(g) {
				l := limit{group: 1 << g, team: k.Groups[g].Audience == schema.Team}
				if far := k.Groups[g].Far; far > 0 {
					l.far, l.reach = true, reachOf(far, 0.875)
				}
				r.limits = append(r.limits, l)
				r.limitedSet |= l.group
			}
		}
		r.names = namesOf(k)
		r.places = k.Place >= 0
		r.present = k.Extrapolated
		r.ahead = k.Ahead != schema.Playout
		r.exact = k.Exact()
		r.rewound = !k.Extrapolated && !r.ahead
		r.all = 1<<uint(len(k.Groups)) - 1
		if p := k.PlaceProp(); p != nil && p.ObsAt >= 0 {
			r.swept = p.Draw != schema.Reckon && k.Ahead == schema.Playout && !k.Later(p.Group)
		}
		r.carries = r.swept && (k.Facing < 0 || !k.Props[k.Facing].Rotates())
		r.units = max(len(k.Groups)+len(r.limits), 1)
		for _, m := range k.Levels {
			r.levels = append(r.levels, reachOf(m, 0.75))
		}
	}
	return all
}

// visible reports whether a record of group g at a level differs from the state of tick base at
// that level: the change may be so small that it is rounded away.
func (h *History) visible(e *Entity, g int, base clock.Tick, level uint8) bool {
	gt := &e.group[g]
	if gt.rest || gt.cut > base || !h.has(e, base) {
		return true
	}
	k := h.kinds[e.Kind]
	a, b := e.obsRow(k, h.tick), e.obsRow(k, base)
	for _, i := range k.Groups[g].Props {
		q := &k.Props[i]
		if e.changed[i] <= base {
			continue
		}
		for c := q.ObsAt; c < q.ObsAt+q.Comps; c++ {
			if a[c] != b[c] && q.Coarsen(a[c], int(level)) != q.Coarsen(b[c], int(level)) {
				return true
			}
		}
	}
	return false
}
