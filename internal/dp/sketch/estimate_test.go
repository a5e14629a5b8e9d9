package sketch

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// answers are mechanisms over so many cells, of different kinds.
func answers(cells int) map[string]Answer {
	symmetric := randomize.Symmetric(cells, 1.5, account.Removal)
	asymmetric := randomize.OneHot{K: cells, Keep: 0.5, Flip: 0.1}
	fragmented := randomize.Fragmented{Backstop: asymmetric, Fragment: randomize.Symmetric(cells, 1, account.Removal), Tau: 5}
	return map[string]Answer{
		"symmetric": OneHot(symmetric), "asymmetric": OneHot(asymmetric), "fragments": Fragments(fragmented, 5), "some fragments": Fragments(fragmented, 2),
	}
}

// The moments of an answer in fragments, from the law of the backstop and the fragments.
func TestFragmentMoments(t *testing.T) {
	m := randomize.Fragmented{
		Backstop: randomize.OneHot{K: 3, Keep: 0.8, Flip: 0.2}, Fragment: randomize.OneHot{K: 3, Keep: 0.7, Flip: 0.05}, Tau: 6,
	}
	a := Fragments(m, 4)
	for _, c := range []struct {
		got  Moments
		kept float64
	}{{a.Set, 0.8}, {a.Unset, 0.2}} {
		var mean, square float64
		for x := range 5 {
			p := c.kept*prob.BinomialPMF(x, 4, 0.7) + (1-c.kept)*prob.BinomialPMF(x, 4, 0.05)
			mean += p * float64(x)
			square += p * float64(x*x)
		}
		if math.Abs(c.got.Mean-mean) > 1e-12 || math.Abs(c.got.Variance-(square-mean*mean)) > 1e-12 {
			t.Errorf("moments %+v, want mean %v and variance %v", c.got, mean, square-mean*mean)
		}
	}
}

// every calls visit with each list of n numbers below base.
func every(n, base int, visit func(list []int)) {
	list := make([]int, n)
	for {
		visit(list)
		i := 0
		for ; i < n && list[i] == base-1; i++ {
			list[i] = 0
		}
		if i == n {
			return
		}
		list[i]++
	}
}

// population draws everything that can be drawn but the answers: all hash functions of
// the values to rows of cells, all rows of the devices. It calls visit with the mean and
// the variance of every count, which the answers decide, and the cells of value 0.
func population(values []int, m, cells int, a Answer, visit func(mean, variance []float64, zero []int)) (states float64) {
	mean, variance := make([]float64, m*cells), make([]float64, m*cells)
	zero := make([]int, m)
	every(m*(slices.Max(values)+1), cells, func(hash []int) {
		for row := range m {
			zero[row] = hash[row]
		}
		every(len(values), m, func(row []int) {
			clear(mean)
			clear(variance)
			for i, v := range values {
				for c := range cells {
					at, x := row[i]*cells+c, a.Unset
					if hash[v*m+row[i]] == c {
						x = a.Set
					}
					mean[at] += x.Mean
					variance[at] += x.Variance
				}
			}
			visit(mean, variance, zero)
			states++
		})
	})
	return states
}

