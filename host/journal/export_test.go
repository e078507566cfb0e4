package journal

import (
	"meanwhile/netcode/clock"
	"meanwhile/server"
)

var (
	FormOf = formOf
	ErrGap = errGap
)

// Chunks returns the chunks of a file, without headers.
func (f *File) Chunks() []Chunk {
	var all []Chunk
	for i := range f.chunks {
		s := &f.chunks[i]
		p, err := s.payload()
		if err != nil {
			panic(err)
		}
		all = append(all, Chunk{s.kind, p, s.tick, s.time})
	}
	return all
}

// Tick returns the tick at the end of a chunk.
func (c *Chunk) Tick() clock.Tick { return c.tick }

// Sums returns both sums of a difference.
func (d *Difference) Sums() (got, want uint64) { return d.sum, d.want }

// FollowAs is Server.Follow for a world that a Sim records.
func (t *Tail) FollowAs(srv *server.Server, h Header, newest bool) (*Follower, error) {
	return (&Server{Server: srv, header: h}).Follow(t, newest)
}
