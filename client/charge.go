package client

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Charge is what answering a plan costs a respondent, under replacement: one
// person's answer exchanged for any other. A promise under removal is charged
// twice its epsilon, since a replacement is a removal and its reverse. Of a plan whose
// answer is a label, with features that everybody knows, the label is exchanged.
type Charge struct {
	// Epsilon and Delta hold as long as one hop of the shuffler is honest. They count
	// the crowd that the answer comes from where its size is private.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Local is the epsilon that holds though everyone colludes; negative where
	// there is no limit. Of report fragments it is that of the backstop they come
	// from, which bounds the fragments of all later plans too.
	Local float64 `json:"local"`
	// Shift and Tail dominate what Epsilon and Delta speak of (account.Domination), so
	// that a cap has room for more than their sums. Both are 0 where a ledger is older
	// than they are: then Epsilon and Delta are all that is known.
	Shift float64 `json:"shift,omitempty"`
	Tail  float64 `json:"tail,omitempty"`
	// Adjacency is account.Label where the epsilons speak of the label alone. It is empty
	// where they speak of the whole answer, and in sums.
	Adjacency account.Adjacency `json:"adjacency,omitempty"`
}

// Of names the neighbours that the epsilons speak of.
func (c Charge) Of() account.Adjacency { return cmp.Or(c.Adjacency, account.Replacement) }

// spending returns what a filter needs of the charge.
func (c Charge) spending() account.Spending {
	d := account.Domination{Shift: c.Shift, Tail: c.Tail, Adjacency: account.Replacement}
	if c.Shift == 0 && c.Tail == 0 {
		d = account.DominateKnown(c.Epsilon, c.Delta, account.Replacement)
	}
	return account.Spending{Epsilon: c.Epsilon, Delta: c.Delta, Domination: d}
}

// unlimited is a Charge's Local where everyone together learns without limit.
// JSON has no infinity.
const unlimited = -1

// Forecast says what an answer to a plan would cost, the first one to its study (nil: the
// plan is by itself), and the question whose backstop it would come from (question.Backstop;
// nil: none). It runs the accountant.
func Forecast(p plan.Plan, of *plan.Study) (c Charge, question []byte, err error) {
	proto, err := protocol.New(p)
	if err != nil {
		return c, nil, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return c, nil, err
	}
	c, question, err = price(proto, promise)
	if err != nil || of == nil || of.Takes != plan.TakesAll {
		return c, question, err
	}
	all := costs(c, question)
	err = all.study(proto, *of)
	return all.first, question, err
}

// price returns what an answer costs, as charge reads it, and its backstop's question.
func price(proto *protocol.Protocol, promise protocol.Promise) (c Charge, asked []byte, err error) {
	g, err := proto.Charge(promise, account.Replacement)
	if err != nil {
		return c, nil, err
	}
	shuffled, err := proto.Spending(g, account.Replacement)
	if err != nil {
		return c, nil, err
	}
	var kept *question.Backstop
	if b, ok := proto.Backstop(); ok {
		kept, asked = &b, b.Question[:]
	}
	c, err = charge(promise, shuffled, kept)
	return c, asked, err
}

// charge reads off a plan's promise, and off what it keeps on the device (nil:
// nothing), what it costs.
func charge(p protocol.Promise, shuffled account.Spending, kept *question.Backstop) (c Charge, err error) {
	c = Charge{Epsilon: profile.Above(shuffled.Epsilon), Delta: math.Min(1, profile.Above(shuffled.Delta)), Shift: shuffled.Domination.Shift, Tail: shuffled.Domination.Tail}
	if slices.ContainsFunc(p.Statements, func(s account.Statement) bool {
		return s.Guarantee.Trust == account.Shuffled && s.Guarantee.Adjacency == account.Label
	}) {
		c.Adjacency = account.Label
	}
	said := false
	for _, s := range p.Statements {
		if s.Guarantee.Trust == account.Local {
			said, c.Local = true, worse(c.Local, epsilonUnder(s.Guarantee, c.Of()))
		}
	}
	if kept != nil {
		c.Local = profile.Above(kept.Epsilon)
	}
	if !said || !c.valid() {
		return Charge{}, errNoGuarantee
	}
	return c, nil
}

var errNoGuarantee = errors.New("client: the plan gives no guarantee that could be charged")

// epsilonUnder returns that of a guarantee for those neighbours: infinite where it says nothing
// of them.
func epsilonUnder(g account.Guarantee, of account.Adjacency) float64 {
	if h, err := g.Under(of); err == nil {
		return profile.Above(h.Epsilon)
	}
	return math.Inf(1)
}

// worse returns the larger of two epsilons, the first as it is kept.
func worse(kept, epsilon float64) float64 {
	if kept < 0 || math.IsInf(epsilon, 1) {
		return unlimited
	}
	return math.Max(kept, epsilon)
}

// plus returns both by basic composition: epsilons and deltas add up, and the sum is rounded
// against the respondent.
func (c Charge) plus(d Charge) Charge {
	sum := Charge{Epsilon: profile.Above(c.Epsilon + d.Epsilon), Delta: profile.Above(c.Delta + d.Delta), Local: unlimited}
	if c.Local >= 0 && d.Local >= 0 {
		sum.Local = profile.Above(c.Local + d.Local)
	}
	return sum
}

