package simulate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// side is how many counts of a symbol are told apart; larger ones are one outcome.
const side = 40

// pairs is the law of a channel's counts of the symbols 0 and 1, by n0*side+n1.
type pairs []float64

func (p pairs) plus(q pairs) pairs {
	sum := make(pairs, side*side)
	for i, a := range p {
		if a == 0 {
			continue
		}
		for j, b := range q {
			if b != 0 {
				sum[min(i/side+j/side, side-1)*side+min(i%side+j%side, side-1)] += a * b
			}
		}
	}
	return sum
}

// device is the law of what one device sends in a channel where its bit is one
// with probability one, written from the definition of the mechanism.
func device(b plan.Bitsum, users int, one float64) pairs {
	law := make(pairs, side*side)
	if b.Name == "rr" {
		sent := one*(1-b.FlipProbability) + (1-one)*b.FlipProbability
		law[1], law[side] = sent, 1-sent
		return law
	}
	negative := func(r, p float64, at func(k int) int) pairs {
		law := make(pairs, side*side)
		for k := range side {
			law[at(k)] = math.Exp(prob.LogNegativeBinomialPMF(k, r/float64(users), p))
		}
		return law
	}
	law[0], law[1] = 1-one, one
	for _, noise := range []pairs{
		negative(1, math.Exp(-b.Noise), func(k int) int { return k }),
		negative(1, math.Exp(-b.Noise), func(k int) int { return k * side }),
		negative(b.FloodShape, b.FloodProbability, func(k int) int { return k*side + k }),
	} {
		law = law.plus(noise)
	}
	return law
}

// crowdLaw is the law of what arrives from crowd 0 in a channel: the sum over
// the respondents that report its class, by the exact law of the label.
func crowdLaw(t testing.TB, p plan.Plan, values []question.Value, channel int) pairs {
	d := p.Question.Density
	features, err := kernelmap.New(kernelmap.Spec{Kernel: kernelmap.InnerIdentity, Dimension: d.Dimension, Repetitions: 1, Normalize: true})
	if err != nil {
		t.Fatal(err)
	}
	law := make(pairs, side*side)
	law[0] = 1
	for _, v := range values {
		v := v.(density.Labelled)
		here := 1.0
		if p.Budget.LabelEpsilon != plan.Unprotected {
			here = randomize.KRR{K: 2, Epsilon: float64(p.Budget.LabelEpsilon)}.Prob(0, v.Class)
		} else if v.Class != 0 {
			here = 0
		}
		mapped := make([]float32, d.Dimension)
		if err := features.Map(v.Features, mapped); err != nil {
			t.Fatal(err)
		}
		one := device(d.Bitsum, p.MinHonest(), (1+float64(mapped[channel]))/2)
		for i := range one {
			one[i] *= here
		}
		one[0] += 1 - here
		law = law.plus(one)
	}
	return law
}

func count(histogram []int, tallies []tally.Crowd, channel int) {
	n := []uint64{0, 0}
	if tallies[0].Tally != nil {
		n = tallies[0].Tally.(*tally.Counts).Channel(channel)
	}
	histogram[min(n[0], side-1)*side+min(n[1], side-1)]++
}

// The two fidelities agree in law: over 5,000 collections from eight devices,
// the pair of counts of each channel has its exact law, computed by convolution
// over the devices, be it drawn as a total or counted message by message. A
// flip or noise that is 10 % off would be caught.
func TestBothFidelitiesHaveTheExactLaw(t *testing.T) {
	const dimension, runs = 2, 5000
	values := population(8, dimension)
	for _, bitsum := range []string{"rr", "3nb"} {
		for _, labels := range []plan.LabelEpsilon{plan.Unprotected, 1} {
			t.Run(name(bitsum, labels), func(t *testing.T) {
				p := sample(bitsum, dimension)
				p.Budget.LabelEpsilon = labels
				if labels != plan.Unprotected {
					p.Crowd.Minimum = 1 // a scattered crowd is not to be withheld here
				}
				proto, _ := runnable(t, p)
				drawn, counted := make([][]int, dimension), make([][]int, dimension)
				for j := range dimension {
					drawn[j], counted[j] = make([]int, side*side), make([]int, side*side)
				}
				r := stattest.Rand(t)
				for range runs {
					col, err := simulate.Law(proto, distribution.Values(values), r.Uint64(), quiet)
					if err != nil {
						t.Fatal(err)
					}
					messages := unsealed(t, proto, values, func(int) *rand.Rand { return r })
					for j := range dimension {
						count(drawn[j], col.Crowds, j)
						count(counted[j], messages, j)
					}
				}
				for j := range dimension {
					law := crowdLaw(t, p, values, j)
					stattest.GTest(t, law, drawn[j])
					stattest.GTest(t, law, counted[j])
				}
				off := p
				d := *p.Question.Density
				off.Question.Density = &d
				d.Bitsum.FlipProbability *= 1.1
				d.Bitsum.Noise *= 0.9
				stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, crowdLaw(tb, off, values, 0), drawn[0]) })
				stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, crowdLaw(tb, off, values, 0), counted[0]) })
			})
		}
	}
}

// With two instances the minimum holds in each: of n respondents of a crowd,
// those who went where fewer than the minimum went are withheld.
func TestLawWithholdsByInstance(t *testing.T) {
	const n, minimum, runs = 12, 5, 4000
	p := sample("rr", 1)
	p.Crowd.Minimum = minimum
	p.Route.Mix.Instances = append(p.Route.Mix.Instances, plan.Instance{Hops: []plan.Party{{Operator: "East"}}})
	proto, _ := runnable(t, p)
	values := make([]question.Value, n)
	for i := range values {
		values[i] = density.Labelled{Features: []float32{1}}
	}
	exact := make([]float64, n+1)
	for first := range n + 1 {
		kept := 0
		for _, k := range []int{first, n - first} {
			if k >= minimum {
				kept += k
			}
		}
		exact[kept] += prob.BinomialPMF(first, n, 0.5)
	}
	counts := make([]int, n+1)
	r := stattest.Rand(t)
	for range runs {
		col, err := simulate.Law(proto, distribution.Values(values), r.Uint64(), quiet)
		if err != nil {
			t.Fatal(err)
		}
		counts[col.Crowds[0].Respondents]++
	}
	stattest.GTest(t, exact, counts)
	together := make([]float64, n+1) // as if the minimum held for the crowd as a whole
	together[n] = 1
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, together, counts) })
}

func BenchmarkLaw(b *testing.B) {
	const respondents, dimension = 10_000, 784
	p := sample("rr", dimension)
	p.Question.Density.Kernel.Name, p.Question.Density.Kernel.Bandwidth = "gaussian", 1
	p.Question.Density.Repetitions = dimension
	proto, _ := runnable(b, p)
	values := population(respondents, dimension)
	for b.Loop() {
		if _, err := simulate.Law(proto, distribution.Values(values), 1, quiet); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*respondents/b.Elapsed().Seconds(), "respondents/s")
}
