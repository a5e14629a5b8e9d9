package bitsum

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// single is what the two protocols of identical messages share.
type single interface {
	Randomize(r *rand.Rand, bit bool, emit func(symbol uint8))
	RandomizeAll(r *rand.Rand, bits []bool, emit func(channel int, symbol uint8))
	DrawCounts(r *rand.Rand, ones, n int) [2]uint64
	Estimate(c [2]uint64, n int) estimate.Value
	MessagesPerUser() float64
	OverflowProb(channels, cap int) float64
	SmallestCap(channels int, target float64) (int, error)
	// noiseLaw is the law of so many devices' noise on 0..top, from the definition.
	noiseLaw(devices float64, top int) []float64
}

func (m PoissonSum) noiseLaw(devices float64, top int) []float64 {
	law := make([]float64, top+1)
	for k := range law {
		law[k] = math.Exp(prob.LogPoissonPMF(k, devices*m.Mean/float64(m.Users)))
	}
	return law
}

func (m NegativeBinomialSum) noiseLaw(devices float64, top int) []float64 {
	return nb(devices*m.Shape/float64(m.Users), m.Prob, top)
}

// shifted is the law by more, with everything from top on in the last entry.
func shifted(law []float64, by, top int) []float64 {
	bins := make([]float64, top+1)
	for k, p := range law {
		bins[min(top, k+by)] += p
	}
	bins[top] += 1 - prob.SumOf(law)
	return bins
}

// Each with a twin whose noise is about a tenth larger.
var singles = []struct{ m, twin single }{
	{PoissonSum{Users: 5, Mean: 4}, PoissonSum{Users: 5, Mean: 4.4}},
	{PoissonSum{Users: 6, Mean: 0.7}, PoissonSum{Users: 6, Mean: 0.78}},
	{NegativeBinomialSum{5, 2.5, 0.6}, NegativeBinomialSum{5, 2.5, 0.63}},
	{NegativeBinomialSum{5, 0.7, 0.8}, NegativeBinomialSum{5, 0.8, 0.8}},
}

// The count of messages, from devices one by one and drawn at once, for a crowd of
// exactly Users and a larger one; no message is a zero.
func TestSingleCounts(t *testing.T) {
	const ones, top = 2, 40
	for _, s := range singles {
		for _, n := range []int{6, 9} {
			r, drawn, sent := stattest.Rand(t), make([]int, top+1), make([]int, top+1)
			for range 20_000 {
				c := s.m.DrawCounts(r, ones, n)
				drawn[min(top, c[1])]++
				k := [2]uint64{c[0], 0}
				for device := range n {
					s.m.Randomize(r, device < ones, func(symbol uint8) { k[symbol]++ })
				}
				if k[0] != 0 {
					t.Fatalf("%+v: %d zeros", s.m, k[0])
				}
				sent[min(top, k[1])]++
			}
			for _, counts := range [][]int{drawn, sent} {
				stattest.GTest(t, shifted(s.m.noiseLaw(float64(n), 400), ones, top), counts)
				stattest.Caught(t, func(tb testing.TB) {
					stattest.GTest(tb, shifted(s.twin.noiseLaw(float64(n), 400), ones, top), counts)
				})
			}
		}
	}
}

// By enumeration: the estimate is unbiased and its standard error is its deviation.
func TestSingleEstimateByEnumeration(t *testing.T) {
	const ones = 3
	for _, s := range singles {
		for _, n := range []int{5, 8} {
			var mean, square float64
			for k, p := range s.m.noiseLaw(float64(n), 400) {
				v := s.m.Estimate([2]uint64{0, uint64(k + ones)}, n)
				mean += p * v.Mean
				square += p * v.Mean * v.Mean
			}
			claimed := s.m.Estimate([2]uint64{}, n).StdErr
			if !near(mean, ones, 1e-10) || !near(claimed*claimed, square-mean*mean, 1e-9) {
				t.Errorf("%+v, %d devices: mean %v, variance %v, claimed %v", s.m, n, mean, square-mean*mean, claimed*claimed)
			}
		}
	}
}

// A device over many channels: each has the law of one, and the total that of the cap.
func TestSingleRandomizeAll(t *testing.T) {
	const channels, top = 64, 10
	for _, s := range singles {
		r, bits := stattest.Rand(t), make([]bool, channels)
		for i := range bits {
			bits[i] = i%2 == 1
		}
		counts := [2][]int{make([]int, top+1), make([]int, top+1)}
		for range 3000 {
			var sent [channels]int
			s.m.RandomizeAll(r, bits, func(channel int, symbol uint8) { sent[channel] += int(symbol) })
			for channel, k := range sent {
				counts[channel%2][min(top, k)]++
			}
		}
		for bit, counts := range counts {
			stattest.GTest(t, shifted(s.m.noiseLaw(1, 400), bit, top), counts)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, shifted(s.twin.noiseLaw(1.1, 400), bit, top), counts) })
		}
	}
}

