package example

import "math"

// Hockey returns the least delta of laws p and q at epsilon, in the direction of p.
func Hockey(epsilon float64, p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += max(0, p[i]-math.Exp(epsilon)*q[i])
	}
	return sum
}

// Binomials returns the law of so many bits that are one with probability q.
func Binomials(n int, q float64) []float64 {
	law := []float64{1}
	for range n {
		next := make([]float64, len(law)+1)
		for i, p := range law {
			next[i] += p * (1 - q)
			next[i+1] += p * q
		}
		law = next
	}
	return law
}

func Convolved(a, b []float64) []float64 {
	sum := make([]float64, len(a)+len(b)-1)
	for i, p := range a {
		if p < 1e-40 {
			continue
		}
		for j, q := range b {
			sum[i+j] += p * q
		}
	}
	return sum
}
