package ltn

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Equation 10 is equation 32 and the integral (27) of the noise, and numbers that were computed apart;
// the label of k-ary response is right more often than that.
func TestTheBoundOfLaplaceNoise(t *testing.T) {
	for i, epsilon := range []float64{1, 2, 4, 6, 8, 10} {
		got := LaplaceBound(10, epsilon)
		if want := []float64{0.16461, 0.26250, 0.51347, 0.72957, 0.86502, 0.93702}[i]; math.Abs(got-want) > 1e-5 {
			t.Errorf("%v at %v, want %v", got, epsilon, want)
		}
		if label := (randomize.KRR{K: 10, Epsilon: epsilon}).Prob(0, 0); label <= got {
			t.Errorf("a label is right %v of the time, the bound is %v", label, got)
		}
		for _, classes := range []int{2, 4, 10, 26} {
			got, printed, integral := LaplaceBound(classes, epsilon), printedBound(classes/2, 2/epsilon), boundByIntegral(classes/2, 2/epsilon)
			if math.Abs(got-printed) > 1e-9 || math.Abs(got-integral) > 1e-5 {
				t.Errorf("%d classes at %v: %v by equation 10, %v by 32, %v by 27", classes, epsilon, got, printed, integral)
			}
		}
	}
	if math.Abs(printedBound(5, 1)-boundByIntegral(5, 2)) < 1e-3 {
		t.Error("noise of half the scale has the same bound")
	}
}

// printedBound is equation 32, of d directions and noise of scale b on corners at one.
func printedBound(d int, b float64) float64 {
	sum, choose := float64(1-d)/(2*b)*(1+b/2)*math.Exp(-1/b), 1.0
	for j := range d {
		if n := float64(j); j != 1 {
			sum += choose * (1 - 2*float64(j%2)) * (math.Exp(-n/b)/(1-n*n) - math.Exp(-1/b)/(2*(1-n)))
		}
		choose *= float64(d-1-j) / float64(j+1)
	}
	return sum
}

// boundByIntegral is equation 27: the told corner's number is above zero, and the largest of all.
func boundByIntegral(d int, b float64) (sum float64) {
	const step = 1e-4
	for x := step / 2; x < 1+40*b; x += step {
		inner := 0.0 // the integral of the noise from -x to x
		if x > 0 {
			inner = -math.Expm1(-x / b)
		}
		sum += step / (2 * b) * math.Exp(-math.Abs(x-1)/b) * math.Pow(inner, float64(d-1))
	}
	return sum
}

// Two classes on adjacent corners are told apart as often as an integral over the noise of both numbers says, and less often
// than on opposite ones.
func TestAdjacentCorners(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 2, 4, 8} {
		got, opposite := AdjacentCorners(epsilon), LaplaceBound(2, epsilon)
		if want := adjacentByIntegral(2 / epsilon); math.Abs(got-want) > 1e-3 { // squares of the integral are 0.05 wide at most
			t.Errorf("epsilon %v: %v, the integral is %v", epsilon, got, want)
		}
		if gap := opposite - got; math.Abs(gap-epsilon/8*math.Exp(-epsilon/2)) > 1e-12 {
			t.Errorf("epsilon %v: opposite corners are ahead by %v", epsilon, gap)
		}
	}
}

// adjacentByIntegral is the probability that (1, 0) with noise of scale b is nearer to it than to (0, 1), and half of that
// that it is as near to both.
func adjacentByIntegral(b float64) (sum float64) {
	const steps = 2000
	below := func(x float64) float64 { // how likely noise is below x
		if x < 0 {
			return math.Exp(x/b) / 2
		}
		return 1 - math.Exp(-x/b)/2
	}
	within := func(i int) float64 { return 12 * b * (2*float64(i)/steps - 1) } // beyond it is less than 1 in 100,000
	nearer := func(x float64) float64 { return math.Abs(x-1) - math.Abs(x) }
	for i := range steps {
		for j := range steps {
			x, y := 1+(within(i)+within(i+1))/2, (within(j)+within(j+1))/2
			mass := (below(within(i+1)) - below(within(i))) * (below(within(j+1)) - below(within(j)))
			switch apart := nearer(y) - nearer(x); {
			case apart > 1e-12:
				sum += mass
			case apart > -1e-12:
				sum += mass / 2
			}
		}
	}
	return sum
}
