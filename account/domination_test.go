package account_test

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
)

// hockeyOf is the most that a view of the domination tells at epsilon, below zero too.
func hockeyOf(d account.Domination, epsilon float64) float64 {
	k := profile.Normal(d.Shift).Hockey(math.Abs(epsilon))
	if d.Shift == 0 {
		k = 0
	}
	if epsilon < 0 {
		k = -math.Expm1(epsilon) + math.Exp(epsilon)*k
	}
	return d.Tail + (1-d.Tail)*k
}

// everyEpsilon is a grid that passes both ends of the losses.
func everyEpsilon(most float64) (all []float64) {
	for i := range 801 {
		all = append(all, most*(float64(i)/400-1)*1.02)
	}
	return all
}

// exceeds finds an epsilon at which some pair of laws tells more than the domination.
func exceeds(laws [][2][]float64, d account.Domination) error {
	most := 0.0
	for _, l := range laws {
		for i := range l[0] {
			most = math.Max(most, math.Abs(math.Log(l[0][i]/l[1][i])))
		}
	}
	for _, epsilon := range everyEpsilon(most) {
		for _, l := range laws {
			if h := accounttest.Stick(l[0], l[1], epsilon); h > hockeyOf(d, epsilon)*(1+1e-12)+1e-15 {
				return fmt.Errorf("the hockey stick at %v is %v, and that of %+v %v", epsilon, h, d, hockeyOf(d, epsilon))
			}
		}
	}
	return nil
}

// ofTwo are all pairs of laws of two mechanisms, one after the other.
func ofTwo(a, b [][2][]float64) (all [][2][]float64) {
	for _, x := range a {
		for _, y := range b {
			all = append(all, [2][]float64{accounttest.Product(x[0], y[0]), accounttest.Product(x[1], y[1])})
		}
	}
	return all
}

// At every epsilon, in both directions and for every data set, a mechanism tells at
// most what its domination does; and a shift a little smaller would not do.
func TestDominationsByEnumeration(t *testing.T) {
	type law = [][2][]float64
	rr := func(n int, p float64) (account.Event, law) {
		return shuffle.RandomizedResponse{Users: n, Flip: p}, accounttest.Pairs(n, p)
	}
	check := func(name string, e account.Event, laws law, tail, slack float64) {
		t.Helper()
		d, err := account.Dominate(e, tail)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.Tail > tail {
			t.Errorf("%s: tail %v of %v", name, d.Tail, tail)
		}
		if err := exceeds(laws, d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.Shift *= 1 - slack
		if exceeds(laws, d) == nil {
			t.Errorf("%s: a shift of %v would do too", name, d.Shift)
		}
	}
	for _, tail := range []float64{1e-9, 1e-4, 0.02} {
		for _, n := range []int{1, 2, 5, 9} {
			for _, p := range []float64{0.02, 0.2, 0.4} {
				e, laws := rr(n, p)
				check(fmt.Sprintf("n=%d p=%v tail=%v", n, p, tail), e, laws, tail, 0.005)
			}
		}
		a, of := rr(4, 0.1)
		b, with := rr(3, 0.3)
		check("twice", account.Repeat{Event: a, Rounds: 2}, ofTwo(of, of), tail, 0.1)
		check("two unlike", account.All{Events: []account.Event{a, b}}, ofTwo(of, with), tail, 0.1)
		check("one-hot, removal", shuffle.OneHot{Users: 4, Flip: 0.1, Adjacency: account.Removal}, of, tail, 0.005)
		check("one-hot, replacement", shuffle.OneHot{Users: 4, Flip: 0.1, Adjacency: account.Replacement}, ofTwo(of, of), tail, 0.1)
	}
}

// An epsilon and a delta do not tell a shift: the Gaussian that has both tells less at
// another epsilon than a mechanism that has them.
func TestShiftsFromEpsilonAndDeltaAreCaught(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 2} {
		delta := accounttest.DeltaOf(t, shuffle.RandomizedResponse{Users: 9, Flip: 0.2}, epsilon)
		naive := account.Domination{Shift: account.LeastShift(epsilon, delta)}
		if exceeds(accounttest.Pairs(9, 0.2), naive) == nil {
			t.Errorf("at epsilon %v: not caught", epsilon)
		}
	}
}

