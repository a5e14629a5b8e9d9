package labeldp

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// The modified loss by Sherman and Morrison is that of the inverse matrix, and on average over
// the reports of a label it is the true one (Lemma 3).
func TestTargetsInvertTheLaw(t *testing.T) {
	c := Curator{Classes: 4, Threshold: 0.05, Scale: 1, Resample: 0.7, Correct: 0.7}
	q := []float64{0.1, 0.2, 0.3, 0.4}
	matrix := mat.NewDense(4, 4, nil) // [y', y]: P(y' given y)
	for y := range 4 {
		matrix.SetCol(y, c.Law(y, q))
	}
	var inverse mat.Dense
	if err := inverse.Inverse(matrix); err != nil {
		t.Fatal(err)
	}
	for report := range 4 {
		for y, w := range c.Targets(report, q) {
			if math.Abs(w-inverse.At(y, report)) > 1e-12 {
				t.Errorf("target %d of report %d is %v, want %v", y, report, w, inverse.At(y, report))
			}
		}
	}
	// A smaller correction takes less back: UniformRR's is whole.
	if u := Uniform(10, 1); u.Correct != u.Resample || math.Abs((1-u.Resample+u.Resample/10)/(u.Resample/10)-math.E) > 1e-7 {
		t.Errorf("%+v", u)
	}
}

// views is the exact law of what Algorithm 1 shows of one cluster: its noisy shares, and what
// becomes of one label y. Counts below tau or above one are one each.
func views(c Curator, counts []int, y int) map[[4]float64]float64 {
	n := 0
	for _, k := range counts {
		n += k
	}
	low, high := int(math.Floor(c.Threshold*float64(n))), n
	law := map[[4]float64]float64{}
	var walk func(at int, p float64, q []float64)
	walk = func(at int, p float64, q []float64) {
		if at == len(counts) {
			q = c.resampled().Shares(slices.Clone(q))
			for o, report := range c.Law(y, q) {
				law[[4]float64{q[0], q[1], q[2], float64(o)}] += p * report
			}
			return
		}
		for k := low; k <= high; k++ {
			walk(at+1, p*cellOf(k-counts[at], 1/c.Scale, k == low, k == high), append(q, float64(k)/float64(n)))
		}
	}
	walk(0, 1, nil)
	return law
}

// cellOf is the probability of discrete Laplace noise z, with all below it or above it.
func cellOf(z int, decay float64, below, above bool) float64 {
	p := math.Exp(prob.LogDiscreteLaplacePMF(z, decay))
	tail := func(z int) float64 { // of more than z, by terms: no formula of the code that is tested
		sum := 0.0
		for k := z + 1; k <= z+400; k++ {
			sum += math.Exp(prob.LogDiscreteLaplacePMF(k, decay))
		}
		return sum
	}
	if below {
		p += tail(-z)
	}
	if above {
		p += tail(z)
	}
	return p
}

// loss is the largest ratio of two laws, as an epsilon.
func loss(a, b map[[4]float64]float64) (worst float64) {
	for view, p := range a {
		if p > 1e-13 {
			worst = math.Max(worst, math.Log(p/b[view]))
		}
	}
	return worst
}

// A label that is exchanged, by enumeration of all that its cluster shows: the sound constants
// hold, and nearly all of what they say is needed. Those that are printed are exceeded, which is
// the broken twin: noise for one count, where a label moves two.
func TestTheoremOneByEnumeration(t *testing.T) {
	const epsilon = 1.2
	c := Clustered(3, epsilon, 0.08, Sound)
	was, is := []int{2, 3, 20}, []int{1, 4, 20}
	worst := math.Max(loss(views(c, was, 0), views(c, is, 1)), loss(views(c, is, 1), views(c, was, 0)))
	g, err := c.Guarantee(25, Sound)
	if err != nil || g.Adjacency != account.Label || g.Trust != account.Central {
		t.Fatalf("%+v, %v", g, err)
	}
	if worst > g.Epsilon || g.Epsilon > epsilon {
		t.Errorf("epsilon %v of %v, and %v is found", g.Epsilon, epsilon, worst)
	}
	printed, err := c.Guarantee(25, Paper)
	if err != nil {
		t.Fatal(err)
	}
	if !(worst > 1.1*printed.Epsilon) {
		t.Errorf("the printed epsilon %v is not exceeded: %v", printed.Epsilon, worst)
	}
	t.Logf("sound %.4f, found %.4f, printed %.4f", g.Epsilon, worst, printed.Epsilon)
}

// Corollary 2 sets the threshold to the heterogeneity of the private labels. Two neighbours then
// have two thresholds, and the least share tells which one it was: no epsilon holds.
func TestAPrivateThresholdTells(t *testing.T) {
	was, is := []int{2, 3, 20}, []int{1, 4, 20}
	twin := func(counts []int) Curator { return Clustered(3, 1, Heterogeneity(counts)/10, Sound) }
	if a, b := Heterogeneity(was), Heterogeneity(is); a == b {
		t.Fatalf("heterogeneity %v of both", a)
	}
	if worst := loss(views(twin(was), was, 0), views(twin(is), is, 1)); !math.IsInf(worst, 1) {
		t.Errorf("epsilon %v of a threshold that labels decide: want none", worst)
	}
	guess := Clustered(3, 1, 0.08, Sound)
	if worst := loss(views(guess, was, 0), views(guess, is, 1)); worst > 1+1e-8 {
		t.Errorf("epsilon %v of a public threshold", worst)
	}
}

