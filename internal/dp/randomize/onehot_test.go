package randomize

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

var adjacencies = []account.Adjacency{account.Removal, account.Replacement}

// law is that of the whole report, over all sets of cells as bit masks, of a device that
// sets the bits of set; from the definition.
func (m OneHot) law(set int) []float64 {
	law := make([]float64, 1<<m.K)
	for sent := range law {
		law[sent] = 1
		for cell := range m.K {
			p := m.Flip
			if set>>cell&1 == 1 {
				p = m.Keep
			}
			if sent>>cell&1 == 0 {
				p = 1 - p
			}
			law[sent] *= p
		}
	}
	return law
}

// loss is the largest log ratio of two laws, either way.
func loss(a, b []float64) float64 {
	most := 0.
	for i := range a {
		most = math.Max(most, math.Abs(math.Log(a[i]/b[i])))
	}
	return most
}

// lossOfSets is the largest loss over devices that set at most so many bits: against no bit
// set, and against each other.
func (m OneHot) lossOfSets(most int) map[account.Adjacency]float64 {
	worst := map[account.Adjacency]float64{}
	none := m.law(0)
	for a := range 1 << m.K {
		if bits.OnesCount(uint(a)) > most {
			continue
		}
		law := m.law(a)
		worst[account.Removal] = math.Max(worst[account.Removal], loss(law, none))
		for b := range a {
			if bits.OnesCount(uint(b)) <= most {
				worst[account.Replacement] = math.Max(worst[account.Replacement], loss(law, m.law(b)))
			}
		}
	}
	return worst
}

// All outputs of all sets: the promise is the largest ratio, exactly. A billionth less of
// the flips breaks it.
func TestOneHotLocalByEnumeration(t *testing.T) {
	for _, m := range []OneHot{
		Symmetric(4, 1, account.Removal), Symmetric(4, 3, account.Replacement), Asymmetric(4, 2, account.Replacement), Symmetric(1, 1, account.Removal),
		{K: 5, Keep: 0.9, Flip: 0.3}, {K: 3, Keep: 0.4, Flip: 0.1},
	} {
		for most := 1; most <= min(3, m.K); most++ {
			less := m
			less.Flip *= 1 - 1e-9
			broken := less.lossOfSets(most)
			for adj, want := range m.lossOfSets(most) {
				g := m.LocalSet(most, adj)
				if math.Abs(g.Epsilon-want) > 1e-12 || g.Adjacency != adj || g.Trust != account.Local || g.Delta != 0 {
					t.Errorf("%+v, %d bits: the loss is %v, promised %v", m, most, want, g)
				}
				// The absence of bits may bind, which flips of zeros change little.
				if sent, missing := m.losses(); (adj == account.Replacement || sent >= missing) && !(broken[adj] > g.Epsilon+1e-13) {
					t.Errorf("%+v, %d bits, %s: fewer flips pass", m, most, adj)
				}
			}
		}
		if m.Local(account.Removal) != m.LocalSet(1, account.Removal) {
			t.Error("one bit is not a set of one")
		}
	}
}

// What is asked for is what is carried out: never more, and only roundings less.
func TestOneHotKeepsItsEpsilon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon, adj := rapid.Float64Range(minEpsilon, MaxEpsilon).Draw(t, "epsilon"), rapid.SampledFrom(adjacencies).Draw(t, "adjacency")
		for _, m := range []OneHot{Symmetric(10, epsilon, adj), Asymmetric(10, epsilon, adj)} {
			sent, missing := m.losses()
			got := math.Max(sent, missing)
			if adj == account.Replacement {
				got = sent + missing
			}
			// The logarithms here round too, in the sum of two of them by 1e-15 of it.
			if short := 0x1p-47 + 0x1p-52/m.Flip; adj == account.Removal && got > epsilon || got > epsilon*(1+1e-15) || got < epsilon-short {
				t.Fatalf("%+v carries out %v, asked for %v (%s)", m, got, epsilon, adj)
			}
		}
	})
}

