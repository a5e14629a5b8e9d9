package service

import (
	"fmt"
	"math"
	"strings"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/internal/store"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Population is a group of people who may be asked by several plans, with what
// those may cost one who answers all of them.
type Population struct {
	Epsilon   float64           // above 0
	Delta     float64           // in (0, 1)
	Adjacency account.Adjacency // whose neighbours the two speak of
}

func (p Population) validate() error {
	switch {
	case !(p.Epsilon > 0) || math.IsInf(p.Epsilon, 1):
		return fmt.Errorf("epsilon %g: need a number above 0", p.Epsilon)
	case !(p.Delta > 0) || p.Delta >= 1:
		return fmt.Errorf("delta %g: need a number between 0 and 1", p.Delta)
	case p.Adjacency != account.Replacement && p.Adjacency != account.Removal:
		return fmt.Errorf("adjacency %q: need %q or %q", p.Adjacency, account.Replacement, account.Removal)
	}
	return nil
}

// leftOut says what the charge of a plan does not speak of, or counts beside the
// answers.
func leftOut(p plan.Plan) string {
	switch {
	case p.Question.Density != nil && p.Budget.LabelEpsilon == plan.Unprotected:
		return "features only: the plan leaves classes unprotected"
	case p.Crowd.Deletion != nil:
		return "with the sizes of crowds, which are private"
	case p.Question.Histogram != nil && p.Crowds() > 1:
		return "answers only: who is in which crowd is public"
	}
	return ""
}

// convert states a guarantee for other neighbours. Removal exchanges a record for
// a draw of the reference law, and two removals lead from one record to any other:
// P(x) <= e^eps P(ref) + delta <= e^eps (e^eps P(x') + delta) + delta, which is
// replacement (2 eps, (1 + e^eps) delta). Of a replacement guarantee the law of any
// one record is a reference, so it is a removal guarantee as it stands.
func convert(g account.Guarantee, to account.Adjacency) account.Guarantee {
	if g.Adjacency == account.Removal && to == account.Replacement {
		g.Delta = math.Min(1, up((1+math.Exp(g.Epsilon))*g.Delta))
		g.Epsilon *= 2
		g.Method += ", twice for replacement"
	}
	g.Adjacency = to
	return g
}

// up is the next number above x, so that rounding is against us; 0 stays 0.
func up(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Nextafter(x, math.Inf(1))
}

func guarantee(b store.Spending) account.Guarantee {
	return account.Guarantee{Epsilon: b.Epsilon, Delta: b.Delta, Adjacency: account.Adjacency(b.Adjacency), Trust: account.Shuffled,
		Users: b.Users, Rounds: 1, Bound: account.Upper, Method: b.Method}
}

// composed adds up what was spent, in the population's adjacency. It is basic
// composition on purpose: whoever publishes the next plan may have read the
// releases of the earlier ones, and chooses its epsilon after that. Sums hold for
// such choices (Rogers et al. 2016, on privacy filters); tighter compositions are
// proved for epsilons that were fixed beforehand.
func (p Population) composed(spent []store.Spending) (account.Guarantee, error) {
	if len(spent) == 0 {
		return account.Guarantee{Adjacency: p.Adjacency, Trust: account.Shuffled, Bound: account.Exact, Method: "nothing was asked yet"}, nil
	}
	all := make([]account.Guarantee, len(spent))
	for i, b := range spent {
		all[i] = convert(guarantee(b), p.Adjacency)
	}
	sum, err := account.Compose(all...)
	sum.Method, sum.Source = "basic composition", "sums hold whatever is asked next"
	return sum, err
}

// overspent is the error of a plan that its population's budget does not allow.
type overspent struct {
	name    string
	budget  Population
	earlier []store.Spending
	asked   account.Guarantee
}

// check returns an *overspent if the plan does not fit beside what was spent.
func (p Population) check(name string, asked account.Guarantee, earlier []store.Spending) error {
	b := store.Spending{Epsilon: asked.Epsilon, Delta: asked.Delta, Adjacency: string(asked.Adjacency), Users: asked.Users, Method: asked.Method}
	sum, err := p.composed(append(earlier[:len(earlier):len(earlier)], b))
	if err != nil {
		return err
	}
	if sum.Epsilon > p.Epsilon || sum.Delta > p.Delta {
		return &overspent{name, p, earlier, asked}
	}
	return nil
}

// Error says who spent what, and what was asked.
func (o *overspent) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "population %s may spend epsilon %.4g at delta %.3g (%s)", o.name, o.budget.Epsilon, o.budget.Delta, o.budget.Adjacency)
	for i, s := range o.earlier {
		lead := ", "
		if i == 0 {
			lead = "; of that are spent: "
		}
		fmt.Fprintf(&b, "%s%.4g at %.3g (%s) by %s with plan %s", lead, s.Epsilon, s.Delta, s.Adjacency, s.Publisher, plan.Short(s.Plan))
	}
	fmt.Fprintf(&b, "; this plan asks for %.4g at %.3g (%s)", o.asked.Epsilon, o.asked.Delta, o.asked.Adjacency)
	return b.String()
}

