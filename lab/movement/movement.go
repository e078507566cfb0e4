// Package movement has recorded and generated movement for experiments, all of it sampled at even
// steps.
package movement

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sort is the kind of thing that moves.
type Sort int

// The sorts.
const (
	Walkers  Sort = iota // on a plane; no direction recorded
	Shooters             // in space, with the direction of view
	Cars                 // in space, with velocity and all three angles
	Sorts    = iota
)

func (s Sort) String() string { return [...]string{"walkers", "shooters", "cars"}[s] }

// A Sample is the state of a thing at one moment: metres, metres per second, radians.
type Sample struct {
	X, Y, Z          float64
	VX, VY, VZ       float64 // of cars
	Yaw, Pitch, Roll float64
}

// A Movement is the tracks of many things.
type Movement struct {
	Name   string
	Sort   Sort
	Step   time.Duration
	Tracks [][]Sample // each without a gap, a teleport or a death
	Starts []int      // when each begins, in steps
}

// Samples returns how many samples there are.
func (m *Movement) Samples() (n int) {
	for _, t := range m.Tracks {
		n += len(t)
	}
	return n
}

// A Recording is the rows of a file.
type Recording struct {
	Name   string
	Sort   Sort
	tracks [][]row // by thing, in the order of their numbers
}

type row struct {
	t, x, y, z, yaw, pitch float64
	alive                  bool
}

const header = "t_s,entity,x_m,y_m,z_m,yaw_deg,pitch_deg,alive"

const (
	// Rows further apart than this are not joined: a longer pause, or a teleport, which is a step
	// that is faster than maxSpeed and longer than maxJump.
	maxPause = 0.5 // seconds
	maxSpeed = 55  // metres per second; a step faster by more than maxJump is a teleport
	maxJump  = 0.3
	maxRows  = 1 << 22

	headPitch = 85 // degrees; no head looks steeper
)

// Open reads a recording, comma-separated or that compressed by gzip.
func Open(name string) (*Recording, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	rec, err := Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	rec.Name, _, _ = strings.Cut(filepath.Base(name), ".")
	return rec, nil
}

// Read reads a recording: lines of t_s,entity,x_m,y_m,z_m,yaw_deg,pitch_deg,alive below that
// header, by rising time. Things without a direction are walkers; a thing with a height among them,
// a ball, is left out. If some pitch is beyond a head's, the things are cars, and entity 0, their
// ball, is left out.
func Read(r io.Reader) (*Recording, error) {
	s := bufio.NewScanner(r)
	if !s.Scan() || strings.TrimSpace(s.Text()) != header {
		return nil, errors.Join(s.Err(), fmt.Errorf("the first line is not %s", header))
	}
	byEntity := map[int][]row{}
	rec := &Recording{}
	directed, steep := false, false
	ball := map[int]bool{}
	for n := 2; s.Scan(); n++ {
		f := strings.Split(s.Text(), ",")
		if len(f) != 8 {
			return nil, fmt.Errorf("line %d has %d fields, want 8", n, len(f))
		}
		if n > maxRows {
			return nil, fmt.Errorf("more than %d lines", maxRows)
		}
		id, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: entity %q is not a whole number", n, f[1])
		}
		var v [8]float64
		for i, text := range f {
			if i == 1 || i >= 4 && text == "" {
				continue
			}
			if v[i], err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(v[i]) || math.Abs(v[i]) > 1e7 {
				return nil, fmt.Errorf("line %d: %q is not a number within 10 million", n, text)
			}
		}
		if rows := byEntity[id]; len(rows) > 0 && v[0] < rows[len(rows)-1].t {
			return nil, fmt.Errorf("line %d: time goes back", n)
		}
		directed = directed || f[5] != ""
		steep = steep || math.Abs(v[6]) > headPitch
		if f[5] == "" && f[4] != "" {
			ball[id] = true
		}
		byEntity[id] = append(byEntity[id], row{v[0], v[2], v[3], v[4], v[5] * math.Pi / 180, v[6] * math.Pi / 180,
			f[7] != "0"})
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	switch {
	case steep:
		rec.Sort = Cars
		ball[0] = true
	case directed:
		rec.Sort = Shooters
	}
	var ids []int
	for id := range byEntity {
		if !ball[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		rec.tracks = append(rec.tracks, byEntity[id])
	}
	return rec, nil
}

// At samples a recording at even steps: on the straight line between two rows, or, for cars, on the
// cubic through them, whose velocity at a row is that between its neighbours.
func (rec *Recording) At(step time.Duration) *Movement {
	m := &Movement{Name: rec.Name, Sort: rec.Sort, Step: step}
	dt := step.Seconds()
	for _, rows := range rec.tracks {
		var track []Sample
		start := 0
		end := func() {
			if len(track) > 1 {
				m.Tracks, m.Starts = append(m.Tracks, track), append(m.Starts, start)
			}
			track = nil
		}
		i := 0
		if len(rows) < 2 {
			continue
		}
		for n := int(math.Ceil(rows[0].t / dt)); float64(n)*dt < rows[len(rows)-1].t; n++ {
			t := float64(n) * dt
			for rows[i+1].t <= t {
				i++
			}
			if !follows(&rows[i], &rows[i+1]) {
				end()
				continue
			}
			if track = append(track, rec.between(rows, i, t)); len(track) == 1 {
				start = n
			}
		}
		end()
	}
	return m
}

// follows reports whether b continues the movement of a.
func follows(a, b *row) bool {
	dt := b.t - a.t
	x, y, z := b.x-a.x, b.y-a.y, b.z-a.z
	return a.alive && b.alive && dt > 0 && dt <= maxPause && math.Sqrt(x*x+y*y+z*z) <= maxSpeed*dt+maxJump
}

func (rec *Recording) between(rows []row, i int, t float64) Sample {
	a, b := &rows[i], &rows[i+1]
	dt := b.t - a.t
	u := (t - a.t) / dt
	s := Sample{Yaw: turned(a.yaw, b.yaw, u), Pitch: turned(a.pitch, b.pitch, u)}
	if rec.Sort != Cars {
		s.X, s.Y, s.Z = a.x+(b.x-a.x)*u, a.y+(b.y-a.y)*u, a.z+(b.z-a.z)*u
		return s
	}
	p, n := a, b // neighbours, where they are of the same movement
	if i > 0 && follows(&rows[i-1], a) {
		p = &rows[i-1]
	}
	if i+2 < len(rows) && follows(b, &rows[i+2]) {
		n = &rows[i+2]
	}
	cubic := func(vp, va, vb, vn float64) (x, v float64) {
		ma, mb := (vb-vp)/(b.t-p.t)*dt, (vn-va)/(n.t-a.t)*dt
		d := vb - va
		x = va + u*(ma+u*(3*d-2*ma-mb+u*(ma+mb-2*d)))
		return x, (ma + u*(2*(3*d-2*ma-mb)+3*u*(ma+mb-2*d))) / dt
	}
	s.X, s.VX = cubic(p.x, a.x, b.x, n.x)
	s.Y, s.VY = cubic(p.y, a.y, b.y, n.y)
	s.Z, s.VZ = cubic(p.z, a.z, b.z, n.z)
	return s
}

// turned is the angle between a and b, the short way.
func turned(a, b, u float64) float64 { return a + math.Remainder(b-a, 2*math.Pi)*u }
