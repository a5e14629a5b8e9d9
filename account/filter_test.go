package account_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/prob"
)

// A play is a plan that an adversary may ask: the exact law of its loss in units of
// a pitch, the probability that it tells everything, and what it is said to cost.
type play struct {
	loss []float64 // of the loss low, low+2, ...: the bits of randomized response
	low  int
	told float64
	cost account.Spending
}

const pitch = 0.03 // epsilon of a bit

// bitsPlay is so many bits of randomized response, seen by themselves.
func bitsPlay(t testing.TB, bits int, tail float64) play {
	t.Helper()
	keep := 1 / (1 + math.Exp(-pitch))
	d, err := account.Dominate(account.Repeat{Event: shuffle.RandomizedResponse{Users: 1, Flip: 1 - keep}, Rounds: bits}, tail)
	if err != nil {
		t.Fatal(err)
	}
	p := play{low: -bits, cost: account.Spending{Epsilon: pitch * float64(bits), Domination: d}}
	for j := range bits + 1 {
		p.loss = append(p.loss, prob.BinomialPMF(j, bits, keep))
	}
	return p
}

// tellsAll tells everything with a probability, and otherwise nothing.
func tellsAll(chance float64) play {
	return play{loss: []float64{1 - chance}, told: chance, cost: account.Spending{Delta: chance, Domination: account.Domination{Tail: chance, Adjacency: account.Replacement}}}
}

// adversary is who asks plays as long as a filter admits them, each chosen after
// everything that was seen, and stops when it pays most.
type adversary struct {
	menu    []play
	epsilon float64
	admits  func(asked []int) bool // how often each play was asked
	best    map[[4]int]float64
}

// delta is the exact hockey stick of everything that the best adversary sees: over
// all strategies, in the world in which the loss has the laws of the plays.
func (a *adversary) delta() float64 {
	a.best = map[[4]int]float64{}
	return a.value(0, make([]int, len(a.menu)))
}

func (a *adversary) value(loss int, asked []int) float64 {
	key := [4]int{loss}
	copy(key[1:], asked)
	if v, ok := a.best[key]; ok {
		return v
	}
	v := math.Max(0, -math.Expm1(a.epsilon-pitch*float64(loss)))
	for i, p := range a.menu {
		next := slices.Clone(asked)
		next[i]++
		if !a.admits(next) {
			continue
		}
		sum := p.told
		for j, w := range p.loss {
			if w > 1e-18 {
				sum += w * a.value(loss+p.low+2*j, next)
			}
		}
		v = math.Max(v, sum)
	}
	a.best[key] = v
	return v
}

// plans lists what was asked.
func (a *adversary) plans(asked []int) (all []account.Spending) {
	for i, n := range asked {
		all = append(all, slices.Repeat([]account.Spending{a.menu[i].cost}, n)...)
	}
	return all
}

// The best adversary, who chooses each plan after all that it has seen, and among
// plans of both kinds, gets no more than the cap's delta out of the filter.
func TestNoAdversaryGetsMoreThanTheCap(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1.5, 1e-3}, {3, 1e-2}} {
		f, err := account.NewFilter(c.epsilon, c.delta)
		if err != nil {
			t.Fatal(err)
		}
		large, tail := bitsPlay(t, 225, f.Box.Tail/20), tellsAll(f.Box.Tail/3)
		if c.epsilon < 2 {
			large = bitsPlay(t, 64, f.Box.Tail/20)
		}
		a := &adversary{menu: []play{large, tail, bitsPlay(t, 9, f.Box.Tail/20)}, epsilon: c.epsilon}
		a.admits = func(asked []int) bool { return asked[2] <= 3 && f.Admits(a.plans(asked)...) }
		delta := a.delta()
		if delta > c.delta {
			t.Errorf("cap (%v, %v): the adversary gets %v", c.epsilon, c.delta, delta)
		}
		if delta < c.delta/20 {
			t.Errorf("cap (%v, %v): the adversary gets %v, which tests nothing", c.epsilon, c.delta, delta)
		}
		t.Logf("cap (%v, %v): %.3g of it after %d states", c.epsilon, c.delta, delta/c.delta, len(a.best))
		region := &adversary{menu: []play{large, tellsAll(c.delta / 12)}, epsilon: c.epsilon}
		region.admits = func(asked []int) bool {
			d, err := account.Together(account.Dominations(region.plans(asked))...)
			return err == nil && profile.Normal(math.Max(1e-9, d.Shift)).Hockey(c.epsilon)+d.Tail <= c.delta
		}
		// The same adversary of a wrong filter, which has one region instead of a box.
		if twin := region.delta(); twin < 1.4*c.delta {
			t.Errorf("cap (%v, %v): one region lets out %v, which is not caught", c.epsilon, c.delta, twin)
		}
	}
}

