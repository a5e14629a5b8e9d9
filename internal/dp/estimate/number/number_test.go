package number

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func TestKolmogorovsQuantiles(t *testing.T) {
	for level, want := range map[float64]float64{0.5: 0.82757355, 0.9: 1.22384787, 0.95: 1.35809864, 0.99: 1.62762361} {
		if got := kolmogorov(level); !near(got, want, 1e-7) {
			t.Errorf("at level %v: %v, want %v", level, got, want)
		}
	}
}

func TestDistributionOfExactCounts(t *testing.T) {
	d, err := Buckets{Low: 0, High: 40, Counts: []estimate.Value{estimate.Exact(10), estimate.Exact(50), estimate.Exact(0), estimate.Exact(40)}, Respondents: 100}.Distribution(0.95)
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{0.1, 0.6, 0.6, 1} {
		if !near(d.At[j].Mean, want, 1e-12) || !near(d.Monotone[j], want, 1e-12) || !near(d.Lo[j], want, 1e-12) || !near(d.Hi[j], want, 1e-12) {
			t.Errorf("edge %d: %v, %v in %v to %v, want %v", j, d.At[j], d.Monotone[j], d.Lo[j], d.Hi[j], want)
		}
	}
	for q, want := range map[float64][3]float64{ // estimate, interval
		0.05: {5, 0, 10}, 0.35: {15, 10, 20}, 0.8: {35, 30, 40},
	} {
		if x, lo, hi := d.Quantile(q); !near(x, want[0], 1e-9) || lo != want[1] || hi != want[2] {
			t.Errorf("quantile %v is %v in %v to %v, want %v", q, x, lo, hi, want)
		}
	}
	mean, half := Buckets{Low: 0, High: 40, Counts: []estimate.Value{estimate.Exact(10), estimate.Exact(50), estimate.Exact(0), estimate.Exact(40)}, Respondents: 100}.Mean()
	if !near(mean.Mean, 0.1*5+0.5*15+0.4*35, 1e-12) || mean.StdErr != 0 || half != 5 {
		t.Errorf("the mean is %v within %v", mean, half)
	}
}

func TestDistributionIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		buckets := drawValues(t, rapid.Float64Range(0, 20))
		n := rapid.IntRange(1, 500).Draw(t, "n")
		d, err := Buckets{Low: -1, High: 3, Counts: buckets, Respondents: n}.Distribution(0.9)
		if err != nil {
			t.Fatal(err)
		}
		k := len(buckets)
		if d.At[k-1] != estimate.Exact(1) || d.Monotone[k-1] != 1 || d.Lo[k-1] != 1 || d.Hi[k-1] != 1 {
			t.Fatalf("the last edge has %v, %v, %v, %v", d.At[k-1], d.Monotone[k-1], d.Lo[k-1], d.Hi[k-1])
		}
		for _, f := range [][]float64{d.Monotone, d.Lo, d.Hi} {
			for j, x := range f {
				if !(x >= 0 && x <= 1) || j > 0 && x < f[j-1] {
					t.Fatalf("%v is no distribution function", f)
				}
			}
		}
		left := -1.0
		for _, q := range []float64{0.1, 0.5, 0.9} {
			x, lo, hi := d.Quantile(q)
			if !(x >= left && x >= -1 && x <= 3 && lo >= -1 && hi <= 3 && lo <= hi) {
				t.Fatalf("quantile %v is %v in %v to %v, after %v", q, x, lo, hi, left)
			}
			left = x
		}
	})
}

