package protocol

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Rounds returns what taking part in so many rounds of a study costs on the features, reported
// classes fixed, at delta in all. Rounds have mechanisms that are fixed before the first,
// whatever their states are, so that they compose though a later state is made of earlier
// releases (adaptive composition).
func (p *Protocol) Rounds(rounds int, delta float64) (account.Guarantee, error) {
	k, n := float64(rounds), p.Plan.MinHonest()
	return p.withOverflow(p.event(rounds), k*float64(n)*p.risks().Overflow, k*p.risks().Slack, delta)
}

// event returns that of so many rounds.
func (p *Protocol) event(rounds int) account.Event {
	if p.Plan.Correlated() != nil {
		return p.loss()
	}
	n := p.Plan.MinHonest()
	if s, ok := p.Question.(question.Stager); ok {
		return s.Rounds(n, rounds)
	}
	if rounds == 1 {
		return p.loss()
	}
	return account.Repeat{Event: p.Question.Event(n, true), Rounds: rounds}
}

// Study returns what a ledger needs of so many rounds together, given what it needs of one
// (Spending). Epsilons, deltas and tails add up, and so do the squares of the shifts: the
// mechanism is fixed before the first round, and the state of a later one is made of
// releases of earlier ones, which composition allows. Rounds that are not all alike are
// accounted for together.
func (p *Protocol) Study(one account.Spending, rounds int) (account.Spending, error) {
	if _, staged := p.Question.(question.Stager); staged {
		return p.staged(rounds)
	}
	if rounds == 1 || p.Plan.Correlated() != nil {
		return one, nil
	}
	k, all := float64(rounds), one
	all.Epsilon, all.Delta = profile.Above(k*one.Epsilon), math.Min(1, profile.Above(k*one.Delta))
	all.Domination.Shift = profile.Above(math.Sqrt(k) * one.Domination.Shift)
	all.Domination.Tail = math.Min(1, profile.Above(k*one.Domination.Tail))
	return all, nil
}

func (p *Protocol) staged(rounds int) (s account.Spending, err error) {
	g, err := p.Rounds(rounds, p.Plan.Budget.Delta)
	if err != nil {
		return s, err
	}
	s = account.Spending{Epsilon: profile.Above(g.Epsilon), Delta: math.Min(1, profile.Above(g.Delta)), Domination: account.DominateKnown(g.Epsilon, g.Delta, g.Adjacency)}
	if d, err := p.dominated(p.event(rounds), rounds, account.Replacement); err == nil && !math.IsInf(d.Shift, 1) {
		s.Domination = d
	}
	return s, nil
}

// Stated returns what a plan promises against each observer and, of a round of a study (nil: it is
// none), what all rounds tell together.
func (p *Protocol) Stated(promise Promise, s *plan.Study) ([]account.Statement, error) {
	if s == nil {
		return promise.Statements, nil
	}
	all, err := p.Composed(promise, *s)
	return slices.Concat(promise.Statements, all), err
}

// Composed states what all rounds of a study tell, where a respondent may answer every one:
// who sees every round as the plan's promise says; one aggregator where that needs both; and where
// the sizes of crowds are private, who reads all of these. It is empty where each respondent answers one, which costs what the plan
// promises. The label epsilon of the rounds adds up, since each of them draws its own, and so do
// the epsilons of sizes.
func (p *Protocol) Composed(promise Promise, s plan.Study) ([]account.Statement, error) {
	one, ok := p.kept(promise)
	if s.Takes == plan.TakesOne || s.Rounds == 1 || !ok || p.Plan.Correlated() != nil {
		return nil, nil
	}
	answers, err := p.allRounds(one, s.Rounds)
	if err != nil {
		return nil, err
	}
	answers.Note = strings.TrimSpace(answers.Note + localOfAll(promise, s.Rounds))
	all := []account.Statement{answers}
	for _, other := range promise.Statements {
		switch {
		case other.Observer == account.CrowdSizesSeen:
			other.Observer = account.AllSizesSeen
			other.Note = fmt.Sprintf("What the sizes of one round cost, %d times, beside the answers of all rounds.", s.Rounds)
		case other.Guarantee.Trust == account.AggregatorHonest && one.Guarantee.Trust == account.AggregatorsHonest:
			other.Observer = account.AllRoundsOfOne
			other.Note = strings.TrimSpace(fmt.Sprintf("%s What one round costs, %d times.", other.Note, s.Rounds))
		default:
			continue
		}
		other.Who += everyRound
		if other.Guarantee, err = times(other.Guarantee, s.Rounds); err != nil {
			return nil, err
		}
		all = append(all, other)
	}
	return all, nil
}

