package codec

import (
	"math/bits"

	"meanwhile/netcode/clock"
)

// contexts are what the models of one record see of its baseline, and the contexts that this
// chooses.
type contexts struct {
	age, gap  int64
	per       uint64 // 1<<63 / gap, rounded up
	span, old int    // classes of age and gap, and of age alone
	known     bool   // there is a state before the baseline
	mover     int    // class of the horizontal speed of the group's place, of four

	// Of the components of the property that was looked at last:
	v       [4]int64 // their values in the baseline, or where its velocity leads a driven place
	d       [4]int64 // by how much they changed up to the baseline; of a driven place, by how much its velocity did since
	w       [4]int64 // their values in the record that is written
	context [4]int
}

func (s *contexts) see(b *group, age, gap clock.Tick, known bool) {
	s.age, s.gap, s.known = int64(min(age, 1<<10)), int64(min(gap, 1<<10)), known
	if !known || gap == 0 {
		s.gap = 1
	}
	if s.per = 1 << 63; s.gap > 1 {
		s.per = (s.per-1)/uint64(s.gap) + 1
	}
	if s.age < nearTicks && s.gap < nearTicks && known {
		at := b.times.near[s.age][s.gap]
		s.span, s.old = int(at.span), int(at.old)
		return
	}
	s.old = b.times.spans.of(s.age * s.age)
	if s.span = s.old; known {
		s.span = b.times.spans.of(s.age * (s.age + s.gap))
	}
}

// over returns v / gap, rounded down, for 0 <= v < 1<<53: per is off by less than gap / 1<<63,
// which is too little to be seen.
func (s *contexts) over(v int64) int64 {
	q, _ := bits.Mul64(uint64(v)<<1, s.per)
	return int64(q)
}

// class returns the class of v / gap, 0 <= v < 1<<37, by limits with 16 bits after the point.
func (s *contexts) class(of *scale, v int64) int { return of.of(s.over(v << 16)) }

// far is class for any v.
func (s *contexts) far(of *scale, v int64) int { return of.of(min(v, 1<<40) << 16 / s.gap) }

// wide reports whether T has more than 32 bits. It is a constant where T is known.
func wide[T int32 | int64]() bool {
	v := int64(1) << 40
	return int64(T(v)) == v
}

// change is d, by which a component changed, within 1<<40. What 32 bits hold needs no bounds.
func change[T int32 | int64](d int64) int64 {
	if wide[T]() {
		d = clamp(d, -1<<40, 1<<40)
	}
	return d
}

// expect appends the components of some properties: what is expected of them, and how they are
// coded. cur holds the record's velocities, where those are coded before. The group's place comes
// before all that have its movement for a context.
func expect[T int32 | int64](ps *parts, s *contexts, props []*member, base *Base[T], cur []T) {
	for _, c := range props {
		at, vals := c.at, base.Vals
		if ps.writes {
			s.w[0] = int64(cur[at])
			if c.n > 1 {
				if s.w[1] = int64(cur[at+1]); c.n > 2 {
					s.w[2] = int64(cur[at+2])
				}
			}
		}
		if c.vel >= 0 {
			expectDriven(s, c, vals, cur)
			ps.add(s, c)
			continue
		}
		v0, v1, v2 := int64(vals[at]), int64(0), int64(0)
		if c.n > 1 {
			if v1 = int64(vals[at+1]); c.n > 2 {
				v2 = int64(vals[at+2])
			}
		}
		s.v[0], s.v[1], s.v[2] = v0, v1, v2
		if s.known {
			prior := base.Prior
			v0 = change[T](v0 - int64(prior[at]))
			if c.n > 1 {
				if v1 = change[T](v1 - int64(prior[at+1])); c.n > 2 {
					v2 = change[T](v2 - int64(prior[at+2]))
				}
			}
			s.d[0], s.d[1], s.d[2] = v0, v1, v2
		} else {
			s.d = [4]int64{}
		}
		s.choose(c, c.table.narrow == 0)
		ps.add(s, c)
	}
}