// Randomized response over k symbols, seen by itself, is dominated by its corner, and
// by no smaller shift; over two symbols it is the worst of all pure mechanisms.
func TestPureDominationsAreTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon, k := rapid.Float64Range(1e-3, 12).Draw(t, "epsilon"), rapid.IntRange(2, 40).Draw(t, "k")
		rare := 1 / (math.Exp(epsilon) + float64(k-1))
		likely := math.Exp(epsilon) * rare
		rest := math.Max(0, 1-likely-rare)
		laws := [][2][]float64{{{likely, rare, rest}, {rare, likely, rest}}}
		if k == 2 {
			laws = [][2][]float64{{{likely, rare}, {rare, likely}}}
		}
		d := account.DominateKary(epsilon, k, account.Removal)
		if d.Tail != 0 || d.Adjacency != account.Removal || d.Shift > account.DominatePure(epsilon, account.Removal).Shift {
			t.Fatalf("%+v", d)
		}
		if err := exceeds(laws, d); err != nil {
			t.Fatal(err)
		}
		// The curves touch at one epsilon: a hundredth less and they cross.
		if d.Shift *= 0.99; exceeds(laws, d) == nil && epsilon > 0.05 {
			t.Fatalf("a shift of %v would do too", d.Shift)
		}
	})
	if d := account.DominatePure(1, account.Replacement); math.Abs(d.Shift-1.2320) > 1e-4 {
		t.Errorf("epsilon 1 has shift %v", d.Shift)
	}
	known := account.DominateKnown(2, 1e-4, account.Removal)
	// Randomized response that tells everything with probability delta.
	keep := 1 / (1 + math.Exp(-2))
	if err := exceeds([][2][]float64{{
		{1e-4, 1e-300, (1 - 1e-4) * keep, (1 - 1e-4) * (1 - keep)}, {1e-300, 1e-4, (1 - 1e-4) * (1 - keep), (1 - 1e-4) * keep},
	}}, known); err != nil {
		t.Error(err)
	}
}

// steps are levels of a test, dense where they are small.
func steps() (all []float64) {
	for i := range 300 {
		all = append(all, math.Exp(-32*float64(i)/300))
	}
	return append(all, 0)
}

// aboveAt compares, at every epsilon from 0, the most that tests of the given power can
// tell with what the domination does.
func aboveAt(power func(level float64) float64, d account.Domination) error {
	levels := steps()
	powers := make([]float64, len(levels))
	for i, level := range levels {
		powers[i] = power(level)
	}
	for i := range 80 {
		epsilon := 0.1 * float64(i)
		worst := 0.0
		for i, level := range levels {
			worst = math.Max(worst, powers[i]-math.Exp(epsilon)*level)
		}
		if worst > hockeyOf(d, epsilon)*(1+1e-9) {
			return fmt.Errorf("at epsilon %v tests tell %v and %+v %v", epsilon, worst, d, hockeyOf(d, epsilon))
		}
	}
	return nil
}

func drawDomination(t *rapid.T) account.Domination {
	return account.Domination{
		Shift:     math.Exp(rapid.Float64Range(math.Log(1e-3), math.Log(4)).Draw(t, "ln shift")),
		Tail:      math.Exp(rapid.Float64Range(math.Log(1e-12), math.Log(0.1)).Draw(t, "ln tail")),
		Adjacency: account.Removal,
	}
}

// power is that of the domination's own view.
func power(d account.Domination, level float64) float64 {
	return d.Tail + (1-d.Tail)*account.GaussPower(math.Min(1, level), d.Shift)
}