// A thousand buckets of a triangular law, 2,000 collections. Watched at so many times
// the bridge's supremum is short of Kolmogorov's law by 0.5 % of coverage, one
// standard deviation of this test, which catches a coverage off by 3 %. The twin is a
// band of pointwise intervals.
func TestBandCoversTheWholeFunction(t *testing.T) {
	const k, n, runs, sd, level = 1000, 1_000_000, 2000, 120.0, 0.95
	r := stattest.Rand(t)
	truth, buckets := make([]float64, k), make([]estimate.Value, k)
	for j := range truth {
		truth[j] = float64(2*n) * (float64(j) + 0.5) / (k * k)
	}
	band, pointwise, quantiles := 0, 0, 0
	for range runs {
		for j := range buckets {
			buckets[j] = estimate.Value{Mean: truth[j] + sd*r.NormFloat64(), StdErr: sd}
		}
		d, err := Buckets{Low: 0, High: 1, Counts: buckets, Respondents: n}.Distribution(level)
		if err != nil {
			t.Fatal(err)
		}
		inBand, inEach, sum := true, true, 0.0
		for j := range k - 1 {
			sum += truth[j] / n
			lo, hi := d.At[j].Interval(level)
			inBand = inBand && d.Lo[j] <= sum && sum <= d.Hi[j]
			inEach = inEach && lo <= sum && sum <= hi
		}
		_, lo, hi := d.Quantile(0.25) // 1/2, where the square of the number is 1/4
		if lo <= 0.5 && 0.5 <= hi {
			quantiles++
		}
		if inBand {
			band++
		}
		if inEach {
			pointwise++
		}
	}
	stattest.Binomial(t, level, runs, band)
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, level, runs, pointwise) })
	if quantiles < band {
		t.Errorf("%d bands and only %d intervals of a quantile cover", band, quantiles)
	}
}

// Of buckets whose noise is Laplace's and of whom nobody knows how many hold one, the band covers the edge between at least as often
// as it says, where the normal law does not. Who is in no bucket does not count.
func TestSharesOfWhatTheBucketsAddUpTo(t *testing.T) {
	const runs, level, scale = 5_000, 0.99, 10.0
	held := []float64{100, 900}
	r := stattest.Rand(t)
	laplace := func() float64 { return scale * (r.ExpFloat64() - r.ExpFloat64()) }
	// The moments of Laplace noise: E e^(tZ) = 1/(1-(scale t)^2).
	chernoff := func(alpha float64, cells [2]int, weights [2]float64) float64 {
		least := math.Inf(1)
		for u := 0.999; u > 1e-3; u *= 0.97 {
			at := u / (scale * max(math.Abs(weights[0]), math.Abs(weights[1])))
			k := math.Log(2 / alpha)
			for i, a := range weights {
				k -= float64(cells[i]) * math.Log1p(-a*a*at*at*scale*scale)
			}
			least = min(least, k/at)
		}
		return least
	}
	normal := func(alpha float64, cells [2]int, weights [2]float64) float64 {
		return estimate.Quantile(1-alpha) * scale * math.Sqrt(2*(float64(cells[0])*weights[0]*weights[0]+float64(cells[1])*weights[1]*weights[1]))
	}
	covered, twin := 0, 0
	for range runs {
		var counts []estimate.Value
		for _, n := range held {
			counts = append(counts, estimate.Value{Mean: n + laplace(), StdErr: scale * math.Sqrt2})
		}
		for _, c := range []struct {
			within func(float64, [2]int, [2]float64) float64
			n      *int
		}{{chernoff, &covered}, {normal, &twin}} {
			d, err := Buckets{Low: 0, High: 2, Counts: counts, Weighted: c.within}.Distribution(level)
			if err != nil {
				t.Fatal(err)
			}
			if d.Lo[0] <= 0.1 && 0.1 <= d.Hi[0] {
				*c.n++
			}
		}
	}
	stattest.AtMost(t, 1-level, runs, runs-covered)
	stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, 1-level, runs, runs-twin) })
	mean, _ := Buckets{Low: 0, High: 3, Counts: []estimate.Value{estimate.Exact(1), estimate.Exact(1), estimate.Exact(2)}, Weighted: normal}.Mean()
	if mean.Mean != 1.75 || mean.StdErr != 0 {
		t.Errorf("the mean is %v", mean)
	}
}