// The first wrong form: one region instead of a box, in which what is left of delta may
// be spent as tail or as shift, whichever the adversary likes after it has seen the
// loss. With exact Gaussians it spends most of the shift first, and goes on with the
// tail where the loss came out low.
func TestOneRegionInsteadOfABoxIsCaught(t *testing.T) {
	for _, c := range []struct{ epsilon, delta float64 }{{1, 1e-6}, {3, 1e-5}, {10, 1e-5}, {20, 1e-3}} {
		whole := largestShift(c.epsilon, c.delta)
		got := afterALook(c.epsilon, 0.7*whole*whole, whole*whole, c.delta-profile.Normal(math.Sqrt(0.7)*whole).Hockey(c.epsilon))
		if got < 1.8*c.delta {
			t.Errorf("cap (%v, %v): the region lets out %v, which is not caught", c.epsilon, c.delta, got)
		}
		box, err := account.NewBox(c.epsilon, c.delta, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		if got := afterALook(c.epsilon, 0.7*box.Shift*box.Shift, box.Shift*box.Shift, box.Tail); got > c.delta {
			t.Errorf("cap (%v, %v): the box lets out %v", c.epsilon, c.delta, got)
		}
	}
}

// largestShift is the shift of normals whose hockey stick is delta.
func largestShift(epsilon, delta float64) float64 { return account.LeastShift(epsilon, delta) }

// afterALook is the exact delta of an adversary that sees a normal of the given squared
// shift and then either spends the rest of the squares, or a tail: whichever pays more.
func afterALook(epsilon, squares, all, tail float64) float64 {
	mean, deviation, rest := squares/2, math.Sqrt(squares), math.Sqrt(all-squares)
	sum := 0.0
	const panels = 20000
	for i := range panels {
		z := -12 + 24*(float64(i)+0.5)/panels
		left := epsilon - (mean + deviation*z) // epsilon less the loss so far
		stop := math.Max(0, -math.Expm1(left))
		other := 0.0
		if left >= 0 {
			other = profile.Normal(rest).Hockey(left)
		} else {
			other = -math.Expm1(left) + math.Exp(left)*profile.Normal(rest).Hockey(-left)
		}
		sum += math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 24 / panels * math.Max(other, tail+(1-tail)*stop)
	}
	return sum
}

// The second wrong form: a shift that is solved from a plan's epsilon and delta. A pure
// plan of epsilon 1 has (1, 1e-6), and the default cap would let 290 of them through,
// after which everything is known. Certified from the mechanism, eleven fit at most.
func TestShiftsFromEpsilonAndDeltaBreakTheFilter(t *testing.T) {
	f, err := account.NewFilter(20, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	naive := account.Spending{Epsilon: 1, Delta: 1e-6, Domination: account.Domination{Shift: account.LeastShift(1, 1e-6), Tail: 1e-8, Adjacency: account.Replacement}}
	honest := naive
	honest.Domination = account.DominatePure(1, account.Replacement)
	told := func(plans int) float64 { // exact
		p, err := profile.NewOptimal(1, 0, plans)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Delta(20)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if n := f.More(1000, naive); n < 200 || told(n) < 0.99 {
		t.Errorf("%d plans tell %v, which is not caught", n, told(n))
	}
	// Twenty by their sum of epsilons, which is more than by their shifts.
	if n := f.More(1000, honest); n != 20 || told(n) > 1e-3 || f.Shares(slices.Repeat([]account.Spending{honest}, 10)...).Box() > 1 {
		t.Errorf("%d plans are let through", n)
	}
}

// The default cap of a device has room for about 250 plans of randomized response of
// epsilon 1 and delta 1e-6, where sums had room for 20.
func TestTheDefaultCapHoldsTwoHundredAndFiftyPlans(t *testing.T) {
	f, err := account.NewFilter(20, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	rr, g, err := shuffle.CalibrateRR(calibrate.Target{Users: 2000, Rounds: 1, Epsilon: 1, Delta: 1e-6}, calibrate.Exact)
	if err != nil {
		t.Fatal(err)
	}
	d, err := account.Dominate(rr, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(d.Shift-0.2543) > 5e-4 {
		t.Errorf("a plan has shift %v", d.Shift)
	}
	plan := account.Spending{Epsilon: g.Epsilon, Delta: 1e-6, Domination: d}
	if n := f.More(10_000, plan); n < 240 || n > 260 {
		t.Errorf("%d plans fit", n)
	} else {
		t.Logf("%d plans fit", n)
	}
}

// More counts what Admits lets through, and shares say how far it is.
func TestMoreAndSharesAgreeWithAdmits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := account.NewFilter(rapid.Float64Range(0.5, 30).Draw(t, "epsilon"), math.Exp(rapid.Float64Range(-14, -5).Draw(t, "ln delta")))
		if err != nil {
			t.Fatal(err)
		}
		any := func(name string) account.Spending {
			e := rapid.Float64Range(0.3, 2).Draw(t, name)
			return account.Spending{Epsilon: e, Delta: f.Delta * rapid.Float64Range(0, 0.05).Draw(t, name+" delta"), Domination: account.Domination{Shift: e / 4, Tail: f.Delta * rapid.Float64Range(0, 0.01).Draw(t, name+" tail"), Adjacency: account.Replacement}}
		}
		var plans []account.Spending
		for range rapid.IntRange(0, 5).Draw(t, "plans") {
			if p := any("earlier"); f.Admits(append(plans, p)...) {
				plans = append(plans, p)
			}
		}
		like := any("like")
		n := f.More(10_000, like, plans...)
		with := func(n int) []account.Spending {
			return append(slices.Clone(plans), slices.Repeat([]account.Spending{like}, n)...)
		}
		if later := f.After(plans...); later.More(10_000, like) != n || later.Shares(like) != f.Shares(with(1)...) || later.Admits(like) != f.Admits(with(1)...) {
			t.Fatal("a filter after plans is another one than with them")
		}
		if n > 0 && !f.Admits(with(n)...) || f.Admits(with(n+1)...) {
			t.Fatalf("%d more", n)
		}
		if s := f.Shares(with(n + 1)...); len(plans)+n > 0 && !(math.Max(s.Shift, s.Tail) > 1 && math.Max(s.Epsilon, s.Delta) > 1) {
			t.Fatalf("refused at shares %+v", s)
		}
	})
}

// A plan that meets the cap exactly is admitted, alone; nothing more is.
func TestAPlanAsLargeAsTheCap(t *testing.T) {
	f, err := account.NewFilter(1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	whole := account.Spending{Epsilon: 1, Delta: 1e-6, Domination: account.DominateKnown(1, 1e-6, account.Replacement)}
	if !f.Admits(whole) || f.Admits(whole, account.Spending{Epsilon: 1e-3, Domination: account.DominatePure(1e-3, account.Replacement)}) {
		t.Error("a plan as large as the cap")
	}
	whole.Epsilon = 1.001
	if f.Admits(whole) {
		t.Error("a larger plan was admitted")
	}
}

// A box keeps its promise whatever the cap, by the hockey stick of its own shift.
func TestBoxesKeepTheirPromise(t *testing.T) {
	for _, epsilon := range []float64{1e-3, 0.1, 1, 20, 100, 1e5, 1e7} {
		for _, delta := range []float64{1e-12, 1e-6, 1e-3, 0.5, 0.9} {
			b, err := account.NewBox(epsilon, delta, 0.1)
			if err != nil {
				t.Fatal(err)
			}
			told := b.Tail + profile.Normal(b.Shift).Hockey(epsilon)
			more := b.Tail + profile.Normal(b.Shift*1.001).Hockey(epsilon)
			if !(told <= delta) || !(more > delta*(1-1e-6)) {
				t.Errorf("(%v, %v): %v is told at shift %v, %v a little beyond", epsilon, delta, told, b.Shift, more)
			}
		}
	}
	for _, bad := range [][3]float64{{0, 1e-6, 0.1}, {1, 0, 0.1}, {1, 1, 0.1}, {1, 1e-6, 0}, {1, 1e-6, 1}, {math.Inf(1), 1e-6, 0.1}, {math.NaN(), 1e-6, 0.1}} {
		if _, err := account.NewBox(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("a box of %v", bad)
		}
	}
}
