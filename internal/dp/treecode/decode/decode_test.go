package decode

import (
	"maps"
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

// Strings that stand out are found with their counts, and the reserved one is counted beside them; exact sums give
// exact counts.
func TestFrequentStringsAreFound(t *testing.T) {
	held := map[string]int{"abcd": 900, "ab": 700, "d": 500, "dcba": 400, "": 300, "bb": 3, "ca": 2}
	for _, deviation := range []float64{0.01, 8} {
		c, sum := summed(t, small, held, seeded.New(1), deviation)
		found, reserved, _ := Strings(c, sum, deviation, nil)
		if len(found) < 4 {
			t.Fatalf("noise of %v: found %d", deviation, len(found))
		}
		if math.Abs(reserved.Mean-float64(held[""])) > 5*reserved.StdErr+1e-3*float64(held[""]) {
			t.Errorf("noise of %v: %v are counted of the reserved string, want %d", deviation, reserved, held[""])
		}
		for i, want := range []string{"abcd", "ab", "d", "dcba"} {
			f := found[i]
			if f.Text != want || math.Abs(f.Count.Mean-float64(held[want])) > 5*f.Count.StdErr+1e-3*float64(held[want]) {
				t.Errorf("noise of %v: %q has %v, want %d of %q", deviation, f.Text, f.Count, held[want], want)
			}
		}
	}
}

// The reserved string is counted without bias however few hold it, beside others of its bucket, and its error covers the
// noise. A count that is seen only where it stands out is too high.
func TestTheReservedStringIsAlwaysCounted(t *testing.T) {
	const runs, deviation = 300, 8.0
	r := stattest.Rand(t)
	for _, held := range []map[string]int{{"": 0, "abcd": 900}, {"": 12, "abcd": 900, "ab": 400}, {"": 600}} {
		var off, seen []float64
		variance := 0.0
		for range runs {
			c, sum := summed(t, small, held, r, deviation)
			found, reserved, _ := Strings(c, sum, deviation, nil)
			if slices.ContainsFunc(found, func(f Found) bool { return f.Text == "" }) {
				t.Fatal("the reserved string is one of those that were found")
			}
			by := reserved.Mean - float64(held[""])
			off = append(off, by)
			variance += reserved.StdErr * reserved.StdErr / runs
			if reserved.Mean > reserved.StdErr {
				seen = append(seen, by)
			}
		}
		stattest.Mean(t, 0, variance, off)
		if held[""] == 12 {
			stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 0, variance, seen) })
		}
	}
}

// inNoise counts what is found that nobody holds in so many sums, and adds up by how much that is bounded. In expectation many
// stand out by chance; the check's level is the decoder's.
func inNoise(t testing.TB, runs int, held map[string]int, level float64) (wrong int, bound float64) {
	r := stattest.Rand(t)
	for range runs {
		c, sum := summed(t, small, held, r, 1)
		d := newDecoder(c, sum, 1)
		d.share, d.level = math.Log(50), level
		found, atMost := d.strings()
		bound += atMost
		for _, f := range found {
			if held[f.Text] == 0 {
				wrong++
			}
		}
	}
	return wrong, bound
}

// In noise, and in noise beside strings that lend their beginnings, the check lets pass as few that nobody holds as it says,
// whatever stands out. A decoder without it lets more pass.
func TestFalseDiscoveriesAreBounded(t *testing.T) {
	const runs = 150
	most := func(tb testing.TB, held map[string]int, level float64) {
		wrong, bound := inNoise(t, runs, held, level)
		tb.Logf("%d false, at most %.1f are expected", wrong, bound)
		stattest.AtMost(tb, Check, int(bound/Check), wrong)
	}
	for _, held := range []map[string]int{nil, {"abcd": 90, "abca": 40, "dd": 25}, {"abcd": 900, "aaaa": 700, "": 500}} {
		most(t, held, Check)
		stattest.Caught(t, func(tb testing.TB) {
			wrong, bound := inNoise(t, runs, held, 1)
			stattest.AtMost(tb, Check, int(bound), wrong)
		})
	}
}

// tailOf sets the cells of a string's tail to the digits of a number.
func tailOf(d *decoder, f *Found, number int) {
	for at := d.Positions() - d.Tail; at < d.Positions(); at++ {
		f.cells[at] = uint8(number % d.Cells)
		number /= d.Cells
	}
}

