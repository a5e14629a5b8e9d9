package shuffle

import (
	"fmt"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// moves are the pairs of laws of two counts, of a respondent who leaves the one and enters
// the other, where so many of the n-1 others are in either. With several cells a respondent
// anybody may be in both; of one-hot reports nobody is.
func moves(n int, e OneHot, several bool) (all [][2][]float64) {
	count := func(k int, target bool) []float64 {
		bits := make([]bool, n)
		for i := range k {
			bits[i] = true
		}
		bits[n-1] = target
		return asymmetricCounts(bits, e.Keep, e.Flip)
	}
	for left := range n {
		for entered := range n {
			if several || left+entered < n {
				all = append(all, [2][]float64{
					accounttest.Product(count(left, true), count(entered, false)),
					accounttest.Product(count(left, false), count(entered, true)),
				})
			}
		}
	}
	return all
}

// hardest is the largest hockey stick of these pairs, either way round.
func hardest(pairs [][2][]float64, epsilon float64) (worst float64) {
	for _, p := range pairs {
		worst = max(worst, accounttest.Stick(p[0], p[1], epsilon), accounttest.Stick(p[1], p[0], epsilon))
	}
	return worst
}

// leastEpsilon is the epsilon of these pairs at delta.
func leastEpsilon(pairs [][2][]float64, delta float64) float64 {
	low, high := 0.0, 64.0
	for range 60 {
		if middle := (low + high) / 2; hardest(pairs, middle) > delta {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

var movedCases = []OneHot{{Keep: 0.5, Flip: 0.05}, {Keep: 0.5, Flip: 0.3}, {Keep: 0.9, Flip: 0.4}, {Keep: 0.97, Flip: 0.5}, {Keep: 0.6, Flip: 0.01}}

// Every number of others in either count, with and without others who are in both: both
// bounds hold, and the upper one is reached where others may be in both.
func TestMovedBitEveryDataSet(t *testing.T) {
	for _, n := range []int{1, 2, 4, 7} {
		for _, e := range movedCases {
			e.Users, e.Adjacency = n, account.Replacement
			for _, share := range []float64{0, 0.1, 0.3, 0.6, 0.9} {
				epsilon := share * e.answer().both()
				what := fmt.Sprintf("n=%d keep=%v flip=%v epsilon=%.3g", n, e.Keep, e.Flip, epsilon)
				one, any := hardest(moves(n, e, false), epsilon), hardest(moves(n, e, true), epsilon)
				// Of the two families the largest hockey sticks are composed.
				if got := accounttest.DeltaOf(t, e, epsilon); got < any*(1-1e-12) || got > 1.3*any+1e-4 {
					t.Errorf("%s: delta %v, enumerated %v", what, got, any)
				}
				low, err := account.Options{Lower: true}.Delta(e, epsilon)
				if err != nil || low.Delta > one*(1+1e-12)+1e-15 {
					t.Errorf("%s: a lower bound of %v, and the worst of all data sets has %v (%v)", what, low.Delta, one, err)
				}
			}
		}
	}
}

// Two reports of one respondent, the second's data set and direction chosen after the first.
func TestMovedBitsCompose(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		for _, e := range movedCases {
			e.Users, e.Adjacency = n, account.Replacement
			var ps [][2][]float64
			for _, p := range moves(n, e, true) {
				ps = append(ps, p, [2][]float64{p[1], p[0]})
			}
			for _, share := range []float64{0.1, 0.5, 1.2} {
				epsilon, worst := share*e.answer().both(), 0.0
				for i, x := range ps {
					for _, y := range ps[:i+1] {
						worst = max(worst, accounttest.Stick(accounttest.Product(x[0], y[0]), accounttest.Product(x[1], y[1]), epsilon))
					}
				}
				if got := accounttest.DeltaOf(t, account.Repeat{Event: e, Rounds: 2}, epsilon); got < worst*(1-1e-12) || got > 2.5*worst+1e-3 {
					t.Errorf("n=%d keep=%v flip=%v epsilon=%.3g: delta %v, enumerated %v", n, e.Keep, e.Flip, epsilon, got, worst)
				}
			}
		}
	}
}

// Two bits that both fall are no replacement: of them a lower bound is false, and an upper
// one is some percent too large.
func TestBothBitsFallingIsCaught(t *testing.T) {
	for _, c := range []struct {
		n           int
		keep, flip  float64
		delta       float64
		most, gains float64 // no lower bound is above the one; the upper one falls by the other
	}{{5, 0.5, 0.05, 1e-7, 2.9445, 0}, {30, 0.5, 0.05, 1e-6, 1.77, 0.07}} {
		e := OneHot{Users: c.n, Keep: c.keep, Flip: c.flip, Adjacency: account.Replacement}
		truth := leastEpsilon(moves(c.n, e, false), c.delta)
		twin := account.Repeat{Event: AsymmetricResponse{c.n, c.keep, c.flip}, Rounds: 2}
		low, high := accounttest.EpsilonFrom(t, account.LowerEpsilon, e, c.delta), accounttest.EpsilonFrom(t, account.Certify, e, c.delta)
		if !(low <= truth && truth <= high && low <= c.most && low > 0.98*truth) {
			t.Errorf("n=%d: %v to %v, and the truth is %v", c.n, low, high, truth)
		}
		if false1 := accounttest.EpsilonFrom(t, account.LowerEpsilon, twin, c.delta); false1 <= truth {
			t.Errorf("n=%d: the twin's lower bound %v is not above the truth %v", c.n, false1, truth)
		}
		if loose := accounttest.EpsilonFrom(t, account.Certify, twin, c.delta); high > (1-c.gains)*loose {
			t.Errorf("n=%d: %v, and two bits of either direction %v", c.n, high, loose)
		}
		t.Logf("n=%d: %.5f to %.5f, truth %.5f", c.n, low, high, truth)
	}
	for _, c := range []struct {
		n    int
		flip float64
	}{{200, 0.02}, {2000, 0.01}, {2000, 0.002}} {
		e := OneHot{Users: c.n, Keep: 0.5, Flip: c.flip, Adjacency: account.Replacement}
		low, high := accounttest.EpsilonFrom(t, account.LowerEpsilon, e, 1e-6), accounttest.EpsilonFrom(t, account.Certify, e, 1e-6)
		loose := accounttest.EpsilonFrom(t, account.Certify, account.Repeat{Event: AsymmetricResponse{c.n, 0.5, c.flip}, Rounds: 2}, 1e-6)
		if !(low <= high && low > 0.998*high && high < 0.98*loose) {
			t.Errorf("n=%d flip=%v: %v to %v, and two bits of either direction %v", c.n, c.flip, low, high, loose)
		}
	}
}

// One bit is opened, and the other one that changes stays among everybody's: one of them
// falls and one rises. That both fall is the broken twin.
func TestOneBitOpenedOfAReplacement(t *testing.T) {
	for _, c := range []OneHot{{Users: 5, Keep: 0.5, Flip: 0.05}, {Users: 12, Keep: 0.5, Flip: 0.2}, {Users: 12, Keep: 0.9, Flip: 0.4}} {
		count := func(n, k int, target bool) []float64 {
			bits := make([]bool, n)
			for i := range k {
				bits[i] = true
			}
			bits[n-1] = target
			return asymmetricCounts(bits, c.Keep, c.Flip)
		}
		var pairs [][2][]float64
		for k := range c.Users {
			pairs = append(pairs, [2][]float64{
				accounttest.Product(count(1, 0, true), count(c.Users, k, false)),
				accounttest.Product(count(1, 0, false), count(c.Users, k, true)),
			})
		}
		c.Adjacency = account.Replacement
		rest, alone := c.Opened(1)
		removed := c
		removed.Adjacency = account.Removal
		lone := removed
		lone.Users = 1
		caught := false
		for _, epsilon := range []float64{0.1, 0.5, 0.8, 1.2, 1.6, 2} {
			want := hardest(pairs, epsilon)
			if got := accounttest.DeltaOf(t, account.All{Events: append(rest[:len(rest):len(rest)], alone)}, epsilon); got < want*(1-1e-12) {
				t.Errorf("%+v at epsilon %v: delta %v, enumerated %v", c, epsilon, got, want)
			}
			caught = caught || accounttest.DeltaOf(t, account.All{Events: []account.Event{lone, removed}}, epsilon) < 0.95*want
		}
		if !caught {
			t.Errorf("%+v: two bits that both fall are not caught", c)
		}
	}
}
