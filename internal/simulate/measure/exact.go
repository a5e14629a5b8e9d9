package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/kde/exact"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// DensityQueries is the number of test records at which densities are compared
// with the exact ones.
const DensityQueries = 200

// Exact returns the density of the records at each query without any randomness.
func Exact(k plan.Kernel, records, queries blas32.General) []float64 {
	return exact.Densities(kernelmap.Kernel(k.Name).Similarity(), records, queries, k.Bandwidth)
}

// mostExact bounds the multiplications of Best: a second or two for each classifier.
const mostExact = 4e9

// Best returns the accuracy that the records allow without any privacy: that of the best of
// three classifiers on exact densities or means, without randomization, signs or random
// features; how names it. ok is false where it would take too long.
func Best(set *dataset.Set, progress simulate.Progress) (accuracy float64, how string, ok bool) {
	if float64(set.Test.Len())*float64(set.Train.Len())*float64(set.Dimension()) > mostExact {
		return 0, "", false
	}
	h := MedianDistance(set.Test.X)
	for _, c := range []struct {
		how   string
		exact func(records, queries blas32.General) []float64
	}{
		{"nearest class mean", nearness},
		{"densities of inner products", exact.Inner},
		{fmt.Sprintf("Gaussian densities at bandwidth %.3g", h/2), func(x, q blas32.General) []float64 { return exact.Gaussian(x, q, h/2) }},
	} {
		if strings.HasPrefix(c.how, "Gaussian") && h == 0 {
			continue
		}
		if a := ExactAccuracy(set, c.exact, progress); a > accuracy {
			accuracy, how = a, c.how
		}
	}
	return accuracy, how, true
}

// nearness returns the negative squared distance of each query from the records' mean.
func nearness(records, queries blas32.General) []float64 {
	mean := make([]float64, records.Cols)
	for i := range records.Rows {
		for j, v := range row(records, i) {
			mean[j] += float64(v) / float64(records.Rows)
		}
	}
	out := make([]float64, queries.Rows)
	for i := range out {
		for j, v := range row(queries, i) {
			out[i] -= (float64(v) - mean[j]) * (float64(v) - mean[j])
		}
	}
	return out
}

// ExactAccuracy returns that of the class of highest exact density.
func ExactAccuracy(set *dataset.Set, exact func(records, queries blas32.General) []float64, progress simulate.Progress) float64 {
	best := make([]float64, set.Test.Len())
	class := make([]int, set.Test.Len())
	for c, x := range set.Train.ByClass(len(set.Classes)) {
		progress("the same without privacy", c, len(set.Classes))
		for i, k := range exact(x, set.Test.X) {
			if c == 0 || k > best[i] {
				best[i], class[i] = k, c
			}
		}
	}
	right := 0
	for i, y := range set.Test.Y {
		if class[i] == y {
			right++
		}
	}
	return float64(right) / float64(set.Test.Len())
}

// MedianDistance returns that of neighbouring rows, which are in no order.
func MedianDistance(x blas32.General) float64 {
	var d []float64
	for i := 1; i < x.Rows; i++ {
		sum := 0.0
		for j, v := range row(x, i) {
			diff := float64(v) - float64(row(x, i-1)[j])
			sum += diff * diff
		}
		d = append(d, math.Sqrt(sum))
	}
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[len(d)/2]
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }
