package lift

import (
	_ "embed"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

func two() plan.Experiment {
	return plan.Experiment{Arms: []string{"a", "b"}, Looks: 1, Look: 1, Metrics: []plan.Measure{{Name: "x", High: 1}}}
}

// Of all pairs on a grid, in one arm and in two, no two vectors are farther apart than is charged, in real and in whole numbers;
// some are as far. Reach is the largest sum of sizes. A third number that is half again as long breaks the bound.
func TestGapsAreAsCharged(t *testing.T) {
	e := two()
	e.Metrics = append(e.Metrics, plan.Measure{Name: "y", Low: -2, High: 3})
	const steps = 40
	var vectors [][]float32
	var wholes [][]uint64
	for arm := range 2 {
		for i := range steps + 1 {
			for _, j := range []int{0, i, steps - i, steps} {
				held := []float64{float64(i) / steps, -2 + 5*float64(j)/steps}
				v, w := make([]float32, Numbers(e)), make([]uint64, Numbers(e))
				Write(e, arm, held, v)
				Whole(e, arm, held, w)
				vectors, wholes = append(vectors, v), append(wholes, w)
			}
		}
	}
	gap, shift, reach, twin := 0.0, uint64(0), 0.0, 0.0
	for i, v := range vectors {
		size := 0.0
		for _, x := range v {
			size += float64(x)
		}
		reach = max(reach, size)
		for j := range i {
			apart, longer, whole := 0.0, 0.0, uint64(0)
			for k := range v {
				d := float64(v[k] - vectors[j][k])
				apart += d * d
				if k%Each == 2 {
					d *= 1.5
				}
				longer += d * d
				w := max(wholes[i][k], wholes[j][k]) - min(wholes[i][k], wholes[j][k])
				whole += w * w
			}
			gap, shift, twin = max(gap, apart), max(shift, whole), max(twin, longer)
		}
	}
	if math.Abs(gap-SquaredGap) > 1e-6 {
		t.Errorf("vectors are %v apart, squared, and %v is charged", gap, SquaredGap)
	}
	if float64(shift) > SquaredShift(e) || float64(shift) < SquaredShift(e)*(1-1e-9) {
		t.Errorf("whole vectors are %d apart, squared, and %v is charged", shift, SquaredShift(e))
	}
	if twin <= SquaredGap*1.01 {
		t.Errorf("a third number half again as long is %v apart: nothing is measured", twin)
	}
	if math.Abs(reach-Reach(e)) > 1e-6 {
		t.Errorf("sizes sum to %v, and %v is said", reach, Reach(e))
	}
}

//go:embed testdata/vectors.json
var vectors []byte

// Whole vectors are those of testdata/vectors.py, which computes them from fractions and decimals. Real ones are these, but for the
// rounding of a place and of what is told.
func TestVectorsAreThoseOfFractions(t *testing.T) {
	var cases []struct {
		Arm   int
		Held  []float64
		Whole []uint64
	}
	if err := json.Unmarshal(vectors, &cases); err != nil || len(cases) != 15 {
		t.Fatal(len(cases), err)
	}
	e := plan.Experiment{Arms: []string{"a", "b", "c"}, Looks: 1, Look: 1, Metrics: []plan.Measure{
		{Name: "x", Low: -20, High: 100, Before: "before", Times: 0.625, Most: 120}, {Name: "y", Low: -2.5, High: 6, Per: "per", Rate: 0.0625, PerMean: 10}, {Name: "z", High: 1},
	}}
	for _, c := range cases {
		if err := Check(e, c.Arm, c.Held); err != nil {
			t.Fatal(err)
		}
		whole, real := make([]uint64, Numbers(e)), make([]float32, Numbers(e))
		Whole(e, c.Arm, c.Held, whole)
		Write(e, c.Arm, c.Held, real)
		if !slices.Equal(whole, c.Whole) {
			t.Errorf("arm %d, %v: %d, want %d", c.Arm, c.Held, whole, c.Whole)
		}
		for i, x := range real {
			if want := float64(c.Whole[i]) / Scale / math.Sqrt(3); math.Abs(float64(x)-want) > 3e-5 {
				t.Errorf("arm %d, %v: number %d is %v, want %v", c.Arm, c.Held, i, x, want)
			}
		}
	}
}

// Every whole number of a place keeps the length, exactly.
func TestWholeVectorsAreNotTooLong(t *testing.T) {
	e := two()
	for a := range uint64(Scale + 1) {
		w := make([]uint64, Numbers(e))
		Whole(e, 1, []float64{float64(a) / Scale}, w)
		own := w[At(e, 1, 0):]
		if own[0] != a || own[0]+own[1] != Scale || own[0]*own[0]+own[1]*own[1]+own[2]*own[2] > Scale*Scale {
			t.Fatalf("%d is told as %v", a, own[:Each])
		}
	}
}

// Boundaries are those that O'Brien and Fleming's test is printed with, and looking as often with 1.96 finds what is not
// there in 13 of 100.
func TestBoundaries(t *testing.T) {
	for looks, want := range map[int]float64{1: 1.960, 2: 1.977, 3: 2.004, 4: 2.024, 5: 2.040} {
		if got := boundary(looks, 1); math.Abs(got-want) > 6e-4 {
			t.Errorf("%d looks: %v, want %v", looks, got, want)
		}
	}
	if got := boundary(1, 3); math.Abs(got-2.3940) > 1e-3 {
		t.Errorf("three comparisons: %v", got)
	}
}

// Walks that nothing pulls leave the lines as often as is said, whichever steps looks make: alike, more and more, one that is withheld,
// one that adds next to nothing, all in the last. The twin takes looks for alike that are not, or looks with 1.96 each time.
func TestLinesAreLeftAsOftenAsIsSaid(t *testing.T) {
	const walks = 200_000
	e := two()
	for name, steps := range map[string][]float64{
		"alike": {1, 1, 1, 1}, "growing": {1, 4, 16, 64}, "falling": {8, 4, 2, 1}, "withheld": {0, 3, 0, 1}, "tiny": {5, 1e-7, 5, 1e-7}, "late": {1, 0, 0, 1000}, "small": {1000, 1, 1, 1},
	} {
		e.Looks = len(steps)
		lines, c := Lines(e, steps), boundary(4, 1)
		r := seeded.New(1)
		crossed, blind, naive := 0, 0, 0
		for range walks {
			sum, far, out, other, often := 0.0, 0.0, false, false, false
			for k, step := range steps {
				if far += step; far == 0 {
					continue
				}
				sum += math.Sqrt(step) * r.NormFloat64()
				x := math.Abs(sum) / math.Sqrt(far)
				out, other, often = out || x > lines[k], other || x > c*math.Sqrt(4/float64(k+1)), often || x > 1.96
			}
			for to, is := range map[*int]bool{&crossed: out, &blind: other, &naive: often} {
				if is {
					*to++
				}
			}
		}
		t.Logf("%s: %.4f of walks leave, by lines of looks that are alike %.4f, with 1.96 %.4f; lines %.3f", name, float64(crossed)/walks, float64(blind)/walks, float64(naive)/walks, lines)
		if name == "tiny" { // counted by itself, and so at most
			stattest.AtMost(t, errorRate, walks, crossed)
		} else {
			stattest.Binomial(t, errorRate, walks, crossed)
		}
		switch name { // of lines that are wrong; a rate that is off by .003 is caught
		case "growing":
			stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, errorRate, walks, blind) })
		case "alike":
			stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, errorRate, walks, naive) })
		}
		for k := range steps { // a line does not follow from what comes later
			if early := Lines(e, steps[:k+1]); math.Abs(early[k]-lines[k]) > 1e-6*lines[k] {
				t.Errorf("%s: look %d has %v, and later %v", name, k+1, early[k], lines[k])
			}
		}
	}
}

