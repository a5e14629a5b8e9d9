package randomize

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func fragmented(k int, backstop, fragment float64, tau int) Fragmented {
	return Fragmented{Backstop: Symmetric(k, backstop, account.Removal), Fragment: Symmetric(k, fragment, account.Removal), Tau: tau}
}

// law is that of so many fragments together, each a set of cells as a bit mask, of a device
// that sets the bits of set: the mixture over all backstops.
func (m Fragmented) law(set, rows int) []float64 {
	outcomes := 1 << m.Backstop.K
	law := make([]float64, int(math.Pow(float64(outcomes), float64(rows))))
	for backstop, p := range m.Backstop.law(set) {
		fragment := m.Fragment.law(backstop)
		for all := range law {
			q := p
			for rest, row := all, 0; row < rows; row++ {
				q *= fragment[rest%outcomes]
				rest /= outcomes
			}
			law[all] += q
		}
	}
	return law
}

// All outputs of two cells and up to three fragments: what one, two or all of them expose
// is the largest ratio, and no more than the backstop does. A fragment with fewer flips
// exposes more.
func TestExposedByEnumeration(t *testing.T) {
	for _, m := range []Fragmented{
		fragmented(2, 2, 1, 3), fragmented(2, 1, 3, 3), fragmented(1, 0.5, 0.5, 3),
		{Asymmetric(2, 3, account.Replacement), OneHot{2, 0.6, 0.1}, 2},
	} {
		for seen := 1; seen <= m.Tau; seen++ {
			worst := func(m Fragmented) map[account.Adjacency]float64 {
				laws := [][]float64{m.law(0, seen), m.law(1, seen)}
				removal, replacement := loss(laws[0], laws[1]), loss(laws[0], laws[1])
				if m.Backstop.K == 2 {
					replacement = loss(laws[1], m.law(2, seen))
				}
				return map[account.Adjacency]float64{account.Removal: removal, account.Replacement: replacement}
			}
			less := m
			less.Fragment.Flip *= 1 - 1e-6
			less.Fragment.Keep = 1 - (1-less.Fragment.Keep)*(1-1e-6)
			broken := worst(less)
			for adj, want := range worst(m) {
				g := m.Exposed(seen, adj)
				if math.Abs(g.Epsilon-want) > 1e-12 || g.Adjacency != adj {
					t.Errorf("%+v: %d fragments expose %v, promised %v", m, seen, want, g)
				}
				if !(broken[adj] > g.Epsilon+1e-13) {
					t.Errorf("%+v: %d fragments with fewer flips pass", m, seen)
				}
				if most := m.Backstop.Local(adj).Epsilon; m.Backstop.K > 1 && g.Epsilon > most {
					t.Errorf("%+v: %d fragments expose %v, the backstop %v", m, seen, g.Epsilon, most)
				}
			}
		}
	}
}

// Theorem IV.1, whose formula the accountant has; and who sees what.
func TestExposedIsTheoremIV1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		backstop, fragment := rapid.Float64Range(0.1, 15).Draw(t, "backstop"), rapid.Float64Range(0.1, 10).Draw(t, "fragment")
		tau := rapid.IntRange(2, 256).Draw(t, "tau")
		m, seen := fragmented(100, backstop, fragment, tau), rapid.IntRange(1, tau).Draw(t, "seen")
		want, err := shuffle.Fragments{Users: 1, Backstop: backstop, Fragment: fragment, Tau: tau, Adjacency: account.Removal}.Exposed(seen)
		got := m.Exposed(seen, account.Removal)
		if err != nil || !near(got.Epsilon, want.Epsilon, 1e-8) || got.Trust != want.Trust {
			t.Fatalf("%v, the accountant has %v (%v)", got, want, err)
		}
	})
}

// The fragments of devices with a kept backstop, against the mixture over backstops. The
// twin draws a new backstop for each fragment.
func TestFragmentsShareTheBackstop(t *testing.T) {
	m := fragmented(2, 1.5, 2, 2)
	r, sender := stattest.Rand(t), m.Sender()
	counts, twin := make([]int, 16), make([]int, 16)
	fragment := func(backstop []uint32) (sent int) {
		sender.Fragment(r, backstop, func(cell uint32) { sent |= 1 << cell })
		return sent
	}
	for range 60_000 {
		kept := sender.Backstop(r, []uint32{1})
		counts[fragment(kept)+4*fragment(kept)]++
		twin[fragment(sender.Backstop(r, []uint32{1}))+4*fragment(sender.Backstop(r, []uint32{1}))]++
	}
	stattest.GTest(t, m.law(2, 2), counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, m.law(2, 2), twin) })
}

// onesLaw is the law of all ones of a cell over so many fragments of n devices.
func (m Fragmented) onesLaw(holders, n, rows int) []float64 {
	law := make([]float64, n*rows+1)
	for backstops, p := range sum(holders, m.Backstop.Keep, n-holders, m.Backstop.Flip) {
		for ones, q := range sum(rows*backstops, m.Fragment.Keep, rows*(n-backstops), m.Fragment.Flip) {
			law[ones] += p * q
		}
	}
	return law
}

