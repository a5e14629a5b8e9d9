package shuffle

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// The view of any t fragments, enumerated: backstop, then t randomized
// responses of its output, counted.
func TestFragmentsExposedEnumerated(t *testing.T) {
	for _, f := range []Fragments{{1, 2, 0.5, 16, account.Removal}, {1, 1, 3, 4, account.Replacement}, {1, 5, 0.1, 64, account.Removal}} {
		for seen := 1; seen <= f.Tau; seen++ {
			g, err := f.Exposed(seen)
			if err != nil {
				t.Fatal(err)
			}
			// The most telling view: all fragments agree.
			keep, same := 1/(1+math.Exp(-f.Backstop)), math.Exp(-f.Fragment*float64(seen))
			want := math.Log((keep + (1-keep)*same) / ((1 - keep) + keep*same))
			accounttest.Within(t, "epsilon", g.Epsilon, want, 1e-10)
			if g.Epsilon > math.Min(f.Backstop, float64(seen)*f.Fragment) {
				t.Errorf("%d fragments: %v above both parts", seen, g.Epsilon)
			}
			if (g.Trust == account.Local) != (seen == f.Tau) || g.Adjacency != f.Adjacency {
				t.Errorf("%d of %d fragments: %v", seen, f.Tau, g)
			}
		}
	}
}

// noises enumerates every backstop and every outcome of the fragments of a bit: what the
// outcomes of one fragment and of all tell, and variance over gap of the backstop and of
// the mean of the fragments given it.
func noises(f Fragments) (one, all, backstop, fragments float64) {
	flip := func(epsilon float64) float64 { return 1 / (1 + math.Exp(epsilon)) }
	b, p := flip(f.Backstop), flip(f.Fragment)
	given := func(sent, kept int) float64 {
		if sent == kept {
			return 1 - p
		}
		return p
	}
	var mean, square [2]float64 // of the fragments of a backstop of zero and of one
	for outcome := range 1 << f.Tau {
		law := [2]float64{1, 1}
		ones := 0
		for i := range f.Tau {
			ones += outcome >> i & 1
			for kept := range law {
				law[kept] *= given(outcome>>i&1, kept)
			}
		}
		x := float64(ones) / float64(f.Tau)
		for kept := range law {
			mean[kept], square[kept] = mean[kept]+law[kept]*x, square[kept]+law[kept]*x*x
		}
		all = math.Max(all, math.Abs(math.Log(((1-b)*law[1]+b*law[0])/(b*law[1]+(1-b)*law[0]))))
	}
	one = math.Log(((1-b)*(1-p) + b*p) / (b*(1-p) + (1-b)*p))
	return one, all, b * (1 - b) / (1 - 2*b), (square[1] - mean[1]*mean[1]) / (mean[1] - mean[0])
}

// By enumeration: the rule lets backstop and fragments add equally much, and what they
// tell is below the backstop's epsilon. The twin takes ln tau off the backstop's epsilon.
func TestTornFragmentsByEnumeration(t *testing.T) {
	for _, tau := range []int{2, 3, 8} {
		for _, epsilon := range []float64{0.05, 0.7, 2.2, 6} {
			f := Fragments{1, epsilon, FragmentEpsilon(epsilon, tau), tau, account.Removal}
			one, all, backstop, fragments := noises(f)
			accounttest.Within(t, "noise", fragments, backstop, 1e-9)
			accounttest.Within(t, "one fragment", one, exposed(t, f, 1), 1e-10)
			accounttest.Within(t, "all fragments", all, exposed(t, f, tau), 1e-10)
			accounttest.Within(t, "tanh of half of it", math.Tanh(all/2), math.Tanh(epsilon/2)*math.Tanh(float64(tau)*f.Fragment/2), 1e-12)
			accounttest.Within(t, "inverse", tear(1, f.Fragment, tau, account.Removal).Backstop, epsilon, 1e-10)
			f.Fragment = epsilon - math.Log(float64(tau))
			if _, _, backstop, fragments = noises(f); f.Fragment > 0 && fragments < backstop*(1+1e-6) {
				t.Errorf("%d fragments of ln tau less than %v add %v, the backstop %v", tau, epsilon, fragments, backstop)
			}
		}
	}
}

func exposed(t *testing.T, f Fragments, seen int) float64 {
	g, err := f.Exposed(seen)
	if err != nil {
		t.Fatal(err)
	}
	return g.Epsilon
}

