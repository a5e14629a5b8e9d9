package shuffle

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// torn is one bit torn into fragments behind a backstop, of which the observer sees some
// outright and the others among everybody's.
type torn struct {
	backstop, fragment bit
	users, tau, seen   int
}

func (c torn) Terms() BehindBackstop {
	var all account.All
	row := func(users int) account.Event { return AsymmetricResponse{users, c.fragment.keep, c.fragment.flip} }
	if c.seen > 0 {
		all.Events = append(all.Events, account.Repeat{Event: row(1), Rounds: c.seen})
	}
	if c.seen < c.tau {
		all.Events = append(all.Events, account.Repeat{Event: row(c.users), Rounds: c.tau - c.seen})
	}
	return BehindBackstop{c.backstop.keep, c.backstop.flip, all}
}

// given is the law of what is seen, given everybody's backstops, the target's last: the
// ones among its fragments that are seen, and the count of each other row.
func (c torn) given(backstops []bool) []float64 {
	law := []float64{1}
	for range c.seen {
		law = accounttest.Product(law, asymmetricCounts(backstops[len(backstops)-1:], c.fragment.keep, c.fragment.flip))
	}
	row := asymmetricCounts(backstops, c.fragment.keep, c.fragment.flip)
	for range c.tau - c.seen {
		law = accounttest.Product(law, row)
	}
	return law
}

// law is the law of what is seen, given everybody's bits.
func (c torn) law(bits []bool) []float64 {
	var sum []float64
	for x := range 1 << len(bits) {
		backstops, p := accounttest.Bits(x, len(bits)), 1.0
		for i, b := range bits {
			p *= c.backstop.chance(b, backstops[i])
		}
		for i, q := range c.given(backstops) {
			if i == len(sum) {
				sum = append(sum, 0)
			}
			sum[i] += p * q
		}
	}
	return sum
}

// through is the law of what is seen, given the target's bit and the others' backstops.
func (c torn) through(target bool, others []bool) []float64 {
	one, zero := c.given(append(others[:len(others):len(others)], true)), c.given(append(others[:len(others):len(others)], false))
	mixed := make([]float64, len(one))
	for i := range mixed {
		mixed[i] = c.backstop.chance(target, true)*one[i] + c.backstop.chance(target, false)*zero[i]
	}
	return mixed
}

// chance is the probability that a bit comes out so.
func (b bit) chance(in, out bool) float64 {
	switch {
	case in && out:
		return b.keep
	case in:
		return b.drop
	case out:
		return b.flip
	}
	return b.stay
}

func ofSizes(keep, flip float64) bit { return bit{keep, 1 - keep, flip, 1 - flip} }

// tornCases are all sizes up to four users and three fragments, with bits that flip alike
// and bits that do not.
func tornCases(each func(c torn, epsilon float64)) {
	for _, backstop := range []bit{ofSizes(0.9, 0.1), ofSizes(0.7, 0.05), ofSizes(0.95, 0.4)} {
		for _, fragment := range []bit{ofSizes(0.8, 0.2), ofSizes(0.6, 0.1), ofSizes(0.9, 0.3)} {
			for users := 1; users <= 4; users++ {
				for tau := 1; tau <= 3; tau++ {
					for seen := 0; seen <= tau; seen++ {
						for _, share := range []float64{0, 0.15, 0.4, 0.8} {
							each(torn{backstop, fragment, users, tau, seen}, share*max(backstop.local(), backstop.mirror().local()))
						}
					}
				}
			}
		}
	}
}

