package amplify

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

func TestAmplificationBounds(t *testing.T) {
	type row struct {
		N          int
		Eps        float64 `json:"eps0"`
		Delta      float64
		Exact      float64 `json:"exact_eps"`
		Stronger   float64 `json:"stronger_clones_eps"`
		Clones     float64 `json:"clones2020_eps"`
		AppleUpper float64 `json:"apple_clones_numeric_upper"`
		WangUpper  float64 `json:"wang_variation_ratio_upper"`
		WangLower  float64 `json:"wang_variation_ratio_lower"`
	}
	for _, r := range accounttest.Rows[row](t, "amplification_bounds.json") {
		if testing.Short() && r.N > 100000 {
			continue
		}
		epsilon := func(g account.Guarantee, err error) float64 {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return g.Epsilon
		}
		stronger := epsilon(StrongerClones(r.N, r.Eps, r.Delta))
		accounttest.Within(t, "stronger clones", stronger, r.Stronger, 1e-6)
		clones := epsilon(account.Epsilon(AnyRandomizer{r.N, r.Eps}, r.Delta))
		most := 1e-6
		if countedOn(r.N) < r.N { // by up to a part in 2^12, of which epsilon shows half
			most = 1. / (1 << 13)
		}
		accounttest.Within(t, "clones", clones, r.Clones, most)
		if stronger < r.WangLower*(1-1e-9) {
			t.Errorf("n=%d eps0=%v: stronger clones %v below the other program's lower end %v", r.N, r.Eps, stronger, r.WangLower)
		}
		if stronger > r.WangUpper || clones > r.AppleUpper {
			t.Errorf("n=%d eps0=%v: %v, %v above the looser programs' %v, %v", r.N, r.Eps, stronger, clones, r.WangUpper, r.AppleUpper)
		}
		if stronger < r.Exact {
			t.Errorf("n=%d eps0=%v: stronger clones %v below the exact %v", r.N, r.Eps, stronger, r.Exact)
		}
	}
}

func TestStrongerClonesCompose(t *testing.T) {
	type row struct {
		K     int
		N     int
		Eps   float64 `json:"eps0"`
		Delta float64
		Upper float64 `json:"eps_ctd_upper_dx1e-05"`
		Floor float64 `json:"eps_floor_lower_dx2e-06"`
	}
	for _, r := range accounttest.Rows[row](t, "amplification_composed.json") {
		// Where half of the reports are favoured, the blanket's pair is theirs.
		e := account.Repeat{Event: FavouredResponse{Users: r.N, Share: 0.5, Epsilon: r.Eps}, Rounds: r.K}
		g, err := account.Epsilon(e, r.Delta)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, "composed stronger clones", g.Epsilon, r.Upper, 2e-5)
		if g.Epsilon < r.Floor {
			t.Errorf("%v below the true %v", g.Epsilon, r.Floor)
		}
		ternary := account.Repeat{Event: KaryResponse{Users: r.N, K: 3, Epsilon: r.Eps}, Rounds: r.K}
		upper, err := account.Epsilon(ternary, r.Delta)
		if err != nil {
			t.Fatal(err)
		}
		lower, err := account.LowerEpsilon(ternary, r.Delta)
		if err != nil {
			t.Fatal(err)
		}
		if lower.Bound != account.Lower || lower.Epsilon > upper.Epsilon || lower.Epsilon < 0.9*upper.Epsilon || upper.Epsilon > g.Epsilon {
			t.Errorf("%d rounds of ternary response: between %v and %v, stronger clones %v", r.K, lower.Epsilon, upper.Epsilon, g.Epsilon)
		}
	}
}

