package histogram

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/bitsum"
	"github.com/confetti-dp/confetti/dp/sum"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// scatter is noise that devices add: each its share of discrete Laplace noise to each cell,
// nearly always nothing, and as many of them as are relied upon the whole of it.
type scatter struct{ plan plan.Plan }

func scattered(p plan.Plan) scatter { return scatter{p} }

func (s scatter) decay() float64 { return s.plan.Route.Sum.Decay }

// Scattered is the noise of each device, and by how much every number is raised, so that none
// is below zero: ok is false where devices add none to cells as they are.
func (h *Question) Scattered() (m bitsum.DistributedLaplace, raised int, ok bool) {
	if !h.noised() || !shares(h.plan) {
		return m, 0, false
	}
	return scattered(h.plan).mechanism(), scattered(h.plan).reach(), true
}

func (s scatter) mechanism() bitsum.DistributedLaplace {
	return bitsum.DistributedLaplace{Users: s.plan.HonestMinimum(), Noise: s.decay()}
}

// law is that of the noise of so many respondents.
func (s scatter) law(respondents int) sum.Law {
	return sum.Shares(s.decay(), float64(respondents)/float64(s.plan.HonestMinimum()))
}

// add adds a device's share to each number of a vector of zeros and ones, and raises all.
// A share that is out of reach is cut, which is charged for (Risks).
func (s scatter) add(r *rand.Rand, vector []uint64) {
	noise, reach := make([]int, len(vector)), s.reach()
	s.mechanism().AddNoise(r, noise)
	for i, z := range noise {
		vector[i] += uint64(max(-reach, min(reach, z)) + reach)
	}
}

// cutShare of delta pays at most for shares that are cut: discrete Laplace noise needs hardly
// any of it.
const cutShare = 0.5

// reach is how large a share may be, such that all that are cut cost little of delta. Only the
// numbers that differ between neighbours are charged for: all others have one law in both
// worlds, and are independent.
func (s scatter) reach() int {
	b := s.plan.Budget
	changed := 2 * weight(*s.plan.Question.Histogram)
	return s.mechanism().Reach(cutShare * b.Delta / ((1 + math.Exp(b.Epsilon)) * float64(changed)))
}

// event is that of one number where so many honest respondents add their shares.
func (s scatter) event(honest int) account.Event {
	users := s.plan.HonestMinimum()
	honest = question.Relied(honest, users)
	if honest == users {
		return additive.DistributedLaplace{Users: users, Noise: s.decay(), Sensitivity: 1}
	}
	return additive.LaplaceShares{Noise: s.decay(), Shares: float64(honest) / float64(users)}
}