func TestFragmentsCentral(t *testing.T) {
	const delta = 1e-6
	// With many fragments the backstop decides; with few weak ones the rows do.
	many, err := Fragments{10000, 2, 2, 64, account.Removal}.Central(delta)
	backstop, err2 := account.Epsilon(RandomizedResponse{Users: 10000, Flip: FlipOf(2)}, delta)
	if err != nil || err2 != nil || many.Epsilon != backstop.Epsilon {
		t.Errorf("%v, %v, %v, %v", many, err, backstop, err2)
	}
	// Through a backstop that hardly randomizes they are what they are by themselves.
	few, err := Fragments{10000, 8, 0.5, 4, account.Removal}.Central(delta)
	rows, err2 := account.Epsilon(account.Repeat{Event: RandomizedResponse{Users: 10000, Flip: FlipOf(0.5)}, Rounds: 4}, delta)
	if err != nil || err2 != nil || few.Epsilon > rows.Epsilon || few.Epsilon < 0.998*rows.Epsilon || few.Adjacency != account.Removal || few.Rounds != 4 {
		t.Errorf("%v, %v, %v, %v", few, err, rows, err2)
	}
	for _, bad := range []Fragments{{0, 1, 1, 1, account.Removal}, {10, 0, 1, 1, account.Removal}, {10, 1, math.NaN(), 1, account.Removal}, {10, 1, 1, 0, account.Removal}, {10, 1, 1, 1, "both"}} {
		if _, err := bad.Central(delta); err == nil {
			t.Errorf("%+v was taken", bad)
		}
		if _, err := bad.Exposed(1); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if _, err := (Fragments{10, 1, 1, 3, account.Removal}).Exposed(4); err == nil {
		t.Error("four of three fragments were seen")
	}
}

// Two users with three fragments each: every view of all rows, against Central
// at a large delta where the composition is not vacuous.
func TestFragmentsCentralEnumerated(t *testing.T) {
	const delta = 0.05
	f := Fragments{Users: 2, Backstop: 1.5, Fragment: 1, Tau: 3, Adjacency: account.Replacement}
	g, err := f.Central(delta)
	if err != nil {
		t.Fatal(err)
	}
	keep, same := 1/(1+math.Exp(-f.Backstop)), 1/(1+math.Exp(-f.Fragment))
	flip := func(p float64, bit int) [2]float64 { // law of a randomized bit
		if bit == 1 {
			return [2]float64{1 - p, p}
		}
		return [2]float64{p, 1 - p}
	}
	// law of the three counts of ones, in base 3.
	view := func(x, y int) (law [27]float64) {
		for bx, px := range flip(keep, x) {
			for by, py := range flip(keep, y) {
				var row [3]float64
				for i, p := range flip(same, bx) {
					for j, q := range flip(same, by) {
						row[i+j] += p * q
					}
				}
				for v := range law {
					law[v] += px * py * row[v%3] * row[v/3%3] * row[v/9]
				}
			}
		}
		return law
	}
	for y := range 2 {
		for _, pair := range [][2]int{{0, 1}, {1, 0}} {
			p, q := view(pair[0], y), view(pair[1], y)
			stick := 0.0
			for v := range p {
				stick += math.Max(0, p[v]-math.Exp(g.Epsilon)*q[v])
			}
			if stick > delta {
				t.Errorf("delta %v at epsilon %v, promised %v", stick, g.Epsilon, delta)
			}
		}
	}
}

// Any number of fragments seen, and the others shuffled: a replaced report of two cells,
// enumerated, with every other report.
func TestFragmentedOneHotEnumerated(t *testing.T) {
	for seen := range 3 {
		for _, adjacency := range []account.Adjacency{account.Removal, account.Replacement} {
			e := FragmentedOneHot{Users: 2, BackstopKeep: 0.85, BackstopFlip: 0.2, Keep: 0.75, Flip: 0.25, Tau: 2, Seen: seen, Adjacency: adjacency}
			c := torn{ofSizes(0.85, 0.2), ofSizes(0.75, 0.25), 2, 2, seen}
			cell := func(bit, other bool) []float64 { return c.law([]bool{other, bit}) }
			worst := map[float64]float64{0.2: 0, 0.7: 0, 1.3: 0}
			for _, other := range [][2]bool{{true, false}, {false, true}} {
				p := accounttest.Product(cell(true, other[0]), cell(false, other[1]))
				q := accounttest.Product(cell(false, other[0]), cell(true, other[1]))
				if adjacency == account.Removal {
					q = accounttest.Product(cell(false, other[0]), cell(false, other[1]))
				}
				for epsilon := range worst {
					worst[epsilon] = max(worst[epsilon], accounttest.Stick(p, q, epsilon), accounttest.Stick(q, p, epsilon))
				}
			}
			for epsilon, d := range worst {
				if got := accounttest.DeltaOf(t, e, epsilon); got < d || got > 3*d+0.01 {
					t.Errorf("%d seen, %s, epsilon %v: delta %v, enumerated %v", seen, adjacency, epsilon, got, d)
				}
			}
			g, err := account.Epsilon(e, 0.1)
			if err != nil || g.Adjacency != adjacency || g.Users != 2 || g.Trust != []account.Trust{account.Shuffled, account.OneFragment, account.Local}[seen] {
				t.Errorf("%d seen, %s: %v, %v", seen, adjacency, g, err)
			}
		}
	}
	for _, bad := range []FragmentedOneHot{
		{2, 0.9, 0.1, 0.9, 0.1, 0, 0, account.Removal}, {2, 0.9, 0.1, 0.9, 0.1, 2, 3, account.Removal}, {2, 0.9, 0.1, 0.9, 0.1, 2, -1, account.Removal},
		{2, 0.9, 0.1, 0.9, 0.1, 2, 1, "both"}, {0, 0.9, 0.1, 0.9, 0.1, 2, 1, account.Removal}, {2, 0.1, 0.9, 0.9, 0.1, 2, 1, account.Removal},
	} {
		if g, err := account.Epsilon(bad, 1e-6); err == nil {
			t.Errorf("%+v was taken: %v", bad, g)
		}
	}
}