// Of all tails that a string may have, as few pass as are charged: by enumeration, in noise and beside a neighbour that nobody
// has found, however much is needed. A check that takes what it reads for normal noise lets more pass beside the neighbour.
func TestOfAllTailsAsFewPassAsAreCharged(t *testing.T) {
	few := small // of 4,096 tails
	few.Cells = 8
	for name, neighbour := range map[string]float64{"noise": 0, "a neighbour": 400} {
		d, f, say := judged(t, few, 0, 10)
		r := seeded.New(6)
		left := make([]float32, d.size)
		for i := range left {
			left[i] = float32(r.NormFloat64())
		}
		for at := d.Positions() - d.Tail; at < d.Positions(); at++ {
			say(left, at, neighbour)
		}
		all := int(math.Pow(float64(d.Cells), float64(d.Tail)))
		scale := float64(d.Tail) * d.centred / d.roots
		for _, needs := range []float64{math.Inf(-1), 2, 4} {
			passed, normal, charged := 0, 0, 0.0
			for number := range all {
				tailOf(d, f, number)
				c := &checks{asked: map[string]answer{}}
				if d.check(c, left, f, needs) {
					passed++
				}
				charged = c.level
				sum := 0.0
				for at := d.Positions() - d.Tail; at < d.Positions(); at++ {
					sum += float64(left[at*d.Cells+int(f.cells[at])])
				}
				if sum > math.Max(needs*scale, 2.326*math.Sqrt(float64(d.Tail)*d.centred)) {
					normal++
				}
			}
			if share := float64(passed) / float64(all); share > charged || charged > Check || share < charged/2-2/float64(all) {
				t.Errorf("%s, %v needed: %v of all tails pass, and %v are charged", name, needs, share, charged)
			}
			if share := float64(normal) / float64(all); neighbour > 0 && needs < 0 && share <= Check {
				t.Errorf("%s: of a check that knows of noise alone %v pass", name, share)
			}
		}
	}
}

// A string of which other positions say much is charged for little, and nearly every tail of those who hold it passes. Where they
// say little it is charged in full, and so is one of whose count they are not sure.
func TestWhatStandsOutIsChargedForLittle(t *testing.T) {
	const runs, nearlyAll = 400, 0.99
	for _, of := range []struct{ count, err, most, least float64 }{{30, 1, Check / 8, 0}, {4, 1, 1.001 * Check, Check / 2}, {30, 15, 1.001 * Check, Check / 2}} {
		d, f, say := judged(t, small, 0, of.err)
		f.Count.Mean = of.count
		r := stattest.Rand(t)
		passed, charged := 0, 0.0
		for range runs {
			left := make([]float32, d.size)
			for i := range left {
				left[i] = float32(r.NormFloat64())
			}
			for at := d.Positions() - d.Tail; at < d.Positions(); at++ {
				was := left[at*d.Cells+int(f.cells[at])]
				say(left, at, of.count)
				left[at*d.Cells+int(f.cells[at])] += was
			}
			c := &checks{asked: map[string]answer{}}
			if d.check(c, left, f, math.Inf(-1)) {
				passed++
			}
			charged += c.level / runs
		}
		if charged > of.most || charged < of.least {
			t.Errorf("a count of %v with an error of %v: %v are charged, want %v to %v", of.count, of.err, charged, of.least, of.most)
		}
		if of.least == 0 {
			stattest.AtMost(t, 1-nearlyAll, runs, runs-passed)
		}
	}
}

