package distribution

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/plan"
)

// drawLatent draws what the histogram of symbols would, or lets every device report a vector.
func drawLatent(p plan.Plan, q *latent.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	values, ok := who.(Values)
	if !ok {
		return nil, stranger(p, who)
	}
	if q.Inner() == nil {
		return drawReports(p, q, values, stream, progress)
	}
	inner, err := innerValues(values, "latent", q.InnerValue)
	if err != nil {
		return nil, err
	}
	return drawHistogram(q.InnerPlan(), q.Inner(), inner, stream, progress)
}

// drawReports has every device report a vector, or beside the number of its record, each in its crowd.
func drawReports(p plan.Plan, q *latent.Question, values Values, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forInstances, forReports = 0, 1
	by := make([][]int, p.Crowds())
	for i, v := range values {
		r, ok := v.(latent.Record)
		if !ok || r.Crowd < 0 || r.Crowd >= len(by) {
			return nil, fmt.Errorf("value %d is no record of a crowd of this latent question", i+1)
		}
		by[r.Crowd] = append(by[r.Crowd], i)
	}
	each := oneByOne{of: q, values: values, r: stream(forReports), progress: progress}
	crowds := make([]tally.Crowd, len(by))
	for crowd, members := range by {
		counted, smallest := dealt(stream(forInstances, uint64(crowd)), p, len(members))
		who := make([]int, len(counted))
		for k, at := range counted {
			who[k] = members[at]
		}
		var err error
		if crowds[crowd], err = each.crowd(who, smallest); err != nil {
			return nil, err
		}
	}
	progress(len(values))
	return crowds, each.unfit.err()
}
