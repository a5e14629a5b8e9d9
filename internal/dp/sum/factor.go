package sum

import "math"

// Factor returns so many coefficients binom(2j, j)/4^j, 2^bits the first, rounded to whole numbers: what the row of a
// round that is correlated with others tells of the j-th before it (package counter). They do not grow.
func Factor(length, bits int) []int64 {
	all := make([]int64, length)
	f := math.Ldexp(1, bits)
	for j := range all {
		all[j] = int64(math.Round(f))
		f = f * float64(2*j+1) / float64(2*j+2)
	}
	return all
}
