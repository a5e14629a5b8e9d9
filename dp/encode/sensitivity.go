package encode

// Sensitivity is how far replacing one value by another moves the probabilities
// (1 + f(x)/R)/2 of its bits, before any randomized response: what an accountant
// needs to know of a feature map.
type Sensitivity struct {
	Coordinates int     // channels whose probability can move at all
	Gap         float64 // the most that a single one can move, at most 1
	SumSquares  float64 // the most that the squares of all moves can add up to
}

// slack covers float32 arithmetic in SumSquares. An orthogonal transform of k steps,
// each right to 2^-24 of itself, lengthens a vector by at most (1+2^-24)^k; k is
// below 400 at any dimension allowed here, and the polynomials of sine and cosine
// are off by 1e-7.
const slack = 1 + 1e-4

// Sensitivity is that of replacing a value that Map accepts by another.
func (f *Features) Sensitivity() Sensitivity { return f.family.shape().moves }
