package collection

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/simulate"
)

// Experiment asks a population that chance has put into arms what each has of some metrics, through the whole flow.
type Experiment struct {
	Title   string
	Asked   plan.Experiment // but for its noise and its seed, which follows from Seed
	Budget  plan.Budget
	Route   plan.Route // without keys; the zero one mixes
	Minimum int        // smallest crowd that is released; 0: all
	Full    bool       // fidelity
	Seed    uint64
}

// Run collects from the population, which name names, and publishes.
func (e Experiment) Run(name string, population []lift.Person, progress simulate.Progress) (Told, error) {
	asked := e.Asked
	e.Seed += uint64(max(1, asked.Look)-1) << 32 // looks have noise of their own
	if e.Route.Kind == "" {
		asked.Seed = measure.PublicSeed(e.Seed)
	}
	values := make(distribution.Values, len(population))
	for i, r := range population {
		values[i] = r
	}
	return once{e.Title, e.Budget, e.Route, e.Minimum, e.Full, e.Seed}.run(name, plan.Question{Kind: "experiment", Experiment: &asked}, values, progress, compareArms)
}

// compareArms measures the lifts that a release shows against the truth.
func compareArms(r *measure.Result, learned question.Model, truth *results.Truth) error {
	r.Lifts = liftsOf(learned.(*experiment.Model), truth)
	return nil
}

// liftsOf lists the lifts that a release shows, beside the truth.
func liftsOf(m *experiment.Model, truth *results.Truth) (all []measure.Lift) {
	e := m.Asked
	for metric := range e.Metrics {
		for arm := 1; arm < len(e.Arms); arm++ {
			l := lift.Of(e, m.Sums, arm, metric)
			one := measure.Lift{
				Arm: e.Arms[arm], Metric: e.Metrics[metric].Name,
				Deviations: l.Evidence, Found: math.Abs(l.Evidence) > lift.Z(e, m.Sums),
			}
			if e.Past == nil {
				real := truth.Arms[arm][metric]/truth.Arms[0][metric] - 1
				one.Truth = &real
			}
			if r := l.Relative; !math.IsNaN(r.Best) {
				one.Lift, one.Low, one.High = &r.Best, &r.Whole[0], &r.Whole[1]
			}
			all = append(all, one)
		}
	}
	return all
}
