package account

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// The closed forms of composition: k rounds, each (epsilon, delta)-DP, whatever
// they are and however adaptively chosen. All return the epsilon of the whole
// and are upper bounds; slack is the part of the total delta that the theorem
// spends beyond the k delta of the rounds themselves (1-(1-delta)^k exactly).

// Basic composition: k epsilon, with no slack.
func Basic(epsilon float64, k int) (float64, error) {
	if err := checkRounds(epsilon, k, 0.5); err != nil {
		return 0, err
	}
	return float64(k) * epsilon, nil
}

// DworkRothblumVadhan is advanced composition as printed (FOCS 2010, Theorem
// III.3): e sqrt(2k ln(1/slack)) + k e (e^e - 1).
func DworkRothblumVadhan(epsilon float64, k int, slack float64) (float64, error) {
	if err := checkRounds(epsilon, k, slack); err != nil {
		return 0, err
	}
	n := float64(k)
	return epsilon*math.Sqrt(2*n*math.Log(1/slack)) + n*epsilon*math.Expm1(epsilon), nil
}

// DworkRothblumVadhanTight has the mean loss of a round at its true bound: the
// loss of epsilon-DP lies in [-e, e] with mean at most e tanh(e/2), that of
// randomized response, and Azuma's inequality does the rest.
func DworkRothblumVadhanTight(epsilon float64, k int, slack float64) (float64, error) {
	if err := checkRounds(epsilon, k, slack); err != nil {
		return 0, err
	}
	n := float64(k)
	return epsilon*math.Sqrt(2*n*math.Log(1/slack)) + n*epsilon*math.Tanh(epsilon/2), nil
}

// BunSteinke composes by concentrated differential privacy (Bun and Steinke
// 2016, Corollary 8.11): k e^2/2 + sqrt(2k) e sqrt(ln(sqrt(k pi/2) e/slack)).
// Where the logarithm is not positive the corollary says nothing.
func BunSteinke(epsilon float64, k int, slack float64) (float64, error) {
	if err := checkRounds(epsilon, k, slack); err != nil {
		return 0, err
	}
	n := float64(k)
	inside := math.Log(math.Sqrt(n*math.Pi/2) * epsilon / slack)
	if !(inside > 0) {
		return 0, fmt.Errorf("account: Bun-Steinke needs sqrt(k pi/2) epsilon > slack: epsilon %v, %d rounds, slack %v", epsilon, k, slack)
	}
	return n*epsilon*epsilon/2 + math.Sqrt(2*n*inside)*epsilon, nil
}

// KairouzOhViswanath is the optimal composition theorem (2015, Theorem 3.3):
// the smallest epsilon' with k rounds of (epsilon, delta)-DP being (epsilon',
// total)-DP. It is exact for k rounds of randomized response, and of a discrete
// Laplace of unit sensitivity, whose loss is +-epsilon too.
func KairouzOhViswanath(epsilon, delta float64, k int, total float64) (float64, error) {
	p, err := newKOV(epsilon, delta, k)
	if err != nil {
		return 0, err
	}
	return p.Epsilon(total)
}

// kov is the profile of k-fold randomized response: j of the k losses are
// +epsilon, the others -epsilon, so the total is (2j-k) epsilon.
type kov struct {
	epsilon float64
	rounds  int
	lost    float64   // 1-(1-delta)^k
	log     []float64 // ln P(j of k losses positive)
}

func newKOV(epsilon, delta float64, k int) (kov, error) {
	if err := checkRounds(epsilon, k, 0.5); err != nil {
		return kov{}, err
	}
	if !(delta >= 0 && delta < 1) {
		return kov{}, fmt.Errorf("account: delta %v of a round: need 0 <= delta < 1", delta)
	}
	p := kov{epsilon, k, -math.Expm1(float64(k) * math.Log1p(-delta)), make([]float64, k+1)}
	// Binomial(k, e^e/(1+e^e)), by ratios from the top: ln P(j)/P(j+1).
	keep, flip := -math.Log1p(math.Exp(-epsilon)), -epsilon-math.Log1p(math.Exp(-epsilon))
	p.log[k] = float64(k) * keep
	choose := neumaier{}
	for j := k - 1; j >= 0; j-- {
		choose.add(math.Log(float64(j+1) / float64(k-j)))
		p.log[j] = choose.sum() + float64(j)*keep + float64(k-j)*flip
	}
	return p, nil
}

// Epsilon is max_j ln((up_j - t)/down_j) with up_j and down_j the mass of j and
// more positive losses in either world, and t what is left of delta.
func (p kov) Epsilon(total float64) (float64, error) {
	if !(total > 0 && total < 1) {
		return 0, fmt.Errorf("account: delta %v: need 0 < delta < 1", total)
	}
	t := (total - p.lost) / (1 - p.lost)
	if t <= 0 {
		return math.Inf(1), nil
	}
	best, up, logDown := 0.0, neumaier{}, math.Inf(-1)
	for j := p.rounds; j >= 0; j-- {
		loss := float64(2*j-p.rounds) * p.epsilon
		if loss <= 0 {
			break // the profile at epsilon >= 0 has only positive losses
		}
		up.add(math.Exp(p.log[j]))
		logDown = prob.LogAdd(logDown, p.log[j]-loss)
		if up.sum() > t {
			best = math.Max(best, math.Log(up.sum()-t)-logDown)
		}
	}
	return best, nil
}

func (p kov) Delta(epsilon float64) (float64, error) {
	if !(epsilon >= 0) {
		return 0, fmt.Errorf("account: epsilon %v: need at least 0", epsilon)
	}
	sum := neumaier{}
	for j := p.rounds; j >= 0; j-- {
		loss := float64(2*j-p.rounds) * p.epsilon
		if loss <= epsilon {
			break
		}
		sum.add(-math.Expm1(epsilon-loss) * math.Exp(p.log[j]))
	}
	return p.lost + (1-p.lost)*sum.sum(), nil
}

// neumaier is a compensated sum.
type neumaier struct{ s, c float64 }

func (n *neumaier) add(x float64) {
	t := n.s + x
	if math.Abs(n.s) >= math.Abs(x) {
		n.c += n.s - t + x
	} else {
		n.c += x - t + n.s
	}
	n.s = t
}

func (n *neumaier) sum() float64 { return n.s + n.c }

func checkRounds(epsilon float64, k int, slack float64) error {
	switch {
	case !(epsilon > 0 && epsilon <= maxEpsilon):
		return fmt.Errorf("account: epsilon %v of a round: need 0 < epsilon <= %v", epsilon, float64(maxEpsilon))
	case k < 1 || k > maxRounds:
		return fmt.Errorf("account: %d rounds: need 1 to %d", k, maxRounds)
	case !(slack > 0 && slack < 1):
		return fmt.Errorf("account: slack %v: need 0 < slack < 1", slack)
	}
	return nil
}