// What is asked of tails does not depend on them, until one passes: other tails, and the same strings are asked of. Other cells
// of beginnings, and others are.
func TestNoTailIsReadBeforeItIsAsked(t *testing.T) {
	asked := func(spoil int) (keys []string) {
		held := map[string]int{"abcd": 60, "abca": 40, "dd": 25, "aaaa": 20}
		c, sum := summed(t, small, held, seeded.New(7), 1)
		d := newDecoder(c, sum, 1)
		d.share, d.level = math.Log(50), 0 // none passes
		body := d.Positions() - d.Tail
		for bucket := range d.Buckets {
			from, to := body, d.Positions()
			if spoil == 2 {
				from, to = 0, body
			}
			for at := from; spoil > 0 && at < to; at++ { // cells change places
				row := d.sums[bucket*d.size+at*d.Cells:][:d.Cells]
				slices.Reverse(row)
			}
			of := &checks{asked: map[string]answer{}}
			d.bucket(newBeam(d), of, bucket)
			keys = append(keys, slices.Sorted(maps.Keys(of.asked))...)
		}
		return keys
	}
	plain := asked(0)
	if len(plain) < 5 || !slices.Equal(plain, asked(1)) {
		t.Errorf("%d strings are asked of, and of other tails %d", len(plain), len(asked(1)))
	}
	if slices.Equal(plain, asked(2)) {
		t.Error("of other beginnings the same strings are asked of")
	}
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

// covered counts how often an interval has the count, of estimates that are seen where they pass 60, and their tails 100. A third
// of the positions is tail.
func covered(t testing.TB, count float64, interval func(f Found) (low, high float64)) (in, of int) {
	const runs, tail, deviation = 400, 1.0 / 3, 10.0
	r := stattest.Rand(t)
	for of < runs {
		body := count + deviation*r.NormFloat64()/math.Sqrt(1-tail)
		end := count + deviation*r.NormFloat64()/math.Sqrt(tail)
		f := Found{Count: estimate.Value{Mean: (1-tail)*body + tail*end, StdErr: deviation}, Needed: 60, checked: 100, tail: tail}
		if f.Count.Mean <= f.Needed || end <= f.checked {
			continue
		}
		of++
		if low, high := interval(f); low <= count && count <= high {
			in++
		}
	}
	return in, of
}

// Intervals have the count as often as they say, at the threshold and far above. Plain ones do not, and neither do those that know
// nothing of the check.
func TestIntervalsKnowOfTheThreshold(t *testing.T) {
	for _, count := range []float64{60, 75, 100, 200} {
		in, of := covered(t, count, func(f Found) (low, high float64) { return f.Interval(0.05) })
		stattest.Binomial(t, 0.95, of, in)
	}
	stattest.Caught(t, func(tb testing.TB) {
		in, of := covered(tb, 60, func(f Found) (low, high float64) { return f.Count.Mean - 19.6, f.Count.Mean + 19.6 })
		stattest.Binomial(tb, 0.95, of, in)
	})
	stattest.Caught(t, func(tb testing.TB) {
		in, of := covered(tb, 60, func(f Found) (low, high float64) {
			f.checked = math.Inf(-1)
			return f.Interval(0.05)
		})
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
		found, _, _ := Strings(c, sum, 4, nil)
		for _, f := range found {
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

// judged returns a decoder of sums that say nothing, the cells of abcd with a count, and what changes a residual so that
// the position at says so much in the place of that count.
func judged(t *testing.T, s treecode.Shape, count, err float64) (d *decoder, f *Found, say func(left []float32, at int, says float64)) {
	t.Helper()
	c, sum := summed(t, s, nil, seeded.New(3), 0)
	d = newDecoder(c, sum, 1)
	d.share = math.Log(0.02)
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

// A tail has to say so much that the whole passes and what follows each beginning does. So that each of these says most once,
// positions before it say much and those after it nothing. Needed is a normal quantile of 0.02 times half of 5^-(4-m), the prior of
// what follows m of four symbols that are spelt by chance (Python's statistics.NormalDist).
func TestATailSaysWhatEachCutNeeds(t *testing.T) {
	const err, much, body, all, tail = 10.0, 1000.0, 4, 8, 4
	quantiles := []float64{4.158746, 3.775012, 3.352795, 2.878162, 2.326348}
	for most := range quantiles {
		d, f, say := judged(t, small, 0, err)
		left := make([]float32, d.size)
		for at := range most {
			say(left, at, much)
		}
		alike, spelt := d.priors(f.symbols)
		got, want, others := d.needs(left, f, alike, spelt), 0.0, math.Inf(-1)
		for m, z := range quantiles { // the mean of positions from m on is z of its own errors
			needs := (z*err*math.Sqrt(body/float64(all-m))*float64(all-m) - much*math.Max(0, float64(most-m))) / tail
			if m == most {
				want = needs
			} else {
				others = math.Max(others, needs)
			}
		}
		if math.Abs(got-want) > 1e-3 {
			t.Errorf("the cut after %d: %v is needed, want %v", most, got, want)
		}
		if others > want-0.1 {
			t.Errorf("without the cut after %d symbols %v is needed, and not %v", most, others, want)
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
	long, _, _ := Strings(c, sum, 1, nil)
	right, _, _ := Strings(c, sum, 1, excess)
	if len(right) == 0 || math.Abs(right[0].Count.Mean-held) > 5*right[0].Count.StdErr || math.Abs(long[0].Count.Mean-held) < 20 {
		t.Fatalf("%v, and as it is %v", right, long)
	}
	low, high := right[0].IntervalAtOnce(0.05)
	wide, wider := long[0].IntervalAtOnce(0.05)
	if by := excess(norm); math.Abs(low*by-wide) > 1e-6 || math.Abs(high*by-wider) > 1e-6 {
		t.Errorf("%v to %v, and as it is %v to %v", low, high, wide, wider)
	}
}
