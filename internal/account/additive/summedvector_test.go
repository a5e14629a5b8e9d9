package additive

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// hockey returns the exact hockey stick of one number's law and the same moved by a shift, the sum of so many discrete Gaussians.
func hockey(sigma float64, parties, shift int, epsilon float64) float64 {
	reach := int(16*sigma) + shift
	one := make([]float64, 2*reach+1)
	total := 0.0
	for k := -reach; k <= reach; k++ {
		one[k+reach] = math.Exp(-float64(k*k) / (2 * sigma * sigma))
		total += one[k+reach]
	}
	law := map[int]float64{}
	for k := -reach; k <= reach; k++ {
		if parties == 1 {
			law[k] = one[k+reach] / total
			continue
		}
		for j := -reach; j <= reach; j++ {
			law[k+j] += one[k+reach] * one[j+reach] / total / total
		}
	}
	stick := 0.0
	for k, p := range law {
		stick += math.Max(0, p-math.Exp(epsilon)*law[k-shift])
	}
	return stick
}

// Of one number the law is summed term by term: what is promised is above it, and by no more than the 4 costs. Twice the
// shift is not covered.
func TestSummedVectorCoversItsLaw(t *testing.T) {
	for _, parties := range []int{1, 2} {
		for _, shift := range []int{7, 40, 200} {
			e := SummedVector{Sigma: 64, Parties: parties, SquaredShift: float64(shift * shift), Numbers: 1}
			for _, epsilon := range []float64{0, 0.1, 0.5, 2} {
				g, err := account.Delta(e, epsilon)
				if err != nil {
					t.Fatal(err)
				}
				true, twin := hockey(64, parties, shift, epsilon), hockey(64, parties, 2*shift, epsilon)
				if g.Delta < true*(1-1e-9) || g.Delta > true*1.02+1e-15 {
					t.Errorf("%d parties, shift %d, epsilon %v: promised %v, true %v", parties, shift, epsilon, g.Delta, true)
				}
				if twin > 1e-12 && g.Delta >= twin {
					t.Errorf("%d parties, shift %d, epsilon %v: twice the shift has %v, and %v is promised", parties, shift, epsilon, twin, g.Delta)
				}
			}
		}
	}
}

// Several numbers, and rounds, add in squares.
func TestSummedVectorsAddInSquares(t *testing.T) {
	one := SummedVector{Sigma: 100, Parties: 1, SquaredShift: 4000, Numbers: 6}
	four, err := account.Epsilon(account.Repeat{Event: one, Rounds: 4}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := account.Epsilon(SummedVector{Sigma: 100, Parties: 1, SquaredShift: 16000, Numbers: 24}, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(four.Epsilon-wide.Epsilon) > 1e-9*wide.Epsilon {
		t.Errorf("four rounds %v, one of four times the square %v", four.Epsilon, wide.Epsilon)
	}
	for name, bad := range map[string]SummedVector{
		"sigma": {Sigma: 63, Parties: 1, SquaredShift: 2, Numbers: 1}, "parties": {Sigma: 64, Parties: 3, SquaredShift: 2, Numbers: 1},
		"numbers": {Sigma: 64, Parties: 1, SquaredShift: 2}, "squared distance": {Sigma: 64, Parties: 1, SquaredShift: 1e9, Numbers: 1},
		"no shift": {Sigma: 64, Parties: 1, Numbers: 1},
	} {
		if _, err := account.Epsilon(bad, 1e-6); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
