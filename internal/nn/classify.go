package nn

// batch is how many examples are classified together.
const batch = 250

// Classify gives the class with the largest answer of each of n examples.
func Classify(m *Model, example func(i int) []float32, n int) []int {
	classes := make([]int, n)
	p, k := NewPass(m), m.Outputs()
	var x []float32
	for from := 0; from < n; from += batch {
		to := min(n, from+batch)
		x = x[:0]
		for i := from; i < to; i++ {
			x = append(x, example(i)...)
		}
		scores := p.Forward(x, to-from)
		for i := from; i < to; i++ {
			row := scores[(i-from)*k:][:k]
			for c, v := range row {
				if v > row[classes[i]] {
					classes[i] = c
				}
			}
		}
	}
	return classes
}
