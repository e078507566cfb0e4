package arena

import (
	"meanwhile/game"
	"meanwhile/game/saved"
)

const (
	// BoardRows is how many players the board of a room names.
	BoardRows = 8
	maxFrags  = 999999 // of a career
)

// Career is what lasts of a player: it comes back with the player, on every map and after every
// restart of the server. Bots have none.
type Career struct {
	Number uint64 // tells players of one name apart; drawn at the first frag, 0 before
	Frags  int
	Best   int // the most frags in one round
}

// Board is what lasts of a room: those who have the most frags of all time, the best first.
type Board struct{ Rows [BoardRows]Row }

// Row is a player on the board; Number is that of its career, 0 in an empty row.
type Row struct {
	Number uint64
	Name   string
	Frags  int
	Best   int
}

// Best shows a row of the board.
type Best struct {
	Rank  int    `net:"int,1..8"`
	Name  string `net:"text,12"`
	Frags int    `net:"int,0..999999"`
	Round int    `net:"int,0..999"` // the most in one round
}

var (
	careers = saved.ForPlayers[Career]()
	boards  = saved.ForRooms[Board]()
)

// credit notes a frag in what lasts.
func credit(w *game.World, me game.ID, p *Player) {
	if !careers.Lasts(w, me) {
		return
	}
	c := careers.Of(w, me)
	if c.Number == 0 {
		c.Number = w.Rand().Uint64() | 1
	}
	c.Frags, c.Best = min(c.Frags+1, maxFrags), max(c.Best, p.Score)
	boards.Of(w).enter(Row{c.Number, p.Name, c.Frags, c.Best})
}

// enter puts a row where it belongs, in place of the same player's old one.
func (b *Board) enter(r Row) {
	n := 0
	for _, old := range b.Rows {
		if old.Number != 0 && old.Number != r.Number {
			b.Rows[n] = old
			n++
		}
	}
	clear(b.Rows[n:])
	at := 0
	for at < n && b.Rows[at].Frags >= r.Frags {
		at++
	}
	if at < BoardRows {
		copy(b.Rows[at+1:], b.Rows[at:])
		b.Rows[at] = r
	}
}

// showBoard keeps an entity for each row that names somebody, once a second.
func showBoard(w *game.World) {
	if w.Tick()%Rate != 1 {
		return
	}
	rows := boards.Of(w).Rows
	for _, b := range Bests.All(w) {
		r := &rows[b.Rank-1]
		*b = Best{b.Rank, r.Name, r.Frags, r.Best}
		r.Number = 0 // has its entity
	}
	for i, r := range rows {
		if r.Number != 0 {
			Bests.Spawn(w, Best{i + 1, r.Name, r.Frags, r.Best})
		}
	}
}
