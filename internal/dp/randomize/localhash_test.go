package randomize

import (
	"encoding/hex"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// A hash by big integers, for all x that a cell can be.
func TestHashIsThePolynomial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Uint64Range(0, field-1)
		h := hash{word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c"), uint64(rapid.IntRange(2, maxRange).Draw(t, "symbols"))}
		x := rapid.IntRange(0, MaxCells-1).Draw(t, "x")
		p, v := big.NewInt(field), new(big.Int).SetUint64(h.c)
		for _, coefficient := range []uint64{h.b, h.a} {
			v.Mul(v, big.NewInt(int64(x)))
			v.Add(v, new(big.Int).SetUint64(coefficient))
			v.Mod(v, p)
		}
		v.Mul(v, new(big.Int).SetUint64(h.symbols))
		v.Rsh(v, 61)
		if got := h.symbol(x); got != int(v.Int64()) {
			t.Fatalf("symbol %d, want %v", got, v)
		}
	})
}

// The family, for a second implementation, which computed these: SHAKE-256 and big integers
// of another language. Do not edit to pass, a change breaks every plan.
func TestHashVectors(t *testing.T) {
	seed, _ := hex.DecodeString("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	m := LocalHash{K: MaxCells, G: 1000, Functions: 2000, Epsilon: 1, Seed: [32]byte(seed)}
	for _, v := range []struct{ function, x, want int }{
		{0, 0, 196},
		{0, 1, 922},
		{1, 0, 683},
		{1, 1, 598},
		{1, 2, 62},
		{1, 2147483647, 802},
		{1023, 123456, 68},
		{1999, 2147483647, 646},
		{1999, 7, 474},
	} {
		if got := m.Hash(v.function, v.x); got != v.want {
			t.Errorf("{%d, %d, %d},", v.function, v.x, got)
		}
	}
	if f, want := m.function(1), (hash{1577054492602531275, 1476111690868437870, 633299128345203149, 1000}); f != want {
		t.Errorf("coefficients %v, want %v", f, want)
	}
}

// Over the functions, triples of cells hash to all G^3 triples of symbols alike. The twin
// uses the line a + b x, on which x = 0, 1, 2 hash to an arithmetic sequence.
func TestHashesOfThreeCellsAreIndependent(t *testing.T) {
	const g = 3
	m := LocalHash{K: 10, G: g, Functions: 20_000, Epsilon: 1}
	uniform, counts, line := make([]float64, g*g*g), make([]int, g*g*g), make([]int, g*g*g)
	for i := range uniform {
		uniform[i] = 1. / (g * g * g)
	}
	for _, h := range m.family() {
		counts[(h.symbol(0)*g+h.symbol(1))*g+h.symbol(2)]++
		h.c = 0
		line[(h.symbol(0)*g+h.symbol(1))*g+h.symbol(2)]++
	}
	stattest.GTest(t, uniform, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, uniform, line) })
}

// All families of two functions, and under each all joint reports of three devices: the
// estimate is unbiased over both, Variance is its variance, and the squared standard error
// is that in the mean, but for what it says: the pairs of the cell's own holders.
func TestLocalHashEstimate(t *testing.T) {
	const cells, symbols, functions = 3, 2, 2
	m := LocalHash{K: cells, G: symbols, Functions: functions, Epsilon: 1.3}
	held, holders := []int{0, 0, 1}, []int{2, 1, 0}
	n, lie := len(held), m.response()
	var mean, square, claimed [cells]float64
	families := int(math.Pow(symbols, cells*functions))
	for family := range families {
		symbol := func(function, x int) int { return family >> (function*cells + x) & 1 }
		messages := functions * symbols
		for joint := range int(math.Pow(float64(messages), float64(n))) {
			p, counts, rest := 1/float64(families), make([]uint64, messages), joint
			for _, x := range held {
				y := rest % messages
				rest /= messages
				counts[y]++
				p *= lie.Prob(y%symbols, symbol(y/symbols, x)) / functions
			}
			for x := range cells {
				var supports uint64
				for function := range functions {
					supports += counts[function*symbols+symbol(function, x)]
				}
				v := m.support().estimate(supports, n)
				mean[x] += p * v.Mean
				square[x] += p * v.Mean * v.Mean
				collisions := m.squareOfCollisions(counts, n)
				claimed[x] += p * (v.StdErr*v.StdErr + collisions)
			}
		}
	}
	for x, t0 := range holders {
		variance := square[x] - mean[x]*mean[x]
		if !near(mean[x], float64(t0), 1e-12) || !near(variance, m.Variance(x, holders), 1e-12) {
			t.Errorf("cell %d: mean %v, want %d; variance %v, stated %v", x, mean[x], t0, variance, m.Variance(x, holders))
		}
		s := m.support()
		own := float64(t0*(t0-1)) * (s.hold*s.hold + s.miss*s.miss/(symbols-1) - 1./symbols) / (symbols * functions * s.gap * s.gap)
		if !near(claimed[x], variance+own, 1e-12) {
			t.Errorf("cell %d: claimed in the mean %v, want %v and %v for its own holders", x, claimed[x], variance, own)
		}
	}
}

