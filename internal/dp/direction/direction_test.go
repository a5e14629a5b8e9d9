package direction

import (
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// mechanism is what both have in common.
type mechanism interface {
	Randomize(r *rand.Rand, x []float64) []byte
	Prob(report []byte, x []float64) float64
	Check(report []byte) error
	Sum(reports iter.Seq[[]byte]) ([]float64, error)
	Factor() float64
	Event(users int) account.Event
	Local(adj account.Adjacency) account.Guarantee
}

var (
	_ mechanism = Sign{}
	_ mechanism = Cap{}
)

func unit(dim, axis int, length float64) []float64 {
	x := make([]float64, dim)
	x[axis] = length
	return x
}

// The directions are those that testdata/expand.py prints.
func TestDirectionsAreThoseOfAnotherLanguage(t *testing.T) {
	count, ones := seed{}, seed{}
	for i := range count {
		count[i], ones[i] = byte(i), 255
	}
	last := make([]float64, 300)
	expand(count, last)
	for _, c := range []struct {
		seed seed
		want []float64
	}{
		{seed{}, []float64{0.17363540031208793, 0.37109059335737477, -0.3318987316264877, 0.44130125257326386, -0.7261122197719369}},
		{count, []float64{-0.9102814992687547, 0.13852727002319792, 0.3780124665750133, 0.0964591243108849}},
		{ones, []float64{1}},
	} {
		v := make([]float64, len(c.want))
		expand(c.seed, v)
		for i, want := range c.want {
			if math.Abs(v[i]-want) > 1e-14 {
				t.Errorf("coordinate %d is %v, want %v", i, v[i], want)
			}
		}
	}
	if want := 0.008092437549393436; math.Abs(last[299]-want) > 1e-14 {
		t.Errorf("the last of 300 coordinates is %v, want %v", last[299], want)
	}
}

// Of any two vectors, on any seed: signs' probabilities add up to one, their ratio is
// at most e^epsilon, and opposite ends reach it.
func TestTheLawOfTheSignIsWithinEpsilon(t *testing.T) {
	r := stattest.Rand(t)
	m := Sign{Dim: 3, Clip: 2, Epsilon: 1.3}
	vectors := [][]float64{{2, 0, 0}, {-2, 0, 0}, {0, 0, 9}, {0.5, 0.1, -1}, {0, 0, 0}, {math.NaN(), 0, 0}, {math.Inf(1), 1, 1}}
	reached := 0.0
	for range 200 {
		s := draw(r)
		for _, x := range vectors {
			plus, minus := append([]byte{0}, s[:]...), append([]byte{1}, s[:]...)
			if sum := m.Prob(plus, x) + m.Prob(minus, x); math.Abs(sum-1) > 1e-15 {
				t.Fatalf("probabilities of both signs add up to %v", sum)
			}
			for _, y := range vectors {
				ratio := math.Log(m.Prob(plus, x) / m.Prob(plus, y))
				if reached = max(reached, ratio); ratio > m.Epsilon+1e-12 {
					t.Fatalf("%v and %v: a ratio of e^%v", x, y, ratio)
				}
			}
		}
	}
	if reached < m.Epsilon-1e-12 {
		t.Errorf("the largest ratio is e^%v: epsilon is claimed to be exact", reached)
	}
}

// How often a device's report is of the favoured sign is what Prob says.
func favoured(t testing.TB, m Sign, randomize func(*rand.Rand, []float64) []byte) {
	r := stattest.Rand(t)
	x := unit(m.Dim, 1, m.Clip/2)
	const n = 8000
	more := 0
	for range n {
		if m.Prob(randomize(r, x), x) > 0.5 {
			more++
		}
	}
	truth := 1 / (1 + math.Exp(-m.Epsilon))
	stattest.Binomial(t, 0.75*truth+0.25*(1-truth), n, more)
}

func TestDevicesFavourAsStated(t *testing.T) {
	m := Sign{Dim: 4, Clip: 3, Epsilon: 1}
	favoured(t, m, m.Randomize)
	stattest.Caught(t, func(tb testing.TB) { // no lies
		honest := m
		honest.Epsilon = MaxEpsilon
		favoured(tb, m, honest.Randomize)
	})
	stattest.Caught(t, func(tb testing.TB) { // half as long
		longer := m
		longer.Clip *= 2
		favoured(tb, m, longer.Randomize)
	})
}

// The mean of debiased reports along the device's own vector is its length.
func debiased(t testing.TB, m mechanism, dim, n int, factor float64) {
	r := stattest.Rand(t)
	const length = 0.7
	x := unit(dim, dim-1, length)
	draws, square := make([]float64, n), 0.0
	for i := range draws {
		sum, err := m.Sum(slices.Values([][]byte{m.Randomize(r, x)}))
		if err != nil {
			t.Fatal(err)
		}
		draws[i] = factor * sum[dim-1]
		square += draws[i] * draws[i] / float64(n)
	}
	stattest.Mean(t, length, square, draws)
}

func TestReportsAreUnbiased(t *testing.T) {
	for _, c := range []struct{ dim, n int }{{2, 8000}, {3, 8000}, {64, 6000}, {26010, 120}} {
		sign := Sign{Dim: c.dim, Clip: 1, Epsilon: 4}
		debiased(t, sign, c.dim, c.n, sign.Factor())
		best := BestCap(c.dim, 1, 4)
		debiased(t, best, c.dim, c.n, best.Factor())
	}
	for dim, n := range map[int]int{2: 8000, 3: 8000, 64: 6000, 26010: 120} {
		sign := Sign{Dim: dim, Clip: 1, Epsilon: 4}
		stattest.Caught(t, func(tb testing.TB) { debiased(tb, sign, dim, n, sign.Factor()/float64(dim)) }) // as printed
	}
	sign := Sign{Dim: 64, Clip: 1, Epsilon: 4}
	best := BestCap(64, 1, 4)
	stattest.Caught(t, func(tb testing.TB) { debiased(tb, best, 64, 6000, sign.Factor()) })
}

func TestOneDimensionIsRandomizedResponse(t *testing.T) {
	m := Sign{Dim: 1, Clip: 2, Epsilon: 1.5}
	if want := 2 / math.Tanh(0.75); math.Abs(m.Factor()-want) > 1e-12 {
		t.Errorf("factor %v, want %v", m.Factor(), want)
	}
}

// In three dimensions <u, v> is uniform on [-1, 1], in two it is a cosine.
func TestCapsOfTwoAndThreeDimensionsAreKnown(t *testing.T) {
	for _, share := range []float64{0.5, 0.3, 0.01} {
		two, three := Cap{2, 1, share, 2}, Cap{3, 1, share, 2}
		if want := math.Cos(math.Pi * share); math.Abs(two.edge()-want) > 1e-12 {
			t.Errorf("share %v of a circle: edge %v, want %v", share, two.edge(), want)
		}
		g := 1 - 2*share
		if math.Abs(three.edge()-g) > 1e-12 {
			t.Errorf("share %v of a sphere: edge %v, want %v", share, three.edge(), g)
		}
		z := 1 + share*math.Expm1(2)
		if want := (1 - g*g) / 4 * math.Expm1(2) / z; math.Abs(three.gain()-want) > 1e-12 {
			t.Errorf("share %v of a sphere: gain %v, want %v", share, three.gain(), want)
		}
		if want := (1./3 + math.Expm1(2)*(1-g*g*g)/6) / z; math.Abs(three.along()-want) > 1e-12 {
			t.Errorf("share %v of a sphere: mean square %v, want %v", share, three.along(), want)
		}
	}
}

// Uniform directions fall into caps as often as their share says, and reports have the
// stated probabilities: over uniform reports they add up to one.
func TestTheLawOfTheCap(t *testing.T) {
	r := stattest.Rand(t)
	m := Cap{Dim: 9, Clip: 1, Share: 0.2, Epsilon: 1.7}
	x, v := unit(9, 4, 1), make([]float64, 9)
	const n = 8000
	inside, taken := 0, 0
	draws, square := make([]float64, n), 0.0
	for i := range n {
		s := draw(r)
		if along(x, s, v) >= m.edge() {
			inside++
		}
		draws[i] = m.Prob(s[:], unit(9, 2, 0.4))
		square += draws[i] * draws[i] / n
		if m.Prob(m.Randomize(r, x), x) > 1 {
			taken++
		}
	}
	stattest.Binomial(t, m.Share, n, inside)
	stattest.Mean(t, 1, square-1+1e-9, draws)
	e := math.Exp(m.Epsilon) * m.Share
	stattest.Binomial(t, e/(e+1-m.Share), n, taken)
}

func TestTheCapsProbabilitiesAreWithinEpsilon(t *testing.T) {
	r := stattest.Rand(t)
	m := Cap{Dim: 4, Clip: 1, Share: 0.3, Epsilon: 2}
	vectors := [][]float64{{1, 0, 0, 0}, {-1, 0, 0, 0}, {0, 0.2, 0, 0}, {0, 0, 0, 0}, {3, 3, 3, 3}}
	reached := 0.0
	for range 2000 {
		s := draw(r)
		for _, x := range vectors {
			for _, y := range vectors {
				reached = max(reached, math.Log(m.Prob(s[:], x)/m.Prob(s[:], y)))
			}
		}
	}
	if math.Abs(reached-m.Epsilon) > 1e-12 {
		t.Errorf("the largest ratio is e^%v, want e^%v", reached, m.Epsilon)
	}
}

// The ratio of variances is that of the literature's mechanisms in many dimensions.
func TestTheCapHasLessNoise(t *testing.T) {
	for epsilon, want := range map[float64]float64{0.5: 1.04, 1: 1.16, 1.9: 1.61, 3: 2.58, 4: 3.88} {
		sign, best := Sign{10000, 1, epsilon}, BestCap(10000, 1, epsilon)
		if got := math.Pow(sign.Factor()/best.Factor(), 2); math.Abs(got-want) > 0.01*want {
			t.Errorf("epsilon %v: the sign has %v times the cap's variance, want %v", epsilon, got, want)
		}
	}
	if best := BestCap(10000, 1, 1.9); math.Abs(best.Share-0.25) > 0.03 {
		t.Errorf("the best cap at 1.9 has a share %v, want about a quarter", best.Share)
	}
}

func TestWhatHasNoDirectionSaysNothing(t *testing.T) {
	const n = 4000
	for name, x := range map[string][]float64{"zero": {0, 0}, "nan": {math.NaN(), 1}, "infinite": {math.Inf(-1), 1}} {
		t.Run(name, func(t *testing.T) {
			r := stattest.Rand(t)
			for _, m := range []mechanism{Sign{2, 1, 8}, Cap{2, 1, 0.2, 8}} {
				right := 0
				for range n {
					v, err := m.Sum(slices.Values([][]byte{m.Randomize(r, x)}))
					if err != nil {
						t.Fatal(err)
					}
					if v[1] > 0 {
						right++
					}
				}
				stattest.Binomial(t, 0.5, n, right)
			}
		})
	}
}

func TestSumsDoNotDependOnProcessors(t *testing.T) {
	r := stattest.Rand(t)
	m := Sign{Dim: 5, Clip: 1, Epsilon: 1}
	reports := make([][]byte, 3*block+7)
	for i := range reports {
		reports[i] = m.Randomize(r, unit(5, i%5, 1))
	}
	many, err := m.Sum(slices.Values(reports))
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, err := m.Sum(slices.Values(reports))
	if err != nil || !slices.Equal(one, many) {
		t.Errorf("%v on one processor, %v on many: %v", one, many, err)
	}
	for i, e := range m.Estimate(one, len(reports)) {
		if want := m.Factor() / math.Sqrt(5*float64(len(reports))); math.Abs(e.StdErr-want) > 1e-12 || math.Abs(e.Mean-0.2) > 6*want {
			t.Errorf("coordinate %d is %v, want 0.2 within %v", i, e, want)
		}
	}
}

// The central epsilon of one epoch of 2,000 and of 10,000 reports is the one known for
// stronger clones; that of the cap, for its share.
func TestShuffledReportsCostAsKnown(t *testing.T) {
	for _, c := range []struct {
		event account.Event
		want  float64
	}{
		{Sign{100, 1, 1.9}.Event(2000), 0.251},
		{Sign{100, 1, 1.9}.Event(10000), 0.106},
		{Cap{100, 1, 0.25, 1.9}.Event(2000), 0.221},
		{Cap{100, 1, 0.25, 1.9}.Event(10000), 0.093},
	} {
		g, err := account.Epsilon(c.event, 1e-6)
		if err != nil || math.Abs(g.Epsilon-c.want) > 0.002 {
			t.Errorf("%+v: epsilon %v, want %v: %v", c.event, g.Epsilon, c.want, err)
		}
	}
}

func TestLocalPromises(t *testing.T) {
	if g := (Sign{3, 1, 1.9}).Local(account.Replacement); g.Epsilon != 1.9 || g.Delta != 0 || g.Trust != account.Local {
		t.Errorf("promised %+v", g)
	}
	z := math.Log1p(0.25 * math.Expm1(2))
	if g := (Cap{3, 1, 0.25, 2}).Local(account.Removal); math.Abs(g.Epsilon-math.Max(2-z, z)) > 1e-12 {
		t.Errorf("promised %+v", g)
	}
}

func TestHostileReportsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		m      mechanism
		report []byte
	}{
		"sign: nothing":      {Sign{2, 1, 1}, nil},
		"sign: short":        {Sign{2, 1, 1}, make([]byte, SignBytes-1)},
		"sign: long":         {Sign{2, 1, 1}, make([]byte, SignBytes+1)},
		"sign: another sign": {Sign{2, 1, 1}, append([]byte{2}, make([]byte, SeedBytes)...)},
		"cap: short":         {Cap{2, 1, 0.5, 1}, make([]byte, SeedBytes-1)},
		"cap: long":          {Cap{2, 1, 0.5, 1}, make([]byte, SeedBytes+1)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.m.Sum(slices.Values([][]byte{c.report}))
			if err == nil || c.m.Check(c.report) == nil || c.m.Prob(c.report, []float64{1, 0}) != 0 {
				t.Errorf("taken: %v", err)
			}
		})
	}
}

