package protocol

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Prop is a line of the schema text.
type Prop struct {
	Name, Class    string
	Comps          int
	Sim, Obs       float64
	Min, Max       int64
	To, Draw       int
	Group          int
	Far            bool
	Ref            bool
	Near           int // bits of a coordinate beside the viewer
	Parent         bool
	Warp           int64
	Shift          [4]int // at each level
	obsMin, obsMax int64
	lower          int // by how much the order of what is by itself is lower, at a level
}

// A Kind is a kind of entities, an event or the command.
type Kind struct {
	Name   string
	Rate   int
	Tables string // hash of its tables, empty: those of the document
	Levels int
	Ahead  bool // clients may run it ahead
	Props  []Prop
	Answer *Kind // of a request
	Heard  bool  // a message that players send
}

// A Schema is what a schema text says.
type Schema struct {
	Kinds, Events []*Kind
	Messages      []*Kind // and requests
	Command       *Kind
	Queued, Near  bool
	Ahead         bool // some kind may be run ahead
}

// ParseSchema reads a schema text.
func ParseSchema(text string) (*Schema, error) {
	s := &Schema{}
	var k *Kind
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			return nil, errors.New("protocol: an empty line in the schema text")
		}
		if line[0] != ' ' {
			k = &Kind{}
			for _, w := range words {
				name, val, _ := strings.Cut(w, "=")
				switch name {
				case "rate":
					k.Rate, _ = strconv.Atoi(val)
				case "levels":
					k.Levels = strings.Count(val, ",") + 1
				case "tables":
					k.Tables = val
				case "burst":
					k.Heard = true
				case "predicted", "near":
					k.Ahead = words[0] == "kind"
					s.Ahead = s.Ahead || k.Ahead
				}
			}
			switch words[0] {
			case "game":
				s.Queued = words[len(words)-1] == "commands=queued"
			case "kind":
				k.Name = words[1]
				s.Kinds = append(s.Kinds, k)
			case "event":
				k.Name = words[1]
				s.Events = append(s.Events, k)
			case "message", "request":
				k.Name = words[1]
				s.Messages = append(s.Messages, k)
			case "answer":
				s.Messages[len(s.Messages)-1].Answer = k
			case "command":
				s.Command = k
			default:
				return nil, fmt.Errorf("protocol: a line of the schema text begins with %q", words[0])
			}
			continue
		}
		p := Prop{Name: words[0], Class: words[1]}
		for _, w := range words[2:] {
			name, val, _ := strings.Cut(w, "=")
			var err error
			switch name {
			case "sim":
				p.Sim, err = strconv.ParseFloat(val, 64)
			case "obs":
				p.Obs, err = strconv.ParseFloat(val, 64)
			case "range":
				_, err = fmt.Sscanf(val, "%d..%d", &p.Min, &p.Max)
			case "to":
				p.To, err = strconv.Atoi(val)
			case "draw":
				p.Draw, err = strconv.Atoi(val)
			case "group":
				p.Group, err = strconv.Atoi(val)
			case "far":
				p.Far = true
			case "ref":
				p.Ref = true
			case "near":
				if p.Near, s.Near = 16, true; val != "" {
					p.Near, err = strconv.Atoi(val)
				}
			case "shift":
				for i, v := range strings.Split(val, ",") {
					p.Shift[i+1], err = strconv.Atoi(v)
				}
			case "parent":
				p.Parent = true
			case "warp":
				p.Warp, err = strconv.ParseInt(val, 10, 64)
			case "names", "dr", "team": // neither what is sent nor what is drawn depends on them
			default:
				if p.Comps, err = strconv.Atoi(strings.TrimPrefix(name, "x")); name[0] != 'x' {
					err = errors.New("unknown")
				}
			}
			if err != nil {
				return nil, fmt.Errorf("protocol: %s %q: %w", p.Name, w, err)
			}
		}
		p.obsMin, p.obsMax = p.Min, p.Max
		if p.Class == "float" {
			p.obsMin, p.obsMax = p.observed(p.Min), p.observed(p.Max)
		}
		k.Props = append(k.Props, p)
	}
	return s, nil
}

// observed rounds a value of the simulation to the observers' precision.
func (p *Prop) observed(v int64) int64 {
	if p.Sim == p.Obs {
		return v
	}
	return int64(math.Floor(float64(v)/(p.Sim/p.Obs) + 0.5))
}

func (p *Prop) angle() bool  { return p.Class == "angle" || p.Class == "view" }
func (p *Prop) ranged() bool { return p.Class == "int" || p.Class == "enum" || p.bounded() }

// bounded is a float with a range.
func (p *Prop) bounded() bool { return p.Class == "float" && p.Min != p.Max }
func (p *Prop) limited() bool { return p.To == 4 || p.Far }
func (p *Prop) shared() bool  { return p.To == 0 || p.To == 4 }

// bytes is how many bytes of a text or of bytes are in each integer.
func (p *Prop) bytes() int {
	if p.Class == "text" {
		return 4
	}
	return (int(p.Max) + p.Comps - 1) / p.Comps
}

func (p *Prop) turn(obs bool) int64 {
	if !p.angle() {
		return 0
	}
	return int64(p.steps(obs))
}

func (p *Prop) steps(obs bool) float64 {
	if obs {
		return p.Obs
	}
	return p.Sim
}

// members returns the properties of a group, or of an owner's record.
func (k *Kind) members(g int) (ps []*Prop) {
	for i := range k.Props {
		p := &k.Props[i]
		if g == OwnerGroup && (p.shared() || p.To == 1) || g != OwnerGroup && p.shared() && p.Group == g {
			ps = append(ps, p)
		}
	}
	return ps
}

// groups returns how many groups there are.
func (k *Kind) groups() (n int) {
	n = 1
	for i := range k.Props {
		if p := &k.Props[i]; p.shared() {
			n = max(n, p.Group+1)
		}
	}
	return n
}

func (k *Kind) has(g int, is func(*Prop) bool) bool { return slices.ContainsFunc(k.members(g), is) }
func (k *Kind) limited(g int) bool                  { return g != OwnerGroup && k.has(g, (*Prop).limited) }
func (k *Kind) later(g int) bool {
	if g == OwnerGroup || k.limited(g) {
		return g != OwnerGroup
	}
	moves := false
	for i := range k.groups() {
		moves = moves || k.moving(i)
	}
	return moves && !k.moving(g)
}
func (k *Kind) moving(g int) bool {
	return g == OwnerGroup || k.has(g, func(p *Prop) bool { return p.Draw != 0 })
}
func (k *Kind) graded(g int) bool {
	return g != OwnerGroup && k.Levels > 0 && k.has(g, func(p *Prop) bool { return p.Shift[k.Levels] > 0 })
}

// paced reports whether some group is drawn between records.
func (k *Kind) paced() bool {
	for g := range k.groups() {
		if k.moving(g) {
			return true
		}
	}
	return false
}

// usual returns the group of ordinary updates.
func (k *Kind) usual() int {
	for g := range k.groups() {
		if k.moving(g) {
			return g
		}
	}
	return 0
}
