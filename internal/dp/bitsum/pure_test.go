package bitsum

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// floodLaw is the flood of the given share of Users on 0..top, from the definition: a
// Poisson law on the multiples of each size.
func (m Pure) floodLaw(share float64, top int) []float64 {
	law := make([]float64, top+1)
	law[0] = 1
	for j := 1; j <= m.Size; j++ {
		step := make([]float64, top+1)
		for i := 0; i*j <= top; i++ {
			step[i*j] = math.Exp(prob.LogPoissonPMF(i, share*math.Exp(m.Theta*float64(j))/float64(j)))
		}
		law = convolve(law, step)[:top+1]
	}
	return law
}

// countsLaw is the exact law of the two counts of n devices, [zeros][ones], up to top
// of each, written from the definition.
func (m Pure) countsLaw(ones, n, top int) [][]float64 {
	share := float64(n) / float64(m.Users)
	z, flood := nb(share, math.Exp(m.Theta-m.Epsilon), top), m.floodLaw(share, top)
	hidden, law := make([][]float64, top+1), make([][]float64, top+1)
	for a := range hidden {
		hidden[a], law[a] = make([]float64, top+1), make([]float64, top+1)
		for b := range hidden[a] {
			for f := 0; f <= min(a, b); f++ {
				hidden[a][b] += flood[f] * z[a-f] * z[b-f]
			}
		}
	}
	for k1 := range ones + 1 {
		for k0 := range n - ones + 1 {
			p := math.Exp(prob.LogBinomialPMF(k1, ones, 1-m.Drop) + prob.LogBinomialPMF(k0, n-ones, 1-m.Drop))
			base := m.Size * (k0 + k1)
			for a := base; a <= top; a++ {
				for b := base + k1; b <= top; b++ {
					law[a][b] += p * hidden[a-base][b-base-k1]
				}
			}
		}
	}
	return law
}

// loss is the largest log ratio, in either direction, between neighbouring data sets
// of n devices over all counts up to top.
func (m Pure) loss(n, top int) float64 {
	worst := 0.0
	below := m.countsLaw(0, n, top)
	for ones := 1; ones <= n; ones++ {
		law := m.countsLaw(ones, n, top)
		for a := range law {
			for b, p := range law[a] {
				if q := below[a][b]; p > 0 || q > 0 {
					worst = math.Max(worst, math.Abs(math.Log(p/q)))
				}
			}
		}
		below = law
	}
	return worst
}

// Over every data set of few devices the counts keep epsilon, with delta = 0. The least
// size that the accountant takes is needed up to two: with two fewer the counts break
// epsilon. Without dropping, one pair of counts shows the bit.
func TestPureIsPure(t *testing.T) {
	for _, c := range []struct{ epsilon, theta, drop float64 }{
		{1, 0.2, 0.2}, {1, 0.5, 0.05}, {2, 0.2, 0.1}, {0.5, 0.25, 0.3}, {0.5, 0.1, 0.1},
	} {
		for n := 1; n <= 3; n++ {
			e, err := bitnoise.NewPure(n, c.epsilon, c.theta, c.drop)
			if err != nil {
				t.Fatal(err)
			}
			m := Pure(e)
			top := min(120, (n+3)*(m.Size+2))
			if loss := m.loss(n, top); loss > m.Epsilon*(1+1e-9) || loss < m.Epsilon/2 {
				t.Errorf("%+v, %d devices: loss %v", m, n, loss)
			}
			open := m
			open.Drop = 0
			if loss := open.loss(n, top); !math.IsInf(loss, 1) {
				t.Errorf("%+v: loss %v though nothing is dropped", open, loss)
			}
			if small := m; n == 1 && m.Size > 2 {
				if small.Size -= 2; small.loss(n, top) <= m.Epsilon {
					t.Errorf("%+v: two copies fewer would do", m)
				}
			}
		}
	}
}

// differenceLaw is the exact law of the difference of the counts, from -top to top: the
// ones that are kept and the noise.
func (m Pure) differenceLaw(ones, n, top int) []float64 {
	z := nb(float64(n)/float64(m.Users), math.Exp(m.Theta-m.Epsilon), 400)
	law := make([]float64, 2*top+1)
	for kept := range ones + 1 {
		keep := math.Exp(prob.LogBinomialPMF(kept, ones, 1-m.Drop))
		for a, p := range z {
			for b, q := range z {
				law[max(-top, min(top, kept+a-b))+top] += keep * p * q
			}
		}
	}
	return law
}

