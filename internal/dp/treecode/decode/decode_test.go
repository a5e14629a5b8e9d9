package decode

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/treecode"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// small has strings of up to four of four letters.
var small = treecode.Shape{Alphabet: "abcd", Longest: 4, Cells: 16, Hashes: 1, Tail: 4, Buckets: 8, Pairs: 0.1}

// summed returns the sum of the vectors that people hold, with noise, and the code.
func summed(t testing.TB, s treecode.Shape, held map[string]int, r *rand.Rand, deviation float64) (*treecode.Code, []float64) {
	t.Helper()
	c, err := treecode.New(s, [32]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
	if err != nil {
		t.Fatal(err)
	}
	sum, v := make([]float64, c.Numbers()), make([]float32, c.Numbers())
	for i := range sum {
		sum[i] = deviation * r.NormFloat64()
	}
	for text, n := range held {
		symbols, err := c.Encode(text)
		if err != nil && text != "" {
			t.Fatal(err)
		}
		c.Write(symbols, v)
		for i, x := range v {
			sum[i] += float64(n) * float64(x)
		}
	}
	return c, sum
}

// Strings that stand out are found with their counts, and the reserved one among them; exact sums give
// exact counts.
func TestFrequentStringsAreFound(t *testing.T) {
	held := map[string]int{"abcd": 900, "ab": 700, "d": 500, "dcba": 400, "": 300, "bb": 3, "ca": 2}
	for _, deviation := range []float64{0.01, 8} {
		c, sum := summed(t, small, held, seeded.New(1), deviation)
		found := Strings(c, sum, deviation, nil)
		if len(found) < 5 {
			t.Fatalf("noise of %v: found %d", deviation, len(found))
		}
		for i, want := range []string{"abcd", "ab", "d", "dcba", ""} {
			f := found[i]
			if f.Text != want || math.Abs(f.Count.Mean-float64(held[want])) > 5*f.Count.StdErr+1e-3*float64(held[want]) {
				t.Errorf("noise of %v: %q has %v, want %d of %q", deviation, f.Text, f.Count, held[want], want)
			}
		}
	}
}

// inNoise counts in how many of so many sums something is found that nobody holds, of a decoder whose tests bound another share.
func inNoise(t testing.TB, runs int, held map[string]int, share float64) (wrong int) {
	r := stattest.Rand(t)
	for range runs {
		c, sum := summed(t, small, held, r, 1)
		d := newDecoder(c, sum, 1)
		d.share = math.Log(share)
		for _, f := range d.strings() {
			if held[f.Text] == 0 {
				wrong++
				break
			}
		}
	}
	return wrong
}

// Of noise alone, and of noise beside strings that lend their beginnings, hardly anything is found that nobody
// holds. A decoder that lets more pass is caught.
func TestFalseDiscoveriesAreBounded(t *testing.T) {
	const runs = 400
	held := map[string]int{"abcd": 90, "abca": 40, "dd": 25}
	stattest.AtMost(t, False, runs, inNoise(t, runs, nil, False))
	stattest.AtMost(t, False, runs, inNoise(t, runs, held, False))
	stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, False, runs, inNoise(tb, runs, nil, 0.5)) })
}

// continuations lists all strings of a decoder that go on from a beginning.
func continuations(d *decoder, beginning []uint8) (all [][]uint8) {
	all = [][]uint8{beginning}
	for from := 0; from < len(all); from++ {
		if at := all[from]; len(at) < d.Length() {
			for s := 1; s < d.Symbols(); s++ {
				all = append(all, append(slices.Clone(at), uint8(s)))
			}
		}
	}
	return all
}

// The priors of all strings sum to at most one, and so do those of all that may follow a beginning: without that, tests
// bound nothing. Without the half of them they sum to more.
func TestPriorsSumToOne(t *testing.T) {
	const rounding = 1e-4
	held := map[string]int{"abcd": 900, "ab": 700, "dd": 500}
	for name, s := range map[string]treecode.Shape{"pairs": small, "no pairs": {Alphabet: "ab", Longest: 5, Cells: 8, Hashes: 1, Tail: 2, Buckets: 2}} {
		if name == "no pairs" {
			held = map[string]int{"ab": 10}
		}
		c, sum := summed(t, s, held, seeded.New(2), 1)
		d := newDecoder(c, sum, 1)
		most := 0.0
		for _, beginning := range continuations(d, nil) {
			if len(beginning) > 2 {
				break
			}
			total := 0.0
			for _, whole := range continuations(d, beginning) {
				alike, spelt := d.priors(whole)
				total += math.Exp(goesOn(alike, spelt, len(beginning)))
			}
			if most = max(most, total); total > 1+rounding {
				t.Errorf("%s: after %v the priors sum to %v", name, beginning, total)
			}
		}
		if name == "pairs" && 2*most <= 1+rounding {
			t.Error("the half is not needed")
		}
	}
}

