package law

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/latent"
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

// drawReports has every device report, each in its crowd.
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
	var unfit unfits
	crowds, r, done := make([]tally.Crowd, len(by)), stream(forReports), 0
	for crowd, members := range by {
		counted, smallest := dealt(stream(forInstances, uint64(crowd)), p, len(members))
		if len(counted) == 0 {
			continue
		}
		t := q.NewTally()
		for _, k := range counted {
			i := members[k]
			symbol, err := q.Encode(values[i])
			bad, err := question.Fits(err)
			if err != nil {
				return nil, fmt.Errorf("value %d: %w", i+1, err)
			}
			unfit.add(i, bad)
			report, err := q.Randomize(r, symbol, nil)
			if err != nil {
				return nil, err
			}
			if err := t.Add(report.Parts[0][0]); err != nil {
				return nil, err
			}
			if done++; done%256 == 0 {
				progress(done)
			}
		}
		crowds[crowd] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	}
	progress(len(values))
	return crowds, unfit.err()
}
