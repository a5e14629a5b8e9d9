package vector

import (
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Design fills in what follows from the rest of a plan: of each round the rows, the clip of
// least error, the flips that keep the budget, and for all of them one number of envelopes.
// Each round may spend the whole budget: a study takes one of each respondent, or Study
// divides it.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Route.Sum.AggregatorNoise() {
		return designProved(p, 1)
	}
	return design(p, func(needs []vector.Need) (specs []vector.Spec, err error) {
		for _, n := range needs {
			s, err := n.Design(p.Budget.Epsilon, p.Budget.Delta)
			if err != nil {
				return nil, err
			}
			specs = append(specs, s)
		}
		return specs, nil
	})
}

// designProved fills in how finely numbers are rounded in each round, and the noise with which so many rounds of the same
// respondents keep the budget together. All rounds have the same noise. The plan's budget becomes the cost of one round.
func designProved(p plan.Plan, rounds int) (plan.Plan, error) {
	if p.Question.Vector == nil {
		return p, fmt.Errorf("vector: the plan has no vector section")
	}
	v := *p.Question.Vector // the caller's stays as it is
	v.Rounds = slices.Clone(v.Rounds)
	p.Question.Vector = &v
	var ps plan.Problems
	if undesigned(p, &ps); ps.Err() != nil {
		return p, ps.Err()
	}
	var whole *vector.Whole // of any round: all are as long
	steps, route, err := vector.DesignWhole(p, rounds, func(steps int) (w *vector.Whole, err error) {
		whole, err = wholeOf(p, plan.VectorRound{Sums: v.Rounds[0].Sums, Steps: steps})
		return whole, err
	})
	if err != nil {
		return p, err
	}
	p.Route.Sum = &route
	for i, r := range v.Rounds {
		v.Rounds[i] = plan.VectorRound{Sums: r.Sums, Steps: steps, Alike: r.Alike}
	}
	if rounds > 1 {
		p.Budget.Epsilon, err = terms.Implied(whole.Event(route, sumprivacy.Promised(route)), p.Budget.Delta)
	}
	return p, err
}

// DesignRounds returns the plan of each of so many rounds that the same respondents answer, and
// that keep the plan's budget together. A round's share of it is that of the rows that
// devices answer in it; of vectors whose length is proved all have the same.
func DesignRounds(p plan.Plan, rounds int) (plan.Plan, error) {
	if p.Route.Sum.AggregatorNoise() {
		return designProved(p, rounds)
	}
	if rounds == 1 || len(p.Question.Vector.Rounds) == 0 {
		return Design(p)
	}
	v, total := *p.Question.Vector, 0.0
	shares := make([]float64, rounds)
	for i := range shares {
		shares[i] = float64(v.Rounds[min(i, len(v.Rounds)-1)].Answered)
		total += shares[i]
	}
	if !(total > 0) {
		return p, errors.New("vector: several rounds share the budget as they share rows: say how many a device answers in each")
	}
	for i := range shares {
		shares[i] /= total
	}
	return Study(p, shares, p.Budget.Epsilon)
}

// Study designs rounds that the same respondents answer, whose costs together are epsilon at
// the budget's delta: round i takes shares[i] of the squared shift of all. Of rounds beyond
// those that the plan describes the last stands for all, with equal shares. The plan's budget
// becomes what the dearest round costs by itself.
func Study(p plan.Plan, shares []float64, epsilon float64) (plan.Plan, error) {
	p, err := design(p, func(needs []vector.Need) ([]vector.Spec, error) {
		described := len(needs)
		for i := range shares {
			if i >= described {
				needs = append(needs, needs[described-1])
				if shares[i] != shares[described-1] {
					return nil, fmt.Errorf("vector: rounds from %d on are alike, and take the shares %v and %v of the budget: give equal ones", described, shares[described-1], shares[i])
				}
			}
		}
		specs, err := vector.Rounds(needs, shares, epsilon, p.Budget.Delta)
		return specs[:min(len(specs), described)], err
	})
	if err != nil {
		return p, err
	}
	dearest := 0.0
	for _, r := range p.Question.Vector.Rounds {
		s, err := specOf(p, r)
		if err != nil {
			return p, err
		}
		e, err := terms.Implied(s.Event(p.MinHonest()), p.Budget.Delta)
		if err != nil {
			return p, err
		}
		dearest = max(dearest, e)
	}
	p.Budget.Epsilon = dearest
	return p, nil
}

func design(p plan.Plan, specs func([]vector.Need) ([]vector.Spec, error)) (plan.Plan, error) {
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	if p.Question.Vector == nil {
		return p, fmt.Errorf("vector: the plan has no vector section")
	}
	v := *p.Question.Vector // the caller's stays as it is
	v.Rounds = slices.Clone(v.Rounds)
	p.Question.Vector = &v
	var ps plan.Problems
	if undesigned(p, &ps); ps.Err() != nil {
		return p, ps.Err()
	}
	var needs []vector.Need
	for i := range v.Rounds {
		n, err := need(p, &v.Rounds[i])
		if err != nil {
			return p, err
		}
		needs = append(needs, n)
	}
	made, err := specs(needs)
	if err != nil {
		return p, err
	}
	p.Envelopes.PerDevice = 0
	for i, s := range made {
		r := &v.Rounds[i]
		r.Rows, r.Clip, r.Flip, r.Rare = s.Rows, s.Clip, s.Flip, s.Rare
		p.Envelopes.PerDevice = max(p.Envelopes.PerDevice, s.Envelopes)
	}
	if p.Envelopes.PerDevice > plan.MaxEnvelopes {
		return p, &question.TooManyMessages{PerDevice: p.Envelopes.PerDevice}
	}
	return p, nil
}

// usualAlike is the mean inner product of two messages of moments of one class, as on
// images: too high costs little, too low bends the estimate.
const usualAlike = 0.43

// usualSquares is that of two messages of squares of features whose length is mostly well below
// one: what is left to length one is then alike in all.
const usualSquares = 0.7

func need(p plan.Plan, r *plan.VectorRound) (n vector.Need, err error) {
	v := *p.Question.Vector
	switch {
	case r.Alike != 0:
	case r.Sums == plan.SumsMoments:
		r.Alike = usualAlike
	case r.Sums == plan.SumsSquares:
		r.Alike = usualSquares
	}
	length, distance := layout(v, r.Sums, publicFeatures(p))
	n = vector.Need{
		Respondents: p.Crowd.Minimum, Honest: p.MinHonest(), Dimension: length, Bits: r.Answered,
		SquaredDistance: distance, Overlap: overlap(v, *r),
	}
	if r.Answered == 0 { // every row: a device sends one bit for each
		n.Bits = vector.LeastRows(length, 0)
		r.Answered = n.Bits
	}
	n.Seed, err = encode.ParseSeed(v.Seed)
	return n, err
}
