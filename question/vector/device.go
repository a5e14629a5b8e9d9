package vector

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Encode writes the vector of a record. One that does not fit is answered as the zero
// vector, with fair bits.
func (q *Question) Encode(v question.Value) (question.Symbol, error) {
	r, ok := v.(Record)
	if !ok {
		return nil, fmt.Errorf("vector: a vector question takes Record values, not %T", v)
	}
	if q.round.Sums == plan.SumsGradients && (q.state == nil || q.state.Point == nil) {
		return nil, errors.New("vector: a round of gradients needs the public state that says where")
	}
	out := make([]float32, q.Coordinates())
	if unfit := q.Vector(r, out); unfit != nil {
		return out, unfit
	}
	return out, nil
}

// Vector writes the vector of a record, of norm at most one: zero where the record does not
// fit and the plan has no nearest one for it.
func (q *Question) Vector(r Record, out []float32) *question.OutOfDomainError {
	stands, unfit := q.StandIn(r)
	q.write(stands, out)
	if stands.Features == nil || len(q.ask.Classes) > 0 && stands.Class < 0 {
		clear(out)
	}
	return unfit
}

// write takes as long for the reference as for others, whose place an ordinary record takes.
func (q *Question) write(r Record, out []float32) {
	if r.Features == nil {
		r.Features = q.ordinary()
	}
	psi, class := q.psi(r), max(0, r.Class)
	switch s := shape(q.ask); q.round.Sums {
	case plan.SumsFeatures:
		copy(out, psi)
	case plan.SumsClasses:
		s.ClassMessage(psi, class, out)
	case plan.SumsMoments:
		s.Message(psi, class, out)
	case plan.SumsSquares:
		squares(q.ask).Message(psi, q.target(r), out)
	case plan.SumsGradients:
		phi := make([]float32, len(psi))
		q.state.Point.Features(psi, phi)
		q.state.Point.Message(phi, class, out)
	}
}

// target returns the number in [-1, 1] that features are to tell: of two classes the ends.
func (q *Question) target(r Record) float64 {
	if n := q.ask.Number; n != nil {
		return (math.Max(n.Low, math.Min(n.High, r.Number)) - n.Low - (n.High-n.Low)/2) / ((n.High - n.Low) / 2)
	}
	return float64(2*r.Class - 1)
}

// scaled says that the length of features counts, which others lose.
func (q *Question) scaled() bool {
	return q.round.Sums == plan.SumsFeatures || q.round.Sums == plan.SumsSquares
}

// psi returns what a vector is made of.
func (q *Question) psi(r Record) []float32 {
	switch {
	case q.texts():
		psi, err := q.state.Inputs.OfText(r.Text)
		if err != nil {
			panic(err) // they are of texts
		}
		return q.state.bounded(psi)
	case q.scaled() && !q.mapped():
		return r.Features
	}
	return q.state.Features(r.Features)
}

// mapped says that a public map makes features of what a respondent holds.
func (q *Question) mapped() bool {
	return q.state != nil && (q.state.Map != nil || q.state.Inputs != nil)
}

// texts says that respondents hold texts.
func (q *Question) texts() bool {
	return q.state != nil && q.state.Inputs != nil && q.state.Inputs.Texts()
}

// Randomize answers rows that it draws and tells nobody. What is sent of them is final: the
// device keeps it until it is taken, and never draws for this round again.
func (q *Question) Randomize(r *rand.Rand, symbol question.Symbol, _ question.Memory) (question.Report, error) {
	if q.whole != nil {
		return question.Report{}, errors.New("vector: what is summed is split (Measure), and not randomized")
	}
	return question.Report{Parts: [][][]byte{q.rows.Bodies(r, symbol.([]float32))}}, nil
}

// Ones gives the probability, by row, that an answer to it is a one when a device holds the symbol;
// nil of vectors whose length is proved.
func (q *Question) Ones(s question.Symbol) []float64 {
	if q.whole != nil {
		return nil
	}
	ones := make([]float64, q.spec().Rows)
	q.rows.Ones(s.([]float32), ones)
	return ones
}
