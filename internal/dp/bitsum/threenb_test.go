package bitsum

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// nb is NB(r, p) on 0..top.
func nb(r, p float64, top int) []float64 {
	law := make([]float64, top+1)
	for k := range law {
		law[k] = math.Exp(prob.LogNegativeBinomialPMF(k, r, p))
	}
	return law
}

// countsLaw is the exact law of the two counts of n devices, [zeros][ones], up to
// top of each: written from the definition, z1 + z3 + ones and z2 + z3.
func (m ThreeNB) countsLaw(ones, n, top int) [][]float64 {
	share := float64(n) / float64(m.Users)
	z, flood := nb(share, math.Exp(-m.Noise), top), nb(share*m.FloodShape, m.FloodProb, top)
	law := make([][]float64, top+1)
	for c0 := range law {
		law[c0] = make([]float64, top+1)
		for c1 := range law[c0] {
			for f := 0; f <= min(c0, c1-ones); f++ {
				law[c0][c1] += flood[f] * z[c0-f] * z[c1-ones-f]
			}
		}
	}
	return law
}

// binned flattens the law of the counts up to top of each, all larger ones together.
func binned(law [][]float64, top int) []float64 {
	flat := make([]float64, 0, (top+1)*(top+1)+1)
	rest := 1.0
	for _, row := range law[:top+1] {
		for _, p := range row[:top+1] {
			flat = append(flat, p)
			rest -= p
		}
	}
	return append(flat, rest)
}

// By enumeration: the estimate is unbiased, its standard error is its deviation, and
// it is the number of ones plus discrete Laplace noise when n = Users.
func TestThreeNBEstimateByEnumeration(t *testing.T) {
	m := ThreeNB{Users: 6, Noise: 0.9, FloodShape: 1.3, FloodProb: 0.4}
	const top, ones = 90, 4
	for _, n := range []int{6, 9} {
		var total, mean, square float64
		difference := map[int]float64{}
		for c0, row := range m.countsLaw(ones, n, top) {
			for c1, p := range row {
				v := m.Estimate([2]uint64{uint64(c0), uint64(c1)}, n)
				total += p
				mean += p * v.Mean
				square += p * v.Mean * v.Mean
				difference[c1-c0-ones] += p
			}
		}
		variance := m.Estimate([2]uint64{}, n).StdErr
		variance *= variance
		if !near(total, 1, 1e-12) || !near(mean, ones, 1e-11) || !near(variance, square-mean*mean, 1e-10) {
			t.Errorf("n = %d: total %v, mean %v, variance %v, claimed %v", n, total, mean, square-mean*mean, variance)
		}
		for k := -20; n == m.Users && k <= 20; k++ {
			if want := math.Exp((noise.DiscreteLaplace{Decay: 0.9}).LogProb(k)); !near(difference[k], want, 1e-12) {
				t.Errorf("P(noise %d) is %v, want %v", k, difference[k], want)
			}
		}
	}
}

// The pair of counts, from devices one by one and drawn at once, for a crowd of
// exactly Users and for a larger one. The twins have 8 % less noise, or a flood whose
// two halves are not the same number.
func TestThreeNBCounts(t *testing.T) {
	m := ThreeNB{Users: 5, Noise: 0.8, FloodShape: 2, FloodProb: 0.4}
	const ones, top = 2, 8
	for _, n := range []int{5, 8} {
		r := stattest.Rand(t)
		law := binned(m.countsLaw(ones, n, top), top)
		bin := func(c0, c1 uint64) int {
			if c0 > top || c1 > top {
				return len(law) - 1
			}
			return int(c0)*(top+1) + int(c1)
		}
		drawn, sent, split := make([]int, len(law)), make([]int, len(law)), make([]int, len(law))
		for range 50_000 {
			c := m.DrawCounts(r, ones, n)
			drawn[bin(c[0], c[1])]++
			split[bin(c[0], m.DrawCounts(r, ones, n)[1])]++
			c = [2]uint64{}
			for device := range n {
				m.Randomize(r, device < ones, func(symbol uint8) { c[symbol]++ })
			}
			sent[bin(c[0], c[1])]++
		}
		less := m
		less.Noise *= 1.08
		for _, counts := range [][]int{drawn, sent} {
			stattest.GTest(t, law, counts)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, binned(less.countsLaw(ones, n, top), top), counts) })
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, split) })
	}
}

