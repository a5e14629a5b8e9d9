package collection

import (
	"math"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/release"
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

// Tested is what came of an experiment.
type Tested struct {
	Plan    plan.Plan
	Release release.Release
	Model   *experiment.Model
	Public  results.Public
	Result  measure.Result
}

// Run collects from the population, which name names, and publishes.
func (e Experiment) Run(name string, population []lift.Person, progress simulate.Progress) (Tested, error) {
	start := time.Now()
	var out Tested
	minimum := e.Minimum
	if minimum == 0 {
		minimum = len(population)
	}
	asked := e.Asked
	p := measure.Draft(plan.Question{Kind: "experiment", Experiment: &asked}, e.Budget, minimum)
	p.Title = e.Title
	if e.Route.Kind != "" {
		p.Route = e.Route
	} else {
		asked.Seed = measure.PublicSeed(e.Seed)
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
	values := make(distribution.Values, len(population))
	for i, r := range population {
		values[i] = experiment.Record(r)
	}
	a, err := ask(proto, keys, values, e.Full, simulate.Bounded{}, e.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Plan, out.Model, out.Public = p, a.learned.(*experiment.Model), results.Public{Truth: a.truth}
	if out.Release, err = a.publish(proto, out.Public, e.Seed); err != nil {
		return out, err
	}
	res := measure.Result{
		Dataset: name, Respondents: len(population), Users: minimum, Seed: e.Seed, Plan: measure.WithoutKeys(p),
		Survey: &measure.Survey{Fidelity: "law", Withheld: out.Release.Withheld},
	}
	if e.Full {
		res.Fidelity = "full"
	}
	if err := promised(&res, proto); err != nil {
		return out, err
	}
	res.Lifts = liftsOf(out.Model, a.truth)
	res.Seconds = time.Since(start).Seconds()
	out.Result = res
	return out, nil
}

// liftsOf lists the lifts that a release shows, beside the truth.
func liftsOf(m *experiment.Model, truth *results.Truth) (all []measure.Lift) {
	e := m.Asked
	for metric := range e.Metrics {
		for arm := 1; arm < len(e.Arms); arm++ {
			l := lift.Of(e, m.Sums, arm, metric)
			one := measure.Lift{
				Arm: e.Arms[arm], Metric: e.Metrics[metric].Name,
				Deviations: l.Evidence, Found: math.Abs(l.Evidence) > lift.Z(e), Truth: truth.Arms[arm][metric]/truth.Arms[0][metric] - 1,
			}
			if r := l.Relative; !math.IsNaN(r.Best) {
				one.Lift, one.Low, one.High = &r.Best, &r.Whole[0], &r.Whole[1]
			}
			all = append(all, one)
		}
	}
	return all
}