// By enumeration of all counts: unbiased, and of the stated variance; the squared standard
// error is the variance in the mean where the variance does not depend on the holders.
func TestFragmentedEstimateByEnumeration(t *testing.T) {
	for _, m := range []Fragmented{fragmented(3, 3, 2, 4), fragmented(3, 2, 1, 1), {OneHot{3, 0.5, 0.1}, OneHot{3, 0.7, 0.2}, 5}} {
		for rows := 1; rows <= m.Tau; rows++ {
			for _, holders := range []int{0, 2, 5} {
				const n = 5
				var mean, square, claimed float64
				for ones, p := range m.onesLaw(holders, n, rows) {
					v := m.Estimate(uint64(ones), n, rows)
					mean += p * v.Mean
					square += p * v.Mean * v.Mean
					claimed += p * v.StdErr * v.StdErr
				}
				variance := square - mean*mean
				if !near(mean, float64(holders), 1e-11) || !near(m.Variance(holders, n, rows), variance, 1e-10) {
					t.Errorf("%+v, %d holders: mean %v, variance %v, stated %v", m, holders, mean, variance, m.Variance(holders, n, rows))
				}
				if symmetric := m.Backstop.Keep != 0.5; symmetric && !near(claimed, variance, 1e-10) {
					t.Errorf("%+v, %d holders: variance %v, claimed %v", m, holders, variance, claimed)
				}
			}
		}
	}
	// One fragment behind a backstop that flips nothing is a one-hot report.
	for _, fragment := range []OneHot{Symmetric(3, 1, account.Removal), Asymmetric(3, 9, account.Replacement)} {
		m := Fragmented{OneHot{3, 1, 0}, fragment, 1}
		if a, b := m.Variance(2, 20, 1), fragment.Variance(2, 20); !near(a, b, 1e-12) {
			t.Errorf("variance %v, without a backstop %v", a, b)
		}
		for _, adj := range adjacencies {
			if a, b := m.Exposed(1, adj).Epsilon, fragment.Local(adj).Epsilon; !near(a, b, 1e-13) {
				t.Errorf("it exposes %v, without a backstop %v", a, b)
			}
		}
	}
}

// The counts of two cells together over all fragments, drawn at once and from devices one by
// one. 40,000 draws catch a backstop that is drawn anew for each fragment.
func TestFragmentedCounts(t *testing.T) {
	m, n, holders := fragmented(2, 1.2, 1.5, 2), 3, []int{2, 1}
	r, sender, out := stattest.Rand(t), m.Sender(), make([]uint64, 2)
	law := make([]float64, 49)
	for a, p := range m.onesLaw(2, n, 2) {
		for b, q := range m.onesLaw(1, n, 2) {
			law[7*a+b] = p * q
		}
	}
	drawn, sent, apart := make([]int, 49), make([]int, 49), make([]int, 49)
	for range 40_000 {
		m.DrawCounts(r, holders, n, out)
		drawn[7*out[0]+out[1]]++
		at, atApart := 0, 0
		for device := range n {
			set := []uint32{uint32(device / 2)}
			kept := sender.Backstop(r, set)
			for range m.Tau {
				sender.Fragment(r, kept, func(cell uint32) { at += []int{7, 1}[cell] })
				sender.Fragment(r, sender.Backstop(r, set), func(cell uint32) { atApart += []int{7, 1}[cell] })
			}
		}
		sent[at]++
		apart[atApart]++
	}
	stattest.GTest(t, law, drawn)
	stattest.GTest(t, law, sent)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, law, apart) })
}