// Over all hash functions, rows and answers the estimates of a value and of the pairs
// have the mean that they should, and the value's the stated variance.
func TestEstimatesByEnumeration(t *testing.T) {
	for _, c := range []struct {
		values   []int // of the devices; the candidate is 0
		m, cells int
	}{
		{[]int{0, 0, 1}, 2, 4}, {[]int{1, 1, 2}, 2, 4}, {[]int{0, 1, 1, 2}, 1, 4}, {[]int{1, 1, 1}, 3, 2}, {[]int{0, 1, 1, 2, 2}, 2, 2}, {[]int{0, 0}, 2, 6},
	} {
		for name, a := range answers(c.cells) {
			n := len(c.values)
			var holders int
			var all, others float64 // pairs
			for v := range slices.Max(c.values) + 1 {
				f := 0
				for _, x := range c.values {
					if x == v {
						f++
					}
				}
				all += float64(f * (f - 1))
				if v == 0 {
					holders = f
				} else {
					others += float64(f * (f - 1))
				}
			}
			r := rows{coefficients: make([][4]uint64, c.m), cells: uint64(c.cells)}
			mean, count := &CountMean{r}, &Count{r}
			type moments struct{ mean, square float64 }
			var byMean, byCount moments
			var pairs float64
			gap, q := a.gap(), 1/float64(c.cells)
			states := population(c.values, c.m, c.cells, a, func(m, v []float64, zero []int) {
				var own, other, noise, otherNoise, squares float64
				for row, cell := range zero {
					own += m[row*c.cells+cell]
					noise += v[row*c.cells+cell]
					other += m[row*c.cells+(cell^1)]
					otherNoise += v[row*c.cells+(cell^1)]
				}
				for i := range m {
					squares += v[i] + m[i]*m[i]
				}
				add := func(to *moments, x, variance float64) {
					to.mean += x
					to.square += x*x + variance
				}
				add(&byMean, mean.value(own, n, 0, a).Mean, noise/(gap*gap*(1-q)*(1-q)))
				add(&byCount, count.value(own, other, n, 0, a).Mean, (noise+otherNoise)/(gap*gap))
				pairs += r.solve(squares, n, a)
			})
			check := func(what string, got, want float64) {
				if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
					t.Errorf("%v in %d rows of %d, %s: %s is %v, want %v", c.values, c.m, c.cells, name, what, got, want)
				}
			}
			check("the mean", byMean.mean/states, float64(holders))
			check("the variance", byMean.square/states-float64(holders*holders), mean.Variance(holders, n, others, a))
			check("the mean by signs", byCount.mean/states, float64(holders))
			check("the variance by signs", byCount.square/states-float64(holders*holders), count.Variance(holders, n, others, a))
			check("the number of pairs", pairs/states, all)
			if math.Abs(mean.Variance(holders, n, others+1, a)-mean.Variance(holders, n, others, a)) < 1e-9 {
				t.Error("another pair would not be noticed") // the twin of the check of variances
			}
		}
	}
}

// The same of the whole path, with the hash functions of fresh seeds: of 300 devices in 3
// rows of 8, 6,000 seeds catch an error of the mean of 0.08 standard errors. The twin
// forgets what hashing everybody else to a value's cell brings in.
//
// Squared standard errors are the variance in the mean, less the share that is stated.
// Their spread is 0.22 of it here (the test is told 0.3): 2.4 % are caught, and the twin
// forgets that devices of one value collide together.
func TestEstimatesAreUnbiased(t *testing.T) {
	const draws, m, cells, n = 6000, 3, 8, 300
	holders := []int{40, 0, 100, 10, 150}
	mechanism := randomize.Symmetric(cells, 3, account.Removal)
	a := OneHot(mechanism)
	r := stattest.Rand(t)
	out := make([]uint64, m*cells)
	for _, candidate := range []uint32{1, 2, 3} {
		var pairs float64
		for v, f := range holders {
			if uint32(v) != candidate {
				pairs += float64(f * (f - 1))
			}
		}
		var means, counts, meanErrors, countErrors []float64
		var meanVariance, countVariance, alone float64
		for range draws {
			var seed [32]byte
			for i := range 8 {
				seed[i] = byte(r.Uint32())
			}
			mean, err := NewCountMean(m, cells, seed)
			if err != nil {
				t.Fatal(err)
			}
			mean.counts(r, mechanism, holders, out)
			count := &Count{mean.rows}
			x, y := mean.Estimate(out, n, a, []uint32{candidate})[0], count.Estimate(out, n, a, []uint32{candidate})[0]
			means, counts = append(means, x.Mean), append(counts, y.Mean)
			meanErrors, countErrors = append(meanErrors, x.StdErr*x.StdErr), append(countErrors, y.StdErr*y.StdErr)
			meanVariance = mean.Variance(holders[candidate], n, pairs, a)
			countVariance = count.Variance(holders[candidate], n, pairs, a)
			alone = mean.Variance(holders[candidate], n, 0, a)
		}
		f := float64(holders[candidate])
		stattest.Mean(t, f, meanVariance, means)
		stattest.Mean(t, f, countVariance, counts)
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, f+(n-f)/cells, meanVariance, means) })
		square := func(x float64) float64 { return x * x }
		stattest.Mean(t, meanVariance*(1-1./(m*(cells-1))), square(0.3*meanVariance), meanErrors)
		stattest.Mean(t, countVariance*(1-2./(m*cells)), square(0.3*countVariance), countErrors)
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, alone, square(0.3*alone), meanErrors) })
	}
}

