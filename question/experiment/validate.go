package experiment

import (
	"math"
	"math/bits"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

const (
	maxRows    = 1 << 20
	minPayload = 6
	most       = 64 // arms, and metrics
	// mostCompared bounds the lines that a reader of several looks finds.
	mostCompared = 64
	mostTimes    = 1e6
	mostSum      = 1e15 // of an earlier look's steps and sums: far more than people could make
)

// validate lists what is wrong with a plan of an experiment.
func validate(p plan.Plan, ps *plan.Problems) {
	const at = "question.experiment."
	before := len(*ps)
	undesigned(p, ps)
	ask := *p.Question.Experiment
	if len(*ps) > before || p.Route.Sum != nil {
		return
	}
	ps.Require(ask.Bits != nil, at+"bits are missing: a design fills them in")
	if ask.Bits == nil {
		return
	}
	b, numbers := *ask.Bits, lift.Numbers(ask)
	ps.Require(b.Rows >= numbers && b.Rows <= maxRows && bits.OnesCount(uint(max(0, b.Rows))) == 1, at+"bits.rows must be a power of two, at least the %d numbers of a vector", numbers)
	ps.Require(b.Answered >= 1 && b.Answered <= b.Rows, at+"bits.answered must be between 1 and the number of rows")
	ps.Require(b.Clip >= lift.Reach(ask) && b.Clip <= 100, at+"bits.clip must be at least %v, the largest size of a row, and at most 100", lift.Reach(ask))
	ps.Require(b.Flip > 0 && b.Flip < 0.5, at+"bits.flip_probability must be above 0 and below 1/2")
	ps.Require(b.Rare > 0 && b.Rare < 1, at+"bits.rare must be above 0 and below 1")
	ps.Require(p.MostMessages() >= min(b.Answered, b.Rows), "envelopes.per_device must be at least the %d rows that a device answers on average", b.Answered)
}

// undesigned lists what is wrong with what must be there before a design.
func undesigned(p plan.Plan, ps *plan.Problems) {
	const at = "question.experiment."
	ask, b := *p.Question.Experiment, p.Budget
	ps.Require(len(ask.Arms) >= 2 && len(ask.Arms) <= most && distinct(ask.Arms), at+"arms must be 2 to %d different names", most)
	ps.Require(len(ask.Shares) == 0 || len(ask.Shares) == len(ask.Arms) && whole(ask.Shares), at+"shares must be one for each arm, above 0 and 1 together: or leave them out where they are equal")
	ps.Require(len(ask.Metrics) >= 1 && len(ask.Metrics) <= most, at+"metrics must be 1 to %d", most)
	var names []string
	for _, m := range ask.Metrics {
		names = append(names, m.Name)
		measured(m, ps)
	}
	ps.Require(distinct(names), at+"metrics must have different names")
	ps.Require(ask.Looks >= 1 && ask.Looks <= lift.MostLooks && ask.Look >= 1 && ask.Look <= ask.Looks, at+"looks must be 1 to %d, and look one of them", lift.MostLooks)
	compared := max(1, (len(ask.Arms)-1)*len(ask.Metrics))
	ps.Require(ask.Looks <= 1 || compared <= mostCompared, at+"looks are of at most %d comparisons of an arm and a metric, and these are %d: leave some out, or look once", mostCompared, compared)
	if l := ask.Past; l != nil {
		ps.Require(len(l.Plans) == ask.Look-1 && len(l.Evidence) == ask.Look-1 && finite(l.Evidence...) && len(l.Steps) == (ask.Look-1)*compared && within(l.Steps, 0, mostSum) && len(l.Sums) == lift.Numbers(ask) && within(l.Sums, -mostSum, mostSum) && within([]float64{l.Variance}, 0, mostSum*mostSum), at+"past must have the plan and the evidence of each earlier look, with %d steps, and %d sums with the variance of their noise", compared, lift.Numbers(ask))
	}
	if l := ask.Past; l != nil && within(l.Steps, 0, 0) {
		ps.Require(within(l.Sums, 0, 0) && l.Variance == 0, at+"past: looks that told nothing have no sums: leave them at 0")
	}
	ps.Require(ask.Look > 1 || ask.Past == nil, at+"past is of earlier looks, and the first has none: leave it out")
	ps.Require(ask.Look <= 1 || ask.Past != nil, at+"past is missing: look %d has earlier ones", ask.Look)
	if p.Route.Sum == nil {
		ps.Seed(at+"seed", ask.Seed)
		ps.Require(ask.Bits == nil || ask.Bits.Answered >= 1, at+"bits.answered must be a number of rows")
		ps.Require(p.Envelopes.PayloadBytes == 0 || p.Envelopes.PayloadBytes >= minPayload, "envelopes.payload_bytes must be at least %d", minPayload)
	} else {
		ps.Require(ask.Seed == "" && ask.Bits == nil, at+"seed and bits are of answers that are mixed: leave them out of a sum")
	}
	ps.Require(b.LabelEpsilon == 0, "budget.label_epsilon: the arm is protected with the metrics: leave it out")
	terms.RequireReplacement(p, ps)
	ps.Require(b.LocalEpsilon == 0, "budget.local_epsilon: a device's own noise promises nothing where everyone colludes: leave it out")
	ps.Require(len(p.Crowd.Names) == 0, "crowd.names: the arm is in the answer, and so protected: leave them out")
	ps.Require(p.Crowd.Deletion == nil, "crowd.deletion: the number of respondents is public here: leave it out")
	terms.RequireUnfit(p, ps)
	terms.RequireWhole(p, ps)
}

// measured lists what is wrong with a metric.
func measured(m plan.Measure, ps *plan.Problems) {
	require := func(holds bool, rule string) {
		ps.Require(holds, "question.experiment.metrics: %s: %s", plan.Quoted(m.Name), rule)
	}
	require(m.Name != "", "needs a name")
	require(finite(m.Low, m.High, m.Times, m.Most, m.Rate, m.Taken, m.TakenError, m.PerMean, m.LostAlike, m.LostShare), "a number is not finite")
	require(m.Low < m.High, "low must be below high")
	require(finite(m.High-m.Low), "low and high are too far apart")
	require(math.Abs(m.Times) <= mostTimes, "times must be from -1,000,000 to 1,000,000")
	require(m.Before != "" || m.Times == 0 && m.Most == 0, "times and most are of before: leave them out")
	require(m.Per != "" || m.Rate == 0 && m.PerMean == 0, "rate and per_mean are of per: leave them out")
	require(m.Per == "" || m.PerMean > 0, "per_mean must be above 0")
	require(m.Before != m.Name && m.Per != m.Name && (m.Before == "" || m.Before != m.Per), "before and per are other numbers")
	require(m.TakenError >= 0, "taken_error must be at least 0")
	require(m.LostAlike >= 0 && m.LostAlike <= m.LostShare && m.LostShare < 1, "lost_alike must be from 0 to lost_share, and that below 1")
	require(!m.Capped || m.LostShare == 0, "a capped metric has lost nothing: leave out lost_alike and lost_share")
}

func finite(all ...float64) bool {
	return !slices.ContainsFunc(all, func(x float64) bool { return x-x != 0 })
}

// within reports whether all numbers lie from low to high.
func within(all []float64, low, high float64) bool {
	return !slices.ContainsFunc(all, func(x float64) bool { return !(x >= low && x <= high) })
}

// whole says that shares are of one whole.
func whole(shares []float64) bool {
	total := 0.0
	for _, x := range shares {
		if !(x > 0) {
			return false
		}
		total += x
	}
	return total > 1-1e-9 && total < 1+1e-9
}

func distinct(names []string) bool {
	sorted := slices.Sorted(slices.Values(names))
	return !slices.Contains(sorted, "") && len(slices.Compact(sorted)) == len(names)
}
