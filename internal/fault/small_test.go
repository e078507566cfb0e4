package fault

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
)

type (
	number int16
	word   string
	named  uint8
)

func (n named) String() string { return fmt.Sprintf("named-%d", uint8(n)) }

// What a browser says is what fmt says, for everything that the texts of errors are made with.
func TestSmallIsFmt(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		format string
		args   []any
	}{
		{"plain", nil},
		{"%d%% of %d", []any{3, number(-4)}},
		{"%v %v %v %v %v", []any{int64(math.MinInt64), uint64(math.MaxUint64), true, "text", word("word")}},
		{"%v %v %v %v %v", []any{1.0, 1e6, 0.1, float32(0.1), math.Inf(-1)}},
		{"%v %s %d %q", []any{named(7), named(7), named(7), named(7)}},
		{"%v of [0, %v]", []any{1500 * time.Millisecond, time.Minute}},
		{"%v %s %w", []any{cause, cause, cause}},
		{"%v %T %T %T", []any{nil, nil, named(1), []int{1}}},
		{"%q %q %q", []any{"a \"quoted\" \\ text", word("w"), 'x'}},
		{"%q", []any{"new\nline \x01 \x7f"}},
		{"%x %#x %x %x", []any{255, uint16(0xabc), []byte{0, 17, 255}, -3}},
		{"%#b %b", []any{uint8(5), 2}},
		{"code %c of %d", []any{'A' + byte(2), 4}},
		{"%v %d", []any{[]float64{1.5, 2}, [3]int{1, 2, 3}}},
		{"%d %d", []any{1}},
	} {
		want := fmt.Errorf(c.format, c.args...)
		got := newError(c.format, c.args)
		if got.Error() != want.Error() {
			t.Errorf("%q: %s, fmt says %s", c.format, got, want)
		}
		if errors.Is(got, cause) != errors.Is(want, cause) {
			t.Errorf("%q: the wrapped error is lost", c.format)
		}
	}
}
