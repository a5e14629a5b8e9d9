package shuffle

import (
	"fmt"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// bucketCounts is the law of the counts of ones of all buckets that respondents with
// the given buckets report, each of so many buckets or none (-1).
func bucketCounts(held []int, buckets int, flip float64) []float64 {
	law := []float64{1}
	for b := range buckets {
		ones := make([]bool, len(held))
		for i, h := range held {
			ones[i] = h == b
		}
		law = accounttest.Product(law, asymmetricCounts(ones, 1-flip, 0.5))
	}
	return law
}

// pairedCounts is the law of two counts where so many others hold the one bucket and so
// many the other, and the target holds the first or the second.
func pairedCounts(n, left, entered int, flip float64) (here, there []float64) {
	ones := func(k int, target bool) []float64 {
		bits := make([]bool, n)
		for i := range k {
			bits[i] = true
		}
		bits[n-1] = target
		return asymmetricCounts(bits, 1-flip, 0.5)
	}
	return accounttest.Product(ones(left, true), ones(entered, false)), accounttest.Product(ones(left, false), ones(entered, true))
}

// Every data set of up to four respondents and three buckets, or none, with every
// replacement, as all counts show it: never above what is accounted for, which some data
// set of the two buckets that change reaches.
func TestBucketResponseEveryDataSet(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4} {
		for _, p := range []float64{0.02, 0.2, 0.4} {
			e := BucketResponse{n, p}
			b := e.bit()
			for _, share := range []float64{0, 0.1, 0.4, 0.8} {
				epsilon := share * (b.local() + b.mirror().local())
				worst := 0.0
				held := make([]int, n)
				var others func(i int)
				others = func(i int) {
					if i < n {
						for held[i] = -1; held[i] < 3; held[i]++ {
							others(i + 1)
						}
						return
					}
					var laws [4][]float64
					for v := range laws {
						held[0] = v - 1
						laws[v] = bucketCounts(held, 3, p)
					}
					for x := range laws {
						for y := range laws {
							worst = math.Max(worst, accounttest.Stick(laws[x], laws[y], epsilon))
						}
					}
				}
				others(1)
				got := accounttest.DeltaOf(t, e, epsilon)
				if got < worst*(1-1e-12) || got > worst*1.3+1e-4 {
					t.Errorf("n=%d p=%v epsilon=%.3g: delta %v, enumerated %v", n, p, epsilon, got, worst)
				}
			}
		}
	}
}

// Two repetitions whose data sets, and which of the neighbours is which, are chosen one
// after the other.
func TestTwoRepetitionsOfBucketsEveryDataSet(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		for _, p := range []float64{0.05, 0.3} {
			var ps [][2][]float64
			for left := range n {
				for entered := range n - left {
					here, there := pairedCounts(n, left, entered, p)
					ps = append(ps, [2][]float64{here, there}, [2][]float64{there, here})
				}
			}
			e := BucketResponse{n, p}
			b := e.bit()
			for _, share := range []float64{0.1, 0.5, 1.2} {
				epsilon := share * (b.local() + b.mirror().local())
				worst := 0.0
				for i, x := range ps {
					for _, y := range ps[:i+1] {
						worst = math.Max(worst, accounttest.Stick(accounttest.Product(x[0], y[0]), accounttest.Product(x[1], y[1]), epsilon))
					}
				}
				if got := accounttest.DeltaOf(t, account.Repeat{Event: e, Rounds: 2}, epsilon); got < worst*(1-1e-12) || got > 2.5*worst+1e-3 {
					t.Errorf("n=%d p=%v epsilon=%.3g: delta %v, enumerated %v", n, p, epsilon, got, worst)
				}
			}
		}
	}
}

// Ranges of numbers of others stand for every split of them. Twins that leave ranges
// uncovered are below some split: others who are all in the bucket left, and others of
// whom half are in either.
func TestBucketResponseEverySplit(t *testing.T) {
	const n, p = 80, 0.1
	e := BucketResponse{n, p}
	for _, epsilon := range []float64{0.05, 0.3, 0.8, 1.5} {
		got := accounttest.DeltaOf(t, e, epsilon)
		worst, twins := 0.0, map[string]float64{}
		for left := 0; left < n; left += 3 {
			for entered := 0; left+entered < n; entered += 3 {
				here, there := pairedCounts(n, left, entered, p)
				d := math.Max(accounttest.Stick(here, there, epsilon), accounttest.Stick(there, here, epsilon))
				worst = math.Max(worst, d)
				if left == entered {
					twins["even splits"] = math.Max(twins["even splits"], d)
				}
				if left == 0 && entered == 0 {
					twins["others elsewhere"] = d
				}
			}
		}
		if got < worst*(1-1e-12) || got > 2*worst {
			t.Errorf("epsilon %v: delta %v, the worst split %v", epsilon, got, worst)
		}
		for name, d := range twins {
			if d > 0.97*worst {
				t.Errorf("epsilon %v: %s have delta %v of at most %v: no test could tell", epsilon, name, d, worst)
			}
		}
	}
}

// Beside the bound that it replaces: two bits each of which has others of its own choice (package
// vectors compares both with bits of a vector).
func TestBucketsAreTight(t *testing.T) {
	const delta = 1e-6
	for _, c := range []struct {
		n, repetitions int
		p              float64
	}{{3000, 64, 0.12}, {40_000, 128, 0.03}, {1000, 16, 0.2}} {
		e := BucketResponse{c.n, c.p}
		got := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: e, Rounds: c.repetitions}, delta)
		low := accounttest.EpsilonFrom(t, account.LowerEpsilon, account.Repeat{Event: e, Rounds: c.repetitions}, delta)
		certified := got
		if c.n <= smallRR { // else it takes seconds
			certified = accounttest.EpsilonFrom(t, account.Certify, account.Repeat{Event: e, Rounds: c.repetitions}, delta)
		}
		apart := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: e.single(), Rounds: 2 * c.repetitions}, delta)
		t.Logf("n=%d, %d repetitions, flip %v: %.5f (certified %.5f), at least %.5f; two bits apart %.5f", c.n, c.repetitions, c.p, got, certified, low, apart)
		if !(low <= certified && certified <= got && got < 1.02*low && got < apart) {
			t.Errorf("n=%d, %d repetitions, flip %v: %v <= %v <= %v < %v does not hold", c.n, c.repetitions, c.p, low, certified, got, apart)
		}
	}
}

// The loss of one respondent's own bits is reached: both bits that change show their
// likelier value.
func TestBucketsLocally(t *testing.T) {
	for _, p := range []float64{1e-9, 0.01, 0.3} {
		for _, repetitions := range []int{1, 5} {
			local, err := account.LocalEpsilon(account.Repeat{Event: BucketResponse{1000, p}, Rounds: repetitions})
			if err != nil {
				t.Fatal(err)
			}
			accounttest.Within(t, fmt.Sprintf("p=%v, %d repetitions", p, repetitions), local, float64(repetitions)*(math.Log1p(-p)-math.Log(p)), 1e-12)
		}
	}
}