// Looks of which the noise is worth much to one metric and nothing to another have steps of their own in each: the highest line
// is left by neither more often than is said. The twin has the other's line: it is made for looks that are alike.
func TestLinesHoldForEachMetric(t *testing.T) {
	const walks = 200_000
	e := two()
	e.Metrics, e.Looks = append(e.Metrics, plan.Measure{Name: "y", High: 1}), 4
	people, noisy := []float64{1, 4, 16, 64}, []float64{1e4, 1e4, 1e4, 1e4}
	var steps []float64
	for k := range people {
		steps = append(steps, noisy[k], people[k])
	}
	one := e
	one.Metrics, one.Arms = e.Metrics[:1], []string{"a", "b", "c"} // of as many comparisons
	var deciding []float64
	for k := range people {
		deciding = append(deciding, noisy[k], noisy[k])
	}
	lines, first := Lines(e, steps), Lines(one, deciding)
	r, share := seeded.New(2), errorRate/float64(comparisons(e))
	for name, own := range map[string][]float64{"noisy": noisy, "people": people} {
		crossed, twin := 0, 0
		for range walks {
			sum, far, out, other := 0.0, 0.0, false, false
			for k, step := range own {
				far, sum = far+step, sum+math.Sqrt(step)*r.NormFloat64()
				x := math.Abs(sum) / math.Sqrt(far)
				out, other = out || x > lines[k], other || x > first[k]
			}
			for to, is := range map[*int]bool{&crossed: out, &twin: other} {
				if is {
					*to++
				}
			}
		}
		t.Logf("%s: %.4f of walks leave, of the first metric's lines %.4f, and %.4f is said", name, float64(crossed)/walks, float64(twin)/walks, share)
		stattest.AtMost(t, share, walks, crossed)
		if name == "people" { // a rate that is off by .0022 is caught
			stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, share, walks, twin) })
		}
	}
}

