package histogram_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// noised is a histogram whose aggregators add the noise.
func noised(noise string, attributes ...plan.Attribute) plan.Plan {
	p := example.Summed(example.Histogram(plan.Histogram{Attributes: attributes}), noise)
	p.Budget.Adjacency = "replacement"
	return p
}

// The errors that the issue asks for, of 1,024 cells at epsilon 1 and delta 1e-6.
func TestErrorOfAggregatorsNoise(t *testing.T) {
	for noise, want := range map[string][2]float64{plan.NoiseAggregators: {3.9, 4.0}, plan.NoiseShared: {2.75, 2.85}, plan.NoiseDevices: {2.9, 3.1}} {
		p := noised(noise, plan.Attribute{Name: "cell", Kind: "categories", Size: 1024, Others: true})
		p.Question.Histogram.Randomizer.Name, p.Budget.DishonestShare, p.Crowd.Minimum = plan.RandomizerNone, 0.1, 40_000
		p = example.Design(t, p)
		proto := example.Runnable(t, p)
		promise, err := proto.Promise()
		if err != nil {
			t.Fatal(err)
		}
		crowd, err := proto.Sums(make([]int64, p.Route.Sum.Circuit.Length), 40_000)
		if err != nil {
			t.Fatal(err)
		}
		if e := proto.Estimate([]tally.Crowd{crowd})[0][0].StdErr; !(e >= want[0] && e <= want[1]) {
			t.Errorf("%s: a standard error of %v, want %v", noise, e, want)
		}
		if g := promise.Shuffled; !(g.Epsilon > 0.999 && g.Epsilon <= 1) {
			t.Errorf("%s: epsilon %v is not what was asked for", noise, g.Epsilon)
		}
	}
}

// measured is what a device splits that gives each of these answers.
func measured(t *testing.T, proto *protocol.Protocol, answers ...any) [][]uint64 {
	t.Helper()
	var all [][]uint64
	for _, a := range answers {
		symbol, err := proto.Encode(histogram.Answers{Values: []any{a}})
		if _, err := question.Fits(err); err != nil {
			t.Fatal(err)
		}
		_, vector, err := proto.Measure(stattest.Rand(t), symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, vector)
	}
	return all
}

// tells is the largest hockey stick at epsilon, over all pairs of vectors in both orders, of
// sums of which each number has noise of this law: all that an aggregator and the reader
// have of a respondent, once its own noise and everybody else are taken off.
func tells(vectors [][]uint64, law []float64, epsilon float64) (most float64) {
	for _, a := range vectors {
		for _, b := range vectors {
			var shifts []int
			for i := range a {
				if d := int(a[i]) - int(b[i]); d != 0 {
					shifts = append(shifts, d)
				}
			}
			most = max(most, hockeyStick(law, shifts, epsilon))
		}
	}
	return most
}

func hockeyStick(law []float64, shifts []int, epsilon float64) (delta float64) {
	var walk func(at int, p, q float64)
	walk = func(at int, p, q float64) {
		if p <= math.Exp(epsilon)*q*1e-6 || p < 1e-14 {
			return
		}
		if at == len(shifts) {
			delta += max(0, p-math.Exp(epsilon)*q)
			return
		}
		for z := range law {
			other := 0.0
			if i := z + shifts[at]; i >= 0 && i < len(law) {
				other = law[i]
			}
			walk(at+1, p*law[z], q*other)
		}
	}
	walk(0, 1, 1)
	return delta
}

// noiseLaw is the law of what an aggregator adds, on -top..top, by counting nothing.
func noiseLaw(s plan.Sum, draws, top int) []float64 {
	one := make([]float64, 2*top+1)
	half := make([]float64, 2*top+1)
	for z := -top; z <= top; z++ {
		switch k := max(z, -z); {
		case s.Law == plan.LawGaussian:
			one[z+top] = math.Exp(noise.DiscreteGaussian{Sigma: s.Sigma}.LogProb(k))
		default:
			one[z+top] = math.Exp(noise.DiscreteLaplace{Decay: s.Decay}.LogProb(k))
			nb := noise.NegativeBinomial{R: 0.5, P: math.Exp(-s.Decay)}
			for j := range 8 * top {
				half[z+top] += math.Exp(nb.LogProb(j) + nb.LogProb(j+k))
			}
		}
	}
	if s.Noise == plan.NoiseShared && s.Law == plan.LawLaplace {
		if draws == 2 {
			return one
		}
		return half
	}
	if draws == 1 {
		return one
	}
	both := make([]float64, 2*top+1)
	for i, p := range one {
		for j, q := range one {
			if k := i + j - top; k >= 0 && k < len(both) {
				both[k] += p * q
			}
		}
	}
	return both
}

