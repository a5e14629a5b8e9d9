package amplify

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
)

// reports is a mechanism by its probabilities: of each report, by value.
type reports [][]float64

// favouring is the mechanism of those that favour sets of reports.
func favouring(epsilon float64, values, all int, favours func(value, report int) bool) reports {
	r := make(reports, values)
	for x := range r {
		r[x] = make([]float64, all)
		sum := 0.0
		for y := range r[x] {
			r[x][y] = 1
			if favours(x, y) {
				r[x][y] = math.Exp(epsilon)
			}
			sum += r[x][y]
		}
		for y := range r[x] {
			r[x][y] /= sum
		}
	}
	return r
}

// histograms is the law of the histogram of the reports of the given values.
func (r reports) histograms(values []int) map[string]float64 {
	law := map[string]float64{string(make([]byte, len(r[0]))): 1}
	for _, x := range values {
		next := make(map[string]float64, len(law)*2)
		for h, p := range law {
			b := []byte(h)
			for y, q := range r[x] {
				b[y]++
				next[string(b)] += p * q
				b[y]--
			}
		}
		law = next
	}
	return law
}

// neighbours calls do with the two worlds of every data set of n-1 others and every
// ordered pair of values of one more.
func (r reports) neighbours(n int, do func(p, q map[string]float64)) {
	others := make([]int, n)
	var fill func(at, least int)
	fill = func(at, least int) {
		if at < n {
			for x := least; x < len(r); x++ {
				others[at] = x
				fill(at+1, x)
			}
			return
		}
		worlds := make([]map[string]float64, len(r))
		for x := range r {
			others[0] = x
			worlds[x] = r.histograms(others)
		}
		for x0 := range worlds {
			for x1 := range worlds {
				if x0 != x1 {
					do(worlds[x0], worlds[x1])
				}
			}
		}
	}
	fill(1, 0)
}

func apart(p, q map[string]float64, level float64) float64 {
	sum := 0.0
	for h, v := range p {
		sum += math.Max(0, v-level*q[h])
	}
	return sum
}

// worst is the largest delta of one release, at each epsilon.
func (r reports) worst(n int, epsilons []float64) []float64 {
	worst := make([]float64, len(epsilons))
	r.neighbours(n, func(p, q map[string]float64) {
		for i, e := range epsilons {
			worst[i] = math.Max(worst[i], apart(p, q, math.Exp(e)))
		}
	})
	return worst
}

type favouringCase struct {
	name   string
	r      reports
	most   int // users to enumerate
	event  func(n int) account.Event
	shared float64 // share of the reports that two values both favour
}

func favouringCases(epsilon float64) []favouringCase {
	event := func(share, apart float64) func(int) account.Event {
		return func(n int) account.Event { return FavouredResponse{n, share, apart, epsilon, nil} }
	}
	own := func(value, report int) bool { return value == report }
	kary := func(k int) func(int) account.Event {
		return func(n int) account.Event { return KaryResponse{n, k, epsilon} }
	}
	hash := func(symbols int, family ...[]int) func(value, report int) bool {
		return func(value, report int) bool { return family[report/symbols][value] == report%symbols }
	}
	pairs := []int{0b0011, 0b0101, 0b1001, 0b0110, 0b1010, 0b1100}
	return []favouringCase{
		{"3-ary response", favouring(epsilon, 3, 3, own), 5, kary(3), 0},
		{"4-ary response", favouring(epsilon, 4, 4, own), 5, kary(4), 0},
		{"Hadamard response of order 4", favouring(epsilon, 3, 4, func(x, y int) bool { return bits.OnesCount(uint((x+1)&y))%2 == 0 }), 5, event(0.5, 0.25), 0.25},
		{"Hadamard response of order 8", favouring(epsilon, 4, 8, func(x, y int) bool { return bits.OnesCount(uint((x+1)&y))%2 == 0 }), 4, event(0.5, 0.25), 0.25},
		{"subsets of 2 of 4", favouring(epsilon, 4, 6, func(x, y int) bool { return pairs[y]>>x&1 == 1 }), 4, event(0.5, 1./3), 1. / 6},
		{"subsets of 3 of 4", favouring(epsilon, 4, 4, func(x, y int) bool { return x != y }), 4, event(0.75, 0.25), 0.5},
		{"hashing of 4 cells to 3 symbols", favouring(epsilon, 4, 6, hash(3, []int{0, 1, 2, 0}, []int{0, 0, 1, 2})), 4, event(1./3, 0), 0},
		{"hashing of 3 cells to 2 symbols", favouring(epsilon, 3, 6, hash(2, []int{0, 1, 0}, []int{0, 0, 1}, []int{0, 1, 1})), 4, event(0.5, 0), 0},
		// Directions of the plane, at 0, 60, 90 and 180 degrees: of twelve half-planes.
		{"directions", favouring(epsilon, 4, 12, func(x, y int) bool { return (y-[]int{0, 2, 3, 6}[x]+12)%12 < 6 }), 3, event(0.5, 0), 0},
		// Caps: a quarter of the circle.
		{"caps", favouring(epsilon, 3, 8, func(x, y int) bool { return (y-[]int{0, 1, 4}[x]+8)%8 < 2 }), 3, event(0.25, 0), 0},
	}
}

