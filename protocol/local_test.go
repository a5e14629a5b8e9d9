package protocol_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// local is what a plan promises though everyone colludes.
func local(t *testing.T, p plan.Plan) account.Guarantee {
	t.Helper()
	return example.Promised(t, example.Runnable(t, p)).Statements[0].Guarantee
}

// With a local epsilon by itself the noise is the least that keeps it, and the shuffled
// epsilon is what that gives; beside another epsilon both hold, the tighter one exactly.
func TestDesignKeepsALocalEpsilon(t *testing.T) {
	plans := example.Histograms()
	delete(plans, "paper")
	plans["density"], plans["density, unprotected"] = example.Density("rr"), example.Density("rr")
	protected := plans["density, unprotected"]
	protected.Budget.LabelEpsilon = plan.Unprotected
	plans["density, unprotected"] = protected
	for name, asked := range plans {
		t.Run(name, func(t *testing.T) {
			central := example.Design(t, asked)
			free := local(t, central).Epsilon
			for _, share := range []float64{0.8, 1.3} {
				p := asked
				p.Budget.LocalEpsilon = share * free
				if asked.Question.Kind == "density" && asked.Budget.LabelEpsilon > 0 {
					p.Budget.LocalEpsilon = share*(free-3) + 3
				}
				both := example.Design(t, p)
				if both.Budget.Epsilon != asked.Budget.Epsilon || both.Budget.LocalEpsilon != p.Budget.LocalEpsilon {
					t.Errorf("the budget became %+v", both.Budget)
				}
				got, shuffled := local(t, both).Epsilon, example.Promised(t, example.Runnable(t, both)).Shuffled.Epsilon
				switch {
				case got > p.Budget.LocalEpsilon*(1+1e-9) || shuffled > asked.Budget.Epsilon:
					t.Errorf("local %v of %v, shuffled %v of %v", got, p.Budget.LocalEpsilon, shuffled, asked.Budget.Epsilon)
				case share < 1 && got < p.Budget.LocalEpsilon*(1-1e-4):
					t.Errorf("local %v leaves some of %v unused", got, p.Budget.LocalEpsilon)
				case share > 1 && math.Abs(got/free-1) > 1e-5:
					t.Errorf("local %v where %v is no limit, and %v without it", got, p.Budget.LocalEpsilon, free)
				}
				p.Budget.Epsilon = 0
				alone := example.Design(t, p)
				got, shuffled = local(t, alone).Epsilon, example.Promised(t, example.Runnable(t, alone)).Shuffled.Epsilon
				if got > p.Budget.LocalEpsilon*(1+1e-9) || got < p.Budget.LocalEpsilon*(1-1e-4) {
					t.Errorf("local %v of %v alone", got, p.Budget.LocalEpsilon)
				}
				if e := alone.Budget.Epsilon; shuffled > e || shuffled < 0.98*e || (e > asked.Budget.Epsilon) != (share > 1) {
					t.Errorf("shuffled %v, where the plan now promises %v", shuffled, e)
				}
			}
		})
	}
}

// A device recomputes the local epsilon that a plan promises, and refuses one that its
// noise does not keep.
func TestFalseLocalPromiseIsRefused(t *testing.T) {
	for name, asked := range map[string]plan.Plan{"density": example.Density("rr"), "one-hot": example.Histograms()["set"], "fragments": example.Histograms()["spread"], "krr": example.Histograms()["krr"]} {
		p := example.Design(t, asked)
		p.Budget.LocalEpsilon = local(t, p).Epsilon
		if err := protocol.Check(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.Budget.LocalEpsilon *= 0.999
		example.Mentions(t, protocol.Check(p), "promise does not hold", "everyone colludes", "budget.local_epsilon")
	}
}

func TestLocalEpsilonThatCannotBe(t *testing.T) {
	for _, bitsum := range []string{"3nb", "pure", "poisson", "nb"} {
		p := example.Density(bitsum)
		p.Budget.LocalEpsilon = 5
		_, err := design.Fill(p)
		example.Mentions(t, err, "budget.local_epsilon", bitsum, "ask for rr")
		p = example.Design(t, example.Density(bitsum))
		p.Budget.LocalEpsilon = 1e9
		example.Mentions(t, protocol.Check(p), "promise does not hold", "budget.local_epsilon")
	}
	p := example.Density("rr")
	p.Budget.LocalEpsilon = 3 // all of which the class takes
	_, err := design.Fill(p)
	example.Mentions(t, err, "budget.local_epsilon", "class", "label_epsilon")
	p.Budget.LocalEpsilon = -1
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 4, 8
	if _, err := protocol.New(p); err == nil || !strings.Contains(err.Error(), "budget.local_epsilon must be") {
		t.Errorf("a negative local epsilon: %v", err)
	}
}
