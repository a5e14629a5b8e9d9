package audit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/shuffler/admission"
)

// sizes are those of two crowds after the entry has deleted from each. So many others are in either, and
// the respondent attacked in the one or in the other.
type sizes struct {
	rules  admission.Rules
	others int
}

// newSizes has so many others that crowds are seldom withheld. Not ok where nobody can be in another crowd, or
// sizes are not hidden.
func (g *leg) newSizes() (s sizes, ok bool) {
	p := g.protocol.Plan
	if p.Crowd.Deletion == nil || p.Crowds() < 2 {
		return s, false
	}
	rules, err := admission.NewRules(p, 0)
	return sizes{rules, p.Crowd.Minimum + 2*p.Crowd.Deletion.Threshold}, err == nil
}

// observed draws how many stay as the entry does.
func (s sizes) observed() Observed { return s.drawn(s.rules) }

// drawn are sizes that an entry with these rules leaves, scored by the rules of the plan.
func (s sizes) drawn(entry admission.Rules) Observed {
	sees := fmt.Sprintf("the sizes of two crowds of %d others, in one of which the respondent is", s.others)
	return Observed{Sees: sees, Work: 4 * s.others, New: func() View {
		score := s.scores()
		return func(r *rand.Rand, second bool) float64 {
			in := [2]int{s.others + 1, s.others}
			if second {
				in[0], in[1] = in[1], in[0]
			}
			return score[stay(entry, r, in[1])] - score[stay(entry, r, in[0])]
		}
	}}
}

// stay returns how many do; 0: the crowd is withheld.
func stay(entry admission.Rules, r *rand.Rand, n int) int {
	_, respondents, err := entry.Survivors(r, n)
	if err != nil && !errors.Is(err, admission.ErrWithheld) {
		panic("audit: " + err.Error()) // it has no other
	}
	return respondents
}

// scores returns the logarithms of likelihood ratios of each size that a crowd may have: of the respondent's being in it
// to its not being.
func (s sizes) scores() []float64 {
	with, without := s.law(s.others+1), s.law(s.others)
	scores := make([]float64, s.others+2)
	for size := range scores {
		scores[size] = math.Max(-certain, math.Min(certain, math.Log(with[size])-math.Log(without[size])))
	}
	return scores
}

// law returns the probability of each size of a crowd of n, but for its noise's far ends, and up to a factor.
func (s sizes) law(n int) []float64 {
	d := s.rules.Deletion
	z, law := noise.DiscreteLaplace{Decay: d.Noise}, make([]float64, s.others+2)
	for k := -n - d.Threshold; k <= n+2*d.Threshold; k++ {
		size := n + k - d.Threshold
		switch {
		case k > d.Threshold || size < s.rules.Minimum:
			size = 0
		case s.rules.Maximum > 0:
			size = min(size, s.rules.Maximum)
		}
		law[size] += math.Exp(z.LogProb(k))
	}
	return law
}