// Every data set and every pair of neighbours, in both directions: no delta is above
// the accountant's.
func TestFavouredResponseEveryDataSet(t *testing.T) {
	shares := []float64{0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95}
	for _, epsilon := range []float64{0.5, 1.5, 4} {
		epsilons := make([]float64, len(shares))
		for i, s := range shares {
			epsilons[i] = s * epsilon
		}
		for _, c := range favouringCases(epsilon) {
			for n := 1; n <= c.most; n++ {
				worst := c.r.worst(n, epsilons)
				for i, e := range epsilons {
					if got := accounttest.DeltaOf(t, c.event(n), e); got < worst[i]*(1-1e-12) {
						t.Errorf("%s, n=%d, local %v, epsilon=%.3g: delta %v, enumerated %v", c.name, n, epsilon, e, got, worst[i])
					}
				}
			}
		}
	}
}

// merged is the broken twin of a pair with four kinds of token: those that both
// values favour are counted with those that neither does.
func merged(t tokens) tokens {
	t.weight, t.both = t.weight*(1-t.both)+t.x*t.both, 0
	return t
}

// attained is the profile of a mechanism that has no less to hide than its blanket:
// two values favour two of four reports each, one of them both, and a third value,
// which all others hold, sends one of the four at random with probability gamma and
// else a fifth report that nobody else sends.
func attained(n int, epsilon, level float64) float64 {
	e := math.Exp(epsilon)
	gamma := 2 / (1 + e)
	first := [5]float64{gamma * e / 4, gamma / 4, gamma * e / 4, gamma / 4, 0}
	second := [5]float64{gamma / 4, gamma * e / 4, gamma * e / 4, gamma / 4, 0}
	third := [5]float64{gamma / 4, gamma / 4, gamma / 4, gamma / 4, 1 - gamma}
	sum := 0.0
	var count [5]int
	var fill func(kind, left int)
	fill = func(kind, left int) {
		if kind < 4 {
			for count[kind] = range left + 1 {
				fill(kind+1, left-count[kind])
			}
			return
		}
		count[4] = left
		ways := accounttest.LogFactorial(n)
		for i, c := range count {
			ways += float64(c)*math.Log(third[i]) - accounttest.LogFactorial(c)
		}
		p, q := 0.0, 0.0
		for i, c := range count { // the target is any one of the n
			p += float64(c) * first[i] / third[i]
			q += float64(c) * second[i] / third[i]
		}
		sum += math.Exp(ways) / float64(n) * math.Max(0, p-level*q)
	}
	fill(0, n)
	return sum
}