// Two removals in a row tell at most what Twice says, whatever the shift and the tail.
func TestTwiceCoversTwoRemovals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDomination(t)
		if err := aboveAt(func(level float64) float64 { return power(d, power(d, level)) }, d.Twice()); err != nil {
			t.Fatal(err)
		}
	})
	// Twice the tail is not enough: the second step enlarges what the first let through.
	d := account.Domination{Shift: 1, Tail: 1e-8, Adjacency: account.Removal}
	if aboveAt(func(level float64) float64 { return power(d, power(d, level)) }, account.Domination{Shift: 2, Tail: 2e-8}) == nil {
		t.Error("twice the tail was not caught")
	}
	if tail := d.Twice().Tail; tail < 2e-6 || tail > 7e-6 {
		t.Errorf("twice a shift of 1 with tail 1e-8 has tail %v", tail)
	}
}

// A mechanism that is now and then another one, in each world in its own way, tells at
// most what Spoilt says.
func TestSpoiltCoversOtherOutcomes(t *testing.T) {
	spoilt := func(d account.Domination, chance float64) func(float64) float64 {
		return func(level float64) float64 { return math.Min(1, power(d, level+chance)+chance) }
	}
	rapid.Check(t, func(t *rapid.T) {
		d, chance := drawDomination(t), math.Exp(rapid.Float64Range(math.Log(1e-12), math.Log(0.05)).Draw(t, "ln chance"))
		if err := aboveAt(spoilt(d, chance), d.Spoilt(chance)); err != nil {
			t.Fatal(err)
		}
	})
	d := account.Domination{Shift: 1, Tail: 1e-8}
	if aboveAt(spoilt(d, 1e-8), d.Failing(2e-8)) == nil {
		t.Error("a chance that was added to the tail as to a delta at epsilon 0 was not caught")
	}
}

