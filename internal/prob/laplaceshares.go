package prob

import "math"

// LogLaplaceShares returns ln P(Z = k), k = 0..top, of the difference Z of two NB(shares, e^-decay):
// shares times what a discrete Laplace of that decay is. Each is right to the returned share of
// P(Z = k):
//
//	P(k) = sum over j >= 0 of NB(j) NB(j+k),   NB(j) = C(j+r-1, j) (1-q)^r q^j,
//
// all terms positive, the next of them q^2 (r+j)(r+k+j)/((1+j)(1+k+j)) of the one before.
// For r below 1 that is below q^2, else it falls to it: once it is below f, the rest is
// below f/(1-f) of the last term. A term is right to some 8 roundoffs a step.
func LogLaplaceShares(decay, shares float64, top int) (log []float64, relative float64) {
	r, q := shares, math.Exp(-decay)
	first := 2 * r * math.Log(-math.Expm1(-decay)) // ln NB(0)^2
	log = make([]float64, top+1)
	most := 0
	for k := range log {
		kk := float64(k)
		if k > 0 {
			first += math.Log((r+kk-1)/kk) - decay
		}
		sum, term := 0.0, 1.0
		for j := 0; ; j++ {
			sum += term
			jj := float64(j)
			ratio := q * q * (r + jj) * (r + kk + jj) / ((1 + jj) * (1 + kk + jj))
			term *= ratio
			if ratio < 1 && term < 0x1p-60*(1-max(ratio, q*q))*sum {
				most = max(most, j)
				break
			}
		}
		log[k] = first + math.Log(sum)
	}
	return log, 0x1p-50 * float64(most+top+16)
}

// LaplaceSharesFall bounds P(Z = k+1)/P(Z = k) for all k from so many on: no term of the sum
// above falls less than its NB(j+k+1) to NB(j+k).
func LaplaceSharesFall(decay, shares float64, from int) float64 {
	return math.Exp(-decay) * max(1, (shares+float64(from))/(1+float64(from)))
}
