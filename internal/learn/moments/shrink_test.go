package moments

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
)

// By hand: public rows on three axes have second moments 4, 1 and 1/4 thirds, and each coordinate
// of either sum is multiplied by c/(c + noise^2/t).
func TestShrunkKnown(t *testing.T) {
	public := blas32.General{Rows: 3, Cols: 3, Stride: 3, Data: []float32{2, 0, 0, 0, 1, 0, 0, 0, 0.5}}
	sum := []float64{3, 2, 1, -3, 0, 1}
	const noise = 0.5
	tau := (9 + 4 + 1 + 9 + 1 - 6*noise*noise) / (2 * (4 + 1 + 0.25) / 3)
	got := Shrunk(sum, noise, public)
	for i, c := range []float64{4. / 3, 1. / 3, 1. / 12, 4. / 3, 1. / 3, 1. / 12} {
		if want := sum[i] * c / (c + noise*noise/tau); math.Abs(got[i]-want) > 1e-4 {
			t.Errorf("coordinate %d: %v, want %v", i, got[i], want)
		}
	}
	few := public
	few.Rows = 2
	for name, same := range map[string][]float64{"no noise": Shrunk(sum, 0, public), "noise alone": Shrunk(sum, 10, public), "few rows": Shrunk(sum, noise, few), "no rows": Shrunk(sum, noise, blas32.General{})} {
		if !slices.Equal(same, sum) {
			t.Errorf("%s: %v", name, same)
		}
	}
}

// Of sums that are as the rule expects, what is left is nearer the truth, by about as much as it
// can be.
func TestShrunkIsNearer(t *testing.T) {
	const d, rows, noise = 40, 400, 1.
	r := rand.New(rand.NewPCG(1, 2))
	public := blas32.General{Rows: rows, Cols: d, Stride: d, Data: make([]float32, rows*d)}
	spread := func(i int) float64 { return math.Pow(0.8, float64(i)) }
	for i := range public.Data {
		public.Data[i] = float32(spread(i%d) * r.NormFloat64())
	}
	before, after, best := 0.0, 0.0, 0.0
	for range 50 {
		truth, noisy := make([]float64, d), make([]float64, d)
		for i := range truth {
			truth[i] = 5 * spread(i) * r.NormFloat64()
			noisy[i] = truth[i] + noise*r.NormFloat64()
		}
		for i, x := range Shrunk(noisy, noise, public) {
			signal := 25 * spread(i) * spread(i)
			before += (noisy[i] - truth[i]) * (noisy[i] - truth[i])
			after += (x - truth[i]) * (x - truth[i])
			best += noise * noise * signal / (signal + noise*noise)
		}
	}
	if after > 0.5*before || after > 1.3*best {
		t.Errorf("squared errors of %v before, %v after; %v is the least", before, after, best)
	}
}