// On a grid of all pairs of probabilities that keep epsilon, none counts an empty cell with
// less variance than Asymmetric, under either adjacency.
func TestAsymmetricIsBest(t *testing.T) {
	for _, epsilon := range []float64{0.3, 1, 4} {
		for _, adj := range adjacencies {
			best := Asymmetric(5, epsilon, adj).Variance(0, 1)
			for i := 1; i < 400; i++ {
				for j := range i {
					m := OneHot{K: 5, Keep: float64(i) / 400, Flip: float64(j) / 400}
					if m.Flip > 0 && m.Local(adj).Epsilon <= epsilon && m.Variance(0, 1) < best*(1-1e-9) {
						t.Fatalf("%+v has variance %v, %v is best for epsilon %v, %s", m, m.Variance(0, 1), best, epsilon, adj)
					}
				}
			}
		}
	}
	if want := Symmetric(5, 4, account.Replacement).Variance(0, 1); !(Asymmetric(5, 4, account.Replacement).Variance(0, 1) < want/2) {
		t.Error("under replacement the asymmetric mechanism is no better at epsilon 4")
	}
}

// The whole report of devices that hold nothing, a value, a set in any order. Among 100,000
// reports flips that are a tenth too many are caught.
func TestOneHotReports(t *testing.T) {
	for _, m := range []OneHot{{5, 0.8, 0.15}, {5, 0.5, 0.02}, {5, 1, 0}} {
		r, sender := stattest.Rand(t), m.Sender()
		for _, set := range [][]uint32{nil, {2}, {4, 1}} {
			mask := 0
			for _, cell := range set {
				mask |= 1 << cell
			}
			counts := make([]int, 1<<m.K)
			for range 100_000 {
				sent, last := 0, -1
				sender.Randomize(r, set, func(cell uint32) {
					if int(cell) <= last {
						t.Fatalf("cell %d after %d", cell, last)
					}
					sent, last = sent|1<<cell, int(cell)
				})
				counts[sent]++
			}
			stattest.GTest(t, m.law(mask), counts)
			if m.Flip > 0 {
				more := m
				more.Flip *= 1.1
				stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, more.law(mask), counts) })
			}
			if len(set) == 2 && !slices.Equal(set, []uint32{4, 1}) {
				t.Error("the caller's set was sorted")
			}
		}
	}
}

// sum is the law of Binomial(a, p) + Binomial(b, q).
func sum(a int, p float64, b int, q float64) []float64 {
	law := make([]float64, a+b+1)
	for i := range a + 1 {
		for j := range b + 1 {
			law[i+j] += prob.BinomialPMF(i, a, p) * prob.BinomialPMF(j, b, q)
		}
	}
	return law
}

func TestOneHotEstimateByEnumeration(t *testing.T) {
	for _, m := range []OneHot{Symmetric(9, 2, account.Removal), Asymmetric(9, 1, account.Replacement), {9, 1, 0.2}} {
		for _, holders := range []int{0, 3, 8} {
			const n = 8
			var mean, square, claimed float64
			for ones, p := range sum(holders, m.Keep, n-holders, m.Flip) {
				v := m.Estimate(uint64(ones), n)
				mean += p * v.Mean
				square += p * v.Mean * v.Mean
				claimed += p * v.StdErr * v.StdErr
			}
			variance := square - mean*mean
			if !near(mean, float64(holders), 1e-12) || !near(claimed, variance, 1e-11) || !near(m.Variance(holders, n), variance, 1e-11) {
				t.Errorf("%+v, %d holders: mean %v, variance %v, claimed %v, stated %v", m, holders, mean, variance, claimed, m.Variance(holders, n))
			}
		}
	}
	// More messages than devices come from devices that lie about the protocol.
	if v := (OneHot{9, 0.9, 0.1}).Estimate(50, 8); !(v.StdErr > 0) {
		t.Errorf("an estimate from too many messages is %v", v)
	}
}