// The blanket is what it says, and with any kinds of token merged it is none.
func TestBlanketIsAttained(t *testing.T) {
	const n = 24
	for _, epsilon := range []float64{1, 2, 3} {
		honest := FavouredResponse{n, 0.5, 0.25, epsilon, nil}
		twin, err := merged(honest.pair()).law(1e-20)
		if err != nil {
			t.Fatal(err)
		}
		caught := 0.0
		for _, share := range []float64{0, 0.1, 0.3, 0.5, 0.7} {
			e := share * epsilon
			want := attained(n, epsilon, math.Exp(e))
			accounttest.Within(t, fmt.Sprintf("local %v, delta(%.3g)", epsilon, e), accounttest.DeltaOf(t, honest, e), want, 1e-9)
			caught = math.Max(caught, want/twin.delta(e))
		}
		if caught < 1.1 {
			t.Errorf("local %v: merging what both values favour with what neither does lowers delta by a factor of %v only: this test sees nothing", epsilon, caught)
		}
		t.Logf("local %v: merged kinds of token understate delta by up to %.2f times", epsilon, caught)
	}
}

// twoRounds is the largest hockey stick of two releases, of which the second's data
// set and direction are chosen when the first is seen.
func (r reports) twoRounds(n int, level float64) float64 {
	type pair struct{ p, q []float64 }
	var pairs []pair
	r.neighbours(n, func(p, q map[string]float64) {
		var one pair
		for h, v := range p {
			one.p, one.q = append(one.p, v), append(one.q, q[h])
		}
		pairs = append(pairs, one)
	})
	stick := func(a pair, level float64) float64 {
		sum := 0.0
		for i, v := range a.p {
			sum += math.Max(0, v-level*a.q[i])
		}
		return sum
	}
	second := map[float64]float64{} // by level
	worst := 0.0
	for _, first := range pairs {
		sum := 0.0
		for i, v := range first.p {
			// Nearby levels are taken together at the least, where sticks are longest.
			at := math.Floor(level*first.q[i]/v*1e12) / 1e12
			best, known := second[at]
			if !known {
				for _, next := range pairs {
					best = math.Max(best, stick(next, at))
				}
				second[at] = best
			}
			sum += v * best
		}
		worst = math.Max(worst, sum)
	}
	return worst
}

func TestAdaptiveRoundsOfFavouredResponses(t *testing.T) {
	for _, epsilon := range []float64{0.5, 2} {
		for _, c := range favouringCases(epsilon)[:3] {
			n := 3
			for _, share := range []float64{0.1, 0.5, 1, 1.5} {
				e := share * epsilon
				want := c.r.twoRounds(n, math.Exp(e))
				if got := accounttest.DeltaOf(t, account.Repeat{Event: c.event(n), Rounds: 2}, e); got < want*(1-1e-9) || c.shared == 0 && got > 1.5*want+1e-3 {
					t.Errorf("%s, local %v, epsilon=%.3g: delta %v, enumerated %v", c.name, epsilon, e, got, want)
				}
			}
		}
	}
}

// What shuffling a whole report is worth; by stronger clones the first was 0.4108.
func TestWholeReports(t *testing.T) {
	for _, c := range []struct {
		e    KaryResponse
		most float64
	}{
		{KaryResponse{10_000, 1_000, 4}, 0.0850},
		{KaryResponse{10_000, 100, 2}, 0.0293},
		{KaryResponse{3_000, 10, 1.5}, 0.0885},
	} {
		upper := accounttest.EpsilonFrom(t, account.Epsilon, c.e, 1e-6)
		lower := accounttest.EpsilonFrom(t, account.LowerEpsilon, c.e, 1e-6)
		if upper > c.most || lower > upper || lower < 0.999*upper {
			t.Errorf("%+v: epsilon between %v and %v, want at most %v and both within a thousandth", c.e, lower, upper, c.most)
		}
		t.Logf("%+v: epsilon between %.5f and %.5f", c.e, lower, upper)
	}
}

func TestFavouredResponseLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "n")
		local := rapid.Float64Range(0.05, 6).Draw(t, "local")
		share := rapid.Float64Range(0.002, 0.5).Draw(t, "share")
		most := rapid.Float64Range(0.1, 1).Draw(t, "apart") * share
		delta := math.Pow(10, -rapid.Float64Range(2, 12).Draw(t, "-log10 delta"))
		of := func(e account.Event) float64 {
			g, err := account.Epsilon(e, delta)
			if err != nil {
				t.Fatal(err)
			}
			return g.Epsilon
		}
		const rounding = 1 + 4e-3 // of tables that are rounded up in different places
		three := of(FavouredResponse{n, share, 0, local, nil})
		four := of(FavouredResponse{n, share, most, local, nil})
		if four > three*rounding || three > local {
			t.Fatalf("four kinds of token %v, three %v", four, three)
		}
		if less := of(FavouredResponse{n, share, 0.8 * most, local, nil}); less > four*rounding {
			t.Fatalf("values less apart: %v, above %v", less, four)
		}
		if more := of(FavouredResponse{n + n/10, share, most, local, nil}); more > four*rounding {
			t.Fatalf("more users: %v, above %v", more, four)
		}
		// The half that antipodal directions favour is the worst of all.
		clones, err := StrongerClones(n, local, delta)
		if err != nil {
			t.Fatal(err)
		}
		if half := of(FavouredResponse{n, 0.5, 0, local, nil}); math.Abs(half/clones.Epsilon-1) > 1e-6 && clones.Epsilon > 0 {
			t.Fatalf("directions: %v, stronger clones %v", half, clones.Epsilon)
		}
		if three > clones.Epsilon*rounding {
			t.Fatalf("a share of %v favoured: %v, above the stronger clones' %v", share, three, clones.Epsilon)
		}
	})
}

// With the share of a third value the lower bound is below what some data set reaches,
// and no worse than that of counting two kinds of report among others who hold it.
func TestThirdValueBoundsFromBelow(t *testing.T) {
	third := func(x float64) *float64 { return &x }
	for _, epsilon := range []float64{0.5, 1.5, 4} {
		cases := favouringCases(epsilon)
		for name, e := range map[string]FavouredResponse{
			"3-ary response":               {Share: 1. / 3, Third: third(0)},
			"Hadamard response of order 4": {Share: 0.5, Apart: 0.25, Third: third(0)},
			"Hadamard response of order 8": {Share: 0.5, Apart: 0.25, Third: third(0)},
			"subsets of 2 of 4":            {Share: 0.5, Apart: 1. / 3, Third: third(1. / 6)},
			"subsets of 3 of 4":            {Share: 0.75, Apart: 0.25, Third: third(0.25)},
		} {
			c := cases[slices.IndexFunc(cases, func(c favouringCase) bool { return c.name == name })]
			e.Epsilon = epsilon
			for n := 2; n <= c.most; n++ {
				e.Users = n
				at := []float64{0.05 * epsilon, 0.3 * epsilon, 0.7 * epsilon}
				for i, worst := range c.r.worst(n, at) {
					g, err := account.Options{Lower: true}.Delta(e, at[i])
					if err != nil || g.Delta > worst*(1+1e-9) || i == 0 && g.Delta < 0.25*worst {
						t.Errorf("%s, n=%d, local %v, epsilon %v: delta at least %v, enumerated %v, %v", name, n, epsilon, at[i], g.Delta, worst, err)
					}
				}
			}
		}
	}
	for name, e := range map[string]FavouredResponse{
		"subsets of 12 of 100": {Users: 10_000, Share: 0.12, Apart: 12. * 88 / 9900, Epsilon: 2, Third: third(12. * 11 * 88 / (100 * 99 * 98))},
		"Hadamard":             {Users: 10_000, Share: 0.5, Apart: 0.25, Epsilon: 4, Third: third(0)},
	} {
		for _, rounds := range []int{1, 4} {
			low, high := accounttest.EpsilonFrom(t, account.LowerEpsilon, account.Repeat{Event: e, Rounds: rounds}, 1e-6), accounttest.EpsilonFrom(t, account.Epsilon, account.Repeat{Event: e, Rounds: rounds}, 1e-6)
			t.Logf("%s, %d rounds: %.4f to %.4f", name, rounds, low, high)
			if low > high || low < 0.7*high {
				t.Errorf("%s, %d rounds: at least %v, at most %v", name, rounds, low, high)
			}
		}
	}
	if _, err := account.LowerEpsilon(FavouredResponse{Users: 100, Share: 0.1, Epsilon: 1}, 1e-6); err == nil {
		t.Error("a lower bound of a mechanism of which no third value is known")
	}
}
