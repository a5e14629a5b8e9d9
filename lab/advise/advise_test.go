package advise

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/routes"
	"github.com/confetti-dp/confetti/internal/dp/sketch"
	"github.com/confetti-dp/confetti/internal/prob"
)

func task(users, repetitions, domain int, epsilon float64) Task {
	return Task{Users: users, Repetitions: repetitions, Domain: domain, Epsilon: epsilon, Delta: 1e-6, Tau: 4, Hashes: 4, Width: 256}
}

func TestAdviseKeepsTheTarget(t *testing.T) {
	for _, task := range []Task{task(2000, 64, 0, 1), task(2000, 1, 0, 0.5), task(2000, 0, 50, 1), task(300, 0, 2, 4)} {
		advice, err := Compare(task)
		if err != nil {
			t.Fatal(err)
		}
		used := 0
		for _, o := range advice.Options {
			if o.Excluded != "" {
				continue
			}
			used++
			g := o.Guarantee
			if g.Epsilon > task.Epsilon*(1+1e-9) || g.Delta > task.Delta || g.Adjacency != account.Replacement || g.Bound == account.Lower {
				t.Errorf("%s: %+v misses the target of %+v", o.Protocol, g, task)
			}
			if !(o.RMSE > 0) || g.Trust == account.Shuffled && (float64(o.Envelopes) < o.Messages || o.Envelopes < 1) {
				t.Errorf("%s: %+v", o.Protocol, o)
			}
			// Who sees one message sees the others too, if only among everybody's.
			if one := o.OneFragment; one.Epsilon > o.Local*(1+1e-12) || g.Trust == account.Shuffled && one.Epsilon < g.Epsilon*(1-1e-3) || one.Trust != account.OneFragment {
				t.Errorf("%s: %+v of one fragment, where all of them have %v and those shuffled %v", o.Protocol, one, o.Local, g.Epsilon)
			}
		}
		if used < 5 || advice.Best < 0 || advice.Options[advice.Best].Excluded != "" || advice.Options[advice.Best].Guarantee.Trust == account.Central {
			t.Errorf("%d options, best %d of %+v", used, advice.Best, advice.Options)
		}
	}
}

// At equal local epsilon every row has the same, which is its cap beside another epsilon.
func TestAdviseAtEqualLocalEpsilon(t *testing.T) {
	for _, both := range []float64{0, 0.2, 20} {
		for _, task := range []Task{task(2000, 4, 0, both), task(2000, 0, 50, both), task(2000, 0, 2, both)} {
			task.LocalEpsilon = 2
			advice, err := Compare(task)
			if err != nil {
				t.Fatal(err)
			}
			used := 0
			for _, o := range advice.Options {
				if o.Excluded != "" {
					continue
				}
				used++
				g := o.Guarantee
				if g.Trust == account.Central || !(o.Local <= 2*(1+1e-9)) || both > 0 && !(g.Epsilon <= both) || !(g.Epsilon > 0 && g.Epsilon <= 2) || o.OneFragment.Epsilon > o.Local*(1+1e-12) {
					t.Errorf("%s: %+v misses the targets of %+v", o.Protocol, o, task)
				}
				if closest := math.Max(o.Local/2, g.Epsilon/math.Max(both, 1e-300)); both > 0 && closest < 0.99 || both == 0 && o.Local < 2*0.999 {
					t.Errorf("%s: local %v, central %v: more noise than %+v asks for", o.Protocol, o.Local, g.Epsilon, task)
				}
			}
			if used < 2 || advice.Best < 0 {
				t.Errorf("%d options, best %d", used, advice.Best)
			}
			for _, o := range advice.Options {
				if o.Protocol == "3NB" && o.Excluded == "" {
					t.Errorf("3NB has a local epsilon: %+v", o)
				}
			}
		}
	}
}

