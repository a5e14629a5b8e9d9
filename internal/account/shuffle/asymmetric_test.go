package shuffle

import (
	"fmt"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
)

// asymmetricCounts is the law of the count of ones by multiplying it out.
func asymmetricCounts(bits []bool, keep, flip float64) []float64 {
	law := []float64{1}
	for _, one := range bits {
		p := flip
		if one {
			p = keep
		}
		law = product1(law, []float64{1 - p, p})
	}
	return law
}

// product1 is the law of a sum.
func product1(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for j, y := range b {
			sum[i+j] += x * y
		}
	}
	return sum
}

// Every data set, both directions, one release and two whose directions differ.
func TestAsymmetricResponseEveryDataSet(t *testing.T) {
	for _, n := range []int{1, 2, 5, 9} {
		for _, e := range []AsymmetricResponse{{0, 0.5, 0.1}, {0, 0.9, 0.3}, {0, 0.6, 0.01}, {0, 0.99, 0.5}, {0, 0.8, 0.2}} {
			e.Users = n
			b := e.bit()
			var ps [][2][]float64
			for k := range n {
				bits := make([]bool, n)
				for i := range k {
					bits[i+1] = true
				}
				zero := asymmetricCounts(bits, b.keep, b.flip)
				bits[0] = true
				one := asymmetricCounts(bits, b.keep, b.flip)
				ps = append(ps, [2][]float64{one, zero}, [2][]float64{zero, one})
			}
			for _, share := range []float64{0, 0.2, 0.6, 0.95} {
				epsilon := share * math.Max(b.local(), b.mirror().local())
				worst, twice, oneWay := 0.0, 0.0, 0.0
				for i, p := range ps {
					worst = math.Max(worst, accounttest.Stick(p[0], p[1], epsilon))
					for j, q := range ps {
						both := accounttest.Stick(accounttest.Product(p[0], q[0]), accounttest.Product(p[1], q[1]), epsilon)
						twice = math.Max(twice, both)
						if i%2 == j%2 {
							oneWay = math.Max(oneWay, both)
						}
					}
				}
				removal := OneHot{Users: n, Flip: e.Flip, Keep: e.Keep, Adjacency: account.Removal}
				if got := accounttest.DeltaOf(t, account.Repeat{Event: removal, Rounds: 2}, epsilon); got < oneWay*(1-1e-12) || got > 2.5*oneWay+1e-3 {
					t.Errorf("removal, n=%d keep=%v flip=%v epsilon=%.3g, twice: delta %v, enumerated %v", n, b.keep, b.flip, epsilon, got, oneWay)
				}
				what := fmt.Sprintf("n=%d keep=%v flip=%v epsilon=%.3g", n, b.keep, b.flip, epsilon)
				if got := accounttest.DeltaOf(t, e, epsilon); math.Abs(got-worst) > 1e-10 || got < worst*(1-1e-12) {
					t.Errorf("%s: delta %v, enumerated %v", what, got, worst)
				}
				if got := accounttest.DeltaOf(t, account.Repeat{Event: e, Rounds: 2}, epsilon); got < twice*(1-1e-12) || got > 2.5*twice+1e-3 {
					t.Errorf("%s, twice: delta %v, enumerated %v", what, got, twice)
				}
			}
		}
	}
}

// The law of the others by its recurrence, against the product of generating
// functions.
func TestLawOfAsymmetricOthers(t *testing.T) {
	var o Others
	for _, m := range []int{1, 2, 30, 200} {
		for _, k := range []int{0, 1, m / 3, m - 1, m} {
			for _, e := range []AsymmetricResponse{{0, 0.5, 1e-6}, {0, 0.5, 0.01}, {0, 0.999, 0.3}, {0, 0.3, 0.29}, {0, 1 - 1e-9, 0.5}} {
				bits := make([]bool, m)
				for i := range k {
					bits[i] = true
				}
				want := asymmetricCounts(bits, e.Keep, e.Flip)
				low, w := o.law(m, k, e.bit(), 1e-30)
				for i, x := range w {
					if math.Abs(x-want[low+i]) > 1e-11*want[low+i]+1e-300 {
						t.Fatalf("m=%d k=%d %v: P(%d) = %v, want %v", m, k, e, low+i, x, want[low+i])
					}
				}
			}
		}
	}
}

// At Keep = 1 - Flip it is randomized response, from many users on too.
func TestAsymmetricResponseMeetsTheSymmetricOne(t *testing.T) {
	for _, n := range []int{300, 20_000} {
		for _, rounds := range []int{1, 7} {
			a := accounttest.DeltaOf(t, account.Repeat{Event: AsymmetricResponse{n, 0.75, 0.25}, Rounds: rounds}, 0.02)
			s := accounttest.DeltaOf(t, account.Repeat{Event: RandomizedResponse{n, 0.25}, Rounds: rounds}, 0.02)
			accounttest.Within(t, fmt.Sprintf("n=%d, %d rounds", n, rounds), a, s, 1e-6)
		}
	}
}

// The noise is the least: a thousandth less breaks the target. At equal central
// epsilon the error of an empty cell is below that of the symmetric variant,
// since a bit that is sent half of the time is a subsampled one: where counts are
// small the tail of the loss is cut.
func TestCalibrateAsymmetricOneHot(t *testing.T) {
	for _, adjacency := range []account.Adjacency{account.Removal, account.Replacement} {
		target := calibrate.Target{Users: 30_000, Rounds: 1, Epsilon: 0.8, Delta: 1e-7}
		e, g, err := CalibrateAsymmetricOneHot(target, 0.5, adjacency)
		if err != nil {
			t.Fatal(err)
		}
		if g.Epsilon > target.Epsilon || g.Adjacency != adjacency {
			t.Errorf("%v", g)
		}
		less := e
		less.Flip *= 0.999
		if g, err := account.Epsilon(less, target.Delta); err != nil || g.Epsilon <= target.Epsilon {
			t.Errorf("%s: a thousandth less noise still gives epsilon %v (%v)", adjacency, g.Epsilon, err)
		}
		s, _, err := CalibrateOneHot(target, adjacency)
		if err != nil {
			t.Fatal(err)
		}
		rmse := math.Sqrt(float64(e.Users)*e.Flip*(1-e.Flip)) / (e.Keep - e.Flip)
		if symmetric := (RandomizedResponse{s.Users, s.Flip}).RMSE(); rmse > symmetric || rmse < symmetric/2 {
			t.Errorf("%s: rmse %v, symmetric %v", adjacency, rmse, symmetric)
		}
		if low, err := account.LowerEpsilon(e, target.Delta); err != nil || low.Epsilon > g.Epsilon || low.Epsilon < 0.98*g.Epsilon {
			t.Errorf("%s: a lower bound of %v under %v (%v)", adjacency, low.Epsilon, g.Epsilon, err)
		}
	}
}

// A respondent who is removed has bits that all fall: over many rounds that is less
// than the worst direction of each.
func TestRemovalComposesItsOwnDirection(t *testing.T) {
	removal := OneHot{Users: 2000, Flip: 0.01, Keep: 0.5, Adjacency: account.Removal}
	for rounds, most := range map[int]float64{1: 1, 64: 0.995} {
		either := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: removal.bit(), Rounds: rounds}, 1e-6)
		own := accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: removal, Rounds: rounds}, 1e-6)
		if own > most*either || own < 0.9*either {
			t.Errorf("%d rounds: %v, the worst direction of each round gives %v", rounds, own, either)
		}
		t.Logf("%d rounds: %.5f, the worst direction of each round gives %.5f", rounds, own, either)
	}
}
