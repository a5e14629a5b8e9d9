package profile

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Normal is the profile of two unit normals at the given distance.
type Normal float64

// Hockey is Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m). With a = e/m - m/2 and b = a + m
// this is phi(a) (R(a) - R(b)), R(x) = Phi(-x)/phi(x) being Mills' ratio, since
// e^e phi(b) = phi(a): nothing cancels but R(a) and R(b), which differ.
func (m Normal) Hockey(epsilon float64) float64 {
	a := epsilon/float64(m) - float64(m)/2
	if m == 0 || math.IsInf(a, 1) { // they are one, or e^-a^2/2 is nothing
		return 0
	}
	b := a + float64(m)
	if a < 0 && m > near {
		return math.Exp(prob.LogNormalSurvival(a)) - math.Exp(-a*a/2)*mills(b)/math.Sqrt(2*math.Pi)
	}
	return math.Exp(-a*a/2) / math.Sqrt(2*math.Pi) * millsDrop(a, b)
}

func (m Normal) Delta(epsilon float64) (float64, error) {
	if !(epsilon >= 0) {
		return 0, fmt.Errorf("account: epsilon %v: need at least 0", epsilon)
	}
	return m.Hockey(epsilon), nil
}

func (m Normal) Epsilon(delta float64) (float64, error) { return Invert(m.Delta, delta) }

// mills is Phi(-x)/phi(x) for x > -near, by erfc where its exponential is exact
// enough, then by the continued fraction 1/(x+1/(x+2/(x+3/...))).
func mills(x float64) float64 {
	if x < 6 {
		return math.Sqrt(math.Pi/2) * math.Exp(x*x/2) * math.Erfc(x/math.Sqrt2)
	}
	f := x
	for i := 60.0; i > 0; i-- {
		f = x + i/f
	}
	return 1 / f
}

// near is the distance up to which a difference of Mills' ratios is an integral.
const near = 0.5

// millsDrop is R(a) - R(b) for -near/2 <= a < b. Close together, the difference is the
// integral of -R'(x) = 1 - x R(x), by Gauss's three points on 16 panels.
func millsDrop(a, b float64) float64 {
	if b-a > near {
		return mills(a) - mills(b)
	}
	const panels = 16
	half := (b - a) / (2 * panels)
	sum := 0.0
	for i := range panels {
		middle := a + half*float64(2*i+1)
		for _, g := range [3][2]float64{{-math.Sqrt(0.6), 5. / 9}, {0, 8. / 9}, {math.Sqrt(0.6), 5. / 9}} {
			sum += g[1] * millsSlope(middle+half*g[0])
		}
	}
	return half * sum
}

// millsSlope returns 1 - x R(x), which for large x is R(x)/f with f the continued
// fraction's tail: 1 - x/(x+1/f) = 1/(x f + 1).
func millsSlope(x float64) float64 {
	if x < 6 {
		return 1 - x*mills(x)
	}
	f := x
	for i := 60.0; i > 1; i-- {
		f = x + i/f
	}
	return 1 / (x*f + 1)
}