// covered counts how often an interval has the count, of estimates that are seen where they pass.
func covered(t testing.TB, count float64, interval func(f Found) (low, high float64)) (in, of int) {
	const runs = 4000
	r := stattest.Rand(t)
	for of < runs {
		f := Found{Count: estimate.Value{Mean: count + 10*r.NormFloat64(), StdErr: 10}, Needed: 60}
		if f.Count.Mean <= f.Needed {
			continue
		}
		of++
		if low, high := interval(f); low <= count && count <= high {
			in++
		}
	}
	return in, of
}

// Intervals have the count as often as they say, at the threshold and far above. Plain ones do not.
func TestIntervalsKnowOfTheThreshold(t *testing.T) {
	for _, count := range []float64{45, 60, 75, 200} {
		in, of := covered(t, count, func(f Found) (low, high float64) { return f.Interval(0.05) })
		stattest.Binomial(t, 0.95, of, in)
	}
	stattest.Caught(t, func(tb testing.TB) {
		in, of := covered(tb, 45, func(f Found) (low, high float64) { return f.Count.Mean - 19.6, f.Count.Mean + 19.6 })
		stattest.Binomial(tb, 0.95, of, in)
	})
}

// A neighbour in the bucket that lends a beginning may not lift the low end of an interval that holds for all at once.
func TestLentBeginningsAreNoCount(t *testing.T) {
	s := small
	s.Buckets = 1
	lifted := 0
	for seed := range uint64(20) {
		c, sum := summed(t, s, map[string]int{"abcd": 200}, seeded.New(seed), 4)
		// Half of a neighbour's code word, which is that of no string: people who lend the beginning.
		symbols, _ := c.Encode("abcd")
		_, cells := c.Word(symbols)
		for at := range 3 {
			sum[at*c.Cells+int(cells[at])] += 120 * math.Sqrt((1-c.Pairs)/float64(c.Positions()))
		}
		for _, f := range Strings(c, sum, 4, nil) {
			if f.Text != "abcd" {
				continue
			}
			if low, _ := f.Interval(0.01); low > 200 {
				lifted++
			}
			if low, high := f.IntervalAtOnce(0.01); low > 200 || high < 200 {
				t.Errorf("seed %d: %v to %v, and 200 hold it", seed, low, high)
			}
		}
	}
	if lifted < 10 {
		t.Errorf("an interval that knows nothing of others was lifted %d times of 20", lifted)
	}
}

// Of many beginnings that fit alike none is kept in the place of a better one, wherever that stands. A beam that takes
// the first that are good enough loses it.
func TestABeamKeepsTheBest(t *testing.T) {
	const width = 8
	first := func(all []path, floor float32) (kept []path) {
		for _, p := range all {
			if p.fit >= floor && len(kept) < width {
				kept = append(kept, p)
			}
		}
		return kept
	}
	lost := 0
	for place := range 20 {
		b := &beam{next: make([]path, 20)}
		b.next[place].fit = 1
		all := slices.Clone(b.next)
		floor := b.keep(width)
		best := func(p path) bool { return p.fit == 1 }
		if floor != 0 || len(b.next) != width || !slices.ContainsFunc(b.next, best) {
			t.Errorf("of place %d: floor %v, %d kept", place, floor, len(b.next))
		}
		if !slices.ContainsFunc(first(all, floor), best) {
			lost++
		}
	}
	if lost != 20-width {
		t.Errorf("the first that are good enough lose the best of %d places", lost)
	}
}

// judged returns a decoder of sums that say nothing, the cells of abcd with a count, and what changes the residual so that
// the position at says so much in the place of that count.
func judged(t *testing.T, count, err float64) (d *decoder, f *Found, say func(left []float32, at int, says float64)) {
	t.Helper()
	c, sum := summed(t, small, nil, seeded.New(3), 0)
	d = newDecoder(c, sum, 1)
	symbols, failed := c.Encode("abcd")
	if failed != nil || d.Positions() != 8 || d.Tail != 4 || d.Hashes != 1 {
		t.Fatalf("%v: a tail has %d of %d positions", failed, d.Tail, d.Positions())
	}
	f = &Found{symbols: symbols, Count: estimate.Value{Mean: count, StdErr: err}}
	_, f.cells = c.Word(symbols)
	return d, f, func(left []float32, at int, says float64) {
		left[at*d.Cells+int(f.cells[at])] = float32((says - count) * d.centred / d.roots)
	}
}