// What nobody of this world sends gives numbers all the same.
func TestEstimatesOfHostileCounts(t *testing.T) {
	s, err := NewCountMean(2, 4, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers(4) {
		for _, counts := range [][]uint64{make([]uint64, 8), slices.Repeat([]uint64{math.MaxUint64}, 8), {9, 0, 0, 0, 0, 0, 0, 0}} {
			for _, n := range []int{0, 1, 7, 1 << 31} {
				for _, v := range append(s.Estimate(counts, n, a, []uint32{0, 1, 2}), (&Count{s.rows}).Estimate(counts, n, a, []uint32{0, 1, 2})...) {
					if math.IsNaN(v.Mean+v.StdErr) || math.IsInf(v.Mean+v.StdErr, 0) || v.StdErr < 0 {
						t.Errorf("counts %v of %d devices give %v", counts, n, v)
					}
				}
			}
		}
	}
	if got := s.Estimate(make([]uint64, 8), 0, answers(4)["symmetric"], nil); len(got) != 0 {
		t.Error("estimates of no candidate")
	}
}

// How many candidates there are and who computes them changes nothing.
func TestSumsAreThoseOfEachCandidate(t *testing.T) {
	s, err := NewCount(5, 6, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	r := stattest.Rand(t)
	counts := make([]uint64, s.Channels())
	for i := range counts {
		counts[i] = uint64(r.IntN(1000))
	}
	candidates := make([]uint32, 77)
	for i := range candidates {
		candidates[i] = r.Uint32()
	}
	own, other := s.sums(counts, candidates, true)
	for i, v := range candidates {
		var difference int
		for row := range s.Rows() {
			cell := s.Cell(row, v) // twice its column, and one more where its sign is -1
			sign, at := 1-2*int(cell&1), (row*6+int(cell/2))*2
			difference += sign * (int(counts[at]) - int(counts[at+1]))
		}
		if got := int(own[i]) - int(other[i]); got != difference {
			t.Fatalf("candidate %d: %d, want %d", i, got, difference)
		}
	}
}

// Whatever way rows are gone through, by blocks, brought near or not, a candidate's sums
// are those of its own cells and their neighbours.
func TestSumsAreThoseOfACandidatesCells(t *testing.T) {
	s, err := NewCount(3, 100, [32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]uint64, s.Channels())
	for i := range counts {
		counts[i] = uint64(i) * 0x9e3779b97f4a7c15 >> 40
	}
	for _, n := range []int{1, 20, 1000, runtime.GOMAXPROCS(0)*block + 5} {
		candidates := make([]uint32, n)
		for i := range candidates {
			candidates[i] = uint32(i) * 31
		}
		own, other := s.sums(counts, candidates, true)
		alone, _ := s.sums(counts, candidates, false)
		for i, c := range candidates {
			var a, b uint64
			for row := range s.Rows() {
				cell := s.Cell(row, c)
				a += counts[s.Channel(row, cell)]
				b += counts[s.Channel(row, cell^1)]
			}
			if own[i] != a || other[i] != b || alone[i] != a {
				t.Fatalf("candidate %d of %d: sums %d, %d and %d, want %d and %d", i, n, own[i], other[i], alone[i], a, b)
			}
		}
	}
}