// The counts of two cells together, from devices one by one and drawn at once. 100,000
// draws catch flips that are a tenth too many.
func TestOneHotCounts(t *testing.T) {
	m, n := OneHot{K: 2, Keep: 0.7, Flip: 0.2}, 5
	holders := []int{3, 1}
	r, sender, drawn, sent := stattest.Rand(t), m.Sender(), make([]int, 36), make([]int, 36)
	out := make([]uint64, 2)
	for range 100_000 {
		m.DrawCounts(r, holders, n, out)
		drawn[out[0]*6+out[1]]++
		at := 0
		for device := range n {
			var set []uint32
			if device < 3 {
				set = append(set, 0)
			} else if device == 3 {
				set = append(set, 1)
			}
			sender.Randomize(r, set, func(cell uint32) { at += []int{6, 1}[cell] })
		}
		sent[at]++
	}
	law := func(m OneHot) []float64 {
		law := make([]float64, 0, 36)
		for _, p := range sum(3, m.Keep, 2, m.Flip) {
			for _, q := range sum(1, m.Keep, 4, m.Flip) {
				law = append(law, p*q)
			}
		}
		return law
	}
	for _, counts := range [][]int{drawn, sent} {
		stattest.GTest(t, law(m), counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law(OneHot{2, 0.7, 0.22}), counts) })
	}
}

func TestOneHotOverflowIsTheExactTail(t *testing.T) {
	m := OneHot{K: 30, Keep: 0.9, Flip: 0.1}
	for _, set := range []int{0, 1, 4, 30} {
		law := sum(set, m.Keep, m.K-set, m.Flip)
		mean, above := 0., 1.
		for k, p := range law {
			mean += float64(k) * p
		}
		if !near(m.Messages(set), mean, 1e-12) {
			t.Errorf("%d set bits: %v messages in the mean, stated %v", set, mean, m.Messages(set))
		}
		for cap := -1; cap <= m.K; cap++ {
			if cap >= 0 {
				above -= law[cap]
			}
			got := m.OverflowProb(set, cap)
			if got < above-1e-13 || got > math.Max(0, above)*(1+1e-8)+1e-13 {
				t.Errorf("%d set bits: P(more than %d) <= %v, truth %v", set, cap, got, above)
			}
		}
		for _, target := range []float64{0.5, 1e-3, 1e-12} {
			cap := m.SmallestCap(set, target)
			if m.OverflowProb(set, cap) > target || cap > 0 && m.OverflowProb(set, cap-1) <= target {
				t.Errorf("%d set bits: %d is not the smallest cap for %v", set, cap, target)
			}
		}
	}
	// A plan of ESA's heavy-hitter table: seven messages in the mean, two dozen envelopes.
	plan := Symmetric(2_795_520, 13, account.Removal)
	if mean, cap := plan.Messages(1), plan.SmallestCap(1, 1e-9); !near(mean, 7.3187, 1e-4) || cap < 24 || cap > 30 {
		t.Errorf("%v messages, %d envelopes", mean, cap)
	}
}

func TestOneHotEvent(t *testing.T) {
	for _, epsilon := range []float64{1, 13, 25} {
		m := Symmetric(10, epsilon, account.Removal)
		e := m.Event(1000, account.Removal)
		if e.Keep != 0 || e.Flip > m.Flip || e.Flip > 1-m.Keep || !near(e.Flip, m.Flip, 1e-15) || e.Users != 1000 || e.Adjacency != account.Removal {
			t.Errorf("the accountant is told %+v of %+v", e, m)
		}
	}
	want := shuffle.OneHot{Users: 5, Keep: 0.5, Flip: flipped(2), Adjacency: account.Replacement}
	if e := Asymmetric(10, 2, account.Replacement).Event(5, account.Replacement); e != want {
		t.Errorf("the accountant is told %+v, want %+v", e, want)
	}
}

