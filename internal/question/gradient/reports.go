package gradient

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
)

const (
	Direction = "direction" // the sign of a random direction (ESA, Algorithm 4)
	Cap       = "cap"       // a random direction from a cap about the gradient
	Vector    = "vector"    // single bits of the rotated gradient
)

// A reporter is a mechanism that tells of one gradient no longer than the plan's clip, with
// both its ends.
type reporter interface {
	draw(r *rand.Rand, gradients iter.Seq[[]float64], t tally.Tally) error
	tally() tally.Tally
	// mean is that of the gradients of n devices, and the standard error of a coordinate.
	mean(t tally.Tally, n int) (mean []float64, err float64, failed error)
	event(honest int) account.Event
	tell(messages int) string // in words what so many say
}

// A randomizer is a reporter whose messages are private by themselves.
type randomizer interface {
	reporter
	randomize(r *rand.Rand, g []float64) (bodies [][]byte)
	local() account.Guarantee
}

var _, _ randomizer = directions{}, vectors{}

// newReporter returns that of a valid plan for a model of so many numbers.
func newReporter(p plan.Plan, dim int) (reporter, error) {
	ask := p.Question.Gradient
	z := ask.Report
	switch z.Name {
	case Direction:
		m := direction.Sign{Dim: dim, Clip: ask.Clip, Epsilon: z.Epsilon}
		return directions{m, dim, direction.SignBytes}, m.Validate()
	case Cap:
		m := direction.Cap{Dim: dim, Clip: ask.Clip, Share: z.Share, Epsilon: z.Epsilon}
		return directions{m, dim, direction.SeedBytes}, m.Validate()
	}
	if z.Name == Vector && p.Route.Sum.AggregatorNoise() {
		return newProved(p, dim)
	}
	if z.Name == Vector {
		return newVectors(p, dim)
	}
	return nil, fmt.Errorf("gradient: no report is named %q: choose one of %v", z.Name, plan.GradientReports)
}

// directions are reports of one message each, which say nothing in sum: the tally keeps them
// as they are, and they are expanded one block after another.
type directions struct {
	mechanism interface {
		Randomize(r *rand.Rand, x []float64) []byte
		Prob(report []byte, x []float64) float64
		Sum(reports iter.Seq[[]byte]) ([]float64, error)
		Estimate(sum []float64, n int) []estimate.Value
		Event(users int) account.Event
		Local(adj account.Adjacency) account.Guarantee
	}
	dim, size int
}

func (d directions) randomize(r *rand.Rand, g []float64) [][]byte {
	return [][]byte{d.mechanism.Randomize(r, g)}
}

func (d directions) draw(r *rand.Rand, gradients iter.Seq[[]float64], t tally.Tally) error {
	for g := range gradients {
		if err := t.Add(d.mechanism.Randomize(r, g)); err != nil {
			return err
		}
	}
	return nil
}

func (d directions) tally() tally.Tally { return tally.NewRows(d.size) }

func (d directions) mean(t tally.Tally, n int) ([]float64, float64, error) {
	sum, err := d.mechanism.Sum(t.(*tally.Rows).All())
	if err != nil {
		return nil, 0, err
	}
	values := d.mechanism.Estimate(sum, n)
	for i, v := range values {
		sum[i] = v.Mean
	}
	return sum, values[0].StdErr, nil
}

// limit adds to a mean what the reports of n devices add, by the normal limit of their sum: whatever
// they hold, a coordinate of a direction has the variance 1/dim.
func (d directions) limit(r *rand.Rand, mean []float64, n int) (err float64) {
	err = d.mechanism.Estimate(make([]float64, d.dim), n)[0].StdErr
	for i := range mean {
		mean[i] += err * r.NormFloat64()
	}
	return err
}

func (d directions) event(honest int) account.Event { return d.mechanism.Event(honest) }
func (d directions) local() account.Guarantee       { return d.mechanism.Local(account.Replacement) }

// reach returns how long the estimate of one report is, whatever it says.
func (d directions) reach() float64 {
	return d.mechanism.Estimate(make([]float64, d.dim), 1)[0].StdErr * math.Sqrt(float64(d.dim))
}