// fits is the largest epsilon and delta of a plan of the given adjacency that the
// budget still allows; not positive where nothing is left.
func (o *overspent) fits() (epsilon, delta float64, err error) {
	sum, err := o.budget.composed(o.earlier)
	if err != nil {
		return 0, 0, err
	}
	// A little less than the difference, so that the sum of rounded numbers fits.
	epsilon, delta = (o.budget.Epsilon-sum.Epsilon)*(1-rounding), (o.budget.Delta-sum.Delta)*(1-rounding)
	if o.asked.Adjacency == account.Removal && o.budget.Adjacency == account.Replacement {
		epsilon /= 2
		delta /= 1 + math.Exp(epsilon)
	}
	return epsilon, delta, nil
}

const rounding = 1e-9

// advice is the cheapest plan that would still be taken: the same noise among more
// people where that helps, and the largest epsilon where it does not.
func (o *overspent) advice(p plan.Plan) string {
	epsilon, delta, err := o.fits()
	if err != nil || epsilon <= 0 || delta <= 0 {
		return "nothing is left for any plan: ask another population"
	}
	says := fmt.Sprintf("what still fits: epsilon %.6g at delta %.3g in all", floor(epsilon, 6), floor(delta, 3))
	if delta < o.asked.Delta {
		return says + ", with noise to match"
	}
	features := epsilon - labelEpsilon(p)
	if features <= 0 {
		return says + ", which the classes alone would exceed: lower budget.label_epsilon too"
	}
	says += fmt.Sprintf(": design the noise anew for budget.epsilon %.6g", floor(features, 6))
	if n := leastMinimum(p, features); n > 0 {
		says += fmt.Sprintf(", or keep the noise, hide it among more people, and write crowd.minimum %d with that epsilon", n)
	}
	return says
}

// labelEpsilon is what the classes cost beside the features, which no crowd makes less.
func labelEpsilon(p plan.Plan) float64 {
	if p.Question.Density == nil || p.Budget.LabelEpsilon == plan.Unprotected {
		return 0
	}
	return float64(p.Budget.LabelEpsilon)
}

// floor rounds down to so many significant digits.
func floor(x float64, digits int) float64 {
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(x)))
	return math.Floor(x*scale) / scale
}

// leastMinimum is the least crowd.minimum, within a hundredth, with which the
// plan's noise keeps epsilon; 0 where no number of people does.
func leastMinimum(p plan.Plan, epsilon float64) int {
	p.Budget.Epsilon = epsilon
	keeps := func(n int) bool {
		p.Crowd.Minimum = n
		return protocol.Check(p) == nil
	}
	start := p.Crowd.Minimum
	low, high := start, start
	for !keeps(high) {
		if low, high = high, 2*high; high > most*start || high > plan.MaxCrowd {
			return 0
		}
	}
	for high-low > max(1, high/100) {
		if middle := (low + high) / 2; keeps(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// most is how many times the plan's crowd is looked for: beyond it the advice is
// no advice, and every step runs the accountant.
const most = 1 << 10
