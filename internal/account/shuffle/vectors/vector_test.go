package vectors

import (
	"fmt"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/recent"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// everyOther calls f with each multiset of size m over the grid.
func everyOther(m int, grid []float64, f func(others []float64)) {
	others := make([]float64, m)
	var fill func(i, from int)
	fill = func(i, from int) {
		if i == m {
			f(others)
			return
		}
		for j := from; j < len(grid); j++ {
			others[i] = grid[j]
			fill(i+1, j)
		}
	}
	fill(0, 0)
}

func gridOf(p float64, points int) []float64 {
	grid := make([]float64, points)
	for i := range grid {
		grid[i] = p + (1-2*p)*float64(i)/float64(points-1)
	}
	return grid
}

func renyiDivergence(order float64, p, q []float64) float64 {
	sum := 0.0
	for t := range p {
		sum += math.Pow(p[t], order) * math.Pow(q[t], 1-order)
	}
	return math.Log(sum) / (order - 1)
}

// excess is the largest Renyi divergence over the bound kappa g^2, over all data
// sets of one coordinate on a grid of probabilities: at most 1 if the bound holds.
// actual is the flip probability of the devices, claimed that of the bound.
func excess(n int, claimed, actual float64) float64 {
	e := VectorResponse{Users: n, Coordinates: 1, Flip: claimed, SquaredGap: 1}
	bound := e.renyiCurve(1)
	grid := gridOf(actual, 5)
	worst := 0.0
	everyOther(n-1, grid, func(others []float64) {
		for _, a := range grid {
			for _, b := range grid {
				if a == b {
					continue
				}
				p, q := accounttest.OnesLaw(append([]float64{a}, others...)), accounttest.OnesLaw(append([]float64{b}, others...))
				for _, order := range []float64{1.5, 2, 2.7, 3, 5, 8} {
					d := renyiDivergence(order, p, q) / (bound(order) * (a - b) * (a - b))
					worst = math.Max(worst, d)
				}
			}
		}
	})
	return worst
}

func TestVectorRenyiEveryDataSet(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for _, p := range []float64{0.01, 0.1, 0.25, 0.4, 0.49} {
			if worst := excess(n, p, p); worst > 1 || n > 3 && p > 0.3 && worst < 0.9 {
				t.Errorf("n=%d p=%v: divergence %v of the bound: above it, or far below", n, p, worst)
			}
		}
	}
	// The broken twin: devices flip 10 % less than the claim.
	for _, p := range []float64{0.25, 0.4, 0.49} {
		if worst := excess(6, p, 0.9*p); worst <= 1 {
			t.Errorf("p=%v: 10 %% too little noise stays at %v of the bound", p, worst)
		}
	}
}

// slopeExcess is the largest hockey stick over that of the Gaussian which is
// said to dominate, over all data sets of one coordinate.
func slopeExcess(n int, claimed, actual float64) (worst float64, known bool) {
	const charge = 1e-9
	e := VectorResponse{Users: n, Coordinates: 1, Flip: claimed, SquaredGap: 1}
	slope := e.slope(charge)
	if math.IsInf(slope, 1) {
		return 0, false
	}
	grid := gridOf(actual, 5)
	everyOther(n-1, grid, func(others []float64) {
		for _, a := range grid {
			for _, b := range grid {
				g := math.Abs(a - b)
				if g == 0 {
					continue
				}
				p, q := accounttest.OnesLaw(append([]float64{a}, others...)), accounttest.OnesLaw(append([]float64{b}, others...))
				for _, y := range []float64{0, 0.1, 0.3, 0.6, 1, 1.4, 2} {
					l, stick := 1+g*y*slope, 0.0
					for i := range p {
						stick += math.Max(0, p[i]-l*q[i])
					}
					worst = math.Max(worst, (stick-charge)/profile.Normal(slope*g).Hockey(math.Log(l)))
				}
			}
		}
	})
	return worst, true
}

func TestVectorGaussianEveryDataSet(t *testing.T) {
	tried := 0
	for n := 1; n <= 6; n++ {
		for _, p := range []float64{0.1, 0.3, 0.4, 0.45, 0.48} {
			worst, known := slopeExcess(n, p, p)
			if !known {
				continue
			}
			tried++
			if worst > 1+1e-12 {
				t.Errorf("n=%d p=%v: a hockey stick is %v of its Gaussian's", n, p, worst)
			}
		}
	}
	if tried < 5 {
		t.Errorf("only %d settings have a Gaussian", tried)
	}
	if worst, known := slopeExcess(6, 0.45, 0.9*0.45); !known || worst <= 1 {
		t.Errorf("10 %% too little noise stays at %v of its Gaussian", worst)
	}
}

