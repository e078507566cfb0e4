// Package state has rules that write to what outlives a tick.
package state

import (
	"slices"

	"meanwhile/game"
)

type Cmd struct{ X int }

type Thing struct {
	N    int
	List []int
}

type tally struct{ n map[int]int }

func (t *tally) add(k int)     { t.n[k]++ }
func (t *tally) get(k int) int { return t.n[k] }
func (t tally) put(k int)      { t.n[k] = 1 }

var (
	Things = game.NewKind[Thing]("thing")
	count  int
	table  = [4]int{1, 2, 3, 4}
	cache  = map[int]int{}
	list   = []*Thing{{}, {}}
	total  = tally{map[int]int{}}

	Game = game.Definition[Cmd]{Act: act}
)

func act(w *game.World, me game.ID, c Cmd) {
	t := Things.Get(w, me)
	t.N, t.List = c.X, append(t.List, 3) // the world
	count++                              // want `writes to count, which outlives the tick and is no part of the world`
	count = 3                            // want `writes to count`
	table[c.X&3] = 1                     // want `writes to table`
	cache[c.X] = 1                       // want `writes to cache`
	list[0].N = 1                        // want `writes to list`
	delete(cache, 1)                     // want `writes to cache`
	p := list[1]
	p.N = 3 // want `writes to list`
	for _, l := range list {
		l.N++ // want `writes to list`
	}
	n := table
	n[0] = 3     // a copy
	total.add(1) // want `writes to total`
	total.put(1) // want `writes to total`
	_ = total.get(1)
	fill(table[:], 3) // want `writes to table`
	fill(n[:], 3)
	again(&count)         // want `writes to count`
	slices.Sort(table[:]) // want `writes to table`
	local := tally{map[int]int{}}
	local.add(3)
	for count = range 3 { // want `writes to count`
	}
	Things.Get(w, me).N = sum(list)
}

func fill(to []int, v int) {
	for i := range to {
		to[i] = v
	}
}

func again(n *int) { set(n) }
func set(n *int)   { *n = 1 }

func sum(all []*Thing) (n int) {
	for _, t := range all {
		n += t.N
	}
	return n
}

// Closures keeps state in variables around the rules.
func Closures() game.Definition[Cmd] {
	seen, free := map[game.ID]bool{}, 0
	note := func(id game.ID) { seen[id] = true } // want `writes to seen`
	return game.Definition[Cmd]{
		Act: func(w *game.World, me game.ID, c Cmd) {
			seen[me] = true // want `writes to seen`
			free++          // want `writes to free`
			mine := 0
			mine++
			note(me)
		},
	}
}

type counter struct{ n int }

func (c *counter) step(w *game.World) {
	c.n++ // want `writes to c, which outlives the tick`
}

// Method keeps state in the receiver of a rule.
func Method() *game.Definition[Cmd] {
	c := &counter{}
	d := &game.Definition[Cmd]{}
	d.Step = c.step
	return d
}
