package latent

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Design fills in the randomizers at the whole local epsilon, what the same reports tell behind
// one honest hop, where the budget's epsilon is missing, and the number and length of envelopes.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Question.Latent == nil {
		return p, errors.New("latent: the plan has no latent section")
	}
	ask := *p.Question.Latent // the caller's stays as it is
	p.Question.Latent = &ask
	var ps plan.Problems
	if undesigned(p, &ps); ps.Err() != nil {
		return p, ps.Err()
	}
	if ask.Records > 0 {
		return designNumbered(p, &ask)
	}
	if ask.Report == plan.LatentVector {
		return designVectors(p, &ask)
	}
	if ask.Randomizer == nil {
		ask.Randomizer = &plan.Randomizer{Name: subset, Accounting: string(calibrate.Exact)}
	}
	inner, err := histogram.Design(counted(p))
	if err != nil {
		return p, err
	}
	ask.Randomizer = &inner.Question.Histogram.Randomizer
	p.Envelopes, p.Budget.Epsilon = inner.Envelopes, inner.Budget.Epsilon
	return p, nil
}
