package analyzerd

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
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
	_, err := p.filter()
	return err
}

// leftOut says what the charge of a plan does not speak of, or counts beside the
// answers.
func leftOut(p plan.Plan) string {
	switch {
	case p.Budget.LabelEpsilon == plan.Unprotected:
		return "features only: the plan leaves classes unprotected"
	case p.Crowd.Deletion != nil:
		return "with the sizes of crowds, which are private"
	case p.Budget.LabelEpsilon == 0 && p.Crowds() > 1: // crowds that nobody randomizes
		return "answers only: who is in which crowd is public"
	}
	return ""
}

func guarantee(b rows.Spending) account.Guarantee {
	return account.Guarantee{Epsilon: b.Epsilon, Delta: b.Delta, Adjacency: account.Adjacency(b.Adjacency), Trust: account.Shuffled,
		Users: b.Users, Rounds: 1, Bound: account.Upper, Method: b.Method}
}

// entry returns what a filter needs of what was spent, in the population's adjacency: by
// the Gaussian that was certified from the plan's mechanism, or, in a ledger of before
// there was one, by epsilon and delta. What cannot be stated for those neighbours fits no
// budget.
func (p Population) entry(b rows.Spending) account.Spending {
	g, err := guarantee(b).Under(p.Adjacency)
	if err != nil {
		return account.Spending{Epsilon: math.Inf(1), Delta: 1, Domination: account.Domination{Shift: math.Inf(1), Tail: 1, Adjacency: p.Adjacency}}
	}
	d := account.Domination{Shift: b.Shift, Tail: b.Tail, Adjacency: account.Adjacency(b.Dominated)}
	if d, err = d.Under(p.Adjacency); err != nil { // nor is the certified one of those neighbours
		d = account.DominateKnown(g.Epsilon, g.Delta, p.Adjacency)
	}
	return account.Spending{Epsilon: g.Epsilon, Delta: g.Delta, Domination: d}
}

func (p Population) entries(spent []rows.Spending) []account.Spending {
	all := make([]account.Spending, len(spent))
	for i, b := range spent {
		all[i] = p.entry(b)
	}
	return all
}

// filter returns the rule by which plans are taken. Whoever publishes the next plan may have
// read the releases of the earlier ones, and chooses after that: the filter holds for
// such choices, since it is fixed by the budget.
func (p Population) filter() (account.Filter, error) { return account.NewFilter(p.Epsilon, p.Delta) }

// overspent is the error of a plan that its population's budget does not allow.
type overspent struct {
	name    string
	budget  Population
	earlier []rows.Spending
	asked   rows.Spending
}

// outlays are what populations have spent, as far as this process has added it up. The ledger
// grows, and each plan is added once.
type outlays struct {
	mu sync.Mutex
	of map[string]*outlay
}

type outlay struct {
	plans int
	last  rows.Spending
	after account.Filter // the population's, when they were answered
}

// filter returns the filter of a population that has answered these plans, in order.
func (s *outlays) filter(name string, p Population, earlier []rows.Spending) (account.Filter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.of[name]
	if known == nil || known.plans > len(earlier) || known.plans > 0 && earlier[known.plans-1] != known.last { // another ledger was put in its place
		fresh, err := p.filter()
		if err != nil {
			return fresh, fmt.Errorf("analyzer: budget of population %q: %w", name, err)
		}
		known = &outlay{after: fresh}
		s.of[name] = known
	}
	for _, b := range earlier[known.plans:] {
		known.after, known.last = known.after.After(p.entry(b)), b
	}
	known.plans = len(earlier)
	return known.after, nil
}

// check returns an *overspent if the plan does not fit beside what was spent, after which the
// population's filter is f.
func (p Population) check(name string, asked rows.Spending, earlier []rows.Spending, f account.Filter) error {
	if !f.Admits(p.entry(asked)) {
		return &overspent{name, p, earlier, asked}
	}
	return nil
}

// Error says who spent what, and what was asked.
func (o *overspent) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "population %s may spend epsilon %.4g at delta %.3g in all (%s)", o.name, o.budget.Epsilon, o.budget.Delta, o.budget.Adjacency)
	for i, s := range o.earlier {
		lead := ", "
		if i == 0 {
			lead = "; of that are spent: "
		}
		fmt.Fprintf(&b, "%s%.4g at %.3g (%s) by %s with plan %s", lead, s.Epsilon, s.Delta, s.Adjacency, s.Publisher, plan.Short(s.Plan))
	}
	fmt.Fprintf(&b, "; this plan asks for %.4g at %.3g (%s)", o.asked.Epsilon, o.asked.Delta, o.asked.Adjacency)
	if f, err := o.budget.filter(); err == nil {
		spent, asked := f.Shares(o.budget.entries(o.earlier)...), f.Shares(o.budget.entry(o.asked))
		fmt.Fprintf(&b, "; that is %.3g %% of the budget for plans that a Gaussian dominates, of which %.3g %% are spent", 100*asked.Box(), 100*spent.Box())
	}
	return b.String()
}

