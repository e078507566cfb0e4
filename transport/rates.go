package transport

import (
	"hash/maphash"
	"sync"
	"time"
)

// rateCounters is how many counters all keys of a Rates share, twice, by hashes with a secret seed:
// memory is bounded, and nobody can choose whom to share a counter with. Each key has two, of which
// the lower one counts: few keys share both.
const rateCounters = 4096

// Rates bounds how often something may be done under one key, such as an address: some times at
// once, and after that at a steady rate. Its size is fixed; very rarely, two keys count as one.
// Safe for concurrent use.
type Rates[K comparable] struct {
	burst float64
	per   time.Duration // in which the whole burst refills

	mu       sync.Mutex
	seed     maphash.Seed
	counters [2][rateCounters]rateCounter
}

// A rateCounter forgets with time.
type rateCounter struct {
	used float64 // times not yet forgotten, as of at
	at   time.Time
}

// NewRates returns Rates that allow burst times at once, which refill within per.
func NewRates[K comparable](burst int, per time.Duration) *Rates[K] {
	return &Rates[K]{burst: float64(burst), per: per, seed: maphash.MakeSeed()}
}

// Take counts one time more under key, unless that is too many.
func (r *Rates[K]) Take(key K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, b := r.pair(key)
	if min(a.used, b.used)+1 > r.burst {
		return false
	}
	a.used++
	b.used++
	return true
}

// used returns how many times are counted under key now.
func (r *Rates[K]) used(key K) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, b := r.pair(key)
	return min(a.used, b.used)
}

// pair returns the counters of a key as of now. r.mu is held.
func (r *Rates[K]) pair(key K) (a, b *rateCounter) {
	h := maphash.Comparable(r.seed, key)
	a, b = &r.counters[0][h%rateCounters], &r.counters[1][h>>32%rateCounters]
	now := time.Now()
	for _, c := range []*rateCounter{a, b} {
		c.used = max(0, c.used-r.burst*(float64(now.Sub(c.at))/float64(r.per)))
		c.at = now
	}
	return a, b
}
