package collection

import (
	"fmt"
	"math"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// Search finds the frequent strings of a population whose domain nobody has declared:
// the survey's one attribute is of kind prefixes, with a search. It is a study, whose
// rounds are made as services make them. The respondents are dealt into so many rounds,
// each into one, so that everybody spends the budget once. Errors are those of the
// strings that were found, taken for the whole population: the last round's respondents
// are a sample of it. The release is that of the last round.
func (s Survey) Search(name string, population []Respondent, rounds int, progress simulate.Progress) (Surveyed, error) {
	const forRounds, forCounts = 0x5ea, 0x5eb
	start := time.Now()
	values := make([]question.Value, len(population))
	for to, from := range seeded.New(s.Seed, forRounds).Perm(len(population)) {
		values[to] = population[from]
	}
	p, keys, err := s.draft(population[:len(population)/rounds])
	if err != nil {
		return Surveyed{}, err
	}
	if p, err = design.Fill(p); err != nil {
		return Surveyed{}, err
	}
	study := plan.Study{Version: plan.StudyVersion, Plan: p, Rounds: rounds, Takes: plan.TakesOne, Withheld: plan.WithheldEnds}
	proto, err := protocol.New(p)
	if err != nil {
		return Surveyed{}, err
	}
	state, _, err := results.Next(proto.Question, nil)
	if err != nil {
		return Surveyed{}, err
	}
	var asked []measure.Round
	for round := range rounds {
		if proto, err = roundOf(study, round+1, state); err != nil {
			return Surveyed{}, err
		}
		group := values[round*len(values)/rounds : (round+1)*len(values)/rounds]
		out, err := s.collect(proto, keys, group, seeded.New(s.Seed, forCounts, uint64(round)).Uint64(), progress)
		if err != nil {
			return Surveyed{}, err
		}
		asked = append(asked, measure.Round{Candidates: len(out.Model.Attributes[0].Values), Devices: len(group)})
		next, done, err := results.Next(proto.Question, out.Model)
		if err != nil {
			return Surveyed{}, err
		}
		if !done {
			state = next
			continue
		}
		found, err := proto.Question.(*histogram.Question).Found(out.Model)
		if err != nil {
			return Surveyed{}, err
		}
		res, err := s.result(name, proto, len(population))
		if err != nil {
			return Surveyed{}, err
		}
		res.Rounds, res.Found, res.Plan = asked, len(found), nil // whose candidates are many
		compareFound(&res, found, asked[round].Candidates, len(group), population)
		res.Seconds = time.Since(start).Seconds()
		out.Release.Remarks = append(out.Release.Remarks, proto.InStudy(study))
		out.Plan, out.Result = proto.Plan, res
		return out, nil
	}
	return Surveyed{}, fmt.Errorf("the search has not come to the ends of strings after %d rounds, which had up to %d candidates: allow more rounds, go further ahead in each, or look for more frequent strings", rounds, asked[rounds-1].Candidates)
}

// roundOf makes a round of a study runnable.
func roundOf(study plan.Study, number int, state []byte) (*protocol.Protocol, error) {
	p, err := study.Round(number, plan.StateName(state), plan.Times{})
	if err != nil {
		return nil, err
	}
	return protocol.WithState(p, state)
}

// compareFound measures what the last round's respondents say of the population: of the
// strings found among so many candidates.
func compareFound(r *measure.Result, found []histogram.Found, candidates, sampled int, population []Respondent) {
	truth := make(map[string]int, len(found))
	for _, a := range population {
		truth[a.Values[0].(string)]++
	}
	estimates := make([]estimate.Value, len(found))
	for i, f := range found {
		estimates[i] = ofAll(f.Respondents, sampled, len(population))
	}
	of := func(i int) int { return truth[found[i].Text] }
	var errors measure.Errors
	errors.Add(estimates, of)
	errors.State(r.CountErrors, r.Survey)
	top := measure.Largest(len(found), measure.TopCells, func(i int) float64 { return estimates[i].Mean })
	r.Top = measure.Top(top, func(i int) string { return found[i].Text }, estimates, func(_, i int) (low, high float64) {
		low, high = estimates[i].Interval(estimate.Joint(measure.IntervalLevel, candidates))
		return math.Max(0, low), high
	}, of)
}

// ofAll takes the number of holders among n respondents, drawn without replacement
// from all, for that among all; its error is that of the noise and of the draw.
func ofAll(v estimate.Value, n, all int) estimate.Value {
	scale := float64(all) / float64(n)
	share := math.Min(1, math.Max(0, v.Mean/float64(n)))
	drawn := float64(n) * share * (1 - share) * (1 - 1/scale)
	return estimate.Value{Mean: scale * v.Mean, StdErr: scale * math.Sqrt(v.StdErr*v.StdErr+drawn)}
}