// EstimateAll adds up what its parts say, over more than one block and function.
func TestLocalHashEstimateAll(t *testing.T) {
	m := LocalHash{K: 101, G: 5, Functions: 7, Epsilon: 1.5}
	holders, counts, out := make([]int, m.K), make([]uint64, m.Channels()), make([]estimate.Value, m.K)
	for x := range holders {
		holders[x] = x % 4
	}
	m.DrawCounts(stattest.Rand(t), holders, counts)
	n := devices(holders, m.K)
	m.EstimateAll(counts, n, out)
	for x, v := range out {
		var supports uint64
		for function := range m.Functions {
			supports += counts[function*m.G+m.Hash(function, x)]
		}
		want := m.support().estimate(supports, n)
		if v.Mean != want.Mean || !near(v.StdErr, math.Sqrt(want.StdErr*want.StdErr+math.Max(0, m.squareOfCollisions(counts, n))), 1e-12) {
			t.Errorf("cell %d: %v, want %v", x, v, want)
		}
	}
}

// The range of least variance for a cell that nobody holds.
func TestHashRangeIsBest(t *testing.T) {
	for _, epsilon := range []float64{0.1, 1, 2.2, 5} {
		noise := func(g int) float64 {
			return LocalHash{K: 10, G: g, Functions: 1000, Epsilon: epsilon}.support().variance(0, 1)
		}
		best := HashRange(epsilon)
		for g := 2; g < 2*best+5; g++ {
			if noise(g) < noise(best)*(1-1e-9) && math.Abs(float64(g-best)) > 1 {
				t.Errorf("epsilon %v: %d symbols have less variance than %d", epsilon, g, best)
			}
		}
	}
	if HashRange(50) != maxRange {
		t.Error("no end to the range")
	}
}

func TestLocalHashRefuses(t *testing.T) {
	for _, m := range []LocalHash{
		{K: 1, G: 2, Functions: 1, Epsilon: 1}, {K: MaxCells + 1, G: 2, Functions: 1, Epsilon: 1}, {K: 4, G: 1, Functions: 1, Epsilon: 1},
		{K: 4, G: maxRange + 1, Functions: 1, Epsilon: 1}, {K: 4, G: 2, Functions: 0, Epsilon: 1}, {K: 4, G: 2, Functions: MaxCells, Epsilon: 1},
		{K: 4, G: 2, Functions: 1, Epsilon: 0}, {K: 4, G: 2, Functions: 1, Epsilon: math.NaN()},
	} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		refused(t, func() { m.Randomize(nil, 0, nil) }, func() { m.Prob(0, 0) }, func() { m.EstimateAll(nil, 0, nil) })
	}
	m := LocalHash{K: 4, G: 2, Functions: 3, Epsilon: 1}
	refused(t, func() { m.Randomize(nil, 4, nil) }, func() { m.Hash(0, -1) }, func() { m.DrawCounts(nil, []int{1}, nil) })
	if m.Prob(6, 0) != 0 {
		t.Error("a message beyond the family")
	}
}

func BenchmarkLocalHashDevice(b *testing.B) {
	r, m := stattest.Rand(b), LocalHash{K: 2_795_520, G: HashRange(3), Functions: 1024, Epsilon: 3}
	for b.Loop() {
		m.Randomize(r, 123_456, func(uint32) {})
	}
}

func BenchmarkLocalHashEstimateAll(b *testing.B) { // 100,000 cells, 1,024 functions
	m := LocalHash{K: 100_000, G: HashRange(3), Functions: 1024, Epsilon: 3}
	holders, counts, out := make([]int, m.K), make([]uint64, m.Channels()), make([]estimate.Value, m.K)
	for x := range holders {
		holders[x] = 10
	}
	m.DrawCounts(stattest.Rand(b), holders, counts)
	for b.Loop() {
		m.EstimateAll(counts, 1_000_000, out)
	}
}

// With the functions that a design takes, the law's error is that of a function of
// every device's own, to a tenth; with 256 of them it is not.
func TestHashFunctionsErrAsOnesOwn(t *testing.T) {
	const n, k = 100_000, 100
	holders := make([]int, k)
	total := 0.0
	for i := range holders {
		total += math.Pow(float64(i+1), -1.1)
	}
	for i := range holders {
		holders[i] = int(n * math.Pow(float64(i+1), -1.1) / total)
	}
	rmse := func(m LocalHash) float64 {
		sum := 0.0
		for x := range holders {
			sum += m.Variance(x, holders)
		}
		return math.Sqrt(sum / k)
	}
	for _, epsilon := range []float64{2.13, 7.07} {
		g := HashRange(epsilon)
		m := LocalHash{K: k, G: g, Functions: HashFunctions(n, k, g, epsilon), Epsilon: epsilon}
		own := m
		own.Functions = MaxCells / g
		few := m
		few.Functions = 256
		if rmse(m) > 1.1*rmse(own) || rmse(few) < 1.4*rmse(own) {
			t.Errorf("epsilon %v: %d functions to %d symbols err by %v, ones of one's own by %v, 256 by %v", epsilon, m.Functions, g, rmse(m), rmse(own), rmse(few))
		}
		t.Logf("epsilon %v: %d functions to %d symbols err by %.1f, ones of one's own by %.1f, 256 by %.1f", epsilon, m.Functions, g, rmse(m), rmse(own), rmse(few))
	}
	if f := HashFunctions(1<<40, 1<<30, 1<<20, 20); f != 4 {
		t.Errorf("%d functions where the analyzer's work is the limit", f)
	}
}
