package audit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// integers is noise for a sum of whole numbers.
type integers interface {
	Sample(r *rand.Rand) int
	LogProb(k int) float64
	Validate() error
}

// Noisy is a curator's sum with integer noise, which the record moves by so many steps.
type Noisy struct {
	Noise integers
	Steps int
}

// grid is how many steps a sensitivity has where real noise is drawn as integers.
const grid = 1 << 14

// NoisyGaussian returns a sum with Gaussian noise. What ships is integer noise, so it is drawn on
// a grid, on which the record moves the sum by no more than is claimed.
func NoisyGaussian(sigma, sensitivity float64) Noisy {
	m := noise.DiscreteGaussian{Sigma: math.Min(1<<24, grid*sigma/sensitivity)}
	return Noisy{m, int(m.Sigma * sensitivity / sigma * (1 + 1e-12))}
}

// NoisyLaplace returns the same with Laplace noise of that scale.
func NoisyLaplace(scale, sensitivity float64) Noisy {
	m := noise.DiscreteLaplace{Decay: math.Max(0x1p-30, sensitivity/scale/grid)}
	return Noisy{m, int(sensitivity / scale / m.Decay * (1 + 1e-12))}
}

// Observed returns the view of one sum.
func (s Noisy) Observed() Observed {
	return Observed{Sees: "the sum with its noise", Work: 20, New: func() View {
		return func(r *rand.Rand, second bool) float64 {
			k := s.draw(r, second)
			return s.Noise.LogProb(k-s.Steps) - s.Noise.LogProb(k)
		}
	}}
}

func (s Noisy) draw(r *rand.Rand, second bool) int {
	k := s.Noise.Sample(r)
	if second {
		k += s.Steps
	}
	return k
}

// Canaries returns one run of rounds of sums of so many coordinates, each with noise of its own
// and moved by one canary or not at all.
func (s Noisy) Canaries(rounds, canaries int, claim account.Guarantee, seed uint64) ([]Finding, error) {
	if err := EnoughCanaries(canaries); err != nil {
		return nil, err
	}
	r, c := seeded.New(seed), Guessed{make([]float64, canaries), make([]bool, canaries)}
	for i := range canaries {
		c.Second[i] = r.Uint64()>>63 == 1
		for range rounds {
			c.Score[i] += float64(s.draw(r, c.Second[i]))
		}
	}
	return c.Findings(fmt.Sprintf("%d canaries, each in a coordinate of its own, in the sums of %s", canaries, inRounds(rounds)), claim)
}

func inRounds(n int) string {
	if n == 1 {
		return "one round"
	}
	return fmt.Sprintf("%d rounds", n)
}