// By enumeration: the estimate is unbiased, and its variance is as stated, with the
// estimate in the place of the true number of ones.
func TestPureEstimateByEnumeration(t *testing.T) {
	m := Pure{Users: 6, Epsilon: 0.9, Theta: 0.2, Drop: 0.25, Size: 3}
	const top = 200
	for _, n := range []int{6, 9} {
		for _, ones := range []int{0, 4, n} {
			var mean, square, claimed float64
			for i, p := range m.differenceLaw(ones, n, top) {
				v := m.Estimate([2]uint64{1000, uint64(1000 + i - top)}, n)
				mean += p * v.Mean
				square += p * v.Mean * v.Mean
				claimed += p * v.StdErr * v.StdErr
			}
			truth := noise.DiscreteLaplace{Decay: 0.7}.Variance() * float64(n) / 6
			truth = (truth + float64(ones)*0.25*0.75) / (0.75 * 0.75)
			if !near(mean, float64(ones), 1e-9) || !near(square-mean*mean, truth, 1e-9) {
				t.Errorf("%d of %d: mean %v, variance %v, want %v", ones, n, mean, square-mean*mean, truth)
			}
			// Cutting to [0, n] moves the mean claim where the noise is as large as n.
			if math.Abs(claimed/truth-1) > 0.25/0.75/math.Sqrt(truth) {
				t.Errorf("%d of %d: variance %v, claimed %v in the mean", ones, n, truth, claimed)
			}
		}
	}
}

// The pair of counts, from devices one by one and drawn at once, for a crowd of exactly
// Users and a larger one. The twins drop more, or have floods that do not cancel.
func TestPureCounts(t *testing.T) {
	m := Pure{Users: 4, Epsilon: 1.2, Theta: 0.3, Drop: 0.3, Size: 2}
	const ones, top = 2, 24
	for _, n := range []int{4, 5} {
		r := stattest.Rand(t)
		law := binned(m.countsLaw(ones, n, top), top)
		bin := func(c0, c1 uint64) int {
			if c0 > top || c1 > top {
				return len(law) - 1
			}
			return int(c0)*(top+1) + int(c1)
		}
		drawn, sent, split := make([]int, len(law)), make([]int, len(law)), make([]int, len(law))
		for range 30_000 {
			c := m.DrawCounts(r, ones, n)
			drawn[bin(c[0], c[1])]++
			split[bin(c[0], m.DrawCounts(r, ones, n)[1])]++
			c = [2]uint64{}
			for device := range n {
				m.Randomize(r, device < ones, func(symbol uint8) { c[symbol]++ })
			}
			sent[bin(c[0], c[1])]++
		}
		more := m
		more.Drop += 0.04
		for _, counts := range [][]int{drawn, sent} {
			stattest.GTest(t, law, counts)
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, binned(more.countsLaw(ones, n, top), top), counts) })
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, split) })
	}
}

// The short form has the law of the difference, and its sum is the noise alone; so has
// the full form. The twin forgets that ones are dropped.
func TestPureNetCounts(t *testing.T) {
	m := Pure{Users: 10, Epsilon: 1, Theta: 0.1, Drop: 0.2, Size: 8}
	const ones, n, top = 6, 10, 15
	r, law := stattest.Rand(t), m.differenceLaw(ones, n, top)
	net := func(c [2]uint64, _ int) [2]uint64 { return c }
	short, full := make([]int, len(law)), make([]int, len(law))
	for range 50_000 {
		for counts, c := range map[*[]int][2]uint64{&short: net(m.drawNet(r, ones, n)), &full: m.DrawCounts(r, ones, n)} {
			(*counts)[max(-top, min(top, int(c[1])-int(c[0])))+top]++
		}
	}
	kept := m
	kept.Drop = 0
	for _, counts := range [][]int{short, full} {
		stattest.GTest(t, law, counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, kept.differenceLaw(ones, n, top), counts) })
	}
}

// A device over many channels: each has the law of one, seen in its messages +1.
func TestPureRandomizeAll(t *testing.T) {
	m := Pure{Users: 3, Epsilon: 1, Theta: 0.3, Drop: 0.4, Size: 2}
	const channels, top = 64, 14
	r, bits := stattest.Rand(t), make([]bool, channels)
	for i := range bits {
		bits[i] = i%2 == 1
	}
	counts := [2][]int{make([]int, top+1), make([]int, top+1)}
	for range 2000 {
		var plus [channels]int
		m.RandomizeAll(r, bits, func(channel int, symbol uint8) { plus[channel] += int(symbol) })
		for channel, k := range plus {
			counts[channel%2][min(top, k)]++
		}
	}
	one := convolve(nb(1./3, math.Exp(-0.7), 60), m.floodLaw(1./3, 60))
	for bit, counts := range counts {
		law, twin := make([]float64, top+1), make([]float64, top+1)
		for k, p := range one {
			law[min(top, k)] += p * 0.4
			law[min(top, k+2+bit)] += p * 0.6
			twin[min(top, k)] += p * 0.45
			twin[min(top, k+2+bit)] += p * 0.55
		}
		law[top] += 1 - prob.SumOf(law)
		twin[top] += 1 - prob.SumOf(twin)
		stattest.GTest(t, law, counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, twin, counts) })
	}
}