// Of one cell against 63 others the bound grows with the share faster than the estimate's distance does. By the normal
// law of both errors, in steps of a tenth of a deviation, a share lies above its band no more often than half of alpha. No
// share that is possible beside an estimate is left out. The twin takes one step from the estimate, and fails both.
func TestABandReachesTheOutermostShare(t *testing.T) {
	const alpha, sigma, steps, grid = 0.05, 1.0, 50, 1.05
	z := estimate.Quantile(1 - alpha)
	bound := func(_ float64, cells [2]int, weights [2]float64) float64 {
		return z * sigma * math.Sqrt(float64(cells[0])*weights[0]*weights[0]+float64(cells[1])*weights[1]*weights[1])
	}
	buckets := func(n float64) Buckets {
		b := Buckets{Low: 0, High: 64, Counts: make([]estimate.Value, 64), Weighted: bound}
		b.Counts[63].Mean = n
		return b
	}
	outermost := func(b Buckets, share float64) (low, high float64) { return b.reach(alpha, 0, share) }
	oneStep := func(b Buckets, share float64) (low, high float64) {
		at := func(f float64) float64 {
			return bound(alpha, [2]int{1, 63}, [2]float64{1 - within(f, 1), within(f, 1)})
		}
		n := b.Within().Mean
		by := at(share) / n
		by = max(by, at(share-by)/n, at(share+by)/n)
		return share - by, share + by
	}
	leftOut := func(reach func(Buckets, float64) (float64, float64)) (n int) {
		for _, total := range []float64{10 * z * sigma, 30 * z * sigma, 4 * z * sigma} {
			for _, share := range []float64{-0.1, 0, 0.02, 0.1, 0.5, 0.95, 1.1} {
				low, high := reach(buckets(total), share)
				for i := range 1001 {
					f := float64(i) / 1000
					if math.Abs(share-f)*total <= bound(alpha, [2]int{1, 63}, [2]float64{1 - f, f}) && (f < low || f > high) {
						n++
					}
				}
			}
		}
		return n
	}
	above := func(truth float64, reach func(Buckets, float64) (float64, float64)) (p float64) {
		for i := -steps; i <= steps; i++ {
			for k := -steps; k <= steps; k++ {
				x, y := float64(i)/10, float64(k)/10
				n := 10*z*sigma + sigma*x + sigma*math.Sqrt(63)*y
				if n < 1 {
					continue // no distribution is told
				}
				if _, high := reach(buckets(n), (10*z*sigma*truth+sigma*x)/n); high < truth {
					p += math.Exp(-x*x/2-y*y/2) / (2 * math.Pi) / 100
				}
			}
		}
		return p
	}
	if n, twin := leftOut(outermost), leftOut(oneStep); n != 0 || twin == 0 {
		t.Errorf("%d shares that are possible are left out, and one step leaves out %d", n, twin)
	}
	for _, truth := range []float64{0.1, 0.2, 0.295, 0.4, 0.5} {
		if p, twin := above(truth, outermost), above(truth, oneStep); p > alpha/2*grid || twin <= alpha/2*grid {
			t.Errorf("a share of %v lies above its band with %v, and above one step with %v, of %v", truth, p, twin, alpha/2)
		}
	}
	// (f - .1)^2 10^2 = (1-f)^2 + 63 f^2 at f = 1/2.
	if _, high := outermost(buckets(10*z*sigma), 0.1); high < 0.5 || high > 0.5+1e-5 {
		t.Errorf("beside .1 a share of at most %v is possible", high)
	}
}

// 20,000 draws of the mean over ten buckets: the stated error is the real one, within
// 5 % (its square is tested, of variance 2); that of the raw sum is not.
func TestMeanOfBucketsHasTheStatedError(t *testing.T) {
	r := stattest.Rand(t)
	squares, twin := make([]float64, 20_000), make([]float64, 20_000)
	for i := range squares {
		buckets, middles := make([]estimate.Value, 10), make([]float64, 10)
		for j := range buckets {
			sd := 5 + float64(j)
			buckets[j] = estimate.Value{Mean: 100 + sd*r.NormFloat64(), StdErr: sd}
			middles[j] = 20 + float64(j) + 0.5
		}
		mean, _ := Buckets{Low: 20, High: 30, Counts: buckets, Respondents: 1000}.Mean()
		z := (mean.Mean - 25) / mean.StdErr
		squares[i] = z * z
		raw := 0.0 // the variance of the sum that knows no total
		for j, b := range buckets {
			raw += middles[j] * middles[j] * b.StdErr * b.StdErr
		}
		z = (mean.Mean - 25) / (math.Sqrt(raw) / 1000)
		twin[i] = z * z
	}
	stattest.Mean(t, 1, 2, squares)
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, 2, twin) })
}