// Lines hold if how many answer a look is fixed before the look before it is read. Who chooses it by what was seen is above
// some line nearly twice as often: by the law of two looks, with the number that is best for it.
func TestSizesMustNotFollowFromWhatWasSeen(t *testing.T) {
	e := two()
	e.Looks = 2
	sizes := []float64{1e-3, 1e-2, 0.03, 0.1, 0.3, 1, 3, 10, 100, 1e4}
	normal := func(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
	first := Lines(e, []float64{1})[0]
	fixed, chosen := make([]float64, len(sizes)), 2*normal(first)
	const cells = 2000
	for i := range cells { // what the first look shows, below its line
		x := -first + 2*first*(float64(i)+0.5)/cells
		weight := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) * 2 * first / cells
		best := 0.0
		for k, size := range sizes {
			line := Lines(e, []float64{1, size})[1] * math.Sqrt(1+size)
			above := normal((line-x)/math.Sqrt(size)) + normal((line+x)/math.Sqrt(size))
			fixed[k] += weight * above
			best = math.Max(best, above)
		}
		chosen += weight * best
	}
	for k, more := range fixed {
		if all := more + 2*normal(first); all > errorRate+2e-4 {
			t.Errorf("a second look of %v times as many, fixed beforehand: %.4f", sizes[k], all)
		}
	}
	t.Logf("chosen by what was seen: %.4f in the place of %v", chosen, errorRate)
	if chosen < 0.08 {
		t.Errorf("who chooses the second look's number is above a line in %.4f: the warning warns of nothing", chosen)
	}
}

// A look adds its people, and as many as its noise is worth in each comparison: twice the noise's variance is worth twice as
// many, and of an arm that is small more.
func TestStepsAddPeopleAndNoise(t *testing.T) {
	e := two()
	s := Sums{Of: []float64{2000, 3000, 5000 * .2 * spread, 2000, 3000, 5000 * .2 * spread}} // mean .4, E u^2 = .4 - .2, variance .04
	if got := Steps(e, s, 10_000, 0); len(got) != 1 || got[0] != 10_000 {
		t.Errorf("without noise %v", got)
	}
	// Of a mean of n the noise is v (.6^2 + .4^2)/n^2 in each of two arms of half: as much as sampling, .04/n, where v is n .04/.52.
	if got := Steps(e, s, 10_000, 5000*.04/.52); math.Abs(got[0]-20_000) > 1e-6 {
		t.Errorf("noise as large as sampling: %v", got)
	}
	if got := Steps(e, s, 0, 70); got[0] != 0 {
		t.Errorf("withheld: %v", got)
	}
	three := plan.Experiment{Arms: []string{"a", "b", "c"}, Shares: []float64{.5, .4, .1}, Looks: 2, Look: 1, Metrics: []plan.Measure{{Name: "x", High: 1}, {Name: "y", High: 1}}}
	var of []float64
	for _, share := range three.Shares {
		n := 10_000 * share
		of = append(of, n*.4, n*.6, n*.2*spread, n*.4, n*.6, n*.14*spread) // of y the variance is .1
	}
	got := Steps(three, Sums{Of: of}, 10_000, 100)
	worth := func(variance, share float64) float64 {
		return 10_000 + 100*.52/variance*(1/.25+1/(share*share))/(2+1/share)
	}
	for i, want := range []float64{worth(.04, .4), worth(.1, .4), worth(.04, .1), worth(.1, .1)} {
		if math.Abs(got[i]-want) > 1e-6*want {
			t.Errorf("comparison %d adds %v, want %v", i, got[i], want)
		}
	}
}

