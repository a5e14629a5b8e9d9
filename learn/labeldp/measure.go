package labeldp

// Heterogeneity is phi of one cluster with these counts, if every input has one label: the mean
// over its inputs of what the share of labels differs from the input's own (LDC, Definition 1).
// It is a property of private labels.
func Heterogeneity(counts []int) float64 {
	n, squares := 0.0, 0.0
	for _, k := range counts {
		n, squares = n+float64(k), squares+float64(k)*float64(k)
	}
	if n == 0 {
		return 0
	}
	return 2 * (1 - squares/(n*n))
}
