package kernelmap

// Sensitivity is how far replacing one value by another moves the probabilities
// (1 + f(x)/R)/2 of its bits, before any randomized response: what an accountant
// needs to know of a feature map. A value may also be replaced by the reference, whose
// features are all zero and whose bits are fair: what a device sends whose value
// does not fit.
//
// Of the reference no family but GaussianPaired has to know. Each probability is
// within a half of a fair one, and the squares of f(x)/(2R) add up to less than those
// of the moves between two values: to a quarter of a bit's for each channel of
// Gaussian, InnerSigns and the signed kernels, where it may move by all of it; of
// InnerIdentity and InnerRotated to a quarter of the squared distance of opposite
// values; of the bucketed kernels, where one bucket of each repetition is left and
// none entered, to half.
type Sensitivity struct {
	Coordinates int     // channels whose probability can move at all
	Gap         float64 // the most that a single one can move, at most 1
	SumSquares  float64 // the most that the squares of all moves can add up to
	Buckets     int     // repetitions of each of which one channel of a value is 1 and the others 0; 0 of kernels without buckets
}

// slack covers float32 arithmetic in SumSquares. An orthogonal transform of k steps,
// each right to 2^-24 of itself, lengthens a vector by at most (1+2^-24)^k; k is
// below 400 at any dimension allowed here, and the polynomials of sine and cosine
// are off by 1e-7.
const slack = 1 + 1e-4

// Sensitivity returns that of replacing a value that Map accepts by another, or by the
// reference.
func (f *Features) Sensitivity() Sensitivity { return f.family.shape().moves }
