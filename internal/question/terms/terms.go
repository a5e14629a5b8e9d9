// Package terms holds what several kinds of question promise and require alike: who sees what, shares of delta, and
// rules of plans. Used by protocol and by question/histogram and the other kinds.
package terms

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

const (
	// OverflowShare of delta pays for reports that outgrow their envelopes.
	OverflowShare = 0.01
	// PayloadBytes holds a message of a tally of counts, rounded up to a power of two.
	PayloadBytes = 8
	// ClaimSlack is for another machine's rounding, and for epsilons that are written
	// in a plan with few digits.
	ClaimSlack = 1e-9
)

// reliedTimes bounds how many respondents are relied upon, of those promised: each is charged
// for what is cut off its report, and the law of more takes longer to compute. What others
// send is left out, which is post-processing.
const reliedTimes = 8

// Relied returns how many of so many honest respondents an event counts on, where a plan promises the noise of
// some.
func Relied(honest, promised int) int { return min(honest, reliedTimes*promised) }

// Who sees what, in words: the ways that a report goes decide it, not the question.
const (
	Everyone    = "All hops of the shuffler, the analyzer and the network together: they know which messages are yours and open all of them."
	OneFragment = "Somebody who opens a single one of your messages and knows that it is yours, which takes the analyzer's key, and who sees all the others among everybody's, and this release."
	// LeaderKnows is what the leader of a sum sees beside it.
	LeaderKnows = " If it is the leader, it knows that you answered, when, and in which crowd."
)

// Who sees what of a sum with noise of aggregators.
const (
	whoBoth   = "Both aggregators together, without the analyzer's help: they add the two shares of your answer, and have it as it is. Devices add no noise."
	whoOne    = "One aggregator and the analyzer together, and all other respondents: the aggregator takes its own noise off, and what the other has added is left." + LeaderKnows
	whoReader = "The analyzer, and whoever reads this release, as long as both aggregators keep their keys and their noise to themselves."
)

// NoisedSums states what the noise of one aggregator, and of both, leaves to be learned: promised is of as many as the
// plan counts on, and lost of so many whose noise is not known.
func NoisedSums(p plan.Plan, promised account.Guarantee, note string, lost func(unknown int) account.Event) []account.Statement {
	shared := p.Route.Sum.Noise == plan.NoiseShared
	unknown := 2
	if shared {
		unknown = 1
	}
	other, err := account.Epsilon(lost(unknown), p.Budget.Delta)
	if err != nil { // so little noise that nothing is proved of it
		other = promised
		other.Epsilon = math.Inf(1)
	}
	other.Users = 1
	one, reader := promised, other
	if shared {
		one, reader = other, promised
	}
	one.Trust, reader.Trust = account.AggregatorHonest, account.AggregatorsHonest
	return []account.Statement{
		{Observer: account.BothAggregators, Who: whoBoth, Guarantee: Bare(), Note: note},
		{Observer: account.OneAggregator, Who: whoOne, Guarantee: one, Note: note},
		{Observer: account.OnlyTheReader, Who: whoReader, Guarantee: reader, Note: note},
	}
}

// Bare returns what an answer tells that no noise of its device hides.
func Bare() account.Guarantee {
	return account.Guarantee{
		Epsilon: math.Inf(1), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 1, Bound: account.Exact,
		Method: "the answer itself", Source: "a device's own noise hides nothing",
	}
}

// ShufflerHonest says in words which observers see only what was mixed.
func ShufflerHonest(p plan.Plan) string {
	hop, choice := "one hop of the shuffler keeps its permutation", ""
	if len(p.Route.Ways()) > 1 {
		hop = "one hop of each instance of the shuffler keeps its permutation"
		if !p.Route.Spreads() {
			choice = " Each instance's batch is counted by itself, however unevenly respondents choose among instances."
		}
	}
	return "The analyzer, and whoever reads this release, as long as " + hop + " to itself." + choice
}

// CrowdSent says what a guarantee speaks of and, where there are crowds, who sees which one a
// respondent is in.
func CrowdSent(speaks string, p plan.Plan) string {
	switch {
	case len(p.Crowd.Names) == 0:
		return ""
	case p.Crowd.Deletion != nil:
		return speaks + ": the entry hop sees which crowd a respondent is in, and what others see of it, the sizes of crowds, is stated by itself."
	}
	return speaks + ": which crowd a respondent is in is sent as it is."
}

// OneMessage returns the statements about a report that is one message: who opens it has all of it, whoever else
// is honest.
func OneMessage(p plan.Plan, local, shuffled account.Guarantee) []account.Statement {
	one := local
	one.Trust = account.OneFragment
	return []account.Statement{
		{Observer: account.EveryoneColludes, Who: Everyone, Guarantee: local},
		{Observer: account.OneFragmentSeen, Who: OneFragment, Guarantee: one},
		{Observer: account.ShufflerHonest, Who: ShufflerHonest(p), Guarantee: shuffled},
	}
}

// Implied returns the epsilon that an event gives at delta, rounded up to a number that is
// easily written.
func Implied(e account.Event, delta float64) (float64, error) {
	g, err := account.Epsilon(e, delta)
	if err != nil {
		return 0, err
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Max(g.Epsilon, 1e-6)))) - 3)
	return math.Ceil(g.Epsilon*(1+1e-6)/unit) * unit, nil
}

// RareOverflow returns how seldom one report may outgrow its envelopes, so that those of
// so many respondents take OverflowShare of the plan's delta.
func RareOverflow(p plan.Plan, reports int) float64 {
	return OverflowShare * p.Budget.Delta / ((1 + math.Exp(p.Budget.Epsilon)) * float64(reports))
}

// SaysUnfit says in sentences what a device sends whose value does not fit, given
// what its reference is, and what that does to what is published.
func SaysUnfit(q plan.Question, reference string) string {
	says := "A value that does not fit counts as "
	if q.Unfit == plan.UnfitClip {
		says = "A value that does not fit counts as the nearest that does, or where there is none, as "
	}
	return says + reference + " How many respondents this concerns is not known: silence would tell who they are."
}
