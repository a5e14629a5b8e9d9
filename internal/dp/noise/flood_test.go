package noise

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// law is the flood's on 0..top, the last entry with the tail, from the definition: the
// convolution of Poisson laws on the multiples of each size.
func (d RisingFlood) law(top int) []float64 {
	law := make([]float64, top+1)
	law[0] = 1
	for j := 1; j <= d.Size; j++ {
		mean := d.Rate * math.Exp(d.Theta*float64(j)) / float64(j)
		next := make([]float64, top+1)
		for k, p := range law {
			for i := 0; k+i*j <= top; i++ {
				next[k+i*j] += p * math.Exp(prob.LogPoissonPMF(i, mean))
			}
		}
		law = next
	}
	rest := 1.0
	for _, p := range law[:top] {
		rest -= p
	}
	law[top] = max(0, rest)
	return law
}

// Up to its size the law of rate one rises by e^Theta a step, and nowhere faster.
func TestRisingFloodRises(t *testing.T) {
	d := RisingFlood{Rate: 1, Theta: 0.3, Size: 7}
	law := d.law(80)
	for c := 1; c < 80; c++ {
		ratio := law[c] / law[c-1]
		if c <= d.Size && math.Abs(ratio-math.Exp(d.Theta)) > 1e-12 || ratio > math.Exp(d.Theta)*(1+1e-12) {
			t.Errorf("P(%d)/P(%d) is %v", c, c-1, ratio)
		}
	}
	mean := 0.0
	for c, p := range d.law(1500) {
		mean += float64(c) * p
	}
	if math.Abs(mean-d.Mean()) > 1e-9*mean {
		t.Errorf("mean %v, stated %v", mean, d.Mean())
	}
}

// 200,000 draws tell a theta off by 0.02, at sizes that are and are not full blocks.
func TestRisingFlood(t *testing.T) {
	for _, d := range []RisingFlood{{1, 0.3, 5}, {0.2, 0.4, 7}, {0.5, 0.001, 1}, {2, 0.05, 8}} {
		r, top := stattest.Rand(t), 60
		law, counts := d.law(top), make([]int, top+1)
		for range 200_000 {
			counts[min(top, d.Sample(r))]++
		}
		stattest.GTest(t, law, counts)
		twin := d
		twin.Theta += 0.02
		if d.Size == 1 {
			twin.Theta += 0.03
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, twin.law(top), counts) })
	}
}

// Two channels are independent. The twin puts all in the first.
func TestRisingFloodScatters(t *testing.T) {
	const top = 9
	d, r := RisingFlood{0.5, 0.2, 4}, stattest.Rand(t)
	one := d.law(top)
	joint := make([]float64, (top+1)*(top+1))
	for i := range joint {
		joint[i] = one[i/(top+1)] * one[i%(top+1)]
	}
	counts, twin := make([]int, len(joint)), make([]int, len(joint))
	for range 100_000 {
		var n [2]int
		d.Scatter(r, 2, func(channel, size int) { n[channel] += size })
		counts[min(top, n[0])*(top+1)+min(top, n[1])]++
		twin[min(top, n[0]+n[1])*(top+1)]++
	}
	stattest.GTest(t, joint, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, joint, twin) })
}

func TestRisingFloodRefuses(t *testing.T) {
	nan := math.NaN()
	for _, d := range []RisingFlood{{0, 1, 1}, {-1, 1, 1}, {nan, 1, 1}, {1e10, 1, 1}, {1, 0, 1}, {1, nan, 1}, {1, 1, 0}, {1, 1, 21}, {1, math.Inf(1), 1}, {1, 1e-9, 1<<24 + 1}} {
		if d.Validate() == nil {
			t.Errorf("%+v is valid", d)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was drawn", d)
				}
			}()
			d.Sample(stattest.Rand(t))
		}()
	}
}

func BenchmarkRisingFlood(b *testing.B) { // the flood of a release at epsilon 1 among 10,000
	r, d := stattest.Rand(b), RisingFlood{1, 0.005, 2182}
	for b.Loop() {
		d.Sample(r)
	}
}

// Mean is Rate times the sum of e^(Theta j), j = 1..Size.
func (d RisingFlood) Mean() float64 {
	return d.Rate * math.Exp(d.Theta) * math.Expm1(d.Theta*float64(d.Size)) / math.Expm1(d.Theta)
}
