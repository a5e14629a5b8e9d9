package label

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/resample"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
)

// Design fills in what follows from the rest of a plan: the least noise that keeps the budget,
// the names of crowds, and the number and length of envelopes.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Question.Label == nil {
		return p, errors.New("label: the plan has no label section")
	}
	ask := *p.Question.Label // the caller's stays as it is
	p.Question.Label = &ask
	var ps plan.Problems
	if undesigned(p, &ps); ps.Err() != nil {
		return p, ps.Err()
	}
	switch ask.Report {
	case Resampled:
		return designResampled(p, &ask)
	case plan.LabelClusters:
		return designClusters(p, &ask)
	case plan.LabelSums:
		return designSums(p, &ask)
	}
	return designEach(p, &ask)
}

func designClusters(p plan.Plan, ask *plan.Label) (plan.Plan, error) {
	if len(p.Crowd.Names) == 0 {
		p.Crowd.Names = crowds(ask.Clusters)
	}
	inner := counted(p)
	if h := inner.Question.Histogram; h.Randomizer.Accounting == "" {
		h.Randomizer.Accounting = string(calibrate.Exact)
	}
	inner, err := histogram.Design(inner)
	if err != nil {
		return p, err
	}
	if p.Route.Table != nil {
		p.Route = inner.Route
		return p, nil
	}
	ask.Randomizer = &inner.Question.Histogram.Randomizer
	p.Envelopes, p.Budget.Epsilon = inner.Envelopes, inner.Budget.Epsilon
	return p, nil
}

// resampledShare of the budget is for the labels that are drawn anew, the rest for the counts, of which a label moves two:
// the noise of Corollary 2 of LDC, with what a label really moves.
const resampledShare = 1.0 / 3

// designResampled splits the budget. The least share of a label must be there.
func designResampled(p plan.Plan, ask *plan.Label) (plan.Plan, error) {
	if !(p.Budget.Epsilon > 0) {
		return p, errors.New("label: budget.epsilon is missing: there is noise that keeps it")
	}
	if ask.Randomizer == nil {
		return p, errors.New("label: randomizer.flip is missing: the least share of a label in a cluster")
	}
	m := resample.At(len(ask.Classes), p.Budget.Epsilon*resampledShare, ask.Randomizer.Flip)
	if err := m.Validate(); err != nil {
		return p, err
	}
	part := p
	part.Budget.Epsilon *= 1 - resampledShare
	part, err := designClusters(part, ask)
	if err != nil {
		return p, err
	}
	p.Route, p.Crowd = part.Route, part.Crowd
	ask.Randomizer = &plan.Randomizer{Name: Resampled, Accounting: string(calibrate.Exact), Epsilon: m.Epsilon(), Keep: 1 - m.Resample, Flip: m.Least}
	return p, nil
}

// crowds returns the names of so many clusters.
func crowds(clusters int) []string {
	names := make([]string, clusters)
	for i := range names {
		names[i] = fmt.Sprintf("cluster %d", i+1)
	}
	return names
}

func designSums(p plan.Plan, ask *plan.Label) (plan.Plan, error) {
	if ask.Sum == nil {
		ask.Sum = &plan.VectorRound{}
	}
	ask.Sum.Sums = plan.SumsClasses
	inner, err := vector.Design(summed(p))
	if err != nil {
		return p, err
	}
	ask.Sum = &inner.Question.Vector.Rounds[0]
	p.Envelopes = inner.Envelopes
	return p, nil
}

// designEach spends the smaller of the two epsilons: nothing hides the report, so that what the
// shuffler is relied upon for is no more than what the device does alone.
func designEach(p plan.Plan, ask *plan.Label) (plan.Plan, error) {
	b := &p.Budget
	if p.Route.Table != nil {
		alone := kary(b.Epsilon)
		ask.Randomizer = &alone
		return p, nil
	}
	if b.LocalEpsilon == 0 {
		b.LocalEpsilon = b.Epsilon
	}
	if b.Epsilon == 0 {
		b.Epsilon = b.LocalEpsilon
	}
	alone := kary(math.Min(b.Epsilon, b.LocalEpsilon))
	ask.Randomizer = &alone
	p.Envelopes.PerDevice = 1
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	return p, nil
}