func TestSingleOverflowIsTheExactTail(t *testing.T) {
	const channels = 7
	for _, s := range singles {
		law := []float64{1}
		for range channels {
			law = convolve(law, s.m.noiseLaw(1, 100))
		}
		mean, above := 0.0, 1.0
		for k, p := range law {
			mean += p * float64(channels+k)
		}
		if !near(mean, s.m.MessagesPerUser()*channels, 1e-9) {
			t.Errorf("%+v: %v messages in the mean, stated %v", s.m, mean, s.m.MessagesPerUser()*channels)
		}
		for cap := range 60 {
			if cap >= channels {
				above -= law[cap-channels]
			}
			if got := s.m.OverflowProb(channels, cap); got < above-1e-13 || got > above*(1+1e-8)+1e-13 {
				t.Errorf("%+v: P(more than %d) <= %v, truth %v", s.m, cap, got, above)
			}
		}
		for _, target := range []float64{0.3, 1e-3, 1e-12, 1e-25} {
			cap, err := s.m.SmallestCap(channels, target)
			if err != nil || s.m.OverflowProb(channels, cap) > target || s.m.OverflowProb(channels, cap-1) <= target {
				t.Errorf("%+v: cap %d for %v, %v", s.m, cap, target, err)
			}
		}
		if _, err := s.m.SmallestCap(0, 0.1); err == nil {
			t.Errorf("%+v: a cap for no channels", s.m)
		}
		if _, err := s.m.SmallestCap(3, 0); err == nil {
			t.Errorf("%+v: a cap that is never exceeded", s.m)
		}
	}
}

func TestSingleRefuses(t *testing.T) {
	r, nan := stattest.Rand(t), math.NaN()
	for _, m := range []interface {
		single
		Validate() error
	}{
		PoissonSum{0, 1}, PoissonSum{5, 0}, PoissonSum{5, -1}, PoissonSum{5, nan}, PoissonSum{5, 1e10},
		NegativeBinomialSum{0, 1, 0.5}, NegativeBinomialSum{5, 0, 0.5}, NegativeBinomialSum{5, nan, 0.5}, NegativeBinomialSum{5, 1e300, 0.5},
		NegativeBinomialSum{5, 1, 0}, NegativeBinomialSum{5, 1, 1}, NegativeBinomialSum{5, 1, nan},
	} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		for name, use := range map[string]func(){
			"RandomizeAll": func() { m.RandomizeAll(r, []bool{true}, func(int, uint8) {}) },
			"DrawCounts":   func() { m.DrawCounts(r, 0, 0) },
			"Estimate":     func() { m.Estimate([2]uint64{}, 0) },
			"OverflowProb": func() { m.OverflowProb(1, 1) },
			"SmallestCap":  func() { m.SmallestCap(1, 0.1) },
		} {
			if !panics(use) {
				t.Errorf("%s went on with %+v", name, m)
			}
		}
	}
	for _, s := range singles {
		if !panics(func() { s.m.DrawCounts(r, 4, 3) }) {
			t.Errorf("%+v: four ones among three bits", s.m)
		}
		s.m.RandomizeAll(r, nil, func(int, uint8) { t.Errorf("%+v: a message in no channel", s.m) })
	}
}

// Noise of the deviation that 768 channels at epsilon 1 ask for.
func BenchmarkPoissonDevice(b *testing.B) {
	benchmarkDevice(b, PoissonSum{Users: 40_000, Mean: 13_700})
}

func BenchmarkNegativeBinomialDevice(b *testing.B) {
	benchmarkDevice(b, NegativeBinomialSum{Users: 40_000, Shape: 14_000, Prob: 0.5})
}

func benchmarkDevice(b *testing.B, m single) {
	r, bits, sent := stattest.Rand(b), make([]bool, 768), 0
	for b.Loop() {
		m.RandomizeAll(r, bits, func(int, uint8) { sent++ })
	}
	b.ReportMetric(float64(sent)/float64(b.N), "messages/op")
}

func BenchmarkPoissonDrawCounts(b *testing.B) {
	r, m := stattest.Rand(b), PoissonSum{Users: 40_000, Mean: 13_700}
	for b.Loop() {
		m.DrawCounts(r, 20_000, 40_000)
	}
}
