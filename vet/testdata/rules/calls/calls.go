// Package calls has rules that use what differs between machines or runs.
package calls

import (
	crand "crypto/rand"
	"maps"
	"math"
	"math/cmplx"
	"math/rand"
	randv2 "math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"

	"meanwhile/game"
)

type Cmd struct{ X float64 }

var Game = game.Definition[Cmd]{Step: step}

func step(w *game.World) {
	numbers(2)
	clocks()
	randomness()
	orders(map[int]string{})
	threads()
	pools()
	outsides()
	addresses(new(int))
	integers(3, 4)
}

func numbers(x float64) {
	_ = math.Sqrt(x) + math.Floor(x) + math.Abs(x) + math.Pi + math.Inf(1) + math.MaxFloat64
	_ = math.Sin(x)      // want `math\.Sin has another last bit on amd64, arm64 and wasm: use package geom \(in Step\)`
	_ = math.Exp(x)      // want `math\.Exp has`
	_ = math.Pow(x, 2)   // want `math\.Pow has`
	_ = math.Hypot(x, x) // want `math\.Hypot has`
	f := math.Cos        // want `math\.Cos has`
	_ = f(x)
	_ = cmplx.Abs(0) // want `cmplx\.Abs has`
}

func clocks() {
	start := time.Now()           // want `time\.Now reads or waits for the machine's clock: count in ticks`
	_ = time.Since(start)         // want `time\.Since reads`
	time.Sleep(time.Second)       // want `time\.Sleep reads`
	_ = time.Duration(3).String() // a number
}

func randomness() {
	_ = rand.Intn(3)                     // want `rand\.Intn draws other numbers on each side and in each run: use World\.Rand`
	_ = randv2.Float64()                 // want `rand\.Float64 draws`
	r := randv2.New(randv2.NewPCG(1, 2)) // want `rand\.New draws` `rand\.NewPCG draws`
	_ = r.IntN(3)                        // want `rand\.Rand\.IntN draws`
	_, _ = crand.Read(nil)               // want `rand\.Read draws`
}

func orders(m map[int]string) {
	for range m {
	}
	for k := range m { // want `range over the map m comes in another order in each run`
		_ = k
	}
	for k := range m {
		delete(m, k)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		_ = k
	}
	for k := range maps.Keys(m) { // want `maps\.Keys comes in another order`
		_ = k
	}
	_ = slices.Collect(maps.Values(m)) // want `maps\.Values comes in another order`
	_ = reflect.ValueOf(m).MapKeys()   // want `reflect\.Value\.MapKeys comes in another order`
}

func threads() {
	c := make(chan int)
	go func() { // want `a goroutine runs when it likes`
		c <- 1   // want `a channel waits for another goroutine`
		close(c) // want `a channel waits`
	}()
	<-c           // want `a channel waits`
	for range c { // want `a channel waits`
	}
	select { // want `select waits`
	default:
	}
	var m sync.Mutex
	m.Lock() // want `sync\.Mutex\.Lock is for goroutines, and rules run in one`
}

type scratch struct{ list []int }

func (s *scratch) Reset() { s.list = s.list[:0] }

var pool = sync.Pool{New: func() any { return new(scratch) }}

func pools() {
	s := pool.Get().(*scratch)
	s.Reset()
	defer pool.Put(s)
	s.list = append(s.list, 1)
	r := pool.Get().(*scratch) // want `sync\.Pool\.Get gives what another world may have left: call Reset in the next line`
	r.list = nil
	s.Reset()
	q := pool.Get().(*scratch) // want `sync\.Pool\.Get gives`
	s.Reset()
	_ = q
	_ = pool.Get()  // want `sync\.Pool\.Get gives`
	get := pool.Get // want `sync\.Pool\.Get gives`
	_ = get
	if t := pool.Get().(*scratch); t != nil { // want `sync\.Pool\.Get gives`
		t.Reset()
	}
}

func outsides() {
	_ = os.Getenv("A")      // want `os\.Getenv reaches outside the world`
	_ = os.Args             // want `os\.Args reaches outside the world`
	_, _ = http.Get("http") // want `http\.Get reaches outside the world`
}

func addresses(p *int) {
	_ = uintptr(3)        // want `uintptr holds an address`
	_ = unsafe.Pointer(p) // want `Pointer holds an address`
}

func integers(x, y float64, os ...int) {
	_ = int(x) // nothing that rules compute is too large for it
	_ = int64(x)
	_ = uint64(x)                            // want `uint64\(x\) gives another number on each kind of machine if the float does not fit, such as below zero`
	_ = int32(x)                             // want `int32\(x\) gives another number on each kind of machine if the float does not fit`
	_ = int32(math.Floor(x))                 // want `int32\(math\.Floor\(x\)\) gives another number`
	_ = int32(min(x, 3))                     // want `int32\(min\(x, 3\)\) gives another number`
	_ = int32(max(min(x, 3), -3))            // limited
	_ = int32(math.Floor(min(3, max(0, y)))) // limited
	_ = int32(clamp(x, 0, 3))                // limited
	limited := clamp(y, 0, 3)
	_ = int32(limited * 2)
	_ = int32(float64(len(os)) * 0.5) // an integer before
	grows := 1.0
	for range 3 {
		grows = grows * 2
	}
	_ = int32(grows) // want `int32\(grows\) gives another number`
}

func clamp(x, low, high float64) float64 { return max(low, min(x, high)) }
