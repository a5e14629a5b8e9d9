package up

import (
	"bytes"
	"encoding/csv"

	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/trial"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// Draft returns the plan without parties' keys and addresses.
func (c Command) Draft() (plan.Plan, error) {
	if c.Plan != "" {
		return plans.ReadDraft(c.Plan)
	}
	randomizer := plan.Randomizer{Name: "one-hot", Accounting: "exact"}
	if c.Route == plan.RouteSum { // whose aggregators add the noise
		randomizer = plan.Randomizer{Name: plan.RandomizerNone}
	}
	p := plan.Plan{
		Version: plan.Version, Title: "Which colour do you like best?",
		Question: plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: &plan.Histogram{
			Attributes: []plan.Attribute{{Name: "colour", Kind: "categories", Values: []string{"red", "green", "blue", "yellow", "violet"}}},
			Randomizer: randomizer,
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"},
		Crowd:     plan.Crowd{Minimum: 100},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route:     c.route(),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	if c.Ask != "" {
		p = c.poll(p)
	}
	return p, nil
}

// route returns that of the sample.
func (c Command) route() plan.Route {
	if c.Route == plan.RouteSum {
		return plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Leader: plan.Party{Operator: "leader"}, Helper: plan.Party{Operator: "helper"}, Noise: plan.NoiseAggregators}}
	}
	return plans.Route(1, 2)
}

// values writes made-up answers to the sample: the first colour is the commonest.
func values(t trial.Folder, p plan.Plan, devices int) error {
	asked := p.Question.Histogram.Attributes[0]
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{asked.Name})
	r := rng.New()
	for range devices {
		i := r.IntN(len(asked.Values))
		w.Write([]string{asked.Values[min(i, r.IntN(len(asked.Values)))]})
	}
	w.Flush()
	return atomicfile.Replace(t.Path(trial.Values), b.Bytes(), 0o600)
}