// By the law: whether an effect is alike for all or in proportion, and however large, an interval has it in .95 of experiments,
// and effects between both kinds in at most .975. Two twins: ends that are moved apart by what each kind loses, as if both were
// missed on both sides, cover too often; an interval that takes the kinds to be as far apart as what is seen says misses small
// effects.
func TestIntervalsHaveBothKindsOfEffect(t *testing.T) {
	z := 1.959963984540054
	edge := func(inside func(noise float64) bool) float64 { // from where on, of what rises
		low, high := -12., 12.
		for range 40 {
			if mid := (low + high) / 2; inside(mid) {
				high = mid
			} else {
				low = mid
			}
		}
		return high
	}
	covers := func(interval func(m plan.Measure, d float64) [2]float64, m plan.Measure, effect, kept float64) float64 {
		from := edge(func(noise float64) bool { return interval(m, kept*effect+noise)[1] >= effect })
		to := edge(func(noise float64) bool { return interval(m, kept*effect+noise)[0] > effect })
		return (math.Erfc(from/math.Sqrt2) - math.Erfc(to/math.Sqrt2)) / 2
	}
	ours := func(m plan.Measure, d float64) [2]float64 { return uncut(m, d, 1, z) }
	apart := func(m plan.Measure, d float64) [2]float64 {
		low, high := d-z, d+z
		ends := [2]float64{low / (1 - m.LostAlike), high / (1 - m.LostShare)}
		if low < 0 {
			ends[0] = low / (1 - m.LostShare)
		}
		if high < 0 {
			ends[1] = high / (1 - m.LostAlike)
		}
		return ends
	}
	seen := func(m plan.Measure, d float64) [2]float64 {
		c := oneSided(z, math.Abs(d)*(m.LostShare-m.LostAlike))
		return [2]float64{(d - c) / (1 - m.LostAlike), (d + c) / (1 - m.LostShare)}
	}
	wide, narrow := 0.0, 1.0
	for _, m := range []plan.Measure{{LostAlike: 0, LostShare: 0}, {LostAlike: .02, LostShare: .02}, {LostAlike: .03, LostShare: .25}, {LostAlike: 0, LostShare: .1}} {
		for _, effect := range []float64{-30, -2, -.5, 0, .5, 2, 5, 12, 30} {
			for _, kept := range []float64{1 - m.LostAlike, 1 - m.LostShare} {
				if p := covers(ours, m, effect, kept); math.Abs(p-.95) > 1e-6 {
					t.Errorf("%+v: an effect of %v of which %v is kept is covered with %.4f", m, effect, kept, p)
				}
				if effect < 0 { // twins are written for those above zero
					continue
				}
				wide, narrow = max(wide, covers(apart, m, effect, kept)), min(narrow, covers(seen, m, effect, kept))
			}
			if p := covers(ours, m, effect, 1-(m.LostAlike+m.LostShare)/2); p < .95-1e-6 || math.Abs(effect) < 6 && p > .976 {
				t.Errorf("%+v: an effect of %v between both is covered with %.4f", m, effect, p)
			}
		}
	}
	t.Logf("ends moved apart cover up to %.4f, kinds as far apart as what is seen down to %.4f", wide, narrow)
	if wide < .97 || narrow > .945 {
		t.Errorf("the twins cover %v and %v: nothing is measured", wide, narrow)
	}
}

// Sums without noise give means, variances and people as they are.
func TestExactSumsAreExact(t *testing.T) {
	e := two()
	e.Metrics[0] = plan.Measure{Name: "x", Low: -1, High: 3, Before: "before", Times: 0.5, Most: 4}
	r := seeded.New(2)
	s := Sums{Of: make([]float64, Numbers(e))}
	var all []float64
	for range 1000 {
		held := []float64{3 * r.Float64(), 6 * r.Float64()}
		v := make([]float32, Numbers(e))
		Write(e, 1, held, v)
		for i, x := range v {
			s.Of[i] += float64(x)
		}
		all = append(all, math.Max(-1, math.Min(3, held[0]-0.5*math.Min(4, held[1]))))
	}
	mean, variance := 0.0, 0.0
	for _, x := range all {
		mean += x / 1000
	}
	for _, x := range all {
		variance += (x - mean) * (x - mean) / 1000
	}
	got := MeanOf(e, s, 1, 0)
	if math.Abs(got.People-1000) > 1e-3 || math.Abs(got.Mean-mean) > 1e-5 || math.Abs(got.Sampling*1000-variance) > 1e-4 || got.Noise != 0 {
		t.Errorf("%+v, want %v and %v", got, mean, variance/1000)
	}
	if Uneven(e, s) < TooUneven {
		t.Error("everybody in one arm is as planned")
	}
}

