// Package strings asks for the frequent ones of strings that nobody listed, in one round (docs/strings.md). Used by
// question/all, protocol/design, internal/release/results and internal/simulate.
package strings

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/treecode"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/registry"
	"github.com/confetti-dp/confetti/plan"
)

func init() { registry.Register("strings", validate, newQuestion) }

// Question is a plan's, made runnable.
type Question struct {
	plan plan.Plan
	ask  plan.Strings
	code *treecode.Code
	rows *vector.Mechanism // nil where vectors are summed
}

// newQuestion makes the question of a valid plan runnable.
func newQuestion(p plan.Plan) (*Question, error) {
	q := &Question{plan: p, ask: *p.Question.Strings}
	seed, err := encode.ParseSeed(q.ask.Seed)
	if err != nil {
		return nil, fmt.Errorf("strings: %w", err)
	}
	if q.code, err = treecode.New(shape(q.ask), seed); err != nil || summed(p) {
		return q, err
	}
	q.rows, err = vector.New(specOf(p, q.ask, seed))
	return q, err
}

// shape returns the plan's code but for its seed.
func shape(ask plan.Strings) treecode.Shape {
	return treecode.Shape{
		Alphabet: ask.Alphabet, Longest: ask.Longest, Cells: ask.Cells, Hashes: ask.Hashes, Tail: ask.Tail,
		Buckets: ask.Buckets, Pairs: ask.Pairs,
	}
}

// specOf returns the mechanism.
func specOf(p plan.Plan, ask plan.Strings, seed [32]byte) vector.Spec {
	return vector.Spec{
		Dimension: shape(ask).Numbers(), Rows: ask.Rows, Answered: ask.Answered, Envelopes: min(p.MostMessages(), ask.Rows),
		Clip: ask.Clip, Flip: ask.Flip, SquaredDistance: treecode.SquaredDistance, Rare: ask.Rare, Seed: seed,
	}
}

// Rows returns the mechanism of answers that are mixed.
func (q *Question) Rows() *vector.Mechanism { return q.rows }

// Code returns the code.
func (q *Question) Code() *treecode.Code { return q.code }

// Encode writes the vector of a string. One that does not fit is answered as the plan says: as its first
// characters, or as the reserved string, which a release counts.
func (q *Question) Encode(v question.Value) (question.Symbol, error) {
	text, ok := v.(string)
	if !ok {
		return nil, fmt.Errorf("strings: takes a string, not %T", v)
	}
	out := make([]float32, q.code.Numbers())
	symbols, unfit := q.Symbols(text)
	q.code.Write(symbols, out)
	if unfit != nil {
		return out, unfit
	}
	return out, nil
}

// Symbols returns those of the string that a text counts as; none: of the reserved one.
func (q *Question) Symbols(text string) ([]uint8, *question.OutOfDomainError) {
	symbols, err := q.code.Encode(text)
	if err == nil {
		return symbols, nil
	}
	if q.plan.Question.Unfit == plan.UnfitClip && errors.Is(err, treecode.ErrLong) {
		symbols, _ = q.code.Encode(q.code.Cut(text))
	}
	return symbols, &question.OutOfDomainError{Values: 1, Cause: err}
}

// Randomize answers rows that it draws and tells nobody. What is sent of them is final.
func (q *Question) Randomize(r *rand.Rand, symbol question.Symbol, _ question.Memory) (question.Report, error) {
	if q.Summed() {
		return question.Report{}, errors.New("strings: what is summed is split (Measure), and not randomized")
	}
	return question.Report{Parts: [][][]byte{q.rows.Bodies(r, symbol.([]float32))}}, nil
}

// Ones gives the probability, by row, that an answer to it is a one when a device holds the symbol; nil of sums.
func (q *Question) Ones(s question.Symbol) []float64 {
	if q.Summed() {
		return nil
	}
	ones := make([]float64, q.ask.Rows)
	q.rows.Ones(s.([]float32), ones)
	return ones
}