// Every data set of the others and both directions: never below the enumeration, and of
// one row whose bits flip alike, where the accountant of the row is exact, no higher.
func TestBehindBackstopEveryDataSet(t *testing.T) {
	tornCases(func(c torn, epsilon float64) {
		worst, known := 0.0, 0.0 // known: the others' backstops are
		for x := range 1 << (c.users - 1) {
			others := accounttest.Bits(x, c.users-1)
			one, zero := c.law(append(others[:len(others):len(others)], true)), c.law(append(others[:len(others):len(others)], false))
			worst = max(worst, accounttest.Stick(one, zero, epsilon), accounttest.Stick(zero, one, epsilon))
			one, zero = c.through(true, others), c.through(false, others)
			known = max(known, accounttest.Stick(one, zero, epsilon), accounttest.Stick(zero, one, epsilon))
		}
		got := accounttest.DeltaOf(t, c.Terms(), epsilon)
		if worst > known*(1+1e-12)+1e-15 || got < known*(1-1e-12)-1e-15 {
			t.Errorf("%+v at epsilon %.3g: delta %v, enumerated %v, given the others' backstops %v", c, epsilon, got, worst, known)
		}
		if c.tau == 1 && c.fragment.symmetric() && got > known*(1+1e-3)+1e-9 {
			t.Errorf("%+v at epsilon %.3g: delta %v, and the worst there is has %v", c, epsilon, got, known)
		}
	})
}

// Two bits of a respondent that change, each behind a backstop of its own, in either
// direction: the replacement of a one-hot report.
func TestBitsBehindBackstopsCompose(t *testing.T) {
	for _, c := range []torn{
		{ofSizes(0.9, 0.1), ofSizes(0.8, 0.2), 2, 2, 1}, {ofSizes(0.9, 0.1), ofSizes(0.8, 0.2), 3, 1, 0},
		{ofSizes(0.7, 0.05), ofSizes(0.9, 0.3), 2, 2, 0}, {ofSizes(0.95, 0.4), ofSizes(0.6, 0.1), 2, 2, 1},
	} {
		var pairs [][2][]float64
		for x := range 1 << (c.users - 1) {
			others := accounttest.Bits(x, c.users-1)
			one, zero := c.through(true, others), c.through(false, others)
			pairs = append(pairs, [2][]float64{one, zero}, [2][]float64{zero, one})
		}
		for _, epsilon := range []float64{0.1, 0.5, 1.2} {
			worst := 0.0
			for _, p := range pairs {
				for _, q := range pairs {
					worst = max(worst, accounttest.Stick(accounttest.Product(p[0], q[0]), accounttest.Product(p[1], q[1]), epsilon))
				}
			}
			if got := accounttest.DeltaOf(t, account.Repeat{Event: c.Terms(), Rounds: 2}, epsilon); got < worst*(1-1e-12) || got > 2.5*worst+1e-3 {
				t.Errorf("%+v twice at epsilon %v: delta %v, enumerated %v", c, epsilon, got, worst)
			}
		}
	}
}

// Asymmetric backstops have two directions. The twin that knows one of them is below the
// enumeration somewhere.
func TestOneDirectionBehindBackstopIsCaught(t *testing.T) {
	caught := false
	tornCases(func(c torn, epsilon float64) {
		e := c.Terms()
		seen, _, err := e.seen(account.Options{Neglect: 1e-15})
		if err != nil {
			t.Fatal(err)
		}
		factor, inner := e.bit().behind(epsilon)
		d := 0.0
		if factor > 0 {
			if d, err = seen.Delta(inner); err != nil {
				t.Fatal(err)
			}
		}
		caught = caught || factor*d < 0.9*accounttest.DeltaOf(t, e, epsilon)
	})
	if !caught {
		t.Error("one direction is as good as two everywhere")
	}
}

// Two plans behind one kept backstop: what both show together is more than the two,
// each seen through the backstop, compose to. One event around all rows covers it.
func TestPlansBehindOneBackstopDoNotCompose(t *testing.T) {
	const epsilon = 0.8
	one := torn{ofSizes(0.9, 0.1), ofSizes(0.95, 0.05), 10, 1, 0}
	both := one
	both.tau = 2
	others := accounttest.Bits(1<<9-1, 9) // all ones
	p, q := both.through(true, others), both.through(false, others)
	together := max(accounttest.Stick(p, q, epsilon), accounttest.Stick(q, p, epsilon))
	p, q = one.through(true, others), one.through(false, others)
	apart := max(accounttest.Stick(accounttest.Product(p, p), accounttest.Product(q, q), epsilon), accounttest.Stick(accounttest.Product(q, q), accounttest.Product(p, p), epsilon))
	if math.Abs(together-0.4504) > 1e-4 || math.Abs(apart-0.4211) > 1e-4 {
		t.Errorf("together %v, composed %v", together, apart)
	}
	if got := accounttest.DeltaOf(t, both.Terms(), epsilon); got < together {
		t.Errorf("one event around all rows has delta %v, enumerated %v", got, together)
	}
}

