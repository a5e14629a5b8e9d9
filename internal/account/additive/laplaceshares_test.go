package additive

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/prob"
)

// convolved is the law of the sum of two, on -top..top.
func convolved(a, b []float64) []float64 {
	top := len(a) / 2
	out := make([]float64, len(a))
	for i, p := range a {
		for j, q := range b {
			if k := i + j - top; k >= 0 && k < len(out) {
				out[k] += p * q
			}
		}
	}
	return out
}

func (e LaplaceShares) table(top int) []float64 {
	log, _ := prob.LogLaplaceShares(e.Noise, e.Shares, top)
	t := make([]float64, 2*top+1)
	for z := -top; z <= top; z++ {
		t[z+top] = math.Exp(log[max(z, -z)])
	}
	return t
}

func laplaceTable(noise float64, top int) []float64 {
	t := make([]float64, 2*top+1)
	for z := -top; z <= top; z++ {
		t[z+top] = math.Tanh(noise/2) * math.Exp(-noise*math.Abs(float64(z)))
	}
	return t
}

// Two halves are a discrete Laplace, and two of these are two shares.
func TestSharesOfLaplaceAddUp(t *testing.T) {
	for _, noise := range []float64{0.1, 0.5, 1, 3} {
		top := int(60/noise) + 10
		half, one, two := LaplaceShares{noise, 0.5}.table(top), laplaceTable(noise, top), LaplaceShares{noise, 2}.table(top)
		for name, c := range map[string]struct{ got, want []float64 }{
			"two halves": {convolved(half, half), one}, "two": {two, convolved(one, one)},
			"nine tenths and one":   {convolved(LaplaceShares{noise, 0.9}.table(top), LaplaceShares{noise, 0.1}.table(top)), one},
			"seven sixths and five": {convolved(LaplaceShares{noise, 7. / 6}.table(top), LaplaceShares{noise, 5. / 6}.table(top)), two},
		} {
			for i := range c.want {
				if z := i - top; max(z, -z) < top/2 && math.Abs(c.got[i]-c.want[i]) > 1e-12*c.want[i] {
					t.Fatalf("noise %v, %s: P(%d) = %v, want %v", noise, name, z, c.got[i], c.want[i])
				}
			}
		}
	}
}

// exactHockey is the hockey stick at epsilon of so many numbers that move by one, each with
// noise of this law: by enumeration of all outputs.
func exactHockey(law []float64, numbers int, epsilon float64) float64 {
	moved := append(law[1:len(law):len(law)], 0)
	delta := 0.0
	var walk func(left int, p, q float64)
	walk = func(left int, p, q float64) {
		if left == 0 {
			delta += max(0, p-math.Exp(epsilon)*q)
			return
		}
		for i := range law {
			walk(left-1, p*law[i], q*moved[i])
		}
	}
	walk(numbers, 1, 1)
	return delta
}

// The accountant is told the law that enumeration finds, of one number and of two.
func TestPartsOfLaplaceAreAccountedExactly(t *testing.T) {
	for _, e := range []LaplaceShares{{0.5, 0.5}, {0.5, 0.9}, {0.5, 2}, {1.2, 0.5}, {1.2, 2}, {1.2, 3.3}} {
		law := e.table(int(40 / e.Noise))
		for numbers := 1; numbers <= 2; numbers++ {
			for _, delta := range []float64{1e-2, 1e-5} {
				g, err := account.Epsilon(account.Repeat{Event: e, Rounds: numbers}, delta)
				if err != nil {
					t.Fatal(err)
				}
				if d := exactHockey(law, numbers, g.Epsilon); d > delta*(1+1e-9) {
					t.Errorf("%+v, %d numbers: epsilon %v is too small: delta %v, want %v", e, numbers, g.Epsilon, d, delta)
				}
				if d := exactHockey(law, numbers, g.Epsilon*0.99); d <= delta {
					t.Errorf("%+v, %d numbers: epsilon %v is larger than it needs to be", e, numbers, g.Epsilon)
				}
			}
		}
	}
}

