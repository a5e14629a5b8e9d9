package literature

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// GKMPS21Lemma9 returns the later choice for sums of bits, where the flood need only
// hide one message: e1 = (1-gamma) epsilon, e2 = min(1, gamma epsilon), r =
// 3(1 + ln(1/delta)), p = e^(-0.2 e2) (Ghazi, Kumar, Manurangsi, Pagh, Sinha
// 2021, Lemma 9).
func GKMPS21Lemma9(epsilon, delta, gamma float64) (bitnoise.Flood, error) {
	t := theorems.Theorem("GKMPS 2021, Lemma 9")
	if err := cmp.Or(t.Epsilon("epsilon", epsilon), t.Open01("delta", delta), t.Open01("gamma", gamma)); err != nil {
		return bitnoise.Flood{}, err
	}
	p := math.Exp(-0.2 * math.Min(1, gamma*epsilon))
	f := bitnoise.Flood{Noise: (1 - gamma) * epsilon, Shape: 3 * (1 + math.Log(1/delta)), Prob: p}
	return f, t.Need(p < 1, "a flood probability that a float64 tells from 1: epsilon %v, gamma %v", epsilon, gamma)
}
