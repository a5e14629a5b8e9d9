package histogram

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

// ofCollect is what one way of asking several attributes comes to.
type ofCollect struct {
	Plan     plan.Plan         // designed for it
	Rare     float64           // standard error of a value that nobody holds, the largest of the attributes'
	Common   float64           // likewise of one that a tenth of the respondents hold
	Local    account.Guarantee // if everyone colludes
	Messages int               // of a device
}

// compareCollect designs a plan of several attributes both ways, for crowds of its
// minimum, and says in words which is to be preferred and why: sample asks each
// respondent one attribute drawn at random, which gets the whole budget, and split
// asks all of them.
//
// At an equal central epsilon the exact accountant asks for about the same noise in
// each count: of A attributes, sampling leaves n/A respondents to hide among, and
// splitting A times as many counts that move. But a sampled estimate is scaled up
// by A, so that its errors are about sqrt A times as large (ESA recommends sampling,
// going by the local epsilon, which splitting multiplies by A).
func compareCollect(p plan.Plan) (sample, split ofCollect, why string, err error) {
	h := p.Question.Histogram
	if h == nil || len(h.Attributes) < 2 {
		return sample, split, "", fmt.Errorf("histogram: only a histogram of several attributes can be sampled or split")
	}
	if sample, err = collecting(p, plan.CollectSample); err != nil {
		return sample, split, "", fmt.Errorf("histogram: sampling attributes: %w", err)
	}
	if split, err = collecting(p, plan.CollectSplit); err != nil {
		return sample, split, "", fmt.Errorf("histogram: splitting over attributes: %w", err)
	}
	return sample, split, explain(sample, split, len(h.Attributes)), nil
}

func collecting(p plan.Plan, collect string) (ofCollect, error) {
	h := *p.Question.Histogram
	h.Collect = collect
	p.Question.Histogram = &h
	p, err := designed(p)
	if err != nil {
		return ofCollect{}, err
	}
	q, err := New(p)
	if err != nil {
		return ofCollect{}, err
	}
	c := ofCollect{Plan: p, Messages: p.Envelopes.PerDevice * p.Contributions()}
	n := p.Crowd.Minimum
	for _, t := range q.randomizers {
		c.Rare = math.Max(c.Rare, t.deviation(0, n, q.share()))
		c.Common = math.Max(c.Common, t.deviation(n/10, n, q.share()))
	}
	c.Local, err = q.local()
	return c, err
}

// choose designs a plan of several attributes the way that compareCollect prefers,
// and says why in its words.
func choose(p plan.Plan) (plan.Plan, string, error) {
	sample, split, why, err := compareCollect(p)
	if err != nil {
		return p, "", err
	}
	if sampled(sample, split) {
		return sample.Plan, why, nil
	}
	return split.Plan, why, nil
}

// sampled says that sample is to be preferred: where it errs less, or splitting
// protects nobody if everyone colludes.
func sampled(sample, split ofCollect) bool {
	return !split.Local.Meaningful() && sample.Local.Meaningful() || split.Common > sample.Common
}

func explain(sample, split ofCollect, attributes int) string {
	preferred, other := "split", "sample"
	a, b := split, sample
	if sampled(sample, split) {
		preferred, other, a, b = other, preferred, b, a
	}
	s := fmt.Sprintf("%s: at the same shuffled epsilon, a value that a tenth of %d respondents hold has a standard error of %.4g, and %.4g under %s.",
		preferred, a.Plan.Crowd.Minimum, a.Common, b.Common, other)
	s += fmt.Sprintf(" If everyone colludes epsilon is %.4g under sample and %.4g under split, where each device tells of all %d attributes;", sample.Local.Epsilon, split.Local.Epsilon, attributes)
	s += fmt.Sprintf(" a device sends %d messages under sample and %d under split.", sample.Messages, split.Messages)
	if preferred == "sample" && split.Common <= sample.Common {
		s += " Splitting would err less, but protects nobody if everyone colludes."
	}
	return s
}