// Inequality (*) of docs/vector-rr.md, where its proof needs most care.
func TestGaussianFromBelow(t *testing.T) {
	for _, x := range []float64{1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4} {
		for s := 0.0; s < 6; s += 0.01 {
			left := profile.Normal(x).Hockey(math.Log1p(x * s))
			phi := math.Exp(-s*s/2) / math.Sqrt(2*math.Pi)
			right := x * (phi*(1-x*x/24) - s*math.Erfc(s/math.Sqrt2)/2)
			if left < right*(1-1e-9)-1e-18 {
				t.Errorf("x=%v s=%v: %v below %v", x, s, left, right)
			}
		}
	}
}

// Whole vectors: d <= 3 coordinates, targets on a grid, others at the extremes,
// the exact epsilon of the product law at delta against the accountant.
func TestVectorWholeEnumerated(t *testing.T) {
	const delta = 0.01
	for _, c := range []struct {
		n, d       int
		p, squared float64
	}{{2, 1, 0.2, 1}, {4, 2, 0.3, 1}, {6, 2, 0.4, 0.5}, {3, 3, 0.4, 1.5}, {5, 3, 0.45, 1}, {6, 3, 0.25, 3}} {
		e := VectorResponse{Users: c.n, Coordinates: c.d, Flip: c.p, SquaredGap: c.squared}
		g, err := account.Epsilon(e, delta)
		if err != nil {
			t.Fatal(err)
		}
		grid := gridOf(c.p, 4)
		budget := e.squares() * (1 + 1e-12)
		type move struct{ p, q []float64 }
		worst := 0.0
		// stick is the hockey stick of the product of the remaining coordinates.
		var stick func(p, q float64, moves []move) float64
		stick = func(p, q float64, moves []move) float64 {
			if len(moves) == 0 {
				return math.Max(0, p-math.Exp(g.Epsilon)*q)
			}
			sum := 0.0
			for t := range moves[0].p {
				sum += stick(p*moves[0].p[t], q*moves[0].q[t], moves[1:])
			}
			return sum
		}
		var choose func(left float64, moves []move)
		choose = func(left float64, moves []move) {
			if len(moves) == c.d {
				worst = math.Max(worst, stick(1, 1, moves))
				return
			}
			for k := 0; k < c.n; k++ {
				others := make([]float64, c.n-1)
				for i := range others {
					others[i] = c.p
					if i < k {
						others[i] = 1 - c.p
					}
				}
				for _, a := range grid {
					for _, b := range grid {
						if rest := left - (a-b)*(a-b); rest >= 0 {
							choose(rest, append(moves, move{accounttest.OnesLaw(append([]float64{a}, others...)), accounttest.OnesLaw(append([]float64{b}, others...))}))
						}
					}
				}
			}
		}
		if c.d == 3 {
			grid = []float64{c.p, 1 - c.p}
		}
		choose(budget, nil)
		if worst > delta {
			t.Errorf("%+v: delta %v at the claimed epsilon %v", e, worst, g.Epsilon)
		}
	}
}

func TestVectorCalibration(t *testing.T) {
	const delta = 1e-5
	for _, c := range []struct {
		n    int
		most float64 // shift a Gaussian of the counts' deviation may not exceed
	}{{10000, 0.142}, {100000, 0.142}} {
		e, err := VectorFlip(c.n, 784, 784./4, 0.5, delta)
		if err != nil {
			t.Fatal(err)
		}
		g, err := account.Epsilon(e, delta)
		if err != nil || g.Epsilon > 0.5 || g.Epsilon < 0.499 {
			t.Errorf("n=%d: %v, %v", c.n, g, err)
		}
		// Renyi divergence alone reaches 0.130, a perfect conversion 0.142.
		if mu := e.Spread(); mu < 0.130 || mu > c.most {
			t.Errorf("n=%d: shift %v, want between 0.130 and %v", c.n, mu, c.most)
		}
		renyi, err := e.renyiCurve(e.squares()).Epsilon(delta)
		if err != nil || renyi < 0.5 || renyi > 0.54 {
			t.Errorf("n=%d: Renyi divergence gives %v, %v", c.n, renyi, err)
		}
	}
}

