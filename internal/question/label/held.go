package label

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/resample"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Resampled names a report of a table, whose holder counts labels in clusters with noise: each record then has its label, or
// one that is drawn by these counts (LDC, Algorithm 1). Its randomizer has the same name: Keep says how often a label stays,
// and Flip what the share of one in a cluster is at least.
const Resampled = "resampled"

// resampled does what the holder of a table does by Algorithm 1 of LDC: counts of labels in clusters have noise, and each
// record then keeps its label, or has one drawn by the noisy counts of its cluster.
type resampled struct {
	*histogram.Question // of the counts
	second              resample.Mechanism
}

func newResampled(p plan.Plan) (*resampled, error) {
	counts, err := histogram.New(counted(p))
	if err != nil {
		return nil, err
	}
	m := resampling(*p.Question.Label)
	return &resampled{counts, m}, m.Validate()
}

// resampling returns the second step of a plan.
func resampling(ask plan.Label) resample.Mechanism {
	return resample.Mechanism{K: len(ask.Classes), Least: ask.Randomizer.Flip, Resample: 1 - ask.Randomizer.Keep}
}

// validateResampled lists what is wrong with the second step.
func validateResampled(ask plan.Label, ps *plan.Problems) {
	const at = "question.label.randomizer"
	r := ask.Randomizer
	if r == nil {
		ps.Require(false, at+" is missing: design the plan")
		return
	}
	ps.Require(*r == plan.Randomizer{Name: Resampled, Accounting: string(calibrate.Exact), Epsilon: r.Epsilon, Keep: r.Keep, Flip: r.Flip}, at+" must have the name %q, the accounting %q, an epsilon, keep and flip, and nothing else", Resampled, calibrate.Exact)
	if err := resampling(ask).Validate(); err != nil {
		ps.Require(false, at+": %v", err)
	}
}

// Event returns those of the counts and, given these, of a record's report. The latter is pure: no report is more than e^epsilon
// times as likely from another label, and the loss of any such mechanism is at most that of a number with discrete
// Laplace noise which moves by one (Kairouz, Oh and Viswanath 2015).
func (m *resampled) Event(honest int, again bool) account.Event {
	second := additive.DiscreteLaplace{Noise: m.second.Epsilon(), Sensitivity: 1}
	return account.All{Events: []account.Event{m.Question.Event(honest, again), second}}
}

// Shares returns how likely each label is in a cluster of so many records, by its noisy counts: what labels are drawn
// from. None is how many records have none of the plan's labels, with noise.
func (q *Question) Shares(counts []estimate.Value, records int, none int64) ([]float64, error) {
	if r, is := q.report.(*resampled); is {
		shares := make([]float64, len(counts))
		for y, n := range counts {
			shares[y] = n.Mean / float64(records)
		}
		return r.second.Shares(shares), nil
	}
	total := float64(max(1, int64(records)-max(0, none)))
	shares, err := estimate.Project(counts, total)
	for y := range shares {
		shares[y] /= total
	}
	return shares, err
}

// Relabel returns the label that is published of a record in a cluster with these shares. Its own, -1 where it is none of the
// plan's, has part in it only by a mechanism that the plan's promise is of.
func (q *Question) Relabel(r *rand.Rand, own int, shares []float64) int {
	if m, is := q.report.(*resampled); is {
		return m.second.Report(r, own, shares)
	}
	return resample.Draw(r, shares)
}

// Loss returns the weights of the true loss at each label in the modified loss of one that is published: they add up to one,
// and may lie below zero. Labels that were drawn from shares alone say no more than these do.
func (q *Question) Loss(published int, shares []float64) []float64 {
	weights := make([]float64, len(q.ask.Classes))
	switch m := q.report.(type) {
	case *each:
		own, other := m.Inverse()
		for y := range weights {
			weights[y] = other
		}
		weights[published] = own
	case *resampled:
		weights[published] = 1
	default:
		copy(weights, shares)
	}
	return weights
}

// heldWords speak of the labels of a table.
func (q *Question) heldWords(w question.Words) question.Words {
	k := len(q.ask.Classes)
	w.Asked = fmt.Sprintf("Which of %d labels goes with each row of a table?", k)
	w.Unfit = "A label that is none of the plan's counts as one drawn at random, and nothing says which rows these are."
	if q.ask.Report != plan.LabelEach {
		w.Asked = fmt.Sprintf("Which of %d labels goes with each row of a table? Labels are counted in %d public clusters of rows.", k, q.ask.Clusters)
		w.Crowd, w.Crowds = "cluster", q.plan.Crowd.Names
		w.Unfit = "A label that is none of the plan's is in no count: that row gets a label by the counts alone."
		w.Assumptions = append(w.Assumptions, "Clusters, and how many rows each has, follow from what is public of rows: no label had part in them.")
	}
	w.Assumptions = append(w.Assumptions, "All of a row but its label is public: nothing is promised of it, nor of what it tells of the label.")
	return w
}
