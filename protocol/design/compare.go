package design

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/routes"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Compare compares a plan with others that ask the same: what its kind knows of, and the
// two routes.
func Compare(p *protocol.Protocol) (all []question.Comparison) {
	if q, ok := p.Question.(question.Comparer); ok {
		all = q.Compare()
	}
	if q, ok := p.Question.(*histogram.Question); ok {
		if c, ok := mixedOrSummed(p, q); ok {
			all = append(all, c)
		}
	}
	return all
}

// mixedOrSummed compares a plan whose devices flip their bits with sums of cells as they are, with
// noise; not ok for plans that these cannot ask.
func mixedOrSummed(p *protocol.Protocol, q *histogram.Question) (question.Comparison, bool) {
	size, deviation, ok := q.Flipped()
	if !ok || p.Plan.Budget.Adjacency != string(account.Replacement) {
		return question.Comparison{}, false
	}
	b := p.Plan.Budget
	others, err := routes.Noised(calibrate.Target{Users: p.Plan.MinHonest(), Rounds: 2, Epsilon: b.Epsilon, Delta: b.Delta}, size)
	if err != nil {
		return question.Comparison{}, false
	}
	var s strings.Builder
	fmt.Fprintf(&s, "at the same epsilon among %d respondents, this plan errs by %.4g, rests on the noise of %d of them, and leaves a local epsilon", p.Plan.Crowd.Minimum, deviation, p.Plan.MinHonest())
	for _, r := range others {
		fmt.Fprintf(&s, "; %s errs by %.4g with %d bytes a device, rests on %s, and a device that lies can %s", r.Name, r.RMSE, r.Bytes, r.Rests, r.Liar)
	}
	s.WriteString(". If both aggregators of one of these sums collude there is " + account.NoProtection + " (confetti plan new histogram --route sum).")
	return question.Comparison{Key: "routes", Title: "Mixed or summed", Says: s.String()}, true
}
