package experiment

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
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
		m.Sums = lift.Sums{Of: p.Sums, Variance: p.Variance, Steps: p.Steps}
	}
	past := m.Sums.Steps
	if len(crowds) != 1 || crowds[0].Tally == nil {
		m.Sums.Steps = slices.Concat(past, lift.Steps(q.ask, m.Sums, 0, 0))
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
		weight := float64(len(q.ask.Metrics))
		for i, x := range estimated.Vector {
			own.Of[i] = x * math.Sqrt(weight)
		}
		own.Variance = weight * bitsVariance(*q.ask.Bits, counts.Answered, m.Respondents, squares(q.ask, own.Of))
		for _, n := range counted.N {
			m.Answers += float64(n) / float64(m.Respondents)
		}
	}
	m.Sums = m.Sums.Add(own)
	m.Sums.Steps = slices.Concat(past, lift.Steps(q.ask, m.Sums, m.Respondents, own.Variance))
	return m, nil
}

// bitsVariance returns that of a number of the sum of n vectors, by the rows' answers: n R^2/(A (1-2p)^2) - squares/rows where
// each row has as many. The subtracted part is how respondents differ, which is no error of the sum of these; the vector
// package's Error is without the square of their mean already, and must not be reduced by it again.
func bitsVariance(b plan.BitsSent, answered []uint32, n int, squares float64) float64 {
	inverse, unit := 0.0, float64(n)*b.Clip/(float64(b.Rows)*(1-2*b.Flip))
	for _, a := range answered {
		if a > 0 {
			inverse += 1 / float64(a)
		}
	}
	return math.Max(0, unit*unit*inverse-math.Min(float64(n), squares)/float64(b.Rows))
}

// squares returns about the least sum of all vectors' squared lengths that goes with their sums: of a place u in a range
// 1 - 2w + 8 w^2, w = u (1-u), and nothing of what did not fit.
func squares(ask plan.Experiment, of []float64) (total float64) {
	for metric := range ask.Metrics {
		people, w := 0.0, 0.0
		for arm := range ask.Arms {
			own := of[lift.At(ask, arm, metric):]
			people, w = people+own[0]+own[1], w+own[2]/math.Sqrt(8)
		}
		if people > 0 {
			total += math.Max(0, people-2*w+8*w*w/people) / float64(len(ask.Metrics))
		}
	}
	return total
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
