package collection

import (
	"cmp"
	"time"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Told carries what came of strings, tables or an experiment.
type Told struct {
	Plan    plan.Plan
	Release release.Release
	Model   question.Model
	Public  results.Public
	Result  measure.Result
}

// once asks one question of a population, in one round.
type once struct {
	title   string
	budget  plan.Budget
	route   plan.Route // without keys; the zero one mixes
	minimum int        // smallest crowd that is released; 0: all
	full    bool
	seed    uint64
}

// run collects the values, designs, publishes, and has compare measure what was learnt against the truth.
func (o once) run(name string, q plan.Question, values distribution.Values, progress simulate.Progress, compare func(*measure.Result, question.Model, *results.Truth) error) (out Told, err error) {
	start := time.Now()
	minimum := cmp.Or(o.minimum, len(values))
	p := measure.Draft(q, o.budget, minimum)
	p.Title = o.title
	if o.route.Kind != "" {
		p.Route = o.route
	}
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		return out, err
	}
	if p, err = design.Fill(p); err != nil {
		return out, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return out, err
	}
	a, err := ask(proto, keys, values, o.full, simulate.Bounded{}, o.seed, progress)
	if err != nil {
		return out, err
	}
	out.Plan, out.Model, out.Public = p, a.learned, results.Public{Truth: a.truth}
	if out.Release, err = a.publish(proto, out.Public, o.seed); err != nil {
		return out, err
	}
	out.Result = measure.Result{
		Dataset: name, Respondents: len(values), Users: minimum, Seed: o.seed, Plan: measure.WithoutKeys(p),
		Survey: &measure.Survey{Fidelity: "law", Withheld: out.Release.Withheld},
	}
	if o.full {
		out.Result.Fidelity = "full"
	}
	if err := promised(&out.Result, proto); err != nil {
		return out, err
	}
	if err := compare(&out.Result, out.Model, a.truth); err != nil {
		return out, err
	}
	out.Result.Seconds = time.Since(start).Seconds()
	return out, nil
}
