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

// described is a description of a kernel, any that there is, over six dimensions.
func described(k kernelmap.Kernel) kernelmap.Spec {
	has, s := k.Parameters(), kernelmap.Spec{Kernel: k, Dimension: 6, Repetitions: 20}
	if has.Single {
		s.Repetitions = 1
	}
	if has.Bandwidth {
		s.Bandwidth = 0.75 * k.Similarity().Apart(s.Dimension)
	}
	if has.Clip {
		s.Clip = 2.4
	}
	if has.Radius {
		s.Radius = 1.001
	}
	if has.Buckets {
		s.Buckets = 8
	}
	if has.Projection {
		s.Projection = 3
	}
	return s
}

// The error at a point is beyond twice the bound on its root mean square in at most a quarter of all draws of features,
// rounding and noise, as Chebyshev says; a bound of a twelfth is found out. KDE's Theorem 3.2 is never smaller.
func TestSupRMSEHoldsAtAnyPoint(t *testing.T) {
	const n, flip, draws = 40, 0.1, 300
	r := seeded.New(31)
	x := values(r, n, 6)
	for _, name := range kernelmap.Kernels() {
		spec := described(kernelmap.Kernel(name))
		t.Run(string(spec.Kernel), func(t *testing.T) {
			y := part(values(seeded.New(32), 1, 6), 0, 1)
			want := exact.Densities(spec.Kernel.Similarity(), x, y, spec.Bandwidth)[0]
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