// Every pair's hockey stick against the sum over all counts, for few users.
func TestTokensEnumerated(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 12} {
		for _, pair := range []tokens{clones2021(n, 1), clones2023(n, 1), clones2023(n, 3), symbols(n, 3, 1), symbols(n, 6, 2.5)} {
			for _, epsilon := range []float64{0, 0.1, 0.5, 0.9, 1.4, 2.2} {
				want, mass := 0.0, 0.0
				none := pair.weight
				for a := 0; a <= n; a++ {
					for b := 0; a+b <= n; b++ {
						c := n - a - b
						trinomial := math.Exp(accounttest.LogFactorial(n)-accounttest.LogFactorial(a)-accounttest.LogFactorial(b)-accounttest.LogFactorial(c)) *
							math.Pow(pair.rate, float64(a+b)) * math.Pow(1-2*pair.rate, float64(c))
						p := trinomial * (pair.x*float64(a) + pair.y*float64(b) + none*float64(c)) / float64(n)
						q := trinomial * (pair.y*float64(a) + pair.x*float64(b) + none*float64(c)) / float64(n)
						want += math.Max(0, p-math.Exp(epsilon)*q)
						mass += p
					}
				}
				accounttest.Within(t, "mass", mass, 1, 1e-12)
				law, err := pair.law(1e-30)
				if err != nil {
					t.Fatal(err)
				}
				if got := law.delta(epsilon); math.Abs(got-want) > 1e-13+law.neglected {
					t.Errorf("n=%d %+v: delta(%v) = %v, want %v", n, pair, epsilon, got, want)
				}
				h, err := pair.grid(3, account.Options{Step: 0.1 / gridStride, Neglect: 1e-20})
				if err != nil {
					t.Fatal(err)
				}
				if i := int(math.Round(epsilon * 10 * gridStride)); i < len(h) && (h[i] < want || h[i] > want*(1+1e-9)+1e-18) {
					t.Errorf("n=%d %+v: grid at %v = %v, want %v", n, pair, epsilon, h[i], want)
				}
			}
		}
	}
}

// All data sets of k-ary response of few users, against both bounds.
func TestKaryResponseEveryDataSet(t *testing.T) {
	const delta = 0.01
	for _, c := range []struct {
		n, k    int
		epsilon float64
	}{{1, 3, 1}, {2, 3, 1}, {4, 3, 1}, {5, 3, 2.5}, {3, 4, 1.5}, {4, 4, 0.5}} {
		e := KaryResponse{Users: c.n, K: c.k, Epsilon: c.epsilon}
		upper, err := account.Epsilon(e, delta)
		if err != nil {
			t.Fatal(err)
		}
		lower, err := account.LowerEpsilon(e, delta)
		if err != nil {
			t.Fatal(err)
		}
		worst := worstKary(c.n, c.k, c.epsilon, delta)
		if !(lower.Epsilon <= worst+1e-9 && worst <= upper.Epsilon+1e-12) {
			t.Errorf("%+v: lower %v, worst data set %v, upper %v", e, lower.Epsilon, worst, upper.Epsilon)
		}
		if c.n == 1 && upper.Epsilon > c.epsilon {
			t.Errorf("one user: %v of %v", upper.Epsilon, c.epsilon)
		}
	}
}

// worstKary enumerates the data sets of the others and the histograms.
func worstKary(n, k int, epsilon, delta float64) float64 {
	keep := math.Exp(epsilon) / (math.Exp(epsilon) + float64(k-1))
	move := (1 - keep) / float64(k-1)
	law := func(data []int) map[string]float64 {
		out := map[string]float64{string(make([]byte, k)): 1}
		for _, x := range data {
			next := map[string]float64{}
			for h, p := range out {
				for y := range k {
					b := []byte(h)
					b[y]++
					q := move
					if y == x {
						q = keep
					}
					next[string(b)] += p * q
				}
			}
			out = next
		}
		return out
	}
	worst := 0.0
	others := make([]int, n-1)
	for {
		p, q := law(append([]int{0}, others...)), law(append([]int{1}, others...))
		stick := func(e float64) float64 {
			sum := 0.0
			for h, v := range p {
				sum += math.Max(0, v-math.Exp(e)*q[h])
			}
			return sum
		}
		if stick(worst) > delta {
			worst = profile.LeastEnough(worst, epsilon+1, func(e float64) bool { return stick(e) <= delta })
		}
		i := 0
		for ; i < len(others); i++ {
			if others[i]++; others[i] < k {
				break
			}
			others[i] = 0
		}
		if i == len(others) {
			return worst
		}
	}
}

