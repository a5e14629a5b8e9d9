package learn

import (
	rows "github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/plan"
)

// round is what a device is asked in one of the rounds.
type round struct {
	sums     string  // what its vectors are made of, as a plan has it
	length   int     // of its vector
	distance float64 // largest squared distance of two
	share    float64 // of the bits, and of the budget where a device answers every round
}

// learner learns a task from sums of what its rounds ask. It is used once.
type learner struct {
	rounds []round
	// encode writes what a record says in the round that learn has come to, from several
	// goroutines at once.
	encode func(r records, i int, v []float32)
	// train are the respondents' records in the features of the round.
	train func() records
	learn func(sum rows.Sum, respondents int) error
	score func() score
}

// momentShare is what the first of several rounds takes where it asks for second moments,
// and cohortShare its share of the devices where each answers one round.
const (
	momentShare = 0.3
	cohortShare = 0.45
)

// newLearner returns the one for a task: where public inputs are of its kind, sums or gradients
// in their features; otherwise second moments first.
func newLearner(t *task, s Setting) (*learner, error) {
	switch {
	case t.metric != accuracy:
		return t.least()
	case t.white && s.Rounds == 1:
		return t.classSums()
	case s.Rounds == 1:
		return t.ridge()
	}
	return t.descent(s)
}

func (t *task) shape() (features.Shape, error) {
	s := features.Shape{Dimension: t.train.x.Cols, Classes: len(t.classes)}
	return s, s.Validate()
}

func (t *task) least() (*learner, error) {
	shape := features.Squares{Dimension: t.train.x.Cols}
	var fitted moments.Regression
	return &learner{
		rounds: []round{{plan.SumsSquares, shape.Len(), features.SquaresDistance, 1}},
		encode: func(r records, i int, v []float32) { shape.Message(r.row(i), r.target[i], v) },
		train:  func() records { return t.train },
		learn: func(sum rows.Sum, n int) error {
			sums, err := shape.Decode(sum.Vector, sum.Error)
			if err == nil {
				fitted, err = moments.Least(sums, n)
			}
			return err
		},
		score: func() score { return t.test.predicted(fitted.Value, fitted.Deviation) },
	}, shape.Validate()
}

func (t *task) classSums() (*learner, error) {
	shape, err := t.shape()
	var fitted moments.Linear
	return &learner{
		rounds: []round{{plan.SumsClasses, shape.ClassLen(), features.ClassDistance, 1}},
		encode: func(r records, i int, v []float32) { shape.ClassMessage(r.row(i), r.y[i], v) },
		train:  func() records { return t.train },
		learn: func(sum rows.Sum, _ int) (err error) {
			fitted, err = moments.ClassSums(shape, moments.Shrunk(sum.Vector, sum.Error, t.public.x))
			return err
		},
		score: func() score { return t.test.classified(fitted.Class, len(t.classes)) },
	}, err
}

func (t *task) ridge() (*learner, error) {
	shape, err := t.shape()
	var fitted moments.Linear
	return &learner{
		rounds: []round{{plan.SumsMoments, shape.Len(), features.SquaredDistance(), 1}},
		encode: func(r records, i int, v []float32) { shape.Message(r.row(i), r.y[i], v) },
		train:  func() records { return t.train },
		learn: func(sum rows.Sum, n int) error {
			sums, err := shape.Decode(sum.Vector, sum.Error)
			if err == nil {
				fitted, err = moments.Ridge(sums, n)
			}
			return err
		},
		score: func() score { return t.test.classified(fitted.Class, len(t.classes)) },
	}, err
}

// descent is rounds of gradients, after one of second moments where features are not white
// yet.
func (t *task) descent(s Setting) (*learner, error) {
	shape, err := t.shape()
	if err != nil {
		return nil, err
	}
	l := &learner{}
	at, train, test := moments.NewGradients(shape), t.train, t.test
	gradients, share := s.Rounds, 1.0
	if !t.white {
		first := momentShare
		if s.Takes == takesOne {
			first = cohortShare
		}
		l.rounds = []round{{plan.SumsMoments, shape.Len(), features.SquaredDistance(), first}}
		gradients, share, at = s.Rounds-1, 1-first, nil
	}
	for range gradients {
		l.rounds = append(l.rounds, round{plan.SumsGradients, shape.GradientLen(), features.GradientDistance, share / float64(gradients)})
	}
	// Features in the coordinates of the descent are computed once for all rounds.
	l.encode = func(r records, i int, v []float32) {
		if at == nil {
			shape.Message(r.row(i), r.y[i], v)
			return
		}
		at.Message(r.row(i), r.y[i], v)
	}
	l.train = func() records { return train }
	l.learn = func(sum rows.Sum, n int) error {
		if at != nil {
			return at.Step(sum.Vector, n)
		}
		sums, err := shape.Decode(sum.Vector, sum.Error)
		if err == nil {
			at, err = moments.NewDescent(sums, n)
		}
		if err == nil {
			train, test = t.train.white(&at.Point), t.test.white(&at.Point)
		}
		return err
	}
	l.score = func() score { return test.classified(at.Classifier().Class, len(t.classes)) }
	return l, nil
}

// white are records in the features of a point.
func (r records) white(p *features.Point) records {
	y := r
	y.x = matrix(r.x.Rows, r.x.Cols)
	each(r.x.Rows, func() []float32 { return make([]float32, r.x.Cols) }, func(held []float32, i int) {
		copy(held, r.row(i))
		p.Features(held, y.row(i))
	})
	return y
}

// alike is how many vectors are compared with each other.
const alike = 100

// overlap returns that of messages of public records, in the round that learn has come to.
func (l *learner) overlap(public records, length int) rows.Overlap {
	return overlap(public.x.Rows, length, func(i int, v []float32) { l.encode(public, i, v) })
}

// overlap returns that of the first of n vectors.
func overlap(n, length int, write func(i int, v []float32)) rows.Overlap {
	vectors := make([][]float32, min(alike, n))
	for i := range vectors {
		vectors[i] = make([]float32, length)
		write(i, vectors[i])
	}
	return rows.Overlaps(vectors)
}
