package learn

import (
	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/dp/vector"
	"github.com/confetti-dp/confetti/dp/vector/record"
	"github.com/confetti-dp/confetti/learn/moments"
)

// round is what a device is asked in one of the rounds.
type round struct {
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
	learn func(sum vector.Sum, respondents int) error
	score func() score
	// linear is what was learned, after another map of features if there is one.
	linear func() (moments.Linear, *whiten.State)
}

// momentShare is what the first of several rounds takes where it asks for second moments,
// and cohortShare its share of the devices where each answers one round.
const (
	momentShare = 0.3
	cohortShare = 0.45
)

// newLearner is the one for a task: where public inputs are of its kind, sums or gradients
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

func (t *task) shape() (record.Shape, error) {
	s := record.Shape{Dimension: t.train.x.Cols, Classes: len(t.classes)}
	return s, s.Validate()
}

func (t *task) least() (*learner, error) {
	shape := record.Squares{Dimension: t.train.x.Cols}
	var fitted moments.Regression
	return &learner{
		rounds: []round{{shape.Len(), record.SquaresDistance, 1}},
		encode: func(r records, i int, v []float32) { shape.Message(r.row(i), r.target[i], v) },
		train:  func() records { return t.train },
		learn: func(sum vector.Sum, n int) error {
			sums, err := shape.Decode(sum.Vector, sum.Error)
			if err == nil {
				fitted, err = moments.Least(sums, n)
			}
			return err
		},
		score: func() score { return t.test.predicted(fitted) },
		linear: func() (moments.Linear, *whiten.State) {
			t.number.Deviation = fitted.Deviation * t.number.Unit
			return fitted.Linear, nil
		},
	}, shape.Validate()
}

func (t *task) classSums() (*learner, error) {
	shape, err := t.shape()
	var fitted moments.Linear
	return &learner{
		rounds: []round{{shape.ClassLen(), record.ClassDistance, 1}},
		encode: func(r records, i int, v []float32) { shape.ClassMessage(r.row(i), r.y[i], v) },
		train:  func() records { return t.train },
		learn: func(sum vector.Sum, _ int) (err error) {
			fitted, err = moments.ClassSums(shape, sum.Vector)
			return err
		},
		score:  func() score { return t.test.classified(fitted, len(t.classes)) },
		linear: func() (moments.Linear, *whiten.State) { return fitted, nil },
	}, err
}

func (t *task) ridge() (*learner, error) {
	shape, err := t.shape()
	var fitted moments.Linear
	return &learner{
		rounds: []round{{shape.Len(), record.SquaredDistance(), 1}},
		encode: func(r records, i int, v []float32) { shape.Message(r.row(i), r.y[i], v) },
		train:  func() records { return t.train },
		learn: func(sum vector.Sum, n int) error {
			sums, err := shape.Decode(sum.Vector, sum.Error)
			if err == nil {
				fitted, err = moments.Ridge(sums, n)
			}
			return err
		},
		score:  func() score { return t.test.classified(fitted, len(t.classes)) },
		linear: func() (moments.Linear, *whiten.State) { return fitted, nil },
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
		if s.Takes == TakesOne {
			first = cohortShare
		}
		l.rounds = []round{{shape.Len(), record.SquaredDistance(), first}}
		gradients, share, at = s.Rounds-1, 1-first, nil
	}
	for range gradients {
		l.rounds = append(l.rounds, round{shape.GradientLen(), record.GradientDistance, share / float64(gradients)})
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
	l.learn = func(sum vector.Sum, n int) error {
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
	l.score = func() score { return test.classified(at.Classifier(), len(t.classes)) }
	l.linear = func() (moments.Linear, *whiten.State) {
		if t.white {
			return at.Classifier(), nil
		}
		return at.Classifier(), &whiten.State{Mean: at.Mean, Matrix: at.Whiten}
	}
	return l, nil
}

// white are records in the features of a point.
func (r records) white(p *record.Point) records {
	y := r
	y.x = matrix(r.x.Rows, r.x.Cols)
	each(r.x.Rows, func() []float32 { return make([]float32, r.x.Cols) }, func(held []float32, i int) {
		copy(held, r.row(i))
		p.Features(held, y.row(i))
	})
	return y
}

// needs are what the rounds are designed for: of so many respondents each.
func (l *learner) needs(t *task, s Setting, cohorts [][]int) ([]vector.Need, []float64) {
	needs, shares := make([]vector.Need, len(l.rounds)), make([]float64, len(l.rounds))
	for i, r := range l.rounds {
		n := len(cohorts[i])
		needs[i] = vector.Need{Respondents: n, Honest: n, Dimension: r.length, Bits: s.Bits, SquaredDistance: r.distance}
		shares[i] = 1
		if s.Takes == TakesAll {
			needs[i].Bits, shares[i] = max(1, int(r.share*float64(s.Bits))), r.share
		}
	}
	overlap := l.overlap(t.public, l.rounds[0].length)
	for i := range needs {
		if i == 0 || t.white { // later gradients in features of an earlier round have little in common
			needs[i].Overlap = overlap
		}
		needs[i].Seed[0], needs[i].Seed[1], needs[i].Seed[2] = byte(s.Seed), byte(s.Seed>>8), byte(i)
	}
	return needs, shares
}

// alike is how many public records are compared with each other.
const alike = 100

// overlap is that of messages of so many numbers, in the round that learn has come to.
func (l *learner) overlap(public records, length int) vector.Overlap {
	vectors := make([][]float32, min(alike, public.x.Rows))
	for i := range vectors {
		vectors[i] = make([]float32, length)
		l.encode(public, i, vectors[i])
	}
	return vector.Overlaps(vectors)
}
