// Package distribution draws what a whole simulated population would give, each total from its exact law, with one
// file for each kind of question. Used by simulate, internal/simulate, internal/audit and lab, and by nothing that
// ships reports.
package distribution

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/question/vector"
)

// Population is the respondents: Values, or for what is too large to be listed or to be drawn
// again, what a plan's totals depend on (Holders, Alike, *Rounded).
type Population interface{ Respondents() int }

// Values lists what each respondent holds, of any kind of question.
type Values []question.Value

// each is every value, with the one who holds it.
func (v Values) each(yield func(question.Value, int) bool) {
	for _, one := range v {
		if !yield(one, 1) {
			return
		}
	}
}

// Respondents returns their number.
func (v Values) Respondents() int { return len(v) }

// Pooled lists respondents as Values does. The bits of their vectors are drawn by the sum of these, nearly by their law and
// in a moment.
type Pooled struct{ Values }

// Stream gives the randomness of one part of a simulated population. Parts are
// drawn from independently, so that a seed gives the same whatever the
// processors.
type Stream func(part ...uint64) *rand.Rand

// Draw samples the crowds that a whole population would give, each total from
// its exact law given the respondents' rounded bits. A crowd's respondents in one
// instance are left out where they are fewer than the plan's minimum, as the shuffler
// would withhold them, and it is withheld where that leaves nobody. With a
// *question.OutOfDomainError the crowds are there too, of devices that do what the plan says
// with such values.
func Draw(p *protocol.Protocol, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	switch q := p.Question.(type) {
	case *density.Question:
		return drawDensity(p.Plan, q, who, stream, progress)
	case *histogram.Question:
		return drawHistogram(p.Plan, q, who, stream, progress)
	case *vector.Question:
		return drawVector(p.Plan, q, who, stream, progress)
	case *gradient.Question:
		values, ok := who.(Values)
		if !ok {
			return nil, stranger(p.Plan, who)
		}
		return drawGradient(p.Plan, q, values, stream, progress)
	case *label.Question:
		values, ok := who.(Values)
		if !ok {
			return nil, stranger(p.Plan, who)
		}
		return drawLabel(p.Plan, q, values, stream, progress)
	case *latent.Question:
		return drawLatent(p.Plan, q, who, stream, progress)
	case *strings.Question:
		return drawStrings(p.Plan, q, who, stream, progress)
	case *table.Question:
		return drawTable(p.Plan, q, who, stream, progress)
	case *experiment.Question:
		return drawExperiment(p.Plan, q, who, stream, progress)
	}
	return nil, fmt.Errorf("distribution: no law is known of %T", p.Question)
}

// stranger returns the error of a population of another kind of question.
func stranger(p plan.Plan, who Population) error {
	return fmt.Errorf("distribution: no law is known of a %s question to %T: list the respondents (Values)", p.Question.Kind, who)
}

// Reveal counts what the population that answers holds, those included who are deleted
// or withheld, so that findings have the truth beside them.
func Reveal(p *protocol.Protocol, values Values) (*results.Truth, error) {
	switch q := p.Question.(type) {
	case *density.Question:
		return revealDensity(p.Plan, values)
	case *histogram.Question:
		return revealHistogram(p.Plan, q, values.each)
	case *vector.Question:
		return revealVector(q, values)
	case *gradient.Question:
		return &results.Truth{}, nil
	case *label.Question:
		return revealLabel(q, values)
	case *latent.Question:
		if q.Inner() == nil {
			return &results.Truth{}, nil
		}
		inner, err := innerValues(values, "latent", q.InnerValue)
		if err != nil {
			return nil, err
		}
		return revealHistogram(q.InnerPlan(), q.Inner(), inner.each)
	case *strings.Question:
		return revealStrings(q, values)
	case *table.Question:
		return revealTable(q, values)
	case *experiment.Question:
		return revealExperiment(q, values)
	}
	return nil, fmt.Errorf("distribution: no truth is known of %T", p.Question)
}

// Reveal counts what the groups hold, as the function of that name does of values.
func (a Alike) Reveal(p *protocol.Protocol) (*results.Truth, error) {
	q, ok := p.Question.(*histogram.Question)
	if !ok {
		return nil, stranger(p.Plan, a)
	}
	return revealHistogram(p.Plan, q, a.values)
}

// dealt returns which of n respondents count, and how many in the smallest batch: each goes to an
// instance drawn at random, and an instance where too few come is left out.
func dealt(r *rand.Rand, p plan.Plan, n int) (counted []int, smallest int) {
	batches := make([][]int, len(p.Route.Ways()))
	for i := range n {
		at := r.IntN(len(batches))
		batches[at] = append(batches[at], i)
	}
	for _, batch := range batches {
		if len(batch) < p.Crowd.Minimum {
			continue
		}
		batch = counting(r, p, batch)
		if smallest == 0 || len(batch) < smallest {
			smallest = len(batch)
		}
		counted = append(counted, batch...)
	}
	return counted, smallest
}

// counting returns which of a batch count: at most n_max of them, drawn at random, as an
// entry hop does.
func counting[T any](r *rand.Rand, p plan.Plan, batch []T) []T {
	most := p.Crowd.Maximum
	if most == 0 || len(batch) <= most {
		return batch
	}
	for i := range most {
		j := i + r.IntN(len(batch)-i)
		batch[i], batch[j] = batch[j], batch[i]
	}
	return batch[:most]
}

// unfits counts values that do not fit.
type unfits struct{ first question.OutOfDomainError }

func (u *unfits) add(value int, e *question.OutOfDomainError) {
	if e == nil {
		return
	}
	if u.first.Values == 0 {
		u.first.Cause = fmt.Errorf("value %d: %w", value+1, e.Cause)
	}
	u.first.Values++
}

// err returns nil where all fit.
func (u *unfits) err() error {
	if u.first.Values == 0 {
		return nil
	}
	return &u.first
}