// A plan's numbers may make a place in the range none: such a record does not fit.
func TestPlacesThatAreNone(t *testing.T) {
	e := two()
	e.Metrics[0] = plan.Measure{Name: "x", Low: -1e308, High: 1e308, Before: "before", Times: -9e307, Most: 1}
	if Check(e, 0, []float64{1, 0}) != nil {
		t.Error("a record fits nowhere")
	}
	if Check(e, 0, []float64{9e307, 1}) == nil {
		t.Error("a place that is none was taken")
	}
}

// No part is told of a first arm that has almost nothing.
func TestPartsNeedABase(t *testing.T) {
	e, of := two(), func(u float64) []float64 { return []float64{5000 * u, 5000 * (1 - u), 0, 5200 * u, 5000 - 5200*u, 0} }
	for u, told := range map[float64]bool{0.001: false, 0.2: true} {
		l := Of(e, Sums{Of: of(u), Variance: 70}, 1, 0)
		if math.IsNaN(l.Relative.Best) == told || math.IsNaN(l.Relative.Whole[1]) == told || math.IsNaN(l.Whole[0]) {
			t.Errorf("%v: %+v", u, l)
		}
	}
}

// binomial draws how many of n are, nearly: by a normal law, of thousands.
func binomial(r *rand.Rand, n, p float64) float64 {
	return math.Round(n*p + math.Sqrt(n*p*(1-p))*r.NormFloat64())
}

// zeroOne returns sums of people whom chance has put into arms and who hold ones by their arm and metric, with normal noise.
func zeroOne(r *rand.Rand, e plan.Experiment, people float64, ones [][]float64, noise float64) Sums {
	s := Sums{Of: make([]float64, Numbers(e)), Variance: noise * noise}
	left, whole := people, 1.0
	for arm := range e.Arms {
		n := left
		if arm < len(e.Arms)-1 {
			n = binomial(r, left, ShareOf(e, arm)/whole)
		}
		left, whole = left-n, whole-ShareOf(e, arm)
		for metric := range e.Metrics {
			own := s.Of[At(e, arm, metric):]
			own[0] = binomial(r, n, ones[arm][metric])
			own[1] = n - own[0]
			for i := range Each {
				own[i] += noise * r.NormFloat64()
			}
		}
	}
	return s
}

// By the law of zeros and ones: an interval covers in 95 of 100 where nine in ten are in one arm; all of three arms and two metrics hold
// at once. Intervals without noise, or of one comparison, do not.
func TestIntervalsCoverByTheLaw(t *testing.T) {
	const runs = 20_000
	r := seeded.New(11)
	e := two()
	e.Shares = []float64{0.9, 0.1}
	covered, twin := 0, 0
	for range runs {
		s := zeroOne(r, e, 20_000, [][]float64{{0.3}, {0.33}}, 40)
		l := Of(e, s, 1, 0)
		if math.Abs(l.Best-0.03) <= l.Whole[1]-l.Best {
			covered++
		}
		if math.Abs(l.Best-0.03) <= l.Drawn[1]-l.Best {
			twin++
		}
	}
	t.Logf("%.4f covered, without noise %.4f", float64(covered)/runs, float64(twin)/runs)
	stattest.Binomial(t, 0.95, runs, covered)
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, 0.95, runs, twin) }) // which catches a rate that is off by .01
	e = plan.Experiment{Arms: []string{"a", "b", "c"}, Looks: 1, Look: 1, Metrics: []plan.Measure{{Name: "x", High: 1}, {Name: "y", High: 1}}}
	all, alone := 0, 0
	for range runs {
		ones := [][]float64{{0.3, 0.5}, {0.33, 0.5}, {0.3, 0.4}}
		s := zeroOne(r, e, 30_000, ones, 20)
		within, each := true, true
		for metric := range e.Metrics {
			for arm := 1; arm < 3; arm++ {
				l, real := Of(e, s, arm, metric), ones[arm][metric]-ones[0][metric]
				half := l.Whole[1] - l.Best
				within = within && math.Abs(l.Best-real) <= half
				each = each && math.Abs(l.Best-real) <= half*1.96/Z(e, s)
			}
		}
		if within {
			all++
		}
		if each {
			alone++
		}
	}
	t.Logf("all four hold in %.4f, of one comparison in %.4f", float64(all)/runs, float64(alone)/runs)
	stattest.AtMost(t, errorRate, runs, runs-all)
	stattest.AtMost(t, 0.97, runs, all) // they are no wider than they need to be
	stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, errorRate, runs, runs-alone) })
}