const everyRound = " They see every round of the study."

// times returns a guarantee so many times, by basic composition.
func times(g account.Guarantee, rounds int) (account.Guarantee, error) {
	all, err := account.Compose(slices.Repeat([]account.Guarantee{g}, rounds)...)
	all.Method = fmt.Sprintf("%s, %d times", g.Method, rounds)
	return all, err
}

// allRounds states what so many rounds of the answers tell the observer of one, for the
// neighbours that this is stated for.
func (p *Protocol) allRounds(one account.Statement, rounds int) (account.Statement, error) {
	all := account.Statement{Observer: account.AllRoundsSeen, Who: one.Who + everyRound, Note: one.Note}
	g, err := p.Rounds(rounds, p.Plan.Budget.Delta)
	if err == nil {
		g, err = g.Under(one.Guarantee.Adjacency)
	}
	if err != nil { // then they add up
		all.Note = strings.TrimSpace(fmt.Sprintf("%s What one round costs, %d times.", one.Note, rounds))
		all.Guarantee, err = times(one.Guarantee, rounds)
		return all, err
	}
	g.Trust, g.Users, g.Certified = one.Guarantee.Trust, one.Guarantee.Users, one.Guarantee.Certified
	if class := p.risks().CrowdLoss; class > 0 && !math.IsInf(class, 1) {
		classes := profile.Above(float64(rounds) * class)
		all.Note = fmt.Sprintf("Of this, epsilon %s speaks of the %s with the reported %s fixed, exactly composed over %d rounds, and %s of the %s, which every round sends anew.",
			account.AtMost(g.Epsilon, 4), p.words().Answer, p.words().Crowd, rounds, account.AtMost(classes, 4), p.words().Crowd)
		g.Epsilon = profile.Above(g.Epsilon + classes)
	}
	all.Guarantee = g
	return all, nil
}

// localOfAll says what all rounds tell those who collude: each draws its noise anew, so that
// their local epsilons add up. It is empty where a round's is not bounded.
func localOfAll(promise Promise, rounds int) string {
	local := promise.Statements[0].Guarantee
	if local.Trust != account.Local || math.IsInf(local.Epsilon, 1) {
		return ""
	}
	return fmt.Sprintf(" Though everyone colludes, all %d rounds tell no more than epsilon %s together (%s).", rounds, account.AtMost(profile.Above(float64(rounds)*local.Epsilon), 4), local.Adjacency)
}

// InStudy says in a release which round of a study it is of, and who answers which.
func (p *Protocol) InStudy(s plan.Study) string {
	begin := fmt.Sprintf("Round %d of at most %d of study %s. ", p.Plan.Round.Number, s.Rounds, plan.Short(p.Plan.Round.Study))
	if s.Takes == plan.TakesOne {
		return begin + "Each respondent answers one round, which its device has drawn without looking at the answer. The guarantees are those of all rounds together."
	}
	if of := p.Plan.Correlated(); of != nil {
		return begin + fmt.Sprintf("Each respondent may answer all of them, and counts for at most %d in all. The guarantees are those of all rounds together. Each aggregator keeps the sums of all rounds until the study closes: whoever breaks into both sees every round.", of.Events)
	}
	return begin + fmt.Sprintf("Each respondent may answer all of them. The guarantees are those of this round, but for that of all %d rounds together.", s.Rounds)
}
