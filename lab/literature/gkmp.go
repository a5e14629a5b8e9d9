package literature

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// GKMP20Theorem11 returns the published mean of the Poisson mechanism for sums of
// bits (Ghazi, Kumar, Manurangsi, Pagh 2020, Theorem 11): 16 ln(10/delta)/
// (1-e^-epsilon)^2 + 2/(1-e^-epsilon), epsilon and delta in (0, 1).
func GKMP20Theorem11(epsilon, delta float64) (mean float64, err error) {
	t := theorems.Theorem("GKMP 2020, Theorem 11")
	if err := cmp.Or(t.Open01("epsilon", epsilon), t.Open01("delta", delta)); err != nil {
		return 0, err
	}
	s := -math.Expm1(-epsilon)
	return profile.Raised(16*math.Log(10/delta)/(s*s) + 2/s), nil
}