// Vectors have a Gaussian of their own, which is not below what whole gaps tell.
func TestVectorsAreDominated(t *testing.T) {
	for _, e := range []vectors.VectorResponse{{Users: 3000, Coordinates: 256, Flip: 0.1, SquaredGap: 64}, {Users: 2000, Coordinates: 100, Flip: 0.02, SquaredGap: 4}, {Users: 20, Coordinates: 10, Flip: 0.3, SquaredGap: 2}} {
		d, err := account.Dominate(e, 1e-8)
		if err != nil {
			t.Fatal(err)
		}
		for _, epsilon := range []float64{0.1 * d.Shift, d.Shift, 3 * d.Shift} {
			g, err := account.Options{Lower: true}.Delta(e, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			if told, allowed := g.Delta, hockeyOf(d, epsilon); told > allowed || e.Users == 3000 && account.LeastShift(epsilon, told) < 0.7*d.Shift {
				t.Errorf("%+v at %v: %v is told and %v allowed", e, epsilon, told, allowed)
			}
		}
		twice, err := account.Dominate(account.Repeat{Event: e, Rounds: 2}, 1e-8)
		if err != nil || twice.Shift < d.Shift*1.2 || twice.Shift > d.Shift*math.Sqrt2*1.1 && e.Users == 3000 {
			t.Errorf("two of %+v: %+v after %+v (%v)", e, twice, d, err)
		}
		both, err := account.Dominate(account.All{Events: []account.Event{e, shuffle.RandomizedResponse{Users: 2000, Flip: 0.1}}}, 1e-8)
		if err != nil || both.Shift <= d.Shift || both.Tail > 1e-8 {
			t.Errorf("%+v and a bit: %+v (%v)", e, both, err)
		}
	}
}

// Under replacement a one-hot report changes two bits, which costs a root of two;
// without the mechanism it would cost two.
func TestReplacedOneHotReports(t *testing.T) {
	e := account.All{Events: []account.Event{account.Repeat{Event: shuffle.OneHot{Users: 5000, Flip: 0.02, Adjacency: account.Removal}, Rounds: 3}, shuffle.OneHot{Users: 5000, Flip: 0.02, Keep: 0.5, Adjacency: account.Removal}}}
	once, err := account.Dominate(e, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	d, err := account.DominateReplaced(e, 1e-8)
	if err != nil || d.Adjacency != account.Replacement || d.Tail > 1e-8 || d.Shift < 1.35*once.Shift || d.Shift > 1.45*once.Shift {
		t.Errorf("%+v after %+v (%v)", d, once, err)
	}
	if same, err := account.DominateReplaced(shuffle.RandomizedResponse{Users: 5000, Flip: 0.02}, 1e-8); err != nil || same.Adjacency != account.Replacement {
		t.Errorf("%+v (%v)", same, err)
	}
}

// What cannot be dominated, or added up, is an error.
func TestDominationsRefuse(t *testing.T) {
	for _, tail := range []float64{0, 1, -1, math.NaN()} {
		if _, err := account.Dominate(shuffle.RandomizedResponse{Users: 10, Flip: 0.1}, tail); err == nil {
			t.Errorf("a tail of %v", tail)
		}
	}
	if _, err := account.Dominate(shuffle.RandomizedResponse{Users: 0, Flip: 0.1}, 1e-8); err == nil {
		t.Error("no users")
	}
	if _, err := account.Together(account.Domination{Adjacency: account.Removal}, account.Domination{Adjacency: account.Replacement}); err == nil {
		t.Error("two kinds of neighbours were added up")
	}
	if d, err := account.Dominate(shuffle.RandomizedResponse{Users: 10, Flip: 0.5}, 1e-8); err != nil || d.Shift != 0 {
		t.Errorf("fair coins: %+v (%v)", d, err)
	}
}

// What is remembered of a domination or a guarantee is what is worked out: of each event and tail by itself, of several
// events together, for whoever asks again and at once, and of what is refused.
func TestWhatIsRememberedIsWhatIsWorkedOut(t *testing.T) {
	few, more := shuffle.RandomizedResponse{Users: 50, Flip: 0.2}, shuffle.RandomizedResponse{Users: 51, Flip: 0.2}
	events := []account.Event{few, more, account.Repeat{Event: few, Rounds: 2}, account.All{Events: []account.Event{few, more}}, shuffle.RandomizedResponse{Users: -1}, nil}
	for range 2 {
		for _, tail := range []float64{1e-8, 1e-6, 2} {
			for _, e := range events {
				want, failed := account.WorkOut(e, tail)
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						if got, err := account.Dominate(e, tail); got != want || fmt.Sprint(err) != fmt.Sprint(failed) {
							t.Errorf("%+v at %v: %+v, %v; want %+v, %v", e, tail, got, err, want, failed)
						}
					})
				}
				wg.Wait()
			}
		}
	}
	// An event that is pointed to may be another one when it is asked for again.
	changing := few
	before, _ := account.Epsilon(&changing, 1e-6)
	first, _ := account.Dominate(&changing, 1e-6)
	changing.Flip = 0.1
	if after, err := account.Epsilon(&changing, 1e-6); err != nil || after.Epsilon <= before.Epsilon {
		t.Errorf("a changed event has epsilon %v after %v, %v", after.Epsilon, before.Epsilon, err)
	}
	if second, err := account.Dominate(&changing, 1e-6); err != nil || second.Shift <= first.Shift {
		t.Errorf("a changed event has shift %v after %v, %v", second.Shift, first.Shift, err)
	}
	alone := account.All{Events: []account.Event{few}}
	events = append(events, account.Repeat{Event: few, Rounds: 3}, account.Repeat{Event: alone, Rounds: 2}, alone, account.All{Events: []account.Event{more, few}}, account.All{Events: []account.Event{few, few, more}},
		account.All{Events: []account.Event{few, alone}}, account.All{Events: []account.Event{nil}})
	for range 2 {
		for _, delta := range []float64{1e-8, 1e-6, 2} {
			for _, o := range []account.Options{{}, {Every: true}, {Lower: true}, {Whole: true}} {
				for _, e := range events {
					want, failed := account.WorkEpsilon(o, e, delta)
					if got, err := o.Epsilon(e, delta); got != want || fmt.Sprint(err) != fmt.Sprint(failed) {
						t.Errorf("%+v at %v, %+v: %+v, %v; want %+v, %v", e, delta, o, got, err, want, failed)
					}
				}
			}
		}
	}
}
