package bitnoise

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// A Flood is a published choice of the noise of the correlated negative
// binomial protocol (3NB): z1, z2 ~ NB(1/n, e^-Noise) and z3 ~ NB(Shape/n,
// Prob) for each of n users, NB(r, p) having P(k) = C(k+r-1, k) (1-p)^r p^k.
type Flood struct {
	Noise float64 // e1: the net noise is discrete Laplace of this parameter
	Shape float64 // r of the flood that hides the noise, over all users
	Prob  float64 // p of the flood
}

func floodOf(t theorems.Theorem, epsilon, delta, gamma float64) error {
	return cmp.Or(t.Epsilon("epsilon", epsilon), t.Open01("delta", delta), t.Open01("gamma", gamma))
}

// GKMP20Theorem13 returns the negative binomial NB(r, p) that makes an integer sum of
// the given sensitivity (epsilon, delta)-DP, both in (0, 1): p =
// e^(-0.2 epsilon/sensitivity), r = 3(1 + ln(1/delta)) (Ghazi, Kumar,
// Manurangsi, Pagh 2020, Theorem 13 of the corrected version).
func GKMP20Theorem13(epsilon, delta float64, sensitivity int) (r, p float64, err error) {
	t := theorems.Theorem("GKMP 2020, Theorem 13")
	if err := cmp.Or(t.Open01("epsilon", epsilon), t.Open01("delta", delta), t.Count("sensitivity", sensitivity)); err != nil {
		return 0, 0, err
	}
	return 3 * (1 + math.Log(1/delta)), math.Exp(-0.2 * epsilon / float64(sensitivity)), nil
}

// GKMP20Theorem1 returns the choice that its authors prove (epsilon, delta)-DP, with
// a share gamma of epsilon, in (0, 1), left for the flood: e1 = (1-gamma)
// epsilon, e2 = min(1/2, gamma epsilon), d2 = delta/(e^e1 + 2 e^(2 e1)),
// sensitivity ceil(ln(1/d2)/e1), and Theorem 13 (Ghazi, Kumar, Manurangsi, Pagh
// 2020, Theorem 1). Their example has gamma = 0.01.
func GKMP20Theorem1(epsilon, delta, gamma float64) (Flood, error) {
	t := theorems.Theorem("GKMP 2020, Theorem 1")
	if err := floodOf(t, epsilon, delta, gamma); err != nil {
		return Flood{}, err
	}
	e1 := (1 - gamma) * epsilon
	d2 := delta / (math.Exp(e1) + 2*math.Exp(2*e1))
	width := math.Ceil(math.Log(1/d2) / e1)
	if err := t.Need(width <= theorems.MaxCount, "ln(1/d2)/e1 up to %d: it is %.6g", theorems.MaxCount, width); err != nil {
		return Flood{}, err
	}
	r, p, err := GKMP20Theorem13(math.Min(0.5, gamma*epsilon), d2, int(width))
	if err != nil {
		return Flood{}, err
	}
	f := Flood{Noise: e1, Shape: r, Prob: p}
	return f, t.Need(p < 1, "a flood probability that a float64 tells from 1: epsilon %v, gamma %v", epsilon, gamma)
}

// The share of epsilon that KDE spends on the net noise of 3NB.
const (
	KDEPrintedShare = 0.99 // Appendix A.2: e1 = 0.99 epsilon0
	KDEAuthorsShare = 0.8  // its authors' experiments: e1 = 0.8 epsilon0
)

// KDEAppendixA2 returns the choice of KDE, Appendix A.2: e1 = share epsilon0, r =
// 3(1 + ln(2 e^e1/delta0)). The appendix gives the flood's p only up to a
// constant, e^(-Theta(1) e0/(e0 + ln(1/delta0))), and claims (O(e0), O(delta0));
// p here is that of GKMP20Theorem1, which it cites, with gamma = 1 - share.
// It is a choice, not a guarantee: account for it exactly.
func KDEAppendixA2(epsilon0, delta0, share float64) (Flood, error) {
	t := theorems.Theorem("KDE Appendix A.2")
	if err := floodOf(t, epsilon0, delta0, share); err != nil {
		return Flood{}, err
	}
	f, err := GKMP20Theorem1(epsilon0, delta0, 1-share)
	if err != nil {
		return Flood{}, err
	}
	f.Noise = share * epsilon0
	f.Shape = 3 * (1 + math.Log(2) + f.Noise - math.Log(delta0))
	return f, nil
}