// choose finds the contexts of components that are not driven. long says that they may have more
// than 32 bits.
func (s *contexts) choose(c *member, long bool) {
	switch c.model {
	case PlaceXY:
		pace, rise, height := 0, 0, 0
		if s.known {
			if long {
				pace = 1 + s.far(c.limits, span2(s.d[0], s.d[1]))
			} else {
				pace = 1 + s.class(c.limits, span2(s.d[0], s.d[1]))
			}
			if c.leads {
				s.mover = 1 + coarse(pace)
			}
			if c.n > 2 {
				d, climb := s.d[2], 0
				if long {
					climb = s.far(c.climb, magnitude(d))
				} else {
					climb = s.class(c.climb, magnitude(d))
				}
				rise = int(bit(d != 0) + bit(climb > 2))
				height = (climb ^ int(d>>63)) - int(d>>63) + len(climbLimits) + 1
			}
		}
		s.context[0] = (s.span*(len(paceLimits)+2)+pace)*3 + rise
		s.context[1] = s.context[0]
		s.context[2] = (s.span*(2*len(climbLimits)+2)+height)*3 + coarse(pace)
	case Angle:
		first := s.span*(len(turnLimits)+2)*4 + s.mover
		s.context[0], s.context[1] = first, first
		if s.known {
			s.d[0] = c.short(s.d[0])
			s.context[0] = first + 4 + 4*s.class(c.limits, magnitude(s.d[0]))
			if c.n > 1 {
				s.d[1] = c.short(s.d[1])
				s.context[1] = first + 4 + 4*s.class(c.limits, magnitude(s.d[1]))
			}
		}
	case SpeedXY:
		pace := s.pace(c)
		first := s.span*(len(pushLimits)+2)*8 + int(speedPace[pace-1])
		for j := range s.context {
			if s.context[j] = first; s.known && j < c.n {
				s.context[j] = first + 8 + 8*s.class(c.push, magnitude(s.d[j]))
			}
		}
	case OwnSpeed:
		s.pace(c)
		for j := range s.context {
			s.context[j] = s.old*24 + s.size(s.d[j], 22)
		}
	case Scalar:
		for j := range s.context {
			s.context[j] = s.span*16 + s.size(s.d[j], 14)
		}
	}
}

// expectDriven is expect for a place whose velocity is in the record.
func expectDriven[T int32 | int64](s *contexts, c *member, vals, cur []T) {
	m, n, most := s.age, s.age, int64(0)
	if c.model == OwnPlace {
		m, n = m-1, n+1
	}
	for j := 0; j < c.n; j++ {
		v, w := int64(vals[c.velAt+j]), int64(cur[c.velAt+j])
		d := w - v
		s.d[j&3], s.v[j&3] = d, int64(vals[c.at+j])+travel(v, w, m, n, c.ratio)
		d = magnitude(d)
		most = max(most, d)
		if c.model == PlaceXYDriven {
			s.context[j&3] = (s.old*(len(changeLimits)+1) + c.change.of(min(d, 1<<40)<<16)) * 3
		} else {
			s.context[j&3] = s.old*24 + min(bits.Len64(uint64(d)), 23)
		}
	}
	if c.model == PlaceXYDriven {
		half := min(max(c.change.of(min(most, 1<<40)<<16)-3, 0), 4) / 2
		s.context[0] += half
		s.context[1] += half
		s.context[2] += half
	}
}

// add appends the components of the property that was looked at last: what is expected of them, how
// they are coded and, in a record that is written, by how much they differ.
func (ps *parts) add(s *contexts, c *member) {
	t, n := c.table, ps.n
	for j := 0; j < c.n; j++ {
		if j == 2 {
			t = c.tableZ
		}
		choice := t.choices[s.context[j&3]]
		coding := &t.codings[choice&63]
		p, e := &ps.list[n], &ps.diffs[n]
		n++
		zero := coding.zero
		p.as = zero
		ps.mixed |= zero
		e.Code = coding.code
		d, want := s.d[j&3], s.v[j&3]
		minus := d >> 63
		if c.vel < 0 { // else its velocity says where it leads, not how it went on
			want += s.damped(d, int64(choice>>8))
		}
		minus &= t.flips
		p.want, p.minus = want, int32(minus)
		if ps.writes {
			e.V = t.difference(s.w[j&3], want, minus)
		}
	}
	ps.n = n
}

// pace is the class of a velocity, from 1.
func (s *contexts) pace(c *member) int {
	pace := 1 + c.limits.of(min(span2(s.v[0], s.v[1]), 1<<40)<<16)
	if c.leads {
		s.mover = 1 + coarse(pace)
	}
	return pace
}

// coarse is the class of a pace of three.
func coarse(pace int) int { return int(coarsePace[max(pace-1, 0)]) }

// size is the class of a change by how many bits it takes over an age, from 1; 0 if nothing is
// known.
func (s *contexts) size(d int64, most int) int {
	if !s.known {
		return 0
	}
	return 1 + min(bits.Len64(uint64(magnitude(d)*s.age/s.gap)), most)
}

// short is the short way of a change of an angle.
func (c *member) short(d int64) int64 {
	if 2*d > c.turn {
		return d - c.turn
	} else if 2*d <= -c.turn {
		return d + c.turn
	}
	return d
}

// span2 is about the length of (x, y): at most 8 % too long, 3 % too short.
func span2(x, y int64) int64 {
	x, y = magnitude(x), magnitude(y)
	return max(x, y) + 3*min(x, y)>>3
}

// travel is the way of something whose velocity went from one value to the other, with their
// weights in half ticks, rounded to the nearest step.
func travel(from, to, w, x, ratio int64) int64 {
	const most = 1 << 24
	from, to = clamp(from, -most, most), clamp(to, -most, most)
	return ((from*w+to*x)*ratio + 1<<20) >> 21 // below 1<<60
}

// damped is d age eighths / (8 gap), to the nearest.
func (s *contexts) damped(d, eighths int64) int64 {
	minus := d >> 63
	v := s.over((magnitude(d)*s.age*eighths + 4*s.gap) >> 3)
	return (v ^ minus) - minus
}