func TestAmplificationLaws(t *testing.T) {
	const delta = 1e-6
	last := math.Inf(1)
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		g, err := account.Epsilon(AnyRandomizer{n, 2}, delta)
		s, err2 := StrongerClones(n, 2, delta)
		low, err3 := account.LowerEpsilon(AnyRandomizer{n, 2}, delta)
		if err != nil || err2 != nil || err3 != nil {
			t.Fatal(err, err2, err3)
		}
		if g.Epsilon > last || g.Epsilon > 2 {
			t.Errorf("n=%d: %v, after %v for fewer", n, g.Epsilon, last)
		}
		if s.Epsilon > g.Epsilon || low.Epsilon > s.Epsilon {
			t.Errorf("n=%d: lower %v, stronger %v, clones %v", n, low.Epsilon, s.Epsilon, g.Epsilon)
		}
		if n == 1 && g.Epsilon < 1.99 {
			t.Errorf("one user is amplified to %v", g.Epsilon)
		}
		last = g.Epsilon
	}
	once, err := account.Epsilon(AnyRandomizer{1000, 1}, delta)
	if err != nil {
		t.Fatal(err)
	}
	// The formula of one release against the loss distribution of one round.
	d, err := AnyRandomizer{1000, 1}.Distributions(account.Options{Step: 1e-3, Neglect: 1e-12})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := account.Epsilon(account.Repeat{Event: AnyRandomizer{1000, 1}, Rounds: 2}, delta)
	if err != nil || len(d) != 1 || twice.Epsilon < once.Epsilon || twice.Epsilon > 2*once.Epsilon {
		t.Errorf("once %v, twice %v, %v", once.Epsilon, twice.Epsilon, err)
	}
}

// Every bound falls with more users and with delta, and grows with epsilon0.
func TestAmplificationMonotone(t *testing.T) {
	bounds := map[string]func(n int, epsilon0, delta float64) (account.Guarantee, error){
		"clones": func(n int, e, d float64) (account.Guarantee, error) {
			return account.Epsilon(AnyRandomizer{n, e}, d)
		},
		"stronger clones": StrongerClones,
		"lower bound of any": func(n int, e, d float64) (account.Guarantee, error) {
			return account.LowerEpsilon(AnyRandomizer{n, e}, d)
		},
	}
	for name, bound := range bounds {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 3000).Draw(t, "n")
			epsilon0 := rapid.Float64Range(0.01, 6).Draw(t, "epsilon0")
			delta := math.Exp(rapid.Float64Range(-30, -2).Draw(t, "log delta"))
			at := func(n int, e, d float64) float64 {
				g, err := bound(n, e, d)
				if err != nil {
					t.Fatal(err)
				}
				if g.Epsilon > e*(1+1e-9) {
					t.Fatalf("%s: %v of a local epsilon of %v", name, g.Epsilon, e)
				}
				return g.Epsilon
			}
			here := at(n, epsilon0, delta) * (1 + 1e-9)
			if more := at(2*n, epsilon0, delta); more > here {
				t.Fatalf("%s: %v with twice the users, %v before", name, more, here)
			}
			if more := at(n, epsilon0, 2*delta); more > here {
				t.Fatalf("%s: %v at twice delta, %v before", name, more, here)
			}
			if less := at(n, epsilon0*0.9, delta); less > here {
				t.Fatalf("%s: %v at a smaller local epsilon, %v before", name, less, here)
			}
		})
	}
}

func BenchmarkStrongerClones(b *testing.B) {
	for range b.N {
		if _, err := StrongerClones(40000, 1, 1e-6); err != nil {
			b.Fatal(err)
		}
	}
}
