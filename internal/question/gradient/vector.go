package gradient

import (
	"iter"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// squaredDistance is the largest of two gradients of length at most 1: any two are
// possible.
const squaredDistance = 4

// vectors are single bits of rotated gradients, divided by the plan's clip. A row that is not
// answered is no message.
type vectors struct {
	mechanism *vector.Mechanism
	clip      float64
	promised  int // respondents whose noise the plan counts on
}

// spec returns the plan's description of vectors of so many numbers.
func spec(p plan.Plan, dim int) (vector.Spec, error) {
	ask := p.Question.Gradient
	z := ask.Report
	s := vector.Spec{
		Dimension: dim, Rows: vector.LeastRows(dim, z.Bits), Answered: z.Bits, Envelopes: p.MostMessages(),
		Clip: z.Radius, Flip: z.Flip, SquaredDistance: squaredDistance, Rare: z.Rare,
	}
	var err error
	if s.Seed, err = encode.ParseSeed(ask.Seed); err != nil {
		return s, err
	}
	return s, s.Validate()
}

func newVectors(p plan.Plan, dim int) (reporter, error) {
	s, err := spec(p, dim)
	if err != nil {
		return nil, err
	}
	m, err := vector.New(s)
	return vectors{m, p.Question.Gradient.Clip, p.MinHonest()}, err
}

func (v vectors) randomize(r *rand.Rand, g []float64) [][]byte {
	unit := make([]float32, len(g))
	scale(g, v.clip, unit)
	return v.mechanism.Bodies(r, unit)
}

// draw counts what devices say, by the law of randomize and without the messages.
func (v vectors) draw(r *rand.Rand, gradients iter.Seq[[]float64], t tally.Tally) error {
	c := v.mechanism.NewCounts()
	unit := make([]float32, v.mechanism.Spec().Dimension)
	for g := range gradients {
		scale(g, v.clip, unit)
		v.mechanism.Draw(r, unit, c)
	}
	c.AddTo(t.(*tally.Counts))
	return nil
}

// scale writes a gradient in units of the clip.
func scale(g []float64, clip float64, unit []float32) {
	for i, x := range g {
		unit[i] = float32(x / clip)
	}
}

// scaledBack returns so many times a sum, with its error.
func scaledBack(sum vector.Sum, times float64) ([]float64, float64, error) {
	for i := range sum.Vector {
		sum.Vector[i] *= times
	}
	return sum.Vector, sum.Error * times, nil
}

func (v vectors) tally() tally.Tally { return v.mechanism.Spec().NewTally() }

func (v vectors) mean(t tally.Tally, n int) ([]float64, float64, error) {
	c, err := v.mechanism.CountsOf(t.(*tally.Counts))
	if err != nil {
		return nil, 0, err
	}
	sum, err := v.mechanism.Estimate(c, n)
	if err != nil {
		return nil, 0, err
	}
	return scaledBack(sum, v.clip/float64(n))
}

func (v vectors) event(honest int) account.Event {
	return v.mechanism.Spec().Event(terms.Relied(honest, v.promised))
}

func (v vectors) local() account.Guarantee { return v.mechanism.Local() }
