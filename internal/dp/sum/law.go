package sum

import (
	"math"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/plan"
)

// Law is that of all noise in a number: symmetric, on the integers. It is for whoever estimates
// from sums.
type Law struct {
	Variance float64
	tail     func(k int) float64 // ln P(Z >= k), k >= 1
}

// Total returns the law of the noise of both aggregators of a route together, or of the holder of a
// table (plan.Route.Noise). It is of no noise where devices add it (Shares).
func Total(route plan.Sum) Law {
	switch alone := route.Noise == ""; {
	case route.Noise == plan.NoiseDevices:
		return Law{0, func(int) float64 { return math.Inf(-1) }}
	case alone && route.Law == plan.LawGaussian:
		return gaussian(route.Sigma)
	case route.Law == plan.LawGaussian:
		return twoGaussians(route.Sigma)
	case alone, route.Noise == plan.NoiseShared:
		return laplace(route.Decay)
	}
	return twoLaplaces(route.Decay)
}

// LogAtLeast returns ln P(Z >= k).
func (l Law) LogAtLeast(k int) float64 {
	if k >= 1 {
		return l.tail(k)
	}
	return math.Log1p(-math.Exp(l.tail(1 - k)))
}

// Within returns the smallest w with P(|Z| > w) <= alpha, alpha in (0, 1).
func (l Law) Within(alpha float64) int {
	low, high := -1, 1 // the first is too small, the second large enough
	for !(math.Ln2+l.tail(high+1) <= math.Log(alpha)) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if math.Ln2+l.tail(middle+1) <= math.Log(alpha) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// Shares returns the law of the noise of a crowd, each of whom adds its share, which together are so
// many times discrete Laplace noise of that decay (noise.NegativeBinomial, of the difference
// of two). Its tails are tabulated when one is asked for.
func Shares(decay, shares float64) Law {
	reach := min(int((40+8*max(0, shares-1))/decay)+16, maxTable)
	fall := prob.LaplaceSharesFall(decay, shares, reach)
	beyond := sync.OnceValue(func() []float64 { // ln P(Z >= k)
		log, _ := prob.LogLaplaceShares(decay, shares, reach)
		beyond := make([]float64, reach+1)
		beyond[reach] = log[reach] - math.Log1p(-fall)
		for k := reach - 1; k > 0; k-- {
			beyond[k] = prob.LogAdd(beyond[k+1], log[k])
		}
		return beyond
	})
	return Law{shares * noise.DiscreteLaplace{Decay: decay}.Variance(), func(k int) float64 {
		if k <= reach {
			return beyond()[k]
		}
		return beyond()[reach] + float64(k-reach)*math.Log(fall)
	}}
}

// laplace has P(Z >= k) = q^k/(1+q), q = e^-decay.
func laplace(decay float64) Law {
	return Law{noise.DiscreteLaplace{Decay: decay}.Variance(), func(k int) float64 {
		return -decay*float64(k) - math.Log1p(math.Exp(-decay))
	}}
}

// twoLaplaces have P(Z = k) = c^2 q^|k| (|k| + (1+q^2)/(1-q^2)), c = (1-q)/(1+q), which is
// added up from k on.
func twoLaplaces(decay float64) Law {
	q := math.Exp(-decay)
	none := -math.Expm1(-decay) // 1-q
	b := (1 + q*q) / (none * (1 + q))
	scale := 2 * math.Log(none/(1+q))
	return Law{2 * noise.DiscreteLaplace{Decay: decay}.Variance(), func(k int) float64 {
		return scale - decay*float64(k) + math.Log((float64(k)+b)/none+q/(none*none))
	}}
}

// twoGaussians have P(Z = k) proportional to e^(-k^2/(4 sigma^2)) theta(k), theta(k) the sum
// over all j of e^(-(j - k/2)^2/sigma^2), which is the same for all even k, and for all odd.
func twoGaussians(sigma float64) Law {
	theta := [2]float64{thetaSum(sigma, 0), thetaSum(sigma, 0.5)}
	return bell(2*noise.DiscreteGaussian{Sigma: sigma}.Variance(), math.Sqrt2*sigma, func(k int) float64 {
		x := float64(k) / (2 * sigma)
		return math.Exp(-x*x) * theta[k&1]
	})
}

// gaussian returns the law with P(Z = k) proportional to e^(-k^2/(2 sigma^2)).
func gaussian(sigma float64) Law {
	return bell(noise.DiscreteGaussian{Sigma: sigma}.Variance(), sigma, func(k int) float64 {
		x := float64(k) / sigma
		return math.Exp(-x * x / 2)
	})
}

// bell returns the law of weights that fall as those of a normal law of this sigma, within a factor. Its tails are
// tabulated when one is asked for.
func bell(variance, sigma float64, weight func(k int) float64) Law {
	l := Law{Variance: variance}
	reach := int(9*sigma) + 40 // what is beyond is below e^-36 of it
	if reach > maxTable {      // of a wide law the sum is an integral
		l.tail = func(k int) float64 { return prob.LogNormalSurvival((float64(k) - 0.5) / math.Sqrt(variance)) }
		return l
	}
	table := sync.OnceValue(func() []float64 { // the sum of the weights from k on
		beyond := make([]float64, reach+2)
		for k := reach; k >= 0; k-- {
			beyond[k] = beyond[k+1] + weight(k)
		}
		return beyond
	})
	l.tail = func(k int) float64 {
		if beyond := table(); k <= reach && beyond[k] > 0 {
			return math.Log(beyond[k] / (2*beyond[1] + weight(0)))
		}
		return -float64(k) * float64(k) / (2 * sigma * sigma) // far out it is sub-Gaussian
	}
	return l
}

// maxTable bounds a law that is written down.
const maxTable = 1 << 20

func thetaSum(sigma, shift float64) (sum float64) {
	if sigma > 4 {
		return 1 // both sums differ by less than e^-150 of themselves
	}
	for j := -40.0; j <= 40; j++ {
		x := (j - shift) / sigma
		sum += math.Exp(-x * x)
	}
	return sum
}
