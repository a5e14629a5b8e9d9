package kinds

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
)

// Summed is a question whose batches say a sum of vectors, with room for canaries.
type Summed struct {
	Dimension int                                               // of what a respondent holds
	Lone      func(i int, second bool) question.Value           // in the direction of one number, or the opposite
	Vector    func(v question.Value) ([]float64, error)         // that a record is told as
	Sum       func(t tally.Tally, users int) ([]float64, error) // that a batch says
}

// Sums finds the question of a protocol, if it is one.
func Sums(p *protocol.Protocol) (s Summed, ok bool) {
	ask := p.Plan.Question
	switch q := p.Question.(type) {
	case *vector.Question:
		return Summed{
			ask.Vector.Features,
			func(i int, second bool) question.Value {
				return vector.Record{Features: lone(ask.Vector.Features, i, 1, second)}
			},
			func(v question.Value) ([]float64, error) {
				out := make([]float32, q.Coordinates())
				q.Vector(v.(vector.Record), out)
				return doubles(out), nil
			},
			func(t tally.Tally, users int) ([]float64, error) {
				var sum []float64
				for _, x := range q.Estimate(tally.Crowd{Tally: t, Respondents: users}) {
					sum = append(sum, x.Mean)
				}
				if sum == nil {
					return nil, errors.New("audit: the counts are not those of the question's vectors")
				}
				return sum, nil
			},
		}, true
	case *gradient.Question:
		return Summed{
			ask.Gradient.Dimension,
			func(i int, second bool) question.Value { // so far away that its gradient is clipped
				return gradient.Labelled{Features: lone(ask.Gradient.Dimension, i, 20, second)}
			},
			func(v question.Value) ([]float64, error) {
				s, err := Encode(p, v)
				if err != nil {
					return nil, err
				}
				return gradient.Told(s), nil
			},
			func(t tally.Tally, users int) ([]float64, error) {
				mean, err := q.Mean(tally.Crowd{Tally: t, Respondents: users, Smallest: users})
				for i := range mean {
					mean[i] *= float64(users)
				}
				return mean, err
			},
		}, true
	}
	return Summed{}, false
}

func doubles(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// lone returns a vector of that length in the direction of one number, or the opposite.
func lone(dimension, i int, length float32, second bool) []float32 {
	v := make([]float32, dimension)
	v[i] = -length
	if second {
		v[i] = length
	}
	return v
}