// valid reports whether every number of a charge is in its range.
func (c Charge) valid() bool {
	return c.Epsilon >= 0 && !math.IsInf(c.Epsilon, 1) && c.Delta >= 0 && c.Delta <= 1 && c.Shift >= 0 && !math.IsInf(c.Shift, 1) && c.Tail >= 0 && c.Tail <= 1 && (c.Local >= 0 || c.Local == unlimited) && (c.Adjacency == "" || c.Adjacency == account.Label)
}

// Caps limit what a device spends. A plan that would exceed one is refused
// before anything is drawn, whatever the value (afford).
type Caps struct {
	Plan Cap // one plan
	// Window caps all plans within Period. Where it has a Local, an answer in report
	// fragments stands for its question that long, though the value changes meanwhile:
	// a second backstop would have to be charged, and a device that refuses where a
	// value is new would tell by its silence that it is.
	//
	// An Epsilon and a Delta that are both limited hold for everything together, by
	// account.Filter, which has room for more than sums have. One that is limited by
	// itself, and Local, are limits of sums.
	Window Cap
	Period time.Duration
}

// Cap limits a charge. Zero fields have no limit.
type Cap struct {
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Local   float64 `json:"local,omitempty"` // of what holds though everyone colludes
}

// DefaultCaps are an epsilon of 20 a plan and in all plans of thirty days, beyond
// which the accountant calls a guarantee meaningless, at a delta of 1 in 1,000.
var DefaultCaps = Caps{
	Plan:   Cap{Epsilon: account.Meaningless, Delta: 1e-3},
	Window: Cap{Epsilon: account.Meaningless, Delta: 1e-3},
	Period: 30 * 24 * time.Hour,
}

// SpentError refuses a plan that would spend more than a cap allows.
type SpentError struct {
	Of     string // "one plan", or "all plans within ..."
	What   string // "epsilon", "delta", "epsilon though everyone colludes", or "epsilon ... at delta ... in all"
	Spent  float64
	Asked  float64 // infinite where there is no limit
	Limit  float64
	Share  bool // Spent and Asked are parts of what the cap has room for, and Limit is 1
	Remedy string
}

// Error names the cap, what was spent and what was asked.
func (e *SpentError) Error() string {
	if e.Share {
		return fmt.Sprintf("client: refused: %s may spend %s; %s of that is spent and the plan asks for %s: %s", e.Of, e.What, share(e.Spent), share(e.Asked), e.Remedy)
	}
	return fmt.Sprintf("client: refused: %s may spend %s %.4g; %.4g is spent and the plan asks for %.4g: %s", e.Of, e.What, e.Limit, e.Spent, e.Asked, e.Remedy)
}

func (c Cap) allow(of, remedy string, spent, asked Charge) error {
	sum := spent.plus(asked)
	for _, l := range []struct {
		what                     string
		limit, spent, asked, sum float64
	}{
		{"epsilon", c.Epsilon, spent.Epsilon, asked.Epsilon, sum.Epsilon},
		{"delta", c.Delta, spent.Delta, asked.Delta, sum.Delta},
		{"epsilon though everyone colludes", c.Local, limitless(spent.Local), limitless(asked.Local), limitless(sum.Local)},
	} {
		// The sum was rounded up; a cap that it meets exactly should hold.
		if l.limit > 0 && l.sum > l.limit*(1+1e-12) {
			return &SpentError{Of: of, What: l.what, Spent: l.spent, Asked: l.asked, Limit: l.limit, Remedy: remedy}
		}
	}
	return nil
}

// filter returns that of an epsilon and a delta that are both limited; ok is false where
// one is not.
func (c Cap) filter() (f account.Filter, ok bool) {
	if !(c.Epsilon > 0 && c.Epsilon <= 1e9 && c.Delta > 0 && c.Delta < 1) {
		return f, false
	}
	f, err := account.NewFilter(c.Epsilon, c.Delta)
	return f, err == nil
}

// allowBeside refuses a charge that does not fit beside the earlier ones: spent is their sum, and after gives a filter
// once they are counted in it. It refuses an answer that adds nothing too, where the earlier ones exceed the cap:
// the cap, or the clock, may be another one since.
func (c Cap) allowBeside(of, remedy string, after func(account.Filter) account.Filter, spent, asked Charge) error {
	f, ok := c.filter()
	if !ok {
		return c.allow(of, remedy, spent, asked)
	}
	var more []account.Spending
	if asked != (Charge{Local: asked.Local}) {
		more = append(more, asked.spending())
	}
	if earlier := after(f); !earlier.Admits(more...) {
		// Of the two rules, the one that comes closer.
		before, alone := earlier.Shares(), f.Shares(more...)
		e := &SpentError{Of: of, What: fmt.Sprintf("epsilon %.4g at delta %.3g in all", c.Epsilon, c.Delta), Spent: before.Box(), Asked: alone.Box(), Share: true, Limit: 1, Remedy: remedy}
		if sums := earlier.Shares(more...); sums.Sums() < sums.Box() {
			e.Spent, e.Asked = before.Sums(), alone.Sums()
		}
		return e
	}
	return Cap{Local: c.Local}.allow(of, remedy, spent, asked)
}

func limitless(local float64) float64 {
	if local < 0 {
		return math.Inf(1)
	}
	return local
}
