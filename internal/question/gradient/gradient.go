// Package gradient asks how each respondent's example would change a model, by a direction or by bits of a rotated
// vector (ESA, section VI). Used by question/all, protocol/design, internal/release/results and internal/simulate.
//
// The analyzer takes a step of the mean, and the next round of a study asks with the model that this gives.
package gradient

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Labelled is the value of a gradient question: an example and the index of its class. Both
// are private. Neither has to fit (question.OutOfDomainError).
type Labelled struct {
	Features []float32
	Class    int
}

// Question is a model's gradient, told by a report of the plan's.
type Question struct {
	plan   plan.Plan
	ask    plan.Gradient
	layers []nn.Layer
	report reporter
	state  *State    // of the round; nil: what the plan promises is known, and nothing is answered
	passes sync.Pool // *pass
}

// newQuestion makes the question of a valid plan runnable, but for its state.
func newQuestion(p plan.Plan) (*Question, error) {
	q := &Question{plan: p, ask: *p.Question.Gradient}
	var err error
	if q.layers, err = network(q.ask.Model, q.ask.Dimension, len(q.ask.Classes)); err != nil {
		return nil, err
	}
	q.report, err = newReporter(p, q.Params())
	return q, err
}

// Params returns how many numbers the model has.
func (q *Question) Params() int { return params(q.layers) }

// first returns the model of the first round, drawn from the plan's seed.
func (q *Question) first() (*nn.Model, error) {
	s, err := encode.ParseSeed(q.ask.Seed)
	if err != nil {
		return nil, err
	}
	return nn.New(encode.Expand(s, "gradient/model"), q.layers...)
}

var errStateless = errors.New("gradient: the model of the round is missing: fetch the state that the plan names")

// symbol is a gradient, no longer than the plan's clip.
type symbol []float64

// pass is what one example takes.
type pass struct {
	net        *nn.Pass
	target, dy []float32
	gradient   []float32
}

// Encode returns the clipped gradient of the loss at the value. Of a value that does not fit it is
// zero, after as much work.
func (q *Question) Encode(v question.Value) (question.Symbol, error) {
	l, ok := v.(Labelled)
	if !ok {
		return nil, fmt.Errorf("gradient: a gradient question takes Labelled values, not %T", v)
	}
	if q.state == nil {
		return nil, errStateless
	}
	if unfit := q.unfit(l); unfit != nil {
		zero := q.gradient(make([]float32, q.ask.Dimension), 0)
		clear(zero)
		return symbol(zero), unfit
	}
	return symbol(q.gradient(l.Features, l.Class)), nil
}

// unfit says why a value does not fit.
func (q *Question) unfit(l Labelled) *question.OutOfDomainError {
	cause := func(format string, a ...any) *question.OutOfDomainError {
		return &question.OutOfDomainError{Values: 1, Cause: fmt.Errorf(format, a...)}
	}
	if l.Class < 0 || l.Class >= len(q.ask.Classes) {
		return cause("the class is not one of the plan's %d", len(q.ask.Classes))
	}
	if len(l.Features) != q.ask.Dimension {
		return cause("an example of %d numbers, and the plan has %d", len(l.Features), q.ask.Dimension)
	}
	for i, x := range l.Features {
		if x-x != 0 {
			return cause("number %d of the example is not finite", i+1)
		}
	}
	return nil
}

// gradient returns that of the loss at an example, scaled down to the plan's clip.
func (q *Question) gradient(x []float32, class int) []float64 {
	p, _ := q.passes.Get().(*pass)
	if p == nil {
		k := len(q.ask.Classes)
		p = &pass{net: nn.NewPass(q.state.Model), target: make([]float32, k), dy: make([]float32, k), gradient: make([]float32, q.Params())}
	}
	defer q.passes.Put(p)
	scores := p.net.Forward(x, 1)
	clear(p.target)
	p.target[class] = 1
	nn.CrossEntropy(scores, p.target, p.dy, len(p.target))
	p.net.Backward(p.dy)
	clear(p.gradient)
	p.net.Gradient(p.gradient)
	g := make([]float64, len(p.gradient))
	for i, v := range p.gradient {
		g[i] = float64(v)
	}
	clip(g, q.ask.Clip)
	return g
}

// clip scales a vector down to a length, rounding to the shorter side. One that has no length
// becomes zero.
func clip(g []float64, most float64) {
	length := norm(g)
	if length-length != 0 {
		clear(g)
		return
	}
	if length > most {
		scale := most / length * (1 - 0x1p-50)
		for i := range g {
			g[i] *= scale
		}
	}
}

func norm(x []float64) float64 {
	squares := 0.0
	for _, v := range x {
		squares += v * v
	}
	return math.Sqrt(squares)
}

// Randomize keeps nothing in memory.
func (q *Question) Randomize(r *rand.Rand, s question.Symbol, _ question.Memory) (question.Report, error) {
	report, ok := q.report.(randomizer)
	if !ok {
		return question.Report{}, errors.New("gradient: what is summed is split (Measure), and not randomized")
	}
	return question.Report{Parts: [][][]byte{report.randomize(r, s.(symbol))}}, nil
}

// Draw adds to a tally what devices with these symbols say, by the law of Randomize: for
// simulations.
func (q *Question) Draw(r *rand.Rand, symbols iter.Seq[question.Symbol], t tally.Tally) error {
	return q.report.draw(r, func(yield func([]float64) bool) {
		for s := range symbols {
			if !yield(s.(symbol)) {
				return
			}
		}
	}, t)
}

// Limit returns what n devices teach by directions, given the mean of their gradients: for simulations of
// many that draw no report. It changes mean.
func (q *Question) Limit(r *rand.Rand, mean []float64, n int) (*Model, error) {
	d, ok := q.report.(directions)
	if !ok {
		return nil, fmt.Errorf("gradient: reports of %s have no normal limit here", q.ask.Report.Name)
	}
	return q.Taught(mean, d.limit(r, mean, n), n), nil
}

// NewTally is empty.
func (q *Question) NewTally() tally.Tally { return q.report.tally() }