// Eight buckets and a cell for others, of 2,000 respondents of whom a tenth is asked: bits that keep
// with 0.9 and flip with 0.3, drawn 3,000 times. The errors of all points and of the mean are the
// stated ones, and the band covers all points at least as often as it says. The twins take
// errors for independent or the number of others for known.
func TestDistributionOfSampledAnswers(t *testing.T) {
	const n, share, keep, flip, runs = 2000, 0.1, 0.9, 0.3, 3000
	held := []int{10, 20, 30, 40, 50, 60, 90, 1100, 600}
	r := stattest.Rand(t)
	binomial := func(n int, p float64) int { // near normal, but for the smallest
		if n < 200 {
			k := 0
			for range n {
				if r.Float64() < p {
					k++
				}
			}
			return k
		}
		return int(math.Round(float64(n)*p + math.Sqrt(float64(n)*p*(1-p))*r.NormFloat64()))
	}
	odds, gap := (1-share)/share, keep-flip
	together := estimate.Together{Fixed: odds * n * flip * flip / (gap * gap), Each: odds * flip / gap}
	buckets := Buckets{High: 8, Counts: make([]estimate.Value, 8), Others: new(estimate.Value), Respondents: n, Together: together}
	kept := [2]float64{share * keep, share * flip}
	points, means, covered := make([][]float64, 7), []float64{}, 0
	twins := map[string][]float64{}
	truth, trueMean := make([]float64, 7), 0.0
	for j, h := range held[:8] {
		trueMean += (float64(j) + 0.5) * float64(h) / 1400
		for i := j; i < 7; i++ {
			truth[i] += float64(h) / 1400
		}
	}
	squared := func(v estimate.Value, truth float64) float64 {
		return (v.Mean - truth) * (v.Mean - truth) / (v.StdErr * v.StdErr)
	}
	for range runs {
		asked, all := make([]int, len(held)), 0
		for j, h := range held {
			asked[j] = binomial(h, share)
			all += asked[j]
		}
		for j, a := range asked {
			ones := float64(binomial(a, keep) + binomial(all-a, flip))
			h := float64(held[j])
			v := estimate.Value{Mean: (ones - n*kept[1]) / (share * gap), StdErr: math.Sqrt(h*kept[0]*(1-kept[0])+(n-h)*kept[1]*(1-kept[1])) / (share * gap)}
			if j < 8 {
				buckets.Counts[j] = v
			} else {
				*buckets.Others = v
			}
		}
		d, err := buckets.Distribution(0.9)
		if err != nil {
			t.Fatal(err)
		}
		inBand := true
		for j, x := range truth {
			points[j] = append(points[j], squared(d.At[j], x))
			inBand = inBand && d.Lo[j] <= x && x <= d.Hi[j]
		}
		if inBand {
			covered++
		}
		mean, _ := buckets.Mean()
		means = append(means, squared(mean, trueMean))
		alone := buckets
		alone.Together = estimate.Together{}
		known := buckets
		known.Others, known.Respondents = nil, int(math.Round(buckets.Within().Mean))
		for name, b := range map[string]Buckets{"independent": alone, "others known": known} {
			wrong, err := b.Distribution(0.9)
			if err != nil {
				t.Fatal(err)
			}
			twins[name] = append(twins[name], squared(wrong.At[6], truth[6]))
		}
	}
	const stated = 2.0 // variance of a normal square
	for j := range points {
		stattest.Mean(t, 1, stated, points[j])
	}
	stattest.Mean(t, 1, stated, means)
	if covered < runs*9/10 {
		t.Errorf("the band covers %d of %d", covered, runs)
	}
	for name, squares := range twins {
		t.Run(name, func(t *testing.T) {
			stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, stated, squares) })
		})
	}
}