// fits returns an epsilon at the asked delta that the budget still allows, in the asked
// plan's adjacency; not positive where nothing is left. It is what sums leave, or what a
// Gaussian with nine tenths of the shift that is left would have: a mechanism needs some
// shift more than the Gaussian with its epsilon.
func (o *overspent) fits() (epsilon float64, err error) {
	f, err := o.budget.filter()
	if err != nil {
		return 0, err
	}
	shares := f.Shares(o.budget.entries(o.earlier)...)
	asked := o.budget.entry(o.asked)
	if asked.Delta <= f.Sums*(1-shares.Delta)*(1-rounding) {
		epsilon = (1 - shares.Epsilon) * f.Epsilon * (1 - rounding)
	}
	if len(o.earlier) == 0 && asked.Delta <= o.budget.Delta {
		epsilon = o.budget.Epsilon
	}
	if asked.Domination.Tail <= f.Box.Tail*(1-shares.Tail) && shares.Shift < 1 && asked.Delta < 1 {
		left := 0.9 * f.Box.Shift * math.Sqrt(1-shares.Shift)
		if g, err := account.Epsilon(central.Gaussian{Sigma: 1 / left, Sensitivity: 1}, asked.Delta); err == nil {
			epsilon = math.Max(epsilon, math.Min(g.Epsilon, o.budget.Epsilon))
		}
	}
	if account.Adjacency(o.asked.Adjacency) == account.Removal && o.budget.Adjacency == account.Replacement {
		epsilon /= 2
	}
	return epsilon, nil
}

const rounding = 1e-9

// advice returns the cheapest plan that would still be taken: the same noise among more
// people where that helps, and an epsilon where it does not.
func (o *overspent) advice(ctx context.Context, p plan.Plan) string {
	epsilon, err := o.fits()
	if err != nil || epsilon <= 0 {
		return "nothing is left for any plan of that delta: ask another population"
	}
	says := fmt.Sprintf("what still fits: epsilon %.6g or so at delta %.3g", floor(epsilon, 6), o.asked.Delta)
	features := epsilon - labelEpsilon(p)
	if features <= 0 {
		return says + ", which the classes alone would exceed: lower budget.label_epsilon too"
	}
	says += fmt.Sprintf(": design the noise anew for budget.epsilon %.6g", floor(features, 6))
	if n := leastMinimum(ctx, p, floor(features, 6), o.takes); n > 0 {
		says += fmt.Sprintf(", or keep the noise, hide it among more people, and write crowd.minimum %d with that epsilon", n)
	}
	return says
}

// takes reports whether the plan would be taken in the place of the one asked for, by
// the guarantee of its answers alone: what each of its observers learns takes longer.
func (o *overspent) takes(p plan.Plan) bool {
	proto, err := protocol.New(p)
	if err != nil {
		return false
	}
	g, err := proto.GuaranteeWith(p.MinHonest())
	if err != nil || g.Epsilon > p.Budget.Epsilon {
		return false
	}
	g.Epsilon += labelEpsilon(p)
	s, err := proto.Spending(g, o.budget.Adjacency)
	if err != nil {
		return false
	}
	f, err := o.budget.filter()
	return err == nil && f.Admits(append(o.budget.entries(o.earlier), o.budget.entry(spent(g, s, o.budget.Adjacency)))...)
}

// priced returns what a plan is charged, for the neighbours that a budget speaks of.
func priced(p *protocol.Protocol, promise protocol.Promise, adjacency account.Adjacency) (rows.Spending, error) {
	g, err := p.Charge(promise, adjacency)
	if err != nil {
		return rows.Spending{}, err
	}
	s, err := p.Spending(g, adjacency)
	if err != nil {
		return rows.Spending{}, err
	}
	b := spent(g, s, adjacency)
	b.Note = leftOut(p.Plan)
	return b, nil
}

func spent(g account.Guarantee, s account.Spending, dominated account.Adjacency) rows.Spending {
	return rows.Spending{
		Epsilon: g.Epsilon, Delta: g.Delta, Adjacency: string(g.Adjacency), Users: g.Users, Method: g.Method,
		Shift: s.Domination.Shift, Tail: s.Domination.Tail, Dominated: string(dominated),
	}
}

// labelEpsilon returns what the classes cost beside the features, which no crowd makes less.
func labelEpsilon(p plan.Plan) float64 {
	if p.Budget.LabelEpsilon == 0 || p.Budget.LabelEpsilon == plan.Unprotected {
		return 0
	}
	return float64(p.Budget.LabelEpsilon)
}

// floor rounds down to so many significant digits.
func floor(x float64, digits int) float64 {
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(x)))
	return math.Floor(x*scale) / scale
}

// leastMinimum returns the least crowd.minimum, within a hundredth, with which the
// plan's noise keeps epsilon and the plan is taken; 0 where no number of people does, or
// none was found while its request lasted.
func leastMinimum(ctx context.Context, p plan.Plan, epsilon float64, takes func(plan.Plan) bool) int {
	p.Budget.Epsilon = epsilon
	keeps := func(n int) bool {
		p.Crowd.Minimum = n
		return takes(p)
	}
	start := p.Crowd.Minimum
	low, high := start, start
	for !keeps(high) {
		if low, high = high, 2*high; high > most*start || high > plan.MaxCrowd || ctx.Err() != nil {
			return 0
		}
	}
	for high-low > max(1, high/100) && ctx.Err() == nil {
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