// Whoever opens one of many fragments does not learn what all of them together say.
func TestAdviseComposesWhatOneFragmentShows(t *testing.T) {
	advice, err := Compare(task(2000, 64, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range advice.Options {
		if o.Excluded == "" && !math.IsInf(o.Local, 1) && (o.OneFragment.Epsilon > 5 || o.OneFragment.Delta != 1e-6) {
			t.Errorf("%s: %+v of one fragment, %v of all", o.Protocol, o.OneFragment, o.Local)
		}
	}
}

// The table of the design: one bit a coordinate costs 0.2 % against a curator.
func TestAdviseRandomizedResponseForManySums(t *testing.T) {
	advice, err := Compare(task(40000, 768, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	best := advice.Options[advice.Best]
	if best.Protocol != "randomized response" || math.Abs(best.RMSE-117.3) > 0.15 || best.Envelopes != 768 {
		t.Errorf("recommended %+v: want randomized response of RMSE 117.3", best)
	}
}

// One respondent's part of a sum by report fragments, over all outcomes.
func TestReportFragmentsVariance(t *testing.T) {
	const b, f, tau = 0.1, 0.3, 3
	for bit := range 2 {
		mean, square := 0.0, 0.0
		for outcome := range 1 << (1 + tau) {
			p, kept := 1.0, bit
			if outcome&1 == 1 {
				p, kept = b, 1-bit
			} else {
				p = 1 - b
			}
			ones := 0.0
			for i := range tau {
				sent := outcome >> (1 + i) & 1
				ones += float64(sent)
				if sent == kept {
					p *= 1 - f
				} else {
					p *= f
				}
			}
			estimate := ((ones/tau-f)/(1-2*f) - b) / (1 - 2*b)
			mean += p * estimate
			square += p * estimate * estimate
		}
		want := fragmented(b, f, tau).Variance(bit, 1, tau)
		if math.Abs(mean-float64(bit)) > 1e-12 || math.Abs(square-mean*mean-want) > 1e-12 {
			t.Errorf("bit %d: mean %v, variance %v; want %v", bit, mean, square-mean*mean, want)
		}
	}
}

// The collisions of a sketch without noise: three others of one value, two rows
// of three cells, over all assignments to rows and all hash functions.
func TestSketchCollisions(t *testing.T) {
	const others, rows, w = 3, 2, 3
	mean, square, count := 0.0, 0.0, 0.0
	for assignment := range 1 << others { // rows of the others
		for cells := range w * w { // where their value falls in either row; ours is in cell 0
			cell := [rows]int{cells % w, cells / w}
			hits := 0
			for i := range others {
				if cell[assignment>>i&1] == 0 {
					hits++
				}
			}
			excess := (float64(hits) - float64(others)/w) * w / (w - 1)
			mean += excess
			square += excess * excess
			count++
		}
	}
	table, err := sketch.NewCountMean(rows, w, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	want := table.Variance(0, others, others*(others-1), sketch.OneHot(randomize.OneHot{K: w, Keep: 1}))
	if math.Abs(mean/count) > 1e-12 || math.Abs(square/count-want) > 1e-12 {
		t.Errorf("mean %v, variance %v; want 0, %v", mean/count, square/count, want)
	}
}

// The envelopes of a one-hot report of 1,000 values, against the law itself:
// never too few, and not many more than the least.
func TestEnvelopesCoverTheTail(t *testing.T) {
	task := task(40000, 0, 1000, 1)
	logTarget := math.Log(task.Delta*overflowShare) - math.Log(float64(task.Users)) - math.Log1p(math.Exp(task.Epsilon))
	for _, p := range []float64{1e-6, 1e-3, 0.05, 0.4} {
		// The set coordinate counts as sent, and the others are binomial.
		m, err := task.envelopes(func(x float64) float64 { return x + 999*bernoulliMGF(p, x) }, 1000)
		if err != nil {
			t.Fatal(err)
		}
		overflows := func(m int) bool { return prob.LogBinomialSurvival(m-1, 999, p) > logTarget }
		if overflows(m) {
			t.Errorf("p %v: %d envelopes are too few", p, m)
		}
		least := 1
		for overflows(least) {
			least++
		}
		if float64(m) > 1.2*float64(least)+3 {
			t.Errorf("p %v: %d envelopes where %d are enough", p, m, least)
		}
	}
	if m, err := task.envelopes(func(x float64) float64 { return 1000 * x }, 1000); err != nil || m != 1000 {
		t.Errorf("a report of always 1000 messages: %d envelopes, %v", m, err)
	}
}

func TestCumulants(t *testing.T) {
	const r, p, x = 2.5, 0.3, 0.7
	sum := 0.0
	for k := range 400 {
		sum += math.Exp(prob.LogNegativeBinomialPMF(k, r, p) + x*float64(k))
	}
	if got := negativeBinomialMGF(r, p, x); math.Abs(got-math.Log(sum)) > 1e-12 {
		t.Errorf("negative binomial: %v, sum %v", got, math.Log(sum))
	}
	if got := negativeBinomialMGF(r, p, 1.3); !math.IsInf(got, 1) {
		t.Errorf("beyond its domain: %v", got)
	}
	if got, want := bernoulliMGF(p, x), math.Log(1-p+p*math.Exp(x)); math.Abs(got-want) > 1e-15 {
		t.Errorf("Bernoulli: %v, want %v", got, want)
	}
	if got, want := logMix(p, 1, 2), math.Log(p*math.E+(1-p)*math.E*math.E); math.Abs(got-want) > 1e-14 {
		t.Errorf("mixture: %v, want %v", got, want)
	}
	// The flood's law by its recurrence c P(c) = sum over j of e^(theta j) P(c-j).
	e := bitnoise.Pure{Users: 1, Epsilon: 1, Theta: 0.2, Size: 3}
	law, rate := []float64{0}, 0.0
	for j := 1; j <= e.Size; j++ {
		rate += math.Exp(e.Theta*float64(j)) / float64(j)
	}
	law[0] = math.Exp(-rate)
	sum = law[0]
	for c := 1; c < 200; c++ {
		next := 0.0
		for j := 1; j <= min(c, e.Size); j++ {
			next += math.Exp(e.Theta*float64(j)) * law[c-j]
		}
		law = append(law, next/float64(c))
		sum += law[c] * math.Exp(0.5*float64(c))
	}
	if got := floodMGF(e, 0.5); math.Abs(got-math.Log(sum)) > 1e-10 {
		t.Errorf("flood: %v, sum %v", got, math.Log(sum))
	}
}

func TestRecommendation(t *testing.T) {
	shuffled := func(name string, rmse float64, envelopes int, local float64) Option {
		return Option{Protocol: name, RMSE: rmse, Envelopes: envelopes, Local: local, Guarantee: account.Guarantee{Trust: account.Shuffled}}
	}
	curator := Option{Protocol: "curator", RMSE: 1, Guarantee: account.Guarantee{Trust: account.Central}}
	for _, c := range []struct {
		name    string
		users   int
		options []Option
		best    int
	}{
		{"the least error", 100, []Option{curator, shuffled("a", 50, 1, 1), shuffled("b", 20, 9, 1)}, 2},
		{"errors below that of sampling are alike: fewest envelopes", 10000, []Option{shuffled("a", 1, 900, 1), shuffled("b", 9, 3, 1), curator}, 1},
		{"then the local epsilon", 10000, []Option{shuffled("a", 9, 3, math.Inf(1)), shuffled("b", 9, 3, 2), curator}, 1},
		{"not one that is excluded", 100, []Option{{Protocol: "a", Excluded: "no"}, shuffled("b", 20, 9, 1), curator}, 1},
		{"none but a curator", 100, []Option{curator}, -1},
	} {
		a := Advice{Options: c.options}
		a.recommend(Task{Users: c.users})
		if a.Best != c.best || a.Reason == "" {
			t.Errorf("%s: recommended %d (%s), want %d", c.name, a.Best, a.Reason, c.best)
		}
	}
}

func TestAdviseRefuses(t *testing.T) {
	good := task(1000, 16, 0, 1)
	for name, change := range map[string]func(*Task){
		"no users":         func(t *Task) { t.Users = 0 },
		"one user":         func(t *Task) { t.Users = 1 },
		"both questions":   func(t *Task) { t.Domain = 3 },
		"no question":      func(t *Task) { t.Repetitions = 0 },
		"negative":         func(t *Task) { t.Repetitions = -1 },
		"domain of one":    func(t *Task) { t.Repetitions, t.Domain = 0, 1 },
		"epsilon NaN":      func(t *Task) { t.Epsilon = math.NaN() },
		"epsilon 0":        func(t *Task) { t.Epsilon = 0 },
		"epsilon huge":     func(t *Task) { t.Epsilon = 1e300 },
		"local epsilon":    func(t *Task) { t.LocalEpsilon = math.NaN() },
		"below zero":       func(t *Task) { t.LocalEpsilon = -1 },
		"delta 0":          func(t *Task) { t.Delta = 0 },
		"delta 1":          func(t *Task) { t.Delta = 1 },
		"delta NaN":        func(t *Task) { t.Delta = math.NaN() },
		"one fragment":     func(t *Task) { t.Tau = 1 },
		"no hash":          func(t *Task) { t.Hashes = 0 },
		"sketch too small": func(t *Task) { t.Width = 1 },
	} {
		bad := good
		change(&bad)
		if a, err := Compare(bad); err == nil {
			t.Errorf("%s: %+v, want an error", name, a)
		}
	}
}

func TestLargest(t *testing.T) {
	x, err := profile.Largest(1e-3, 1e3, 2, func(x float64) (float64, error) { return x * x, nil })
	if err != nil || x > math.Sqrt2 || x < math.Sqrt2*(1-1e-5) {
		t.Errorf("the largest x with x^2 <= 2 is %v, %v", x, err)
	}
	if x, err := profile.Largest(2, 1e3, 2, func(x float64) (float64, error) { return x * x, nil }); err == nil {
		t.Errorf("no x above 2 has x^2 <= 2, got %v", x)
	}
	broken := errors.New("broken")
	if _, err := profile.Largest(1, 2, 2, func(x float64) (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want the function's", err)
	}
}

// Over many values one message a device hides as well as one-hot's many.
func TestAdviceOverManyValues(t *testing.T) {
	for domain, users := range map[int]int{1_000: 10_000, 10_000: 100_000} {
		a, err := Compare(Task{Users: users, Domain: domain, Epsilon: 1, Delta: 1e-6, Tau: 4, Hashes: 16, Width: 1024})
		if err != nil {
			t.Fatal(err)
		}
		if best := a.Options[a.Best]; best.Protocol != "k-ary response" || best.Envelopes != 1 || best.RMSE > 6.8 {
			t.Errorf("%d values: %s, which errs by %v", domain, best.Protocol, best.RMSE)
		}
	}
}

// Sums by aggregators' noise have the error of a curator's discrete Laplace, times sqrt 2 where
// one honest aggregator suffices; summed bits err as mixed ones.
func TestRoutes(t *testing.T) {
	for _, task := range []Task{task(2000, 0, 50, 1), task(2000, 64, 0, 1)} {
		a, err := Compare(task)
		if err != nil {
			t.Fatal(err)
		}
		ways, err := a.Routes(task)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]Route{}
		for i, r := range ways {
			found[r.Name] = r
			if i > 0 && r.RMSE < ways[i-1].RMSE {
				t.Errorf("%s comes after %s, which errs more", r.Name, ways[i-1].Name)
			}
		}
		mixed, summed := found["mixed: "+a.Options[a.Best].Protocol], found["summed, devices' noise: "+a.Options[a.Best].Protocol]
		if mixed.RMSE != summed.RMSE || mixed.Local != summed.Local || !(summed.Bytes > 0) {
			t.Errorf("mixed %+v, summed %+v", mixed, summed)
		}
		if task.Domain == 0 {
			if !strings.HasPrefix(Chosen(ways), "summed, devices' noise: randomized response") || len(ways) != 2 {
				t.Errorf("of %+v: %s", ways, Chosen(ways))
			}
			continue
		}
		if one, shared := found["summed, each aggregator's noise"].RMSE, found[routes.SharedNoise].RMSE; !(one <= 4.0 && one > 3.9) || !(shared <= 2.85 && shared > 2.75) {
			t.Errorf("errors %v and %v", one, shared)
		}
		if says := Chosen(ways); !strings.HasPrefix(says, "summed, each aggregator's noise") || !strings.Contains(says, account.NoProtection) {
			t.Error(says)
		}
		task.LocalEpsilon = 4
		if a, err = Compare(task); err != nil {
			t.Fatal(err)
		}
		if ways, err = a.Routes(task); err != nil || strings.Contains(Chosen(ways), "aggregator's noise") {
			t.Errorf("a local epsilon is asked for: %s (%v)", Chosen(ways), err)
		}
	}
}