func TestImpossibleParametersAreNamed(t *testing.T) {
	for name, err := range map[string]error{
		"no dimension":      Sign{0, 1, 1}.Validate(),
		"too many":          Sign{maxDim + 1, 1, 1}.Validate(),
		"no length":         Sign{1, 0, 1}.Validate(),
		"not a length":      Sign{1, math.NaN(), 1}.Validate(),
		"no epsilon":        Sign{1, 1, 0}.Validate(),
		"epsilon beyond":    Sign{1, 1, 51}.Validate(),
		"a cap on a line":   Cap{1, 1, 0.5, 1}.Validate(),
		"an empty cap":      Cap{2, 1, 0, 1}.Validate(),
		"more than a half":  Cap{2, 1, 0.51, 1}.Validate(),
		"no share":          Cap{2, 1, math.NaN(), 1}.Validate(),
		"is right (a twin)": errors.Join(Sign{1, 1, 1}.Validate(), Cap{2, 1, 0.5, 1}.Validate()),
	} {
		if (err == nil) != (name == "is right (a twin)") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReports(f *testing.F) {
	f.Add([]byte{0}, 3)
	f.Add(make([]byte, SignBytes), 2)
	f.Fuzz(func(t *testing.T, report []byte, dim int) {
		m := Sign{Dim: 1 + (dim&255+256)&255, Clip: 1, Epsilon: 1}
		var sum []float64
		var err error
		// The vector counts as received: who made the plan chose its length.
		costlimit.Heap(t, costlimit.Factor, len(report)+8*m.Dim, func() { sum, err = m.Sum(slices.Values([][]byte{report})) })
		if (err == nil) != (m.Check(report) == nil) {
			t.Fatalf("checked %v, summed %v", m.Check(report), err)
		}
		length := 0.0
		for _, v := range sum {
			length += v * v
		}
		if err == nil && math.Abs(length-1) > 1e-9 {
			t.Errorf("a direction of squared length %v", length)
		}
	})
}

func BenchmarkDirections(b *testing.B) {
	x := unit(26010, 3, 1)
	for name, m := range map[string]mechanism{"sign": Sign{26010, 1, 1.9}, "cap": BestCap(26010, 1, 1.9)} {
		b.Run("randomize/"+name, func(b *testing.B) {
			r := stattest.Rand(b)
			for b.Loop() {
				m.Randomize(r, x)
			}
		})
	}
}

// A plan of a large epsilon takes no more seeds of a device than one of a small one.
func TestDevicesDoNotSearchForLong(t *testing.T) {
	for _, epsilon := range []float64{1, 8, MaxEpsilon} {
		m := BestCap(100, 1, epsilon)
		if err := m.Validate(); err != nil || m.Share < LeastShare {
			t.Errorf("epsilon %v: share %v, %v", epsilon, m.Share, err)
		}
	}
	if err := (Cap{Dim: 100, Clip: 1, Share: LeastShare / 2, Epsilon: 20}).Validate(); err == nil {
		t.Error("a cap that devices hardly ever hit is good")
	}
}

// Of caps in two dimensions rounding moves the edges, each by itself: shares differ by no more
// than the comment of Cap says.
func TestCapsHaveOneShare(t *testing.T) {
	r := stattest.Rand(t)
	for share, most := range map[float64]float64{0.25: 2e-15, 0.01: 1e-12, LeastShare: 1e-10} {
		m, half, worst := Cap{Dim: 2, Clip: 1, Share: share, Epsilon: 1}, math.Pi*share, 0.0
		edge := m.edge()
		if math.Abs(math.Acos(edge)/half-1) > 1e-9 {
			t.Fatalf("share %v: the edge is at %v of a half turn, want %v", share, math.Acos(edge)/math.Pi, share)
		}
		edge = math.Cos(half) // edge's own error is every cap's
		for range 500 {
			at, width := 2*math.Pi*r.Float64(), 0.0
			for _, side := range []float64{1, -1} {
				low, high := 0.5*half, 1.5*half
				for range 80 {
					middle := (low + high) / 2
					if v := at + side*middle; math.Cos(at)*math.Cos(v)+math.Sin(at)*math.Sin(v) >= edge {
						low = middle
					} else {
						high = middle
					}
				}
				width += low / 2
			}
			worst = max(worst, math.Abs(width/half-1))
		}
		if worst > most {
			t.Errorf("share %v: caps' shares differ by %.2g of themselves, want at most %.2g", share, worst, most)
		}
		t.Logf("share %v: %.2g", share, worst)
	}
}