// Each observer's view of the sum has the law that the accountant was told: at the stated
// epsilon no pair of records tells more than delta, and a little below it one does. Twins
// that are broken in one place are caught.
func TestObserversOfASumSeeTheirLaw(t *testing.T) {
	two := plan.Attribute{Name: "a", Kind: "categories", Size: 2}
	set := plan.Attribute{Name: "s", Kind: "set", Size: 4, Most: 2}
	for name, c := range map[string]struct {
		p       plan.Plan
		answers []any
		top     int
	}{
		"aggregators, laplace":  {noised(plan.NoiseAggregators, two), []any{0, 1, 7}, 45},
		"shared, laplace":       {noised(plan.NoiseShared, two), []any{0, 1, 7}, 45},
		"aggregators, gaussian": {noised(plan.NoiseAggregators, two), []any{0, 1, 7}, 25},
		"a set":                 {noised(plan.NoiseAggregators, set), []any{[]int{0, 1}, []int{2, 3}, []int{0}, []int{}}, 17},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.p
			p.Budget.Epsilon, p.Budget.Delta = 2, 1e-3
			if p.Question.Histogram.Attributes[0].Kind == "set" {
				p.Budget.Epsilon = 6
			}
			if strings.Contains(name, "gaussian") {
				p.Route.Sum.Law = plan.LawGaussian
			}
			p = example.Design(t, p)
			proto := example.Runnable(t, p)
			promise, err := proto.Promise()
			if err != nil {
				t.Fatal(err)
			}
			vectors := measured(t, proto, c.answers...)
			s := *p.Route.Sum
			for _, seen := range promise.Statements[1:] {
				unknown := 1 // aggregators whose noise the observer does not know
				if seen.Observer == account.OnlyTheReader {
					unknown = 2
				}
				g, law := seen.Guarantee, noiseLaw(s, unknown, c.top)
				if g.Adjacency != account.Replacement || g.Users != 1 || g.Delta != p.Budget.Delta {
					t.Errorf("%s: %+v is not of a replaced record among any others", seen.Observer, g)
				}
				if d := tells(vectors, law, g.Epsilon); d > g.Delta*(1+1e-6) {
					t.Errorf("%s: delta is %v at epsilon %v, stated %v", seen.Observer, d, g.Epsilon, g.Delta)
				}
				if d := tells(vectors, law, 0.97*g.Epsilon); d <= g.Delta {
					t.Errorf("%s: epsilon %v is larger than what is seen", seen.Observer, g.Epsilon)
				}
			}
			g, honest := promise.Shuffled, promised(s)
			less := s
			less.Decay, less.Sigma = 1.3*s.Decay, s.Sigma/1.3
			twice := slices.Clone(vectors[0])
			for i := range twice {
				twice[i] *= 2
			}
			for twin, d := range map[string]float64{
				"an aggregator that adds less": tells(vectors, noiseLaw(less, honest, c.top), g.Epsilon),
				"a device that counts twice":   tells(append([][]uint64{twice}, vectors...), noiseLaw(s, honest, c.top), g.Epsilon),
				"noise that the observer drew": tells(vectors, append(make([]float64, c.top), 1), g.Epsilon),
			} {
				if d <= g.Delta*1.01 {
					t.Errorf("%s is not caught: delta %v", twin, d)
				}
			}
		})
	}
}

// promised is how many aggregators' noise the promise counts on.
func promised(s plan.Sum) int {
	if s.Noise == plan.NoiseShared {
		return 2
	}
	return 1
}

func TestNoisedPlansAreChecked(t *testing.T) {
	good := example.Design(t, noised(plan.NoiseAggregators, example.Drinks()))
	for name, c := range map[string]struct {
		change func(p *plan.Plan)
		want   string
	}{
		"a randomizer too": {func(p *plan.Plan) { p.Question.Histogram.Randomizer.Name = "one-hot" }, "must have the name \"none\""},
		"none in a mix": {func(p *plan.Plan) {
			p.Route, p.Envelopes = example.Histogram(plan.Histogram{}).Route, plan.Envelopes{PerDevice: 1, PayloadBytes: 8, Suite: "x25519"}
		}, "leaves cells as they are"},
		"none among devices": {func(p *plan.Plan) { p.Route.Sum.Noise, p.Route.Sum.Law, p.Route.Sum.Decay = plan.NoiseDevices, "", 0 }, "route.sum.law must be"},
		"removal":            {func(p *plan.Plan) { p.Budget.Adjacency = "removal" }, "budget.adjacency"},
		"a local promise":    {func(p *plan.Plan) { p.Budget.LocalEpsilon = 3 }, "both aggregators together have the answer"},
		"another circuit":    {func(p *plan.Plan) { p.Route.Sum.Circuit.Length++ }, "route.sum.circuit: the question takes"},
		"too little noise":   {func(p *plan.Plan) { p.Route.Sum.Decay *= 1.01 }, "promise does not hold"},
	} {
		p := good
		q, s := *p.Question.Histogram, *p.Route.Sum
		p.Question.Histogram, p.Route.Sum = &q, &s
		c.change(&p)
		if err := protocol.Check(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v does not mention %q", name, err, c.want)
		}
	}
	proto := example.Runnable(t, good)
	symbol, err := proto.Encode(histogram.Answers{Values: []any{"tea"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proto.Randomize(stattest.Rand(t), symbol, nil); err == nil {
		t.Error("an answer that nobody randomizes was made a report")
	}
	if _, err := proto.Sums(make([]int64, 4), 999); err == nil {
		t.Error("sums of too few were taken")
	}
}