// Printed as it is measured, the setting of Corollary 2 is inadmissible: heterogeneity of 0.42
// among ten classes.
func TestThePrintedSettingIsRefused(t *testing.T) {
	if err := Clustered(10, 1, 0.416, Paper).Validate(); err == nil {
		t.Error("a threshold of 0.416 among ten classes is taken")
	}
	for _, c := range []Curator{{}, {Classes: 2, Threshold: 0.1, Scale: 1}, {Classes: 2, Threshold: 0.1, Scale: 1, Resample: 1, Correct: 1}, {Classes: 2, Threshold: 0.1, Resample: 1}, {Classes: 2, Threshold: math.NaN(), Scale: 1, Resample: 1}} {
		if c.Validate() == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// The second stage of LP-2ST by enumeration, for every number of labels that are kept.
func TestPriorByEnumeration(t *testing.T) {
	const epsilon = 0.7
	for kept := range 4 {
		p := Prior{Epsilon: epsilon, Kept: []int{2, 0, 3, 1}[:kept+1]}
		worst := 0.0
		for report := range 4 {
			for y := range 4 {
				for other := range 4 {
					if a, b := p.Law(y, report), p.Law(other, report); a > 0 {
						worst = math.Max(worst, math.Log(a/b))
					}
				}
			}
		}
		if worst > epsilon+1e-12 || kept > 0 && worst < epsilon-1e-12 {
			t.Errorf("%d labels kept: epsilon %v, want %v", kept+1, worst, epsilon)
		}
	}
	sure, err := Expect([]float32{0.01, 0.97, 0.02}, 0.5)
	if err != nil || len(sure.Kept) != 1 || sure.Kept[0] != 1 {
		t.Errorf("%+v, %v", sure, err)
	}
	unsure, err := Expect([]float32{0.3, 0.3, 0.4}, 6)
	if err != nil || len(unsure.Kept) != 3 || unsure.Kept[0] != 2 {
		t.Errorf("%+v, %v", unsure, err)
	}
	if _, err := Expect([]float32{1, 0}, randomize.MaxEpsilon+1); err == nil {
		t.Error("any epsilon is taken")
	}
}

// Draws follow the laws: every report of every label, counted.
func TestDrawsFollowTheLaws(t *testing.T) {
	const n = 40_000
	r := seeded.New(7)
	c := Curator{Classes: 3, Threshold: 0.1, Scale: 2, Resample: 0.6, Correct: 0}
	q := []float64{0.1, 0.3, 0.6}
	p := Prior{Epsilon: 1, Kept: []int{2, 0}}
	check := func(what string, draw func() int, law func(report int) float64) {
		t.Helper()
		counts := make([]int, 3)
		for range n {
			counts[draw()]++
		}
		for o, k := range counts {
			want := law(o)
			if off := math.Abs(float64(k)/n - want); off > 6*math.Sqrt(want*(1-want)/n) {
				t.Errorf("%s: report %d with probability %v, want %v", what, o, float64(k)/n, want)
			}
		}
	}
	for y := range 3 {
		check("resampling", func() int { return c.Label(r, y, q) }, func(o int) float64 { return c.Law(y, q)[o] })
		check("prior", func() int { return p.Randomize(r, y) }, func(o int) float64 { return p.Law(y, o) })
	}
}

// Relabel gives each label the targets of one of the reports that its cluster's shares allow.
func TestRelabel(t *testing.T) {
	c := Curator{Classes: 2, Threshold: 0.5, Scale: 1, Resample: 0.5, Correct: 0.5} // shares of a half each, whatever the noise
	got := c.Relabel(seeded.New(1), []int{0, 1, 1, 0}, []int{0, 0, 1, 1})
	for i := 0; i < len(got); i += 2 {
		if a, b := got[i], got[i+1]; a+b != 1 || a != 1.5 && a != -0.5 {
			t.Errorf("targets %v", got[i:i+2])
		}
	}
}

// Phi from noisy counts is right on average, and off by its standard error; psi is below what
// Lemma 5 allows, and grows with the noise.
func TestMeasuresOfClusters(t *testing.T) {
	r := seeded.New(11)
	clusters, sizes := [][]int{{90, 10, 0}, {5, 40, 5}, {30, 30, 40}}, []int{100, 50, 100}
	truth := Heterogeneity(clusters...)
	if one := Heterogeneity([]int{7, 0}, []int{0, 3}); one != 0 {
		t.Errorf("phi %v of pure clusters", one)
	}
	const runs = 4000
	e := Estimator{Epsilon: 1}
	sum, squares, stated := 0.0, 0.0, 0.0
	for range runs {
		got := e.Heterogeneity(e.Counts(r, clusters), sizes)
		sum, squares, stated = sum+got.Value-truth, squares+(got.Value-truth)*(got.Value-truth), stated+got.StdErr*got.StdErr
	}
	spread := math.Sqrt(squares / runs)
	if math.Abs(sum/runs) > 6*spread/math.Sqrt(runs) {
		t.Errorf("phi is %v too high on average, of a spread of %v", sum/runs, spread)
	}
	if ratio := spread / math.Sqrt(stated/runs); math.Abs(ratio-1) > 0.15 {
		t.Errorf("phi spreads %v times what is stated", ratio)
	}
	little, much := Clustered(3, 3, 0.05, Sound), Clustered(3, 0.3, 0.05, Sound)
	a, b := little.Distortion(r, clusters, 300), much.Distortion(r, clusters, 300)
	if !(a.Value < b.Value && a.Value < little.DistortionBound(50) && b.Value < much.DistortionBound(50)) {
		t.Errorf("psi %v, and of more noise %v; bounds %v, %v", a, b, little.DistortionBound(50), much.DistortionBound(50))
	}
	if g := e.Guarantee(250); g.Adjacency != account.Label || g.Epsilon != 1 {
		t.Errorf("%+v", g)
	}
}

// The number of ones that a learner sees of a cluster follows the law that is accounted for:
// binomial, given the ones after flipping.
func TestExchangeFollowsItsLaw(t *testing.T) {
	const runs, flip = 60_000, 0.2
	labels, clusters := []int{1, 0, 0, 1, 1}, []int{0, 0, 0, 1, 1}
	want := make([]float64, 4)
	for flips := range 8 {
		p, ones := 1.0, 0
		for i, y := range labels[:3] {
			if flips>>i&1 == 1 {
				p, y = p*flip, 1-y
			} else {
				p *= 1 - flip
			}
			ones += y
		}
		for k := range want {
			want[k] += p * prob.BinomialPMF(k, 3, float64(ones)/3)
		}
	}
	r, counts := seeded.New(3), make([]int, 4)
	for range runs {
		who, passed := Exchange{Flip: flip, Share: 1}.Run(r, labels, clusters)
		if len(who) != 5 {
			t.Fatalf("%d of 5 pass a label on", len(who))
		}
		counts[passed[0]+passed[1]+passed[2]]++
	}
	for k, n := range counts {
		if off := math.Abs(float64(n)/runs - want[k]); off > 6*math.Sqrt(want[k]*(1-want[k])/runs) {
			t.Errorf("%d ones with probability %v, want %v", k, float64(n)/runs, want[k])
		}
	}
	who, passed := Exchange{Flip: 0, Share: 0.5}.Run(r, slices.Repeat([]int{1}, 1000), make([]int, 1000))
	if len(who) < 350 || len(who) > 650 || slices.Contains(passed, 0) {
		t.Errorf("%d of 1000 pass a label on, of %d who may", len(who), len(passed))
	}
	if (Exchange{Flip: 0.6, Share: 1}).Validate() == nil || (Exchange{}).Validate() == nil {
		t.Error("wrong parameters are taken")
	}
}

// Theorem 5 as numbers: at no threshold do noisy counts say more of which labels occur than any
// mechanism may; a twin with half of the noise does, where the bound is near.
func TestLabelAssociationKeepsTheLowerBound(t *testing.T) {
	for _, c := range []struct{ classes, size int }{{10_000, 1}, {1000, 10}, {100, 30}} {
		for _, epsilon := range []float64{0.1, 1, 3} {
			for threshold := -5; threshold <= 40; threshold++ {
				precision, recall, err := LabelAssociation(c.classes, c.size, epsilon, threshold)
				if bound := LabelAssociationBound(c.classes, c.size, epsilon); err != nil || precision*recall > bound*(1+1e-12) {
					t.Errorf("%+v, epsilon %v, threshold %d: precision %v, recall %v, above %v (%v)", c, epsilon, threshold, precision, recall, bound, err)
				}
			}
		}
	}
	p, r, err := LabelAssociation(100_000, 1, 8, 1) // far less noise than is claimed
	if err != nil || p*r < LabelAssociationBound(100_000, 1, 1) {
		t.Errorf("noise at epsilon 8 is not seen in a claim of 1: precision %v, recall %v", p, r)
	}
	noise := func(z int) float64 { // by terms
		sum := 0.0
		for k := z; k < 600; k++ {
			sum += math.Exp(prob.LogDiscreteLaplacePMF(k, 0.5))
		}
		return sum
	}
	for threshold := -3; threshold < 6; threshold++ {
		if _, r, _ := LabelAssociation(10, 2, 1, threshold); math.Abs(r-noise(threshold-1)) > 1e-12 {
			t.Errorf("threshold %d: recall %v, want %v", threshold, r, noise(threshold-1))
		}
	}
	if _, _, err := LabelAssociation(5, 5, 1, 1); err == nil {
		t.Error("more examples than classes")
	}
}