// A device over many channels: every channel has the law of one, bit included, here
// seen in the number of messages +1 of channels with a one and with a zero.
func TestThreeNBRandomizeAll(t *testing.T) {
	m := ThreeNB{Users: 3, Noise: 0.7, FloodShape: 1, FloodProb: 0.5}
	const channels, top = 64, 12
	r := stattest.Rand(t)
	bits := make([]bool, channels)
	for i := range bits {
		bits[i] = i%2 == 1
	}
	counts := [2][]int{make([]int, top+1), make([]int, top+1)}
	for range 3000 {
		var plus [channels]int
		m.RandomizeAll(r, bits, func(channel int, symbol uint8) { plus[channel] += int(symbol) })
		for channel, k := range plus {
			counts[channel%2][min(top, k)]++
		}
	}
	one := convolve(nb(1./3, math.Exp(-0.7), 60), nb(1./3, 0.5, 60))
	for bit, counts := range counts {
		law := make([]float64, top+1)
		for k, p := range one {
			law[min(top, k+bit)] += p
		}
		stattest.GTest(t, law, counts)
		stattest.Caught(t, func(tb testing.TB) {
			twin := append([]float64(nil), law...)
			twin[bit], twin[bit+1] = twin[bit]-0.02, twin[bit+1]+0.02
			stattest.GTest(tb, twin, counts)
		})
	}
}

// messagesLaw is the exact law of a device's messages, all bits one, from the
// definition: the convolution over channels and noises.
func (m ThreeNB) messagesLaw(channels, top int) []float64 {
	n := float64(m.Users)
	z, f := nb(1/n, math.Exp(-m.Noise), top), nb(m.FloodShape/n, m.FloodProb, top)
	pairs := make([]float64, 2*top+1)
	for k, p := range f {
		pairs[2*k] = p
	}
	law := make([]float64, channels+1)
	law[channels] = 1
	for range channels {
		law = convolve(convolve(convolve(law, z), z), pairs)
	}
	return law
}

func TestOverflowIsTheExactTail(t *testing.T) {
	m := ThreeNB{Users: 20, Noise: 0.8, FloodShape: 1.5, FloodProb: 0.45}
	const channels = 4
	law := m.messagesLaw(channels, 50)
	var mean float64
	for k, p := range law {
		mean += float64(k) * p
	}
	if want := m.MessagesPerUser() * channels; !near(mean, want, 1e-10) {
		t.Errorf("mean number of messages %v, stated %v", mean, want)
	}
	above := 1.0
	for cap := -1; cap < 30; cap++ {
		if cap >= 0 {
			above -= law[cap]
		}
		got := m.OverflowProb(channels, cap)
		if got < above-1e-13 || got > above*(1+1e-8)+1e-13 {
			t.Errorf("P(more than %d) <= %v, truth %v", cap, got, above)
		}
	}
	for _, target := range []float64{0.5, 1e-3, 1e-12, 1e-25} {
		cap, err := m.SmallestCap(channels, target)
		if err != nil {
			t.Fatal(err)
		}
		if m.OverflowProb(channels, cap) > target || m.OverflowProb(channels, cap-1) <= target {
			t.Errorf("%d is not the smallest cap for %v", cap, target)
		}
	}
}