// Never below the exact tail of a device's messages, and not far above it.
func TestFragmentedOverflow(t *testing.T) {
	m := Fragmented{OneHot{12, 0.9, 0.05}, OneHot{12, 0.8, 0.1}, 3}
	for _, set := range []int{0, 1, 3} {
		for rows := 1; rows <= 3; rows++ {
			law := []float64{0: 1}
			for cell := range m.Backstop.K {
				one := make([]float64, rows+1)
				kept := m.kept(cell < set)
				for k := range one {
					one[k] = kept*prob.BinomialPMF(k, rows, m.Fragment.Keep) + (1-kept)*prob.BinomialPMF(k, rows, m.Fragment.Flip)
				}
				next := make([]float64, len(law)+rows)
				for i, p := range law {
					for k, q := range one {
						next[i+k] += p * q
					}
				}
				law = next
			}
			mean, above := 0., 1.
			for k, p := range law {
				mean += float64(k) * p
			}
			if !near(m.Messages(set, rows), mean, 1e-12) {
				t.Errorf("%v messages in the mean, stated %v", mean, m.Messages(set, rows))
			}
			for cap, p := range law {
				above -= p
				got := m.OverflowProb(set, rows, cap)
				if got < above-1e-13 || above > 1e-11 && got > 12*above {
					t.Errorf("%d bits, %d fragments: P(more than %d) <= %v, truth %v", set, rows, cap, got, above)
				}
			}
			for _, target := range []float64{0.5, 1e-6, 1e-20} {
				cap := m.SmallestCap(set, rows, target)
				if m.OverflowProb(set, rows, cap) > target || cap > 0 && m.OverflowProb(set, rows, cap-1) <= target {
					t.Errorf("%d is not the smallest cap for %v", cap, target)
				}
			}
		}
	}
	// ESA, Table IV: the Horse image, 16 fragments of epsilon_f = epsilon_b - ln 16. A false bit
	// of the backstop comes back in nearly every fragment.
	horse := fragmented(87_680, 8.55, 8.55-math.Log(16), 16)
	mean, cap := horse.Messages(1, 16), horse.SmallestCap(1, 16, 1e-9)
	if deviation := math.Sqrt(87_680 * horse.one(false, 16)); float64(cap) < mean+6*deviation || float64(cap) > mean+7.5*deviation {
		t.Errorf("%v messages, %d envelopes", mean, cap)
	}
}

func TestFragmentedRefuses(t *testing.T) {
	good := fragmented(3, 1, 1, 4)
	for _, change := range []func(*Fragmented){
		func(m *Fragmented) { m.Tau = 0 }, func(m *Fragmented) { m.Tau = maxFragments + 1 }, func(m *Fragmented) { m.Backstop.Flip = -1 },
		func(m *Fragmented) { m.Fragment.Keep = 2 }, func(m *Fragmented) { m.Fragment.K = 4 },
	} {
		m := good
		change(&m)
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		refused(t, func() { m.Sender() }, func() { m.Exposed(1, account.Removal) }, func() { m.Estimate(1, 1, 1) })
	}
	refused(t, func() { good.Exposed(0, account.Removal) }, func() { good.Exposed(5, account.Removal) }, func() { good.Exposed(1, "") },
		func() { good.Estimate(1, 1, 5) }, func() { good.SmallestCap(1, 1, 1) },
		func() { good.DrawFragments(nil, []uint64{9, 0, 0}, 8, 1, make([]uint64, 3)) },
		func() { good.EstimateAll(nil, 1, 1, make([]estimate.Value, 3)) })
	kept := good.Sender().Backstop(stattest.Rand(t), []uint32{2})
	if kept == nil || !slices.IsSorted(kept) {
		t.Errorf("backstop %v: keep an empty one too", kept)
	}
}

// ESA, Table IV, Horse: 16 fragments a device.
func BenchmarkFragmentedDevice(b *testing.B) {
	m := fragmented(87_680, 8.55, 8.55-math.Log(16), 16)
	r, sender, sent := stattest.Rand(b), m.Sender(), 0
	for b.Loop() {
		kept := sender.Backstop(r, []uint32{4321})
		for range m.Tau {
			sender.Fragment(r, kept, func(uint32) { sent++ })
		}
	}
	b.ReportMetric(float64(sent)/float64(b.N), "messages/op")
}

func BenchmarkFragmentedDrawCounts(b *testing.B) {
	m := fragmented(87_680, 8.55, 8.55-math.Log(16), 16)
	r, holders, out := stattest.Rand(b), make([]int, m.Backstop.K), make([]uint64, m.Backstop.K)
	for cell := range holders {
		holders[cell] = 21
	}
	for b.Loop() {
		m.DrawCounts(r, holders, 1_914_589, out)
	}
}

func BenchmarkFragmentedSmallestCap(b *testing.B) {
	m := fragmented(87_680, 8.55, 8.55-math.Log(16), 16)
	for b.Loop() {
		m.SmallestCap(1, 16, 1e-9)
	}
}

// value is unbiased, and so is the square of its error unless the number of holders that
// it puts into the variance lies outside [0, n], where the nearest possible is put.
func (e fragmentEstimate) value(ones uint64) estimate.Value {
	t := (float64(ones) - e.noise) / e.gap
	return estimate.Value{Mean: t, StdErr: math.Sqrt(e.variance(math.Max(0, math.Min(e.n, t)))) / e.gap}
}

// Estimate returns how many of n devices set a cell, unbiased, from the number of messages for
// it over the given number of fragments of each device.
func (m Fragmented) Estimate(ones uint64, n, rows int) estimate.Value {
	return m.estimator(n, rows).value(ones)
}

// EstimateAll is Estimate of every cell; counts and out have as many entries.
func (m Fragmented) EstimateAll(counts []uint64, n, rows int, out []estimate.Value) {
	e := m.estimator(n, rows)
	checkLength("counts", len(counts), m.Backstop.K)
	checkLength("estimates", len(out), m.Backstop.K)
	for cell, c := range counts {
		out[cell] = e.value(c)
	}
}
