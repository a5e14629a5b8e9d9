package literature

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// The closed forms of composition: k rounds, each (epsilon, delta)-DP, whatever
// they are and however adaptively chosen. All return the epsilon of the whole
// and are upper bounds; slack is the part of the total delta that the theorem
// spends beyond the k delta of the rounds themselves (1-(1-delta)^k exactly).

// Basic composition: k epsilon, with no slack.
func Basic(epsilon float64, k int) (float64, error) {
	if err := profile.CheckRounds(epsilon, k, 0.5); err != nil {
		return 0, err
	}
	return float64(k) * epsilon, nil
}

// DworkRothblumVadhan is advanced composition as printed (FOCS 2010, Theorem
// III.3): e sqrt(2k ln(1/slack)) + k e (e^e - 1).
func DworkRothblumVadhan(epsilon float64, k int, slack float64) (float64, error) {
	if err := profile.CheckRounds(epsilon, k, slack); err != nil {
		return 0, err
	}
	n := float64(k)
	return epsilon*math.Sqrt(2*n*math.Log(1/slack)) + n*epsilon*math.Expm1(epsilon), nil
}

// DworkRothblumVadhanTight has the mean loss of a round at its true bound: the
// loss of epsilon-DP lies in [-e, e] with mean at most e tanh(e/2), that of
// randomized response, and Azuma's inequality does the rest.
func DworkRothblumVadhanTight(epsilon float64, k int, slack float64) (float64, error) {
	if err := profile.CheckRounds(epsilon, k, slack); err != nil {
		return 0, err
	}
	n := float64(k)
	return epsilon*math.Sqrt(2*n*math.Log(1/slack)) + n*epsilon*math.Tanh(epsilon/2), nil
}

// BunSteinke composes by concentrated differential privacy (Bun and Steinke
// 2016, Corollary 8.11): k e^2/2 + sqrt(2k) e sqrt(ln(sqrt(k pi/2) e/slack)).
// Where the logarithm is not positive the corollary says nothing.
func BunSteinke(epsilon float64, k int, slack float64) (float64, error) {
	if err := profile.CheckRounds(epsilon, k, slack); err != nil {
		return 0, err
	}
	n := float64(k)
	inside := math.Log(math.Sqrt(n*math.Pi/2) * epsilon / slack)
	if !(inside > 0) {
		return 0, fmt.Errorf("account: Bun-Steinke needs sqrt(k pi/2) epsilon > slack: epsilon %v, %d rounds, slack %v", epsilon, k, slack)
	}
	return n*epsilon*epsilon/2 + math.Sqrt(2*n*inside)*epsilon, nil
}
