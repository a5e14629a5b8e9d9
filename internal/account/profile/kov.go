package profile

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// KairouzOhViswanath returns the optimal composition theorem (2015, Theorem 3.3):
// the smallest epsilon' with k rounds of (epsilon, delta)-DP being (epsilon',
// total)-DP. It is exact for k rounds of randomized response, and of a discrete
// Laplace of unit sensitivity, whose loss is +-epsilon too.
func KairouzOhViswanath(epsilon, delta float64, k int, total float64) (float64, error) {
	p, err := NewOptimal(epsilon, delta, k)
	if err != nil {
		return 0, err
	}
	return p.Epsilon(total)
}

// Optimal is the profile of k-fold randomized response: j of the k losses are
// +epsilon, the others -epsilon, so the total is (2j-k) epsilon.
type Optimal struct {
	epsilon float64
	rounds  int
	lost    float64   // 1-(1-delta)^k
	log     []float64 // ln P(j of k losses positive)
}

func NewOptimal(epsilon, delta float64, k int) (Optimal, error) {
	if err := CheckRounds(epsilon, k, 0.5); err != nil {
		return Optimal{}, err
	}
	if !(delta >= 0 && delta < 1) {
		return Optimal{}, fmt.Errorf("account: delta %v of a round: need 0 <= delta < 1", delta)
	}
	p := Optimal{epsilon, k, -math.Expm1(float64(k) * math.Log1p(-delta)), make([]float64, k+1)}
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
func (p Optimal) Epsilon(total float64) (float64, error) {
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

func (p Optimal) Delta(epsilon float64) (float64, error) {
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

func CheckRounds(epsilon float64, k int, slack float64) error {
	switch {
	case !(epsilon > 0 && epsilon <= MaxEpsilon):
		return fmt.Errorf("account: epsilon %v of a round: need 0 < epsilon <= %v", epsilon, float64(MaxEpsilon))
	case k < 1 || k > MaxRounds:
		return fmt.Errorf("account: %d rounds: need 1 to %d", k, MaxRounds)
	case !(slack > 0 && slack < 1):
		return fmt.Errorf("account: slack %v: need 0 < slack < 1", slack)
	}
	return nil
}
