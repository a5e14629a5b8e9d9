package histogram

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// A study that counts events may have correlated rounds, or ask each round afresh. Both keep one budget for all
// rounds. What is compared is the error of the running total of the last round.

// joined designs a plan whose rounds are correlated or, where that errs less, the plan of rounds that ask afresh
// and keep its budget together. It says both errors.
func joined(p plan.Plan) (plan.Plan, string, error) {
	near, err := designed(p)
	if err != nil {
		return p, "", err
	}
	h, err := New(near)
	if err != nil {
		return p, "", err
	}
	if ofWindows(near) {
		says, err := h.saysWindows()
		return near, "Together: " + says + ".", err
	}
	apart, own, err := Afresh(near)
	if err != nil {
		return near, "Together: asked afresh no noise keeps the budget.", nil
	}
	of := *ofStudy(near)
	last := of.Rounds - 1
	total, change := h.correlated.rows.Deviation(*near.Route.Sum, -1, last, nil), h.correlated.rows.Deviation(*near.Route.Sum, last-1, last, nil)
	if of.Turns {
		says := fmt.Sprintf("at one epsilon for all %d rounds, with the noise of both aggregators, the number of whom it has begun and not ended errs by %.4g in the end, of at most %s a person; where each round asks afresh of whom, by %.4g",
			of.Rounds, math.Sqrt2*total, terms.Numbered(of.Events, "turn"), own)
		if math.Sqrt2*total <= own {
			return near, "Together: " + says + ".", nil
		}
		return apart, "Afresh: where rounds are correlated, " + says + ".", nil
	}
	// Who asks afresh may ask what happened since the last round, of which no number is too many, or how often it has
	// happened so far.
	so, other := "what happened since the last one", own*math.Sqrt(float64(of.Rounds))
	if far := own * float64(of.Events); far < other {
		so, other = "how often so far", far
	}
	says := fmt.Sprintf("at one epsilon for all %d rounds, with the noise of both aggregators, the running total errs by %.4g in the end and one round's own count by %.4g, of at most %s a person; where each round asks afresh %s, by %.4g and %.4g",
		of.Rounds, total, change, terms.Numbered(of.Events, "event"), so, other, own)
	if total <= other {
		return near, "Together: " + says + ".", nil
	}
	return apart, "Afresh: where rounds are correlated, " + says + ".", nil
}

// Afresh returns the plan of each of the rounds of a plan of correlated ones, where they are asked by themselves and keep
// its budget together, and what a count errs by.
func Afresh(p plan.Plan) (plan.Plan, float64, error) {
	rounds := ofStudy(p).Rounds
	s := *p.Route.Sum
	if ofStudy(p).Turns { // of what has begun and not ended each round asks by itself
		ask := *p.Question.Histogram
		ask.Attributes = slices.Clone(ask.Attributes)
		ask.Attributes[0].Values = ask.Attributes[0].Values[:1]
		p.Question.Histogram = &ask
	}
	s.Correlated, s.Law, s.Decay, s.Sigma = nil, plan.LawGaussian, 0, 0
	p = withNoise(p, s)
	h, err := New(unnoised(p))
	if err != nil {
		return p, 0, err
	}
	if s, err = sumprivacy.Calibrate(p, h.changed()*rounds); err != nil {
		return p, 0, err
	}
	p = withNoise(p, s)
	if h, err = New(p); err != nil {
		return p, 0, err
	}
	one, err := account.Epsilon(h.loss(p.MinHonest()), p.Budget.Delta)
	p.Budget.Epsilon = math.Ceil(one.Epsilon*1e6) / 1e6
	return p, math.Sqrt(sum.Total(s).Variance), err
}
