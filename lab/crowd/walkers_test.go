package crowd

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"testing"
)

// TestTraces checks that the walkers are those that other engines are measured with, by the files
// that those read: a head, then 12 bytes for each walker and tick.
func TestTraces(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the sums are of amd64; elsewhere math.Cos may differ in its last bit")
	}
	for _, c := range []struct {
		n    int
		hot  bool
		want string
	}{
		{1000, false, "262847b515db"}, {2000, false, "dd97b7ba8a32"},
		{1000, true, "a3dff30b30e2"}, {2000, true, "d9e4c5bd4230"},
	} {
		t.Run(fmt.Sprintf("n=%d/hot=%v", c.n, c.hot), func(t *testing.T) {
			sum := sha256.Sum256(trace(c.n, 120, c.hot))
			if got := hex.EncodeToString(sum[:]); !strings.HasPrefix(got, c.want) {
				t.Errorf("the trace's SHA-256 is %s, want %s...", got, c.want)
			}
		})
	}
}

// trace returns the file of n walkers for some ticks.
func trace(n, ticks int, hot bool) []byte {
	w := NewWalkers(n, hot)
	b := make([]byte, 32, 32+12*n*ticks)
	for tick := range ticks {
		w.Step()
		if tick == 0 {
			copy(b, "CRWD")
			half, radius := reach(w)
			for i, v := range []int{n, ticks, near, half, radius} {
				binary.LittleEndian.PutUint32(b[4+4*i:], uint32(v))
			}
		}
		for i := range n {
			b = binary.LittleEndian.AppendUint32(b, uint32(w.x[i]))
			b = binary.LittleEndian.AppendUint32(b, uint32(w.y[i]))
			b = binary.LittleEndian.AppendUint16(b, w.heading[i])
			b = append(b, w.health[i], w.anim[i])
		}
	}
	return b
}

// reach returns half the side of a square and the radius of a disc that hold near walkers on
// average. The files state both, for engines that know a radius alone.
func reach(w *Walkers) (half, radius int) {
	n := w.Len()
	count := func(in func(dx, dy int) bool) float64 {
		sum, of := 0, min(n, 400)
		for i := range of {
			o := i * 7919 % n
			for j := range n {
				if in(int(w.x[o]-w.x[j]), int(w.y[o]-w.y[j])) {
					sum++
				}
			}
		}
		return float64(sum) / float64(of)
	}
	want := float64(min(near, n))
	half = sort.Search(side, func(h int) bool {
		return count(func(dx, dy int) bool { return max(dx, -dx) <= h && max(dy, -dy) <= h }) >= want
	})
	radius = sort.Search(2*side, func(d int) bool {
		return count(func(dx, dy int) bool { return dx*dx+dy*dy <= d*d }) >= want
	})
	return half, radius
}
