package simulate_test

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// Bits that are rounded first and get their noise later give the counts that devices give:
// over 4,000 collections from eight devices the pair of counts of each channel has its
// exact law. Noise that is 10 % off is caught.
func TestRoundedBitsHaveTheLawOfTheirDevices(t *testing.T) {
	const dimension, runs = 2, 4000
	values := population(8, dimension)
	classes := make([]int, len(values))
	for i, v := range values {
		classes[i] = v.(density.Labelled).Class
	}
	row := func(i int) []float32 { return values[i].(density.Labelled).Features }
	for bitsum, all := range map[string][]plan.LabelEpsilon{"rr": {plan.Unprotected, 1}, "3nb": {1}} {
		for _, labels := range all {
			t.Run(name(bitsum, labels), func(t *testing.T) {
				p := sample(bitsum, dimension)
				p.Budget.LabelEpsilon = labels
				if labels != plan.Unprotected {
					p.Crowd.Minimum = 1
				}
				proto, _ := runnable(t, p)
				drawn := make([][]int, dimension)
				for j := range drawn {
					drawn[j] = make([]int, side*side)
				}
				r := stattest.Rand(t)
				for range runs {
					bits, err := distribution.Round(p, distribution.Records{Classes: classes, Row: row}, example.Streams(r.Uint64()), func(int) {})
					if err != nil {
						t.Fatal(err)
					}
					col, err := simulate.Law(proto, bits, r.Uint64(), quiet)
					if err != nil {
						t.Fatal(err)
					}
					for j := range drawn {
						count(drawn[j], col.Crowds, j)
					}
				}
				off := p
				d := *p.Question.Density
				off.Question.Density = &d
				d.Bitsum.FlipProbability *= 1.1
				d.Bitsum.Noise *= 0.9
				for j := range drawn {
					stattest.GTest(t, crowdLaw(t, p, values, j), drawn[j])
				}
				stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, crowdLaw(tb, off, values, 0), drawn[0]) })
			})
		}
	}
}

// Rounded bits are of one question. Its noise may be another, its features may not.
func TestRoundedBitsAreOfOneQuestion(t *testing.T) {
	p := sample("rr", 3)
	row := func(int) []float32 { return []float32{1, 0, 0} }
	round := func(p plan.Plan, classes ...int) (*distribution.Rounded, error) {
		return distribution.Round(p, distribution.Records{Classes: classes, Row: row}, example.Streams(1), func(int) {})
	}
	bits, err := round(p, 0, 0, 0, 0, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.Crowd.Minimum = 3
	proto, _ := runnable(t, p)
	if col, err := simulate.Law(proto, bits, 1, quiet); err != nil || col.Devices != 6 || col.Crowds[0].Respondents != 4 || col.Crowds[1].Tally != nil || len(col.Withheld) != 1 {
		t.Errorf("%+v, %v", col, err)
	}
	for what, change := range map[string]func(p *plan.Plan, d *plan.Density){
		"another kernel":   func(_ *plan.Plan, d *plan.Density) { d.Kernel.Name = "ip-signs" },
		"protected labels": func(p *plan.Plan, _ *plan.Density) { p.Budget.LabelEpsilon = 1 },
		"a smaller crowd":  func(p *plan.Plan, _ *plan.Density) { p.Crowd.Maximum = 3 },
	} {
		other, d := p, *p.Question.Density
		other.Question.Density = &d
		change(&other, &d)
		proto, _ := runnable(t, other)
		if _, err := simulate.Law(proto, bits, 1, quiet); err == nil {
			t.Errorf("%s: the bits were taken", what)
		}
	}
	if _, err := round(p, 2); err == nil {
		t.Error("a third class of two was taken")
	}
	if _, err := round(tiny("one-hot"), 0); err == nil {
		t.Error("a histogram was rounded")
	}
}
