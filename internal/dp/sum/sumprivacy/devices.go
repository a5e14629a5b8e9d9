package sumprivacy

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/plan"
)

// Devices is noise that devices add: each its share of discrete Laplace noise to each number,
// nearly always nothing, and as many of them as are relied upon the whole of it.
type Devices struct {
	Noise   DistributedLaplace // of a number
	budget  plan.Budget
	changed int
	reach   func() int // computed once: it takes as long as the shares of some devices
}

// DevicesOf returns the noise of a plan's devices, of whom one who is exchanged for another changes
// at most so many numbers by one, before noise.
func DevicesOf(p plan.Plan, changed int) Devices {
	d := Devices{Noise: DistributedLaplace{Users: p.MinHonest(), Noise: p.Route.Sum.Decay}, budget: p.Budget, changed: changed}
	d.reach = sync.OnceValue(d.farthest)
	return d
}

// Law returns that of the noise of so many respondents in one number.
func (d Devices) Law(respondents int) sum.Law {
	return sum.Shares(d.Noise.Noise, float64(respondents)/float64(d.Noise.Users))
}

// Add adds a device's share to each number of a vector of zeros and ones, and raises all by
// Reach. A share that is out of reach is cut, which is charged for (Cut).
func (d Devices) Add(r *rand.Rand, vector []uint64) {
	noise, reach := make([]int, len(vector)), d.Reach()
	d.Noise.AddNoise(r, noise)
	for i, z := range noise {
		vector[i] += uint64(max(-reach, min(reach, z)) + reach)
	}
}

// cutShare of delta pays at most for shares that are cut: discrete Laplace noise needs hardly
// any of it.
const cutShare = 0.5

// Reach returns how large a share may be, such that all that are cut cost little of delta. Only the
// numbers that differ between neighbours are charged for: all others have one law in both
// worlds, and are independent.
func (d Devices) Reach() int { return d.reach() }

func (d Devices) farthest() int {
	return d.Noise.Reach(cutShare * d.budget.Delta / ((1 + math.Exp(d.budget.Epsilon)) * float64(d.changed)))
}

// Cut bounds the probability that a device's share in one of so many numbers is cut.
func (d Devices) Cut(numbers int) float64 { return float64(numbers) * d.Noise.Beyond(d.Reach()) }

// Event returns that of one number where the shares of so many honest respondents are counted on.
func (d Devices) Event(honest int) account.Event {
	if honest == d.Noise.Users {
		return additive.DistributedLaplace{Users: d.Noise.Users, Noise: d.Noise.Noise, Sensitivity: 1}
	}
	return additive.LaplaceShares{Noise: d.Noise.Noise, Shares: float64(honest) / float64(d.Noise.Users)}
}