func TestVectorLaws(t *testing.T) {
	const delta = 1e-5
	epsilon := func(e account.Event) float64 {
		t.Helper()
		g, err := account.Epsilon(e, delta)
		if err != nil {
			t.Fatal(err)
		}
		return g.Epsilon
	}
	base := VectorResponse{20000, 256, 0.2, 64}
	at := epsilon(base)
	for name, less := range map[string]VectorResponse{
		"more users":        {40000, 256, 0.2, 64},
		"more flips":        {20000, 256, 0.25, 64},
		"smaller gaps":      {20000, 256, 0.2, 32},
		"fewer coordinates": {20000, 32, 0.2, 64},
	} {
		if got := epsilon(less); got >= at {
			t.Errorf("%s: %v, not below %v", name, got, at)
		}
	}
	// Sum of squares equal to the number of coordinates is plain randomized response.
	plain := epsilon(VectorResponse{20000, 64, 0.2, 64})
	exact := epsilon(account.Repeat{Event: shuffle.RandomizedResponse{Users: 20000, Flip: 0.2}, Rounds: 64})
	if plain < exact || plain > 1.1*exact {
		t.Errorf("64 full gaps: %v, exactly %v", plain, exact)
	}
	if low, err := account.LowerEpsilon(VectorResponse{20000, 64, 0.2, 64.5}, delta); err != nil || low.Bound != account.Lower || low.Epsilon > exact || low.Epsilon < 0.99*exact {
		t.Errorf("64 full gaps: lower bound %v, exactly %v, %v", low, exact, err)
	}
	twice := epsilon(account.Repeat{Event: base, Rounds: 2})
	mixed := epsilon(account.All{Events: []account.Event{base, base}})
	if !(twice > at && twice < 2*at && math.Abs(mixed-twice) < 0.02*twice) {
		t.Errorf("once %v, twice %v, as two events %v", at, twice, mixed)
	}
	for _, x := range accounttest.Hostile {
		for _, e := range []VectorResponse{{100, 10, x, 1}, {100, 10, 0.1, x}} {
			if g, err := account.Epsilon(e, delta); err == nil {
				t.Errorf("%+v gives %v", e, g)
			}
		}
		if g, err := account.Epsilon(base, x); err == nil {
			t.Errorf("delta %v gives %v", x, g)
		}
		if e, err := VectorFlip(100, 10, x, 1, delta); err == nil {
			t.Errorf("squared gap %v gives %v", x, e)
		}
	}
	for _, e := range []VectorResponse{{0, 10, 0.1, 1}, {-1, 10, 0.1, 1}, {10, 0, 0.1, 1}, {10, 10, 0.5, 1}} {
		if g, err := account.Epsilon(e, delta); err == nil {
			t.Errorf("%+v gives %v", e, g)
		}
	}
}

