package collection

import (
	"fmt"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Survey asks a population one histogram question through the whole flow: plan,
// devices, shuffler, analyzer, release. Unlike a Histogram, which measures a
// mechanism on counts, it has all that a plan can ask: several attributes, sets,
// crowds.
type Survey struct {
	Title        string
	Histogram    plan.Histogram // without the noise, which follows; seeds follow from Seed, and Collect, where it is left out, from what errs less
	Crowds       []string       // that the population is of; none: one, of everybody
	Budget       plan.Budget
	Minimum      int     // smallest crowd that is released; 0: the smallest there is, as far as deletion leaves it
	CrowdEpsilon float64 // of the sizes of crowds, at the budget's delta, by randomized deletion; 0: they are public
	Noise        string  // who adds that of a sum; empty: answers are mixed
	Instances    int
	Hops         int
	Suite        string
	Groups       []results.Group  // of cells, for the release
	Full         bool             // fidelity: every message sealed, mixed and opened; otherwise counts from their law
	Work         simulate.Bounded // of fidelity full: keeps in a folder what memory need not hold, and goes on from there; without a folder memory holds all
	Seed         uint64
}

// Respondent is what one of a population answers, and the crowd that it is in.
type Respondent = histogram.Answers

// Surveyed is what a survey gives.
type Surveyed struct {
	Plan    plan.Plan
	Release release.Release
	Model   *histogram.Model // what the release tells of
	Public  results.Public
	Result  measure.Result
	Choice  string // of sample or split in words, where Collect was left out
}

// Run collects from the population, which name names, and publishes.
func (s Survey) Run(name string, population []Respondent, progress simulate.Progress) (Surveyed, error) {
	start := time.Now()
	p, keys, choice, err := s.plan(population)
	if err != nil {
		return Surveyed{}, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return Surveyed{}, err
	}
	values := make([]question.Value, len(population))
	for i, a := range population {
		values[i] = a
	}
	out, err := s.collect(proto, keys, values, s.Seed, progress)
	if err != nil {
		return Surveyed{}, err
	}
	res, err := s.result(name, proto, len(population))
	if err != nil {
		return Surveyed{}, err
	}
	out.Plan, out.Choice = p, choice
	res.Withheld = out.Release.Withheld
	compare(&res, p, out.Model, out.Public.Truth)
	res.Seconds = time.Since(start).Seconds()
	out.Result = res
	return out, nil
}

// collect asks the question of all values, and publishes.
func (s Survey) collect(proto *protocol.Protocol, keys simulate.Keys, values []question.Value, seed uint64, progress simulate.Progress) (out Surveyed, err error) {
	a, err := ask(proto, keys, values, s.Full, s.Work, seed, progress)
	if err != nil {
		return out, err
	}
	out.Model, out.Public = a.learned.(*histogram.Model), results.Public{Groups: s.Groups, Came: came(proto.Plan, values), Truth: a.truth}
	out.Release, err = a.publish(proto, out.Public, s.Seed)
	return out, err
}

// result returns what is known before the answers.
func (s Survey) result(name string, proto *protocol.Protocol, devices int) (measure.Result, error) {
	h := proto.Plan.Question.Histogram
	res := measure.Result{
		Dataset: name, Respondents: devices, Users: proto.Plan.Crowd.Minimum, Seed: s.Seed,
		Plan: measure.WithoutKeys(proto.Plan), CountErrors: &measure.CountErrors{},
		Survey: &measure.Survey{Collect: h.Collect, Fidelity: "law"},
	}
	for _, a := range h.Attributes {
		res.Cells += a.Domain()
	}
	if s.Full {
		res.Fidelity = "full"
	}
	return res, promised(&res, proto)
}

// plan returns the survey's plan, noise calibrated and keys made.
func (s Survey) plan(population []Respondent) (p plan.Plan, keys simulate.Keys, choice string, err error) {
	if p, keys, err = s.draft(population); err != nil {
		return p, keys, "", err
	}
	if s.Noise != "" {
		p, err = design.Fill(p)
		return p, keys, "", err
	}
	p, choice, err = histogram.Choose(p)
	return p, keys, choice, err
}

// draft returns the plan without its noise.
func (s Survey) draft(population []Respondent) (p plan.Plan, keys simulate.Keys, err error) {
	h := s.Histogram
	if h.Randomizer.Seeded() {
		h.Randomizer.Seed = measure.PublicSeed(s.Seed)
	}
	if h.Sketch != nil {
		sketch := *h.Sketch
		sketch.Seed = measure.PublicSeed(s.Seed)
		h.Sketch = &sketch
	}
	p = plan.Plan{
		Version: plan.Version, Title: s.Title,
		Question:  plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: &h},
		Budget:    s.Budget,
		Crowd:     plan.Crowd{Names: s.Crowds, Minimum: s.Minimum},
		Envelopes: plan.Envelopes{Suite: s.Suite},
		Route:     measure.RouteOf(s.Noise, s.Instances, s.Hops),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	deleted := 0
	if s.CrowdEpsilon > 0 {
		c, err := additive.NewCrowd(s.CrowdEpsilon, s.Budget.Delta)
		if err != nil {
			return p, keys, err
		}
		p.Crowd.Deletion = &plan.Deletion{Epsilon: s.CrowdEpsilon, Delta: s.Budget.Delta, Noise: c.Noise, Threshold: c.Threshold}
		deleted = 2 * c.Threshold // at most, but for delta
	}
	if s.Minimum == 0 {
		sizes := make([]int, p.Crowds())
		for _, a := range population {
			sizes[a.Crowd]++
		}
		p.Crowd.Minimum = slices.Min(sizes) - deleted
		if p.Crowd.Minimum < 1 {
			return p, keys, fmt.Errorf("the smallest of %d crowds has %d respondents, of whom randomized deletion may take %d: leave small crowds out, or allow their sizes a larger epsilon", len(sizes), slices.Min(sizes), deleted)
		}
	}
	if s.Work.Dir != "" {
		keys, err = s.Work.OpenKeys(&p)
	} else {
		keys, err = simulate.NewKeys(&p)
	}
	return p, keys, err
}

// promised states what the plan promises and costs.
func promised(r *measure.Result, proto *protocol.Protocol) error {
	promise, err := proto.Promise()
	if err != nil {
		return err
	}
	r.Promised, r.Guarantees = measure.PromisedBy(promise.Shuffled), promise.Statements
	for i, s := range promise.Statements {
		switch epsilon := measure.Finite(s.Guarantee.Epsilon); s.Guarantee.Trust {
		case account.Shuffled: // of the answers before that of the sizes
			if slices.ContainsFunc(promise.Statements[:i], func(s account.Statement) bool { return s.Guarantee.Trust == account.Shuffled }) {
				r.EpsilonCrowdSizes = epsilon
			}
		case account.Local:
			r.EpsilonLocal = epsilon
		case account.OneFragment:
			r.EpsilonOneFragment, r.DeltaOneFragment = epsilon, s.Guarantee.Delta
		}
	}
	for _, m := range statement.Cost(proto) {
		switch m.Name {
		case "messages_per_device":
			r.EnvelopesPerDevice = int(m.Value)
		case "messages_expected":
			r.MessagesPerDevice = m.Value
		case "bytes_per_device":
			r.BytesPerDevice = int(m.Value)
		}
	}
	return nil
}

// compare measures the estimates against the truth.
func compare(r *measure.Result, p plan.Plan, m *histogram.Model, truth *results.Truth) {
	var errors measure.Errors
	for _, t := range m.Tables {
		table := measure.Table{Attribute: p.Question.Histogram.Attributes[t.Attribute].Name, Devices: t.Respondents, Cells: len(t.Values)}
		if names := p.Crowd.Names; len(names) > 0 {
			table.Crowd = names[t.Crowd]
		}
		known := func(cell int) int { return truth.Table(t.Crowd, t.Attribute).Counts[cell] }
		table.RMSE, table.Linf = errors.Add(t.Values, known)
		top := t.Top(measure.TopCells)
		all := t.IntervalsAtOnce(top, measure.IntervalLevel)
		table.Top = measure.Top(top, t.Name, t.Values, func(i, _ int) (low, high float64) { return all[i][0], all[i][1] }, known)
		r.Tables = append(r.Tables, table)
	}
	errors.Into(r.CountErrors, r.Survey)
	if len(r.Tables) > 0 {
		r.Top = r.Tables[0].Top
	}
	if len(r.Tables) == 1 {
		r.Tables = nil
	}
}

// came counts the population by crowd.
func came(p plan.Plan, values []question.Value) []int {
	n := make([]int, p.Crowds())
	for _, v := range values {
		n[v.(histogram.Answers).Crowd]++
	}
	return n
}
