package bitsum

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// onesLaw is the exact law of the number of ones that arrive.
func (m RR) onesLaw(ones, n int) []float64 {
	law := []float64{1}
	for i := range n {
		law = convolve(law, []float64{m.Prob(0, i < ones), m.Prob(1, i < ones)})
	}
	return law
}

// Rows sum to one, and the largest log ratio is the local epsilon.
func TestRRLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.Float64Range(1e-3, 20).Draw(t, "epsilon")
		m := RR{Flip: 1 / (math.Exp(epsilon) + 1)}
		for _, bit := range []bool{false, true} {
			if sum := m.Prob(0, bit) + m.Prob(1, bit); !near(sum, 1, 1e-15) || m.Prob(2, bit) != 0 {
				t.Fatalf("the row of %v sums to %v", bit, sum)
			}
		}
		if got := math.Log(m.Prob(1, true) / m.Prob(1, false)); !near(got, epsilon, 1e-12) {
			t.Fatalf("the largest log ratio is %v, want %v", got, epsilon)
		}
	})
}

// By enumeration over every data set: the estimate is unbiased and its standard
// error is its deviation.
func TestRREstimateByEnumeration(t *testing.T) {
	const n = 9
	for _, m := range []RR{{0}, {0.1}, {0.45}} {
		for ones := range n + 1 {
			var mean, square float64
			for c, p := range m.onesLaw(ones, n) {
				v := m.Estimate([2]uint64{uint64(n - c), uint64(c)}, n)
				mean += p * v.Mean
				square += p * v.Mean * v.Mean
			}
			stdErr := m.Estimate([2]uint64{n, 0}, n).StdErr
			if !near(mean, float64(ones), 1e-12) || !near(stdErr*stdErr, square-mean*mean, 1e-10) {
				t.Errorf("%+v, %d ones: mean %v, variance %v, claimed %v", m, ones, mean, square-mean*mean, stdErr*stdErr)
			}
		}
	}
}

// Devices one by one and the drawn counts have the same law; 100,000 releases catch
// a flip probability off by 0.01.
func TestRRCounts(t *testing.T) {
	const ones, n = 3, 8
	r, m := stattest.Rand(t), RR{Flip: 0.2}
	bits := []bool{true, true, true, false, false, false, false, false}
	drawn, sent := make([]int, n+1), make([]int, n+1)
	for range 100_000 {
		c := m.DrawCounts(r, ones, n)
		if c[0]+c[1] != n {
			t.Fatalf("%d messages from %d devices", c[0]+c[1], n)
		}
		drawn[c[1]]++
		k, next := 0, 0
		m.RandomizeAll(r, bits, func(channel int, symbol uint8) {
			if channel != next {
				t.Fatalf("channel %d after %d", channel, next-1)
			}
			next++
			k += int(symbol)
		})
		sent[k]++
	}
	for _, counts := range [][]int{drawn, sent} {
		stattest.GTest(t, m.onesLaw(ones, n), counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, RR{0.21}.onesLaw(ones, n), counts) })
	}
}

// One device, each bit; the twin has keep and flip exchanged.
func TestRRRandomize(t *testing.T) {
	r, m := stattest.Rand(t), RR{Flip: 0.3}
	for _, bit := range []bool{false, true} {
		counts := make([]int, 2)
		for range 50_000 {
			m.Randomize(r, bit, func(symbol uint8) { counts[symbol]++ })
		}
		stattest.GTest(t, []float64{m.Prob(0, bit), m.Prob(1, bit)}, counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, []float64{m.Prob(0, !bit), m.Prob(1, !bit)}, counts) })
	}
}

func TestRRRefuses(t *testing.T) {
	r := stattest.Rand(t)
	for _, flip := range []float64{-0.1, 0.5, 0.7, 1, math.NaN(), math.Inf(1)} {
		m := RR{flip}
		if m.Validate() == nil {
			t.Errorf("flip probability %v is valid", flip)
		}
		for name, use := range map[string]func(){
			"Prob":         func() { m.Prob(0, false) },
			"RandomizeAll": func() { m.RandomizeAll(r, nil, nil) },
			"DrawCounts":   func() { m.DrawCounts(r, 0, 0) },
			"Estimate":     func() { m.Estimate([2]uint64{}, 0) },
		} {
			if !panics(use) {
				t.Errorf("%s went on with flip probability %v", name, flip)
			}
		}
	}
	if !panics(func() { RR{0.1}.DrawCounts(r, 4, 3) }) {
		t.Error("four ones among three bits")
	}
}

func BenchmarkRRDevice(b *testing.B) { // rounding and flips of 768 channels
	r, m := stattest.Rand(b), RR{Flip: 0.4}
	mapped, bits := make([]float32, 768), make([]bool, 768)
	sent := make([]uint8, 768)
	for b.Loop() {
		RoundAll(r, mapped, bits)
		m.RandomizeAll(r, bits, func(channel int, symbol uint8) { sent[channel] = symbol })
	}
}

func BenchmarkRRDrawCounts(b *testing.B) {
	r, m := stattest.Rand(b), RR{Flip: 0.4}
	for b.Loop() {
		m.DrawCounts(r, 20_000, 40_000)
	}
}

// What one device sends tells no more of its bit than Local says, and as much.
func TestRRLocalIsItsLaw(t *testing.T) {
	for _, flip := range []float64{1e-9, 0.1, 0.3, 0.4999} {
		m, worst := RR{Flip: flip}, 0.0
		for symbol := range uint8(2) {
			for _, bit := range []bool{false, true} {
				worst = math.Max(worst, math.Log(m.Prob(symbol, bit)/m.Prob(symbol, !bit)))
			}
		}
		local, err := account.LocalEpsilon(m.Event(1000))
		if g := m.Local(); math.Abs(g.Epsilon-worst) > 1e-9*worst || err != nil || math.Abs(local-worst) > 1e-9*worst {
			t.Errorf("flip %v: local epsilon %v, by the accountant %v, by enumeration %v (%v)", flip, g.Epsilon, local, worst, err)
		}
	}
}
