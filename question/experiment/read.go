package experiment

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// NewTally counts zeros and ones in each row, or sums.
func (q *Question) NewTally() tally.Tally {
	if q.rows == nil {
		return tally.NewSums(lift.Numbers(q.ask))
	}
	return q.rows.Spec().NewTally()
}

// Model is what this look and those before it say.
type Model struct {
	Asked       plan.Experiment
	Respondents int       // of this look; 0 where they were too few, and it adds nothing
	Sums        lift.Sums // of all looks
	// Answers are how many rows a respondent answered, on average; 0 of sums.
	Answers float64
}

// Learn adds this look to those before.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{Asked: q.ask, Sums: lift.Sums{Of: make([]float64, lift.Numbers(q.ask))}}
	if p := q.ask.Past; p != nil {
		m.Sums = lift.Sums{Of: p.Sums, Variance: p.Variance}
	}
	if len(crowds) != 1 || crowds[0].Tally == nil {
		return m, nil
	}
	m.Respondents = crowds[0].Respondents
	own := lift.Sums{Of: make([]float64, lift.Numbers(q.ask))}
	if q.rows == nil {
		for i, n := range crowds[0].Tally.(*tally.Sums).N {
			own.Of[i] = float64(n) / lift.Scale
		}
		own.Variance = sum.Total(*q.plan.Route.Sum).Variance / (lift.Scale * lift.Scale)
	} else {
		counted := crowds[0].Tally.(*tally.Counts)
		counts, err := q.rows.CountsOf(counted)
		if err != nil {
			return nil, err
		}
		estimated, err := q.rows.Estimate(counts, m.Respondents)
		if err != nil {
			return nil, err
		}
		// The bits' error has in it how respondents differ, which is no error of the sum of these.
		weight := float64(len(q.ask.Metrics))
		own.Variance = weight * math.Max(0, estimated.Error*estimated.Error-float64(m.Respondents)/float64(q.ask.Bits.Rows))
		for i, x := range estimated.Vector {
			own.Of[i] = x * math.Sqrt(weight)
		}
		for _, n := range counted.N {
			m.Answers += float64(n) / float64(m.Respondents)
		}
	}
	m.Sums = m.Sums.Add(own)
	return m, nil
}

// Averages returns the means of metrics, by arm and metric, of records that fit, as they are: of a ratio both sums divided.
func (q *Question) Averages(records []Record) [][]float64 {
	sums := make([][]struct{ of, per, n float64 }, len(q.ask.Arms))
	for arm := range sums {
		sums[arm] = make([]struct{ of, per, n float64 }, len(q.ask.Metrics))
	}
	for _, r := range records {
		if q.Unfit(r) != nil {
			continue
		}
		at := 0
		for i, m := range q.ask.Metrics {
			s := &sums[r.Arm][i]
			s.of, s.n, at = s.of+r.Numbers[at], s.n+1, at+lift.Held(m)
			if m.Per != "" {
				s.per += r.Numbers[at-1]
			}
		}
	}
	out := make([][]float64, len(sums))
	for arm := range sums {
		for i, s := range sums[arm] {
			if q.ask.Metrics[i].Per == "" {
				s.per = s.n
			}
			out[arm] = append(out[arm], s.of/s.per)
		}
	}
	return out
}
