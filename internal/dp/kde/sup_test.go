package kde

import (
	"fmt"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/kde/exact"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// The error at a point is beyond twice the bound on its root mean square in at most a quarter of all draws of features,
// rounding and noise, as Chebyshev says; a bound of a twelfth is found out. KDE's Theorem 3.2 is never smaller.
func TestSupRMSEHoldsAtAnyPoint(t *testing.T) {
	const n, flip, draws = 40, 0.1, 300
	r := seeded.New(31)
	x := values(r, n, 6)
	for _, spec := range []kernelmap.Spec{
		{Kernel: kernelmap.Gaussian, Dimension: 6, Repetitions: 20, Bandwidth: 1},
		{Kernel: kernelmap.GaussianPaired, Dimension: 6, Repetitions: 12, Bandwidth: 1},
		{Kernel: kernelmap.GaussianProjected, Dimension: 6, Repetitions: 20, Bandwidth: 1, Projection: 3},
		{Kernel: kernelmap.LaplacianSign, Dimension: 6, Repetitions: 20, Bandwidth: 4},
		{Kernel: kernelmap.ExponentialSign, Dimension: 6, Repetitions: 20, Bandwidth: 1, Radius: 1.001},
		{Kernel: kernelmap.Laplacian, Dimension: 6, Repetitions: 20, Bandwidth: 4, Buckets: 8},
		{Kernel: kernelmap.Exponential, Dimension: 6, Repetitions: 20, Bandwidth: 1, Buckets: 8, Radius: 1.001},
		{Kernel: kernelmap.InnerSigns, Dimension: 6, Repetitions: 20},
		{Kernel: kernelmap.InnerIdentity, Dimension: 6, Repetitions: 1},
		{Kernel: kernelmap.InnerRotated, Dimension: 6, Repetitions: 1, Clip: 2.4},
	} {
		t.Run(string(spec.Kernel), func(t *testing.T) {
			y := part(values(seeded.New(32), 1, 6), 0, 1)
			want := exact.Inner(x, y)[0]
			switch spec.Kernel {
			case kernelmap.Gaussian, kernelmap.GaussianPaired, kernelmap.GaussianProjected:
				want = exact.Gaussian(x, y, spec.Bandwidth)[0]
			case kernelmap.Laplacian, kernelmap.LaplacianSign:
				want = exact.Laplacian(x, y, spec.Bandwidth)[0]
			case kernelmap.Exponential, kernelmap.ExponentialSign:
				want = exact.Exponential(x, y, spec.Bandwidth)[0]
			}
			var bound float64
			errors := make([]float64, draws)
			for i := range errors {
				spec.Seed[0], spec.Seed[1] = byte(i), byte(i>>8)
				f := features(t, spec)
				d := private(t, f, x, flip, r)
				v, err := d.Query(row(y, 0).Data)
				if err != nil {
					t.Fatal(err)
				}
				errors[i] = math.Abs(v.Mean - want)
				if bound, err = d.SupRMSE(); err != nil {
					t.Fatal(err)
				}
				if printed := theoremRMSE(f, n, d.Sums[0].StdErr); !(bound < printed) {
					t.Fatalf("bound %v, of the theorem %v", bound, printed)
				}
			}
			beyond := func(reach float64) (count int) {
				for _, e := range errors {
					if e > reach {
						count++
					}
				}
				return count
			}
			stattest.AtMost(t, 0.25, draws, beyond(2*bound))
			stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, 0.25, draws, beyond(2*bound/12)) })
		})
	}
	if _, err := (Density{}).SupRMSE(); fmt.Sprint(err) != "kde: density without a feature map" {
		t.Error(err)
	}
}