func TestDistributionRefusesNonsense(t *testing.T) {
	one := []estimate.Value{estimate.Exact(1)}
	for name, err := range map[string]error{
		"order": func() error {
			_, err := Buckets{Low: 1, High: 1, Counts: one, Respondents: 1}.Distribution(0.5)
			return err
		}(),
		"infinite": func() error {
			_, err := Buckets{Low: 0, High: math.Inf(1), Counts: one, Respondents: 1}.Distribution(0.5)
			return err
		}(),
		"no buckets": func() error {
			_, err := Buckets{Low: 0, High: 1, Counts: nil, Respondents: 1}.Distribution(0.5)
			return err
		}(),
		"nobody": func() error {
			_, err := Buckets{Low: 0, High: 1, Counts: one, Respondents: 0}.Distribution(0.5)
			return err
		}(),
		"level": func() error {
			_, err := Buckets{Low: 0, High: 1, Counts: one, Respondents: 1}.Distribution(1)
			return err
		}(),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What is above the range was counted in the last bucket: of a quantile there nothing
// is known but where that bucket begins. Closed buckets, the twin, call its end an
// upper bound.
func TestOpenBucketsHaveOneEnd(t *testing.T) {
	counts := []estimate.Value{{Mean: 30, StdErr: 1}, {Mean: 50, StdErr: 1}, {Mean: 10, StdErr: 1}, {Mean: 10, StdErr: 1}} // of 0 to 40, a tenth of them from 30 on
	open, err := Buckets{Low: 0, High: 40, Open: true, Counts: counts, Respondents: 100}.Distribution(0.95)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := Buckets{Low: 0, High: 40, Counts: counts, Respondents: 100}.Distribution(0.95)
	if err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	for _, c := range []struct{ q, estimate, lo, hi float64 }{
		{0.1, -inf, -inf, 10}, {0.5, 14, 10, 20}, {0.95, inf, 30, inf},
		{0.9, 30, 20, inf}, // at an edge: the interval reaches the last bucket
	} {
		x, lo, hi := open.Quantile(c.q)
		if !(x == c.estimate || near(x, c.estimate, 0.01)) || lo != c.lo || hi != c.hi {
			t.Errorf("quantile %v is %v in %v to %v, want %+v", c.q, x, lo, hi, c)
		}
	}
	if x, _, hi := closed.Quantile(0.95); !near(x, 35, 1e-9) || hi != 40 {
		t.Errorf("between closed buckets the quantile is %v, at most %v", x, hi)
	}
	first, last := open.Ends()
	if !near(first.Mean, 0.3, 1e-9) || !near(last.Mean, 0.1, 1e-9) || last.StdErr <= 0 {
		t.Errorf("the edge buckets hold %v and %v", first, last)
	}
	one, err := Buckets{Low: 0, High: 40, Open: true, Counts: []estimate.Value{{Mean: 100, StdErr: 1}}, Respondents: 100}.Distribution(0.95)
	if err != nil {
		t.Fatal(err)
	}
	if _, lo, hi := one.Quantile(0.5); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
		t.Errorf("of one open bucket a quantile lies in %v to %v", lo, hi)
	}
}

func BenchmarkDistribution(b *testing.B) {
	values := make([]estimate.Value, 1_000_000)
	for i := range values {
		values[i] = estimate.Value{Mean: float64(i % 7), StdErr: 3}
	}
	buckets := Buckets{High: 1, Counts: values, Respondents: 3_000_000}
	for b.Loop() {
		if _, err := buckets.Distribution(0.95); err != nil {
			b.Fatal(err)
		}
	}
}

// near reports whether two numbers are as near as that.
func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Max(1, math.Abs(b)) }

// drawValues returns up to 40 estimates.
func drawValues(t *rapid.T, sd *rapid.Generator[float64]) []estimate.Value {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) estimate.Value {
		return estimate.Value{Mean: rapid.Float64Range(-100, 100).Draw(t, "mean"), StdErr: sd.Draw(t, "sd")}
	}), 1, 40).Draw(t, "values")
}