func TestOneHotRefuses(t *testing.T) {
	r := stattest.Rand(t)
	for _, m := range []OneHot{
		{0, 0.9, 0.1}, {MaxCells + 1, 0.9, 0.1}, {5, 0.1, 0.9}, {5, 0.5, 0.5}, {5, 1.1, 0.1}, {5, 0.9, -0.1}, {5, math.NaN(), 0.1}, {5, 0.9, math.NaN()},
	} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		refused(t, func() { m.Sender() }, func() { m.Messages(1) }, func() { m.DrawCounts(r, nil, 0, nil) }, func() { m.Estimate(0, 0) },
			func() { m.Local(account.Removal) }, func() { m.Event(1, account.Removal) }, func() { m.Variance(0, 1) })
	}
	m := OneHot{3, 0.9, 0.1}
	refused(t,
		func() { m.Sender().Randomize(r, []uint32{3}, func(uint32) {}) }, func() { m.Sender().Randomize(r, []uint32{1, 1}, func(uint32) {}) },
		func() { m.LocalSet(0, account.Removal) }, func() { m.LocalSet(4, account.Removal) }, func() { m.Local("") },
		func() { m.DrawCounts(r, []int{1, 1}, 3, make([]uint64, 3)) }, func() { m.DrawCounts(r, []int{4, 0, 0}, 3, make([]uint64, 3)) },
		func() { m.EstimateAll(make([]uint64, 3), 3, make([]estimate.Value, 2)) }, func() { m.SmallestCap(1, 0) }, func() { m.OverflowProb(4, 1) },
		func() { Symmetric(3, 0, account.Removal) }, func() { Symmetric(3, 51, account.Removal) }, func() { Asymmetric(3, math.NaN(), account.Replacement) },
		func() { Symmetric(0, 1, account.Removal) }, func() { Asymmetric(3, 1, "other") })
	if g := (OneHot{3, 1, 0}).Local(account.Replacement); !math.IsInf(g.Epsilon, 1) {
		t.Errorf("a mechanism without noise promises %v", g)
	}
}

// The device of ESA's heavy-hitter table before it seals: 2,795,520 cells at epsilon 13.
func BenchmarkOneHotDevice(b *testing.B) {
	r, sender, sent := rng.New(), Symmetric(2_795_520, 13, account.Removal).Sender(), 0
	set := []uint32{123_456}
	for b.Loop() {
		sender.Randomize(r, set, func(uint32) { sent++ })
	}
	b.ReportMetric(float64(sent)/float64(b.N), "messages/op")
}

func BenchmarkOneHotSender(b *testing.B) {
	m := Symmetric(2_795_520, 13, account.Removal)
	for b.Loop() {
		m.Sender()
	}
}

// Counts of 200 million devices over 1.78 million words, most of which nobody holds.
func BenchmarkOneHotDrawCounts(b *testing.B) {
	m := Symmetric(1_780_000, 12.99, account.Removal)
	r, holders, out := stattest.Rand(b), make([]int, m.K), make([]uint64, m.K)
	for cell := range holders {
		holders[cell] = 20_000_000 / (cell + 1)
	}
	for b.Loop() {
		m.DrawCounts(r, holders, 200_000_000, out)
	}
}

func BenchmarkOneHotEstimateAll(b *testing.B) { // three million cells
	m := Symmetric(3_000_000, 12.99, account.Removal)
	counts, out := make([]uint64, m.K), make([]estimate.Value, m.K)
	for cell := range counts {
		counts[cell] = uint64(400 + cell%100)
	}
	for b.Loop() {
		m.EstimateAll(counts, 200_000_000, out)
	}
}

// Local returns what a device that sets one bit is promised against everybody else.
func (m OneHot) Local(adj account.Adjacency) account.Guarantee { return m.LocalSet(1, adj) }