// People who are drawn as planned raise the alarm in one of a thousand experiments, with noise and unequal shares; 51.5 where 50 are
// planned nearly always do. One who forgets the noise raises it too often.
func TestSampleRatiosByTheLaw(t *testing.T) {
	const runs = 200_000
	r := seeded.New(12)
	law := math.Erfc(TooUneven / math.Sqrt2)
	for _, shares := range [][]float64{nil, {0.9, 0.1}} {
		e := two()
		e.Shares = shares
		ones := [][]float64{{0.3}, {0.3}}
		alarms, twins := 0, 0
		for range runs {
			s := zeroOne(r, e, 10_000, ones, 30)
			if Uneven(e, s) > TooUneven {
				alarms++
			}
			if s.Variance = 0; Uneven(e, s) > TooUneven {
				twins++
			}
		}
		t.Logf("%v: %d alarms of %d, without noise %d; law %.5f", shares, alarms, runs, twins, law)
		stattest.Binomial(t, law, runs, alarms)
		stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, law, runs, twins) }) // which catches alarms in .0014 where .001 is said
	}
	planned, drawn := two(), two()
	drawn.Shares = []float64{0.515, 0.485}
	missed, fair := 0, 0
	for range 1000 {
		if Uneven(planned, zeroOne(r, drawn, 40_000, [][]float64{{0.3}, {0.3}}, 8.5)) <= TooUneven {
			missed++
		}
		if Uneven(planned, zeroOne(r, planned, 40_000, [][]float64{{0.3}, {0.3}}, 8.5)) <= TooUneven {
			fair++
		}
	}
	stattest.AtMost(t, 0.02, 1000, missed) // by the law .004; people who are drawn as planned raise none
	stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, 0.02, 1000, fair) })
}

// The lift of a ratio is that of both sums divided, where arms have as many of what it is divided by as the others had; the share of
// what it is divided by is what is subtracted. A plan that subtracts nothing takes more views for more clicks.
func TestRatiosAreThoseOfSums(t *testing.T) {
	e := two()
	e.Metrics[0] = plan.Measure{Name: "clicks", Low: -40, High: 60, Per: "views", Rate: 0.1, PerMean: 10, Taken: 1}
	for _, rate := range []float64{0.1, 0} {
		e.Metrics[0].Rate = rate
		r, s := seeded.New(13), Sums{Of: make([]float64, Numbers(e))}
		var clicks, views [2]float64
		for i := range 40_000 {
			arm := i % 2
			seen := math.Floor(5 + 10*r.Float64() + float64(2*arm*(i/2%2))) // the second arm has one more view on average
			of := math.Floor((0.1 + 0.02*float64(arm)) * seen * 2 * r.Float64())
			clicks[arm], views[arm] = clicks[arm]+of, views[arm]+seen
			v := make([]float32, Numbers(e))
			Write(e, arm, []float64{of, seen}, v)
			for k, x := range v {
				s.Of[k] += float64(x)
			}
		}
		l := Of(e, s, 1, 0)
		want := (clicks[1]/20_000 - rate*views[1]/20_000 - clicks[0]/20_000 + rate*views[0]/20_000) / 10
		if math.Abs(l.Best-want) > 1e-4 {
			t.Errorf("rate %v: %v, want %v", rate, l.Best, want)
		}
		real := clicks[1]/views[1] - clicks[0]/views[0]
		if off := math.Abs(l.Best-real) / real; (off < 0.25) != (rate > 0) {
			t.Errorf("rate %v: %v, and the ratios differ by %v", rate, l.Best, real)
		}
	}
}

// Every plan that is valid has lines: steps of earlier looks are at most 1e15, and as small as nothing.
func TestLinesAreNumbers(t *testing.T) {
	e := two()
	for _, steps := range [][]float64{{1e15, 1e15}, {1e15, 1e-300}, {1e-300, 1e15}, {5e-324, 1}, {0, 1e15}, {0, 0}, {1, 1e15, 1}} {
		e.Looks = len(steps)
		for k, line := range Lines(e, steps) {
			if !(line > 1 && line < 40) {
				t.Errorf("steps %v: line %d is %v", steps, k+1, line)
			}
		}
	}
}
