package audit

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/question/vector"
)

// Canaries is one collection of a plan's, of sums of vectors, in which so many of the honest
// respondents are canaries: the features of each are a direction of its own or the
// opposite. Their devices answer by the pipeline, and the score is what the estimated sum,
// less what is known of the others, says along the difference.
func (t *Route) Canaries(canaries int, seed uint64, progress func(stage string, done, of int)) ([]Finding, error) {
	q, ok := t.protocol.Question.(*vector.Question)
	if !ok {
		return nil, fmt.Errorf("audit: a question of kind %q has no room for canaries: only sums of vectors have", t.protocol.Plan.Question.Kind)
	}
	honest, dimension := t.protocol.Plan.HonestMinimum(), t.protocol.Plan.Question.Vector.Features
	if most := min(honest, dimension); canaries < 4 || canaries > most {
		return nil, fmt.Errorf("audit: %d canaries: give 4 to %d, one for an honest respondent and a feature", canaries, most)
	}
	r := replay.New(seed)
	d, err := t.device(r)
	if err != nil {
		return nil, err
	}
	counts, c := t.newCounts(), guessed{make([]float64, canaries), make([]bool, canaries)}
	for i := range honest {
		value := t.holds[2]
		if i < canaries {
			c.Second[i] = r.Uint64()>>63 == 1
			value = lone(dimension, i, c.Second[i])
		}
		if _, _, err := d.answer(value, counts); err != nil {
			return nil, err
		}
		progress("canaries", i+1, honest)
	}
	sum := t.protocol.Estimate([]tally.Crowd{{Tally: counts, Respondents: honest, Smallest: honest}})[0]
	others, first, second := make([]float32, len(sum)), make([]float32, len(sum)), make([]float32, len(sum))
	q.Vector(t.holds[2].(vector.Record), others)
	for i := range c.Score {
		q.Vector(lone(dimension, i, false), first)
		q.Vector(lone(dimension, i, true), second)
		for j, v := range sum {
			c.Score[i] += float64(second[j]-first[j]) * (v.Mean - float64(honest-canaries)*float64(others[j]))
		}
	}
	claim, err := t.claim(account.ShufflerHonest)
	if err != nil {
		return nil, err
	}
	findings, err := c.findings(fmt.Sprintf("%d canaries in orthogonal directions, in the sum of a batch", canaries), claim)
	for i := range findings {
		findings[i].Observer = account.ShufflerHonest
	}
	return findings, err
}

// claim is what the plan promises before an observer, of two records.
func (t *Route) claim(observer string) (account.Guarantee, error) {
	for _, s := range t.promise.Statements {
		if s.Observer == observer {
			return s.Guarantee.Under(account.Replacement)
		}
	}
	return account.Guarantee{}, fmt.Errorf("audit: the plan promises nothing to %q", observer)
}

// lone is a record in the direction of one feature.
func lone(dimension, i int, second bool) vector.Record {
	v := vector.Record{Features: make([]float32, dimension)}
	v.Features[i] = -1
	if second {
		v.Features[i] = 1
	}
	return v
}