// Through the backstop the rows tell less than by themselves, and never more than the
// backstop.
func TestBehindBackstopOfMany(t *testing.T) {
	for _, c := range []struct {
		users, tau    int
		backstop      float64
		rows, through float64 // at delta 1e-6
	}{{1000, 4, 3, 0.4744, 0.4247}, {1000, 4, 4, 0.9964, 0.9511}} {
		flip := FlipOf(c.backstop - math.Log(float64(c.tau)))
		rows := account.Repeat{Event: RandomizedResponse{c.users, flip}, Rounds: c.tau}
		b := FlipOf(c.backstop)
		e := BehindBackstop{1 - b, b, rows}
		alone, err := account.Epsilon(rows, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		g, err := account.Epsilon(e, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if g.Epsilon > c.through || alone.Epsilon > c.rows || alone.Epsilon < c.rows-2e-4 {
			t.Errorf("%+v: rows %v, through the backstop %v", c, alone.Epsilon, g.Epsilon)
		}
		if low, err := account.LowerEpsilon(e, 1e-6); err == nil {
			t.Errorf("%+v: a lower bound of %v, though others' backstops are not seen", c, low.Epsilon)
		}
		if g.Users != c.users || g.Rounds != c.tau || g.Bound != account.Upper || g.Certified == "" {
			t.Errorf("%+v", g)
		}
		// The grid of several bits, at one bit.
		grid, err := account.Options{Neglect: 1e-16}.Composed(e)
		if err != nil {
			t.Fatal(err)
		}
		if on, err := grid.Epsilon(1e-6); err != nil || on < g.Epsilon*(1-1e-9) || on > g.Epsilon*(1+1e-4) {
			t.Errorf("%+v: epsilon %v on a grid, %v without (%v)", c, on, g.Epsilon, err)
		}
	}
}

// Everything of one's own seen: the closed form of ESA's Theorem IV.1.
func TestBehindBackstopMeetsExposed(t *testing.T) {
	f := Fragments{1, 2, 0.5, 8, account.Removal}
	b, flip := FlipOf(f.Backstop), FlipOf(f.Fragment)
	for seen := 1; seen <= 8; seen++ {
		e := BehindBackstop{1 - b, b, account.Repeat{Event: RandomizedResponse{1, flip}, Rounds: seen}}
		g, err := f.Exposed(seen)
		if err != nil {
			t.Fatal(err)
		}
		if d := accounttest.DeltaOf(t, e, g.Epsilon*(1+1e-9)); d > 1e-9 {
			t.Errorf("%d seen: delta %v at the exact epsilon", seen, d)
		}
		if d := accounttest.DeltaOf(t, e, 0.99*g.Epsilon); d <= 1e-9 {
			t.Errorf("%d seen: no delta below the exact epsilon", seen)
		}
	}
}

func TestBehindBackstopRefuses(t *testing.T) {
	row := RandomizedResponse{10, 0.1}
	for _, e := range []BehindBackstop{
		{0.1, 0.9, row}, {0.5, 0.5, row}, {1, 0.1, row}, {0.9, 0, row}, {math.NaN(), 0.1, row}, {0.9, 0.1, nil},
		{0.9, 0.1, RandomizedResponse{0, 0.1}}, {0.9, 0.1, OneHot{Users: 10, Flip: 0.1, Adjacency: account.Removal}},
	} {
		if g, err := account.Epsilon(e, 1e-6); err == nil {
			t.Errorf("%+v was taken: %v", e, g)
		}
	}
}
