package x25519

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

var timing = flag.Int("timing", 0, "how often to time the lanes with a fixed and with random secrets; 0 leaves it out")

// timed calls f with a fixed secret and with random ones, in random order, and returns how long each call took. Inputs
// are made beforehand and alike, and points are random for both kinds: the method of dudect (Reparaz, Balasch and
// Verbauwhede, 2017).
func timed(r *rand.Rand, n int, f func(scalars, points *[width][32]byte)) (fixed, random []float64) {
	type input struct {
		random          bool
		scalars, points [width][32]byte
	}
	draw := func(b *[width][32]byte) {
		for l := range b {
			for i := range b[l] {
				b[l][i] = byte(r.Uint32())
			}
		}
	}
	inputs := make([]input, n)
	for i := range inputs {
		in := &inputs[i]
		draw(&in.points)
		draw(&in.scalars)
		if in.random = r.IntN(2) == 1; !in.random {
			in.scalars = [width][32]byte{} // clamped: a single one
		}
	}
	for i := range inputs {
		in := &inputs[i]
		start := time.Now()
		f(&in.scalars, &in.points)
		took := float64(time.Since(start))
		if in.random {
			random = append(random, took)
		} else {
			fixed = append(fixed, took)
		}
	}
	return fixed, random
}

// alike holds the two kinds to one mean, with all calls and without the slowest, which other jobs delayed.
func alike(t testing.TB, fixed, random []float64) {
	t.Helper()
	stattest.SameMean(t, fixed, random)
	all := slices.Sorted(slices.Values(slices.Concat(fixed, random)))
	for _, keep := range []float64{.5, .75, .9} {
		limit := all[int(keep*float64(len(all)))]
		slow := func(took float64) bool { return took > limit }
		stattest.SameMean(t, slices.DeleteFunc(slices.Clone(fixed), slow), slices.DeleteFunc(slices.Clone(random), slow))
	}
}

var sink uint64

// branching is a twin that does more for each bit that is set.
func branching(scalars, points *[width][32]byte) {
	times(scalars, points)
	for _, b := range scalars[0] {
		for i := range 8 {
			if b>>i&1 == 1 {
				for range 4 {
					sink = sink*sink + 1
				}
			}
		}
	}
}

// The time of eight products, by lanes and by tables, does not tell a fixed secret from random ones, and a branch on its bits would.
func TestTiming(t *testing.T) {
	if *timing == 0 {
		t.Skip("-timing 100000 times the lanes, on a quiet machine")
	}
	needLanes(t)
	r := stattest.Rand(t)
	fixed, random := timed(r, *timing, func(scalars, points *[width][32]byte) { times(scalars, points) })
	alike(t, fixed, random)
	var public, shared [width][32]byte
	fixed, random = timed(r, *timing, func(scalars, _ *[width][32]byte) {
		if err := base().pairs(public[:], shared[:], scalars[:]); err != nil {
			t.Fatal(err)
		}
	})
	alike(t, fixed, random)
	stattest.Caught(t, func(tb testing.TB) {
		fixed, random := timed(r, *timing, branching)
		alike(tb, fixed, random)
	})
}

// The law of the timing test, without a clock: skewed times of one law pass with every share of the slowest left out, and
// a hundredth more for one kind does not.
func TestTimingTellsKindsApart(t *testing.T) {
	r := stattest.Rand(t)
	times := func(base float64) []float64 {
		all := make([]float64, 20_000)
		for i := range all {
			all[i] = base + 2_000*r.ExpFloat64()
			if r.IntN(50) == 0 {
				all[i] += 100_000 * r.ExpFloat64() // another job's turn
			}
		}
		return all
	}
	alike(t, times(60_000), times(60_000))
	stattest.Caught(t, func(tb testing.TB) { alike(tb, times(60_000), times(60_600)) })
}
