package shuffle

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// A lower bound of one bit in fragments is below the worst of all data sets of bits, everybody's
// backstop drawn, and not far below. Given the others' backstops it is above: the twin.
func TestTornBitsFromBelow(t *testing.T) {
	worstTwin := 0.0
	tornCases(func(c torn, epsilon float64) {
		if c.users > 3 || c.tau > 2 {
			return
		}
		worst, known := 0.0, 0.0
		for x := range 1 << (c.users - 1) {
			others := accounttest.Bits(x, c.users-1)
			one, zero := c.law(append(others[:len(others):len(others)], true)), c.law(append(others[:len(others):len(others)], false))
			worst = max(worst, accounttest.Stick(one, zero, epsilon), accounttest.Stick(zero, one, epsilon))
			one, zero = c.through(true, others), c.through(false, others)
			known = max(known, accounttest.Stick(one, zero, epsilon), accounttest.Stick(zero, one, epsilon))
		}
		e := FragmentedOneHot{c.users, c.backstop.keep, c.backstop.flip, c.fragment.keep, c.fragment.flip, c.tau, c.seen, account.Removal}
		g, err := account.Options{Lower: true}.Delta(e, epsilon)
		if err != nil || g.Delta > worst*(1+1e-12)+1e-15 || g.Delta < 0.8*worst-0.02 {
			t.Errorf("%+v at epsilon %.3g: a lower bound of %v, and the worst of all data sets has %v (%v)", c, epsilon, g.Delta, worst, err)
		}
		worstTwin = max(worstTwin, known-worst)
	})
	if worstTwin < 0.05 {
		t.Errorf("others' backstops that are seen are not caught: %v more at most", worstTwin)
	}
}

// Epsilon is Delta's inverse, from below, and both bounds bracket the truth.
func TestTornBitsOfMany(t *testing.T) {
	for _, e := range []FragmentedOneHot{
		{1, 0.9, 0.1, 0.8, 0.2, 2, 1, account.Removal}, {5, 0.9, 0.1, 0.8, 0.2, 4, 0, account.Removal}, {200, 0.9, 0.1, 0.8, 0.2, 4, 1, account.Removal},
		{2000, 0.95, 0.05, 0.7, 0.3, 4, 0, account.Removal}, {2000, 0.5, 0.01, 0.9, 0.2, 3, 3, account.Removal},
	} {
		low, high := accounttest.EpsilonFrom(t, account.LowerEpsilon, e, 1e-6), accounttest.EpsilonFrom(t, account.Epsilon, e, 1e-6)
		if !(low <= high && low > 0.6*high) {
			t.Errorf("%+v: %v to %v", e, low, high)
		}
		at, err := account.Options{Lower: true}.Delta(e, low*(1-1e-6))
		if err != nil || at.Delta < 1e-6*(1-1e-3) {
			t.Errorf("%+v: delta %v at the lower bound of epsilon (%v)", e, at.Delta, err)
		}
		t.Logf("%d respondents, %d of %d fragments seen: %.4f to %.4f", e.Users, e.Seen, e.Tau, low, high)
	}
	if g, err := account.LowerEpsilon(FragmentedOneHot{200, 0.9, 0.1, 0.8, 0.2, 4, 0, account.Replacement}, 1e-6); err == nil {
		t.Errorf("a lower bound of two bits: %v", g)
	}
}