// Of noise that two aggregators share for epsilon 1, who knows one half is told what enumeration of
// the other half's law finds: at epsilon 1 a delta of 0.305, and epsilon 2.275 at 1e-6.
func TestOneHalfOfSharedNoiseByEnumeration(t *testing.T) {
	decay, err := LaplaceNoise(calibrate.Target{Users: 1, Rounds: 2, Epsilon: 1, Delta: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	law := LaplaceShares{decay, 0.5}.table(int(40 / decay))
	if d := exactHockey(law, 2, 1); math.Abs(d-0.305) > 0.001 {
		t.Errorf("delta %v at the promised epsilon", d)
	}
	g, err := account.Epsilon(account.Repeat{Event: LaplaceShares{decay, 0.5}, Rounds: 2}, 1e-6)
	if err != nil || exactHockey(law, 2, g.Epsilon) > 1e-6 || exactHockey(law, 2, 2.274) <= 1e-6 || g.Epsilon > 2.285 {
		t.Errorf("epsilon %v, %v", g.Epsilon, err)
	}
}

// lossEpsilon is a lower bound on epsilon at delta of so many numbers of which each moves by one: losses
// of a law that is made from the negative binomials of its parts, each rounded down to a fine grid.
func lossEpsilon(decay, shares float64, numbers int, delta float64) float64 {
	const pitch = 1e-3
	top := int(45/decay) + 40
	ratio := math.Exp(-decay)
	part := make([]float64, top+1) // NB(shares, ratio)
	part[0] = math.Pow(1-ratio, shares)
	for j := 1; j <= top; j++ {
		part[j] = part[j-1] * ratio * (shares + float64(j) - 1) / float64(j)
	}
	law := make([]float64, 2*top+1)
	for i, a := range part {
		for j, b := range part {
			law[i-j+top] += a * b
		}
	}
	one := map[int]float64{}
	for i := 1; i < len(law); i++ {
		if law[i] > 1e-18 {
			one[int(math.Floor(math.Log(law[i]/law[i-1])/pitch))] += law[i]
		}
	}
	all := map[int]float64{0: 1}
	for range numbers {
		next := map[int]float64{}
		for a, x := range all {
			for b, y := range one {
				if x*y > 1e-15 {
					next[a+b] += x * y
				}
			}
		}
		all = next
	}
	low, high := 0.0, 60.0
	for range 40 {
		middle, d := (low+high)/2, 0.0
		for loss, p := range all {
			d -= p * math.Expm1(min(0, middle-float64(loss)*pitch))
		}
		if d > delta {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// The accountant is never below a second law of losses, of few shares and of many.
func TestSharesAreNeverPromisedTooLittle(t *testing.T) {
	worst := 0.0
	for _, decay := range []float64{0.25, 0.5, 1, 2} {
		for _, shares := range []float64{0.05, 0.5, 0.9, 2} {
			for _, numbers := range []int{2, 4} {
				for _, delta := range []float64{1e-3, 1e-6} {
					g, err := account.Epsilon(account.Repeat{Event: LaplaceShares{decay, shares}, Rounds: numbers}, delta)
					if err != nil {
						t.Fatal(err)
					}
					found := lossEpsilon(decay, shares, numbers, delta)
					if worst = max(worst, found/g.Epsilon); found > g.Epsilon*(1+1e-9) {
						t.Errorf("decay %v, %v shares, %d numbers, delta %g: printed %v, found %v", decay, shares, numbers, delta, g.Epsilon, found)
					}
				}
			}
		}
	}
	if worst < 0.99 {
		t.Errorf("at most %v of what is printed is found: the second law sees nothing", worst)
	}
}

// The more shares of a Laplace are not known, the less it tells: what an observer knows
// of the noise is in the event, and another event is caught.
func TestWhoKnowsMoreOfTheNoiseLearnsMore(t *testing.T) {
	last := math.Inf(1)
	for _, e := range []account.Event{LaplaceShares{0.5, 0.5}, LaplaceShares{0.5, 0.9}, DiscreteLaplace{Noise: 0.5, Sensitivity: 1}, LaplaceShares{0.5, 1.2}, LaplaceShares{0.5, 2}} {
		g, err := account.Epsilon(account.Repeat{Event: e, Rounds: 2}, 1e-6)
		if err != nil || !(g.Epsilon < 0.995*last) {
			t.Errorf("%+v has epsilon %v, the one before %v (%v)", e, g.Epsilon, last, err)
		}
		last = g.Epsilon
	}
}

func TestLaplaceSharesRefuses(t *testing.T) {
	for _, e := range []LaplaceShares{{0, 2}, {1, 0}, {1, 0x1p11}, {1e-4, 0.5}, {101, 2}, {math.NaN(), 2}} {
		if _, err := e.Terms(); err == nil {
			t.Errorf("%+v has terms", e)
		}
	}
}