// The bound covers the tail of a device's messages, all bits one, by their exact law,
// and a cap is hardly larger than needed.
func TestPureOverflow(t *testing.T) {
	m := Pure{Users: 20, Epsilon: 1, Theta: 0.3, Drop: 0.1, Size: 3}
	const channels, most = 4, 140
	z, pairs := nb(2.*channels/20, math.Exp(-0.7), most), make([]float64, 2*most+1)
	for k, p := range m.floodLaw(channels/20., most) {
		pairs[2*k] = p
	}
	kept := make([]float64, channels*7+1)
	for k := range channels + 1 {
		kept[7*k] = math.Exp(prob.LogBinomialPMF(k, channels, 0.9))
	}
	law := convolve(convolve(kept, z), pairs)[:most]
	mean, above := 0.0, make([]float64, most)
	for k := most - 1; k > 0; k-- {
		mean += float64(k) * law[k]
		above[k-1] = above[k] + law[k]
	}
	if want := m.MessagesPerUser() * channels; !near(mean, want, 1e-9) {
		t.Errorf("%v messages in the mean, stated %v", mean, want)
	}
	for cap, truth := range above {
		if p := m.OverflowProb(channels, cap); p < truth*(1-1e-9) || truth > 1e-15 && p > 20*truth+0.3 {
			t.Errorf("P(more than %d) <= %v, truth %v", cap, p, truth)
		}
	}
	for _, target := range []float64{1e-3, 1e-6, 1e-12} {
		cap, err := m.SmallestCap(channels, target)
		if err != nil || m.OverflowProb(channels, cap) > target || m.OverflowProb(channels, cap-1) <= target {
			t.Errorf("cap %d for %v, %v", cap, target, err)
		}
		if needed := 0; above[cap] <= target {
			for above[needed] > target {
				needed++
			}
			if cap > needed+12 {
				t.Errorf("cap %d for %v, of which %d would do", cap, target, needed)
			}
		}
	}
}

func TestPureRefuses(t *testing.T) {
	r, nan := stattest.Rand(t), math.NaN()
	for _, m := range []Pure{
		{0, 1, 0.1, 0.1, 3}, {5, 1, 1, 0.1, 3}, {5, 1, 0, 0.1, 3}, {5, nan, 0.1, 0.1, 3}, {5, 1, nan, 0.1, 3}, {5, 200, 0.1, 0.1, 3},
		{5, 1, 0.1, 1, 3}, {5, 1, 0.1, -0.1, 3}, {5, 1, 0.1, nan, 3}, {5, 1, 0.1, 0.1, 0}, {5, 1, 0.1, 0.1, 1000}, {5, 1, 1e-8, 0.1, 1<<24 + 1},
	} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		for name, use := range map[string]func(){
			"RandomizeAll":    func() { m.RandomizeAll(r, []bool{true}, func(int, uint8) {}) },
			"DrawCounts":      func() { m.DrawCounts(r, 0, 0) },
			"Estimate":        func() { m.Estimate([2]uint64{}, 0) },
			"OverflowProb":    func() { m.OverflowProb(1, 1) },
			"MessagesPerUser": func() { m.MessagesPerUser() },
		} {
			if !panics(use) {
				t.Errorf("%s went on with %+v", name, m)
			}
		}
	}
	m := Pure{5, 1, 0.1, 0.1, 3}
	for _, target := range []float64{0, 1e-26, 1, nan} {
		if _, err := m.SmallestCap(4, target); err == nil {
			t.Errorf("a cap for overflow probability %v", target)
		}
	}
	if _, err := m.SmallestCap(0, 1e-6); err == nil {
		t.Error("a cap for no channels")
	}
	if !panics(func() { m.DrawCounts(r, 4, 3) }) {
		t.Error("four ones among three bits")
	}
}

// One bitsum of 10,000 at epsilon 1, with a flood chosen for few messages.
var onePure = Pure{Users: 10_000, Epsilon: 1, Theta: 0.2, Drop: 0.01, Size: 55}

func BenchmarkPureDevice(b *testing.B) {
	r, bits, sent := stattest.Rand(b), make([]bool, 16), 0
	for b.Loop() {
		onePure.RandomizeAll(r, bits, func(int, uint8) { sent++ })
	}
	b.ReportMetric(float64(sent)/float64(b.N), "messages/op")
}

func BenchmarkPureDrawCounts(b *testing.B) {
	r := stattest.Rand(b)
	for b.Loop() {
		onePure.DrawCounts(r, 5_000, 10_000)
	}
}

func BenchmarkPureSmallestCap(b *testing.B) {
	for b.Loop() {
		if _, err := onePure.SmallestCap(16, 1e-12); err != nil {
			b.Fatal(err)
		}
	}
}