func BenchmarkVectorResponse(b *testing.B) {
	for _, n := range []int{10000, 1000000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				if _, err := account.Epsilon(VectorResponse{n, 784, 0.1, 196}, 1e-5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A bit that is seen by itself beside the counts of a vector: the composition meets the
// closed form, and does not walk along the tail, which never falls to the neglected.
func TestOneBitBesideAVector(t *testing.T) {
	e := VectorResponse{Users: 2700, Coordinates: 256, Flip: 0.1, SquaredGap: 64}
	const delta, p = 1e-6, 0.1
	o := account.Options{Neglect: delta * profile.Neglect / 2}
	charge := o.Neglect * tailShare
	gauss := profile.Normal(e.slope(charge) * math.Sqrt(e.squares()))
	rest := func(epsilon float64) float64 {
		d := gauss.Hockey(math.Abs(epsilon))
		if d = charge + (1-charge)*d; epsilon < 0 {
			d = 1 - math.Exp(epsilon) + math.Exp(epsilon)*d
		}
		return d
	}
	local := math.Log((1 - p) / p)
	want, err := profile.Invert(func(epsilon float64) (float64, error) {
		return (1-p)*rest(epsilon-local) + p*rest(epsilon+local), nil
	}, delta)
	if err != nil {
		t.Fatal(err)
	}
	got := accounttest.EpsilonFrom(t, account.Epsilon, account.All{Events: []account.Event{shuffle.RandomizedResponse{Users: 1, Flip: p}, e}}, delta)
	if got < want || got > want*(1+1e-3) {
		t.Errorf("epsilon %v, in closed form %v", got, want)
	}
	alone := accounttest.EpsilonFrom(t, account.Epsilon, e, delta)
	if one, err := account.OneMessage(e, delta); err != nil || one.Epsilon <= math.Max(local, alone) || one.Epsilon > math.Min(want, local+alone) {
		t.Errorf("one message: epsilon %v, %v; the bit has %v, all of the vector %v, and both by their Gaussian %v", one.Epsilon, err, local, alone, want)
	}
	o.Step = 1e-3
	if d, err := e.Distributions(o); err != nil || d[0].Support() > 1<<15 {
		t.Errorf("%d losses, %v", d[0].Support(), err)
	}
}

// What one coordinate of fewer others tells is never less private: its hockey stick at every
// epsilon, over every number of ones, falls with the number of others. So a bound that holds of
// fewer worlds, which leaves more others out, holds of all.
func TestFewerOthersAreNeverMorePrivate(t *testing.T) {
	worst := func(e VectorResponse, m int, epsilon float64) (most float64) {
		var law shuffle.Others
		for k := range m + 1 {
			w, _ := e.count(&law, m, k, profile.MinTail)
			sum := 0.0
			for i := range len(w) + 1 { // of a one told from a zero
				before, here := 0.0, 0.0
				if i > 0 {
					before = w[i-1]
				}
				if i < len(w) {
					here = w[i]
				}
				one, zero := (1-e.Flip)*before+e.Flip*here, e.Flip*before+(1-e.Flip)*here
				sum += math.Max(0, one-math.Exp(epsilon)*zero)
			}
			most = math.Max(most, sum)
		}
		return most
	}
	for _, flip := range []float64{0.02, 0.2, 0.4} {
		e := VectorResponse{Users: 10, Coordinates: 1, Flip: flip, SquaredGap: 1}
		for _, epsilon := range []float64{0, 0.1, 0.5, 1, 2} {
			for n, before := 0, 2.0; n < 40; n++ {
				now := worst(e, n, epsilon)
				if now > before*(1+1e-12) {
					t.Errorf("flip %v, epsilon %v: %v with %d others, %v with one fewer", flip, epsilon, now, n, before)
				}
				before = now
			}
		}
	}
	// So are slopes and moments of fewer worlds.
	e := VectorResponse{Users: 30_000, Coordinates: 64, Flip: 0.1, SquaredGap: 4}
	for _, terms := range []float64{1 << 10, 1 << 14, 1 << 16, slopeTerms} {
		c, more := e.cover(terms, 1e-20), e.cover(2*terms, 1e-20)
		if c.Others() > more.Others() || c.Count() > vectorWorlds+1 || c.Others()%(c.Dropped+1) != 0 {
			t.Errorf("%v terms: %+v, twice as many %+v", terms, c, more)
		}
	}
}

// A vector has no loss distribution that could stand behind a backstop.
func TestNoVectorBehindABackstop(t *testing.T) {
	if g, err := account.Epsilon(shuffle.BehindBackstop{Keep: 0.9, Flip: 0.1, Seen: VectorResponse{2, 64, 0.01, 8}}, 1e-6); err == nil {
		t.Errorf("a mechanism without a loss distribution was taken: %v", g)
	}
}

// Two bits of a bucket, each with others of its own choice, are accounted closer than as bits of a vector.
func TestBucketsAreCloserThanVectors(t *testing.T) {
	const delta = 1e-6
	for _, c := range []struct {
		n, repetitions int
		p              float64
	}{{3000, 64, 0.12}, {40_000, 128, 0.03}, {1000, 16, 0.2}} {
		one := shuffle.AsymmetricResponse{Users: c.n, Keep: 1 - c.p, Flip: 0.5}
		apart := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: one, Rounds: 2 * c.repetitions}, delta)
		vector := accounttest.EpsilonFrom(t, account.Epsilon, VectorResponse{c.n, 2 * c.repetitions, c.p, float64(c.repetitions) / 2}, delta)
		t.Logf("n=%d, %d repetitions, flip %v: two bits apart %.5f; as a vector %.5f", c.n, c.repetitions, c.p, apart, vector)
		if !(apart < vector) {
			t.Errorf("n=%d, %d repetitions, flip %v: %v < %v does not hold", c.n, c.repetitions, c.p, apart, vector)
		}
	}
}

// BenchmarkOneMessage is what a device computes of one opened message, for a density of
// 768 bits as a vector.
func BenchmarkOneMessage(b *testing.B) {
	for b.Loop() {
		recentSlopes, recentKappas = recent.Results[chargedVector, float64]{}, recent.Results[VectorResponse, []float64]{}
		if _, err := account.OneMessage(VectorResponse{40_000, 768, 0.05, 192}, 1e-6); err != nil {
			b.Fatal(err)
		}
	}
}
