package arena

import "meanwhile/game"

// Tally is what a player did in the round that is over. There is one for each player while the
// result is shown.
type Tally struct {
	Player game.ID `net:"handle"`
	Name   string  `net:"text,12"`
	Score  int     `net:"int,0..999"`
	Deaths int     `net:"int,0..999"`
	Shots  int     `net:"int,0..9999"` // bullets and rockets
	Hits   int     `net:"int,0..9999"` // of them
}

const maxShots = 9999

// count makes the tallies of a round that ends.
func count(w *game.World) {
	for id, p := range Players.All(w) {
		Tallies.Spawn(w, Tally{id, p.Name, p.Score, p.Deaths, p.Shots, p.Hits})
	}
}

// forget removes them.
func forget(w *game.World) {
	for id := range Tallies.All(w) {
		w.Despawn(id)
	}
}

// hit counts that a bullet or a rocket of a player hurt somebody.
func (p *Player) hit() { p.Hits = min(p.Hits+1, maxShots) }

// shot counts that a player fired one.
func (p *Player) shot() { p.Shots = min(p.Shots+1, maxShots) }
