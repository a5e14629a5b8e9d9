package audit

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/gradient"
	"github.com/confetti-dp/confetti/question/vector"
)

// summed is a question whose batches say a sum of vectors, with room for canaries.
type summed struct {
	dimension int                                               // of what a respondent holds
	lone      func(i int, second bool) question.Value           // in the direction of one number, or the opposite
	vector    func(v question.Value) ([]float64, error)         // that a record is told as
	sum       func(t tally.Tally, users int) ([]float64, error) // that a batch says
}

// sums is the leg's question, if it is one.
func (g *leg) sums() (s summed, ok bool) {
	ask := g.protocol.Plan.Question
	switch q := g.protocol.Question.(type) {
	case *vector.Question:
		return summed{
			ask.Vector.Features,
			func(i int, second bool) question.Value {
				return vector.Record{Features: lone(ask.Vector.Features, i, 1, second)}
			},
			func(v question.Value) ([]float64, error) {
				out := make([]float32, q.Rows().Spec().Dimension)
				q.Vector(v.(vector.Record), out)
				return doubles(out), nil
			},
			func(t tally.Tally, users int) ([]float64, error) {
				c, err := q.Rows().CountsOf(t.(*tally.Counts))
				if err != nil {
					return nil, err
				}
				sum, err := q.Rows().Estimate(c, users)
				return sum.Vector, err
			},
		}, true
	case *gradient.Question:
		return summed{
			ask.Gradient.Dimension,
			func(i int, second bool) question.Value { // so far away that its gradient is clipped
				return gradient.Labelled{Features: lone(ask.Gradient.Dimension, i, 20, second)}
			},
			func(v question.Value) ([]float64, error) {
				s, err := g.encode(v)
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
	return summed{}, false
}

func doubles(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// lone is a vector of that length in the direction of one number, or the opposite.
func lone(dimension, i int, length float32, second bool) []float32 {
	v := make([]float32, dimension)
	v[i] = -length
	if second {
		v[i] = length
	}
	return v
}

// Canaries is one collection in every round, of sums of vectors or of gradients, in which so
// many of the honest respondents are canaries: what each holds has a direction of its own, or
// the opposite, in all rounds. Their devices answer by the pipeline, and the score is what the
// sums, less what is known of the others, say along the differences.
func (t *Route) Canaries(canaries int, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	first := t.legs[0]
	s, ok := first.sums()
	if !ok {
		return nil, fmt.Errorf("audit: a question of kind %q has no room for canaries: only sums of vectors and gradients have", first.protocol.Plan.Question.Kind)
	}
	honest := first.protocol.Plan.HonestMinimum()
	if most := min(honest, s.dimension); canaries < 4 || canaries > most {
		return nil, fmt.Errorf("audit: %d canaries: give 4 to %d, one for an honest respondent and a feature", canaries, most)
	}
	r := replay.New(seed)
	c := guessed{make([]float64, canaries), make([]bool, canaries)}
	for i := range c.Second {
		c.Second[i] = r.Uint64()>>63 == 1
	}
	for round, g := range t.legs {
		if err := g.hide(c, r, func(done int) { progress("canaries", round*honest+done, len(t.legs)*honest) }); err != nil {
			return nil, err
		}
	}
	observer := account.ShufflerHonest
	claim, err := first.claim(observer)
	if len(t.legs) > 1 {
		observer = account.AllRoundsSeen
		claim, err = t.all.Guarantee.Under(account.Replacement)
	}
	if err != nil {
		return nil, err
	}
	all, err := c.findings(fmt.Sprintf("%d canaries in directions of their own, in the sums of %s", canaries, inRounds(len(t.legs))), claim)
	for i := range all {
		all[i].Observer = observer
	}
	return all, err
}

// hide adds to the scores of canaries what the sum of a round says of each.
func (g *leg) hide(c guessed, r *rand.Rand, progress func(done int)) error {
	s, _ := g.sums()
	d, err := g.device(r)
	if err != nil {
		return err
	}
	honest, counts := g.protocol.Plan.HonestMinimum(), g.protocol.NewTally()
	for i := range honest {
		value := g.holds[2]
		if i < len(c.Second) {
			value = s.lone(i, c.Second[i])
		}
		if _, err := d.answer(value, counts, nil); err != nil {
			return err
		}
		progress(i + 1)
	}
	sum, err := s.sum(counts, honest)
	if err != nil {
		return err
	}
	others, err := s.vector(g.holds[2])
	for i := range c.Score {
		first, errFirst := s.vector(s.lone(i, false))
		second, errSecond := s.vector(s.lone(i, true))
		if err = errors.Join(err, errFirst, errSecond); err != nil {
			return err
		}
		for j, x := range sum {
			c.Score[i] += (second[j] - first[j]) * (x - float64(honest-len(c.Second))*others[j])
		}
	}
	return err
}