// A tail is taken that carries at least half of the count, or misses it by less than 2.5 of its errors: 35.4, of 4
// positions of 8. A tail that is always taken is caught.
func TestATailCarriesTheCount(t *testing.T) {
	wrong := func(tail func(d *decoder, left []float32, f *Found) bool) (n int) {
		for _, c := range []struct {
			count, tail float64
			taken       bool
		}{{1000, 1000, true}, {1000, 501, true}, {1000, 499, false}, {1000, 0, false}, {1000, 2000, true}, {30, 5, true}, {30, -4, true}, {30, -7, false}} {
			d, f, say := judged(t, c.count, 10)
			left := make([]float32, d.size)
			for at := d.Positions() - d.Tail; at < d.Positions(); at++ {
				say(left, at, c.tail)
			}
			if tail(d, left, f) != c.taken {
				n++
			}
		}
		return n
	}
	if n := wrong((*decoder).tail); n != 0 {
		t.Errorf("%d tails are judged wrongly", n)
	}
	if wrong(func(*decoder, []float32, *Found) bool { return true }) == 0 {
		t.Error("a tail that is always taken passes")
	}
}

// What follows each beginning passes by itself: one position says less, and the one before it as much more, so that one
// cut alone falls short. Needed is a normal quantile of 0.02 times half of 5^-(4-m), the prior of what follows m of four
// symbols that are spelt by chance (Python's statistics.NormalDist). Cuts of which one is left out are caught.
func TestEveryCutPasses(t *testing.T) {
	const count, err = 100.0, 10.0
	needed := map[int]float64{1: 3.775012, 2: 3.352795, 3: 2.878162, 4: 2.326348}
	wrong := func(cuts func(d *decoder, left []float32, f *Found) bool) (n int) {
		for cut, z := range needed {
			for _, c := range []struct {
				times float64
				taken bool
			}{{1.01, true}, {0.99, false}} {
				d, f, say := judged(t, count, err)
				left, rest := make([]float32, d.size), float64(d.Positions()-cut)
				short := (count - c.times*z*err*math.Sqrt(float64(d.Positions())/rest)) * rest
				say(left, cut, count-short)
				say(left, cut-1, count+short)
				if cuts(d, left, f) != c.taken {
					n++
				}
			}
		}
		return n
	}
	all := func(d *decoder, left []float32, f *Found) bool {
		alike, spelt := d.priors(f.symbols)
		return d.cuts(left, f, alike, spelt)
	}
	if n := wrong(all); n != 0 {
		t.Errorf("%d cuts are judged wrongly", n)
	}
	for out := range needed {
		if wrong(func(d *decoder, left []float32, f *Found) bool {
			for m, z := range needed {
				said := float64(d.Positions()) / float64(d.Positions()-m)
				if m != out && count+d.beyond(left, f, m) < z*err*math.Sqrt(said) {
					return false
				}
			}
			return true
		}) != 1 {
			t.Errorf("without the cut after %d symbols as much is refused", out)
		}
	}
}

// What clipping leaves of a shorter vector is more, and is taken off its count, its error and its intervals alike.
func TestShorterVectorsAreNotTooLong(t *testing.T) {
	excess := func(norm float64) float64 { return 1 / (norm * norm) }
	const held = 1000
	c, sum := summed(t, small, nil, seeded.New(4), 1)
	norm, v := c.Norm(1), make([]float32, c.Numbers())
	symbols, err := c.Encode("b")
	if err != nil {
		t.Fatal(err)
	}
	c.Write(symbols, v)
	squares := 0.0
	for i, x := range v {
		squares += float64(x) * float64(x)
		sum[i] += held * excess(norm) * float64(x)
	}
	if math.Abs(squares-norm*norm) > 1e-6 || norm > 0.98 || c.Norm(4) != 1 {
		t.Fatalf("a vector of squared length %v has the norm %v", squares, norm)
	}
	long, right := Strings(c, sum, 1, nil), Strings(c, sum, 1, excess)
	if len(right) != 1 || math.Abs(right[0].Count.Mean-held) > 5*right[0].Count.StdErr || math.Abs(long[0].Count.Mean-held) < 20 {
		t.Fatalf("%v, and as it is %v", right, long)
	}
	low, high := right[0].IntervalAtOnce(0.05)
	wide, wider := long[0].IntervalAtOnce(0.05)
	if by := excess(norm); math.Abs(low*by-wide) > 1e-6 || math.Abs(high*by-wider) > 1e-6 {
		t.Errorf("%v to %v, and as it is %v to %v", low, high, wide, wider)
	}
}