// Sizes as plans have them: the tail is never below what 200,000 devices show, by an
// exact binomial test, and falls with the cap.
func TestOverflowOfAPlan(t *testing.T) {
	m := ThreeNB{Users: 2000, Noise: 0.02, FloodShape: 40, FloodProb: 0.99}
	const channels = 256
	cap, err := m.SmallestCap(channels, 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	if cap < int(m.MessagesPerUser()*channels) || cap > 40*channels {
		t.Errorf("cap %d for %v messages in the mean", cap, m.MessagesPerUser()*channels)
	}
	last := 1.0
	for c := channels; c <= cap; c += 50 {
		p := m.OverflowProb(channels, c)
		if p > last {
			t.Fatalf("overflow of %d is likelier than of fewer", c)
		}
		last = p
	}
	r, bits, over := stattest.Rand(t), make([]bool, channels), 0
	for i := range bits {
		bits[i] = true
	}
	const devices, limit = 5_000, 1500
	for range devices {
		k := 0
		m.RandomizeAll(r, bits, func(int, uint8) { k++ })
		if k > limit {
			over++
		}
	}
	stattest.Binomial(t, m.OverflowProb(channels, limit), devices, over)
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, m.OverflowProb(channels, limit+200), devices, over) })
}

func TestThreeNBRefuses(t *testing.T) {
	r, nan := stattest.Rand(t), math.NaN()
	for _, m := range []ThreeNB{
		{0, 1, 1, 0.5}, {-1, 1, 1, 0.5}, {5, 0, 1, 0.5}, {5, -1, 1, 0.5}, {5, nan, 1, 0.5}, {5, 101, 1, 0.5}, {5, 1e-300, 1, 0.5},
		{5, 1, 0, 0.5}, {5, 1, nan, 0.5}, {5, 1, 1e300, 0.5}, {5, 1, 1, 1}, {5, 1, 1, -0.5}, {5, 1, 1, nan},
	} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		for name, use := range map[string]func(){
			"RandomizeAll": func() { m.RandomizeAll(r, []bool{true}, func(int, uint8) {}) },
			"DrawCounts":   func() { m.DrawCounts(r, 0, 0) },
			"Estimate":     func() { m.Estimate([2]uint64{}, 0) },
			"OverflowProb": func() { m.OverflowProb(1, 1) },
		} {
			if !panics(use) {
				t.Errorf("%s went on with %+v", name, m)
			}
		}
	}
	m := ThreeNB{5, 1, 1, 0.5}
	for _, target := range []float64{0, 1e-26, 1, nan} {
		if _, err := m.SmallestCap(4, target); err == nil {
			t.Errorf("a cap for overflow probability %v", target)
		}
	}
	if _, err := m.SmallestCap(0, 1e-6); err == nil {
		t.Error("a cap for no channels")
	}
	if p := (ThreeNB{5, 1e-6, 1, 0.5}).OverflowProb(4, 1<<40); p != 1 {
		t.Errorf("overflow of a law too wide to tabulate is %v, want the safe 1", p)
	}
}

// The noise is what exact accounting allows at n = 40,000, 768 rounds and epsilon 1
// (a deviation of 166); the flood is only of a plausible size.
var plausible = ThreeNB{Users: 40_000, Noise: 0.0085, FloodShape: 1.5, FloodProb: 0.99}

func BenchmarkThreeNBDevice(b *testing.B) {
	r, bits := stattest.Rand(b), make([]bool, 768)
	sent := 0
	for b.Loop() {
		plausible.RandomizeAll(r, bits, func(int, uint8) { sent++ })
	}
	b.ReportMetric(float64(sent)/float64(b.N), "messages/op")
}

func BenchmarkThreeNBDrawCounts(b *testing.B) {
	r := stattest.Rand(b)
	for b.Loop() {
		plausible.DrawCounts(r, 20_000, 40_000)
	}
}

func BenchmarkSmallestCap(b *testing.B) {
	for b.Loop() {
		if _, err := plausible.SmallestCap(768, 1e-12); err != nil {
			b.Fatal(err)
		}
	}
}
