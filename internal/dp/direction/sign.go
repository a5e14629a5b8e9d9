package direction

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/rng"
)

// SignBytes is the length of a report of Sign: the sign, then the seed.
const SignBytes = 1 + SeedBytes

// Sign tells of a vector x of length at most Clip on which side of a drawn direction
// it lies (ESA, Algorithm 4). The seed of the direction is uniform. Of its two signs
// one is favoured, e^Epsilon times as likely as the other: which one depends on the
// end of x's line that was drawn, and on the seed. That holds for whatever the seed
// is expanded to and however products are rounded, so that Epsilon is exact.
type Sign struct {
	Dim     int     // of a vector, in [1, maxDim]
	Clip    float64 // the length that vectors are clipped to, > 0
	Epsilon float64 // local, under replacement, in [MinEpsilon, MaxEpsilon]
}

// Validate says what is wrong with the parameters.
func (m Sign) Validate() error { return validate(m.Dim, 1, m.Clip, m.Epsilon) }

func (m Sign) must(x int) {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
	if x != m.Dim {
		panic(fmt.Sprintf("direction: %d coordinates where %d are due", x, m.Dim))
	}
}

// Randomize returns the report of a device that holds x, of Dim coordinates. A vector of
// zeros, or with a coordinate that is not finite, gives a uniform direction.
//
// Rounding is against the mechanism: the probability of the unfavoured sign is
// enlarged by 2^-50 of itself, and then drawn exactly.
func (m Sign) Randomize(r *rand.Rand, x []float64) []byte {
	m.must(len(x))
	s := draw(r)
	sign, known := end(r, x, m.Clip)
	if known && along(x, s, make([]float64, m.Dim)) < 0 {
		sign = -sign
	}
	if rng.Bernoulli(r, rng.Prob(math.Min(0.5, (1+0x1p-50)/(1+math.Exp(m.Epsilon))))) {
		sign = -sign
	}
	report := append(make([]byte, 0, SignBytes), 0)
	if sign < 0 {
		report[0] = 1
	}
	return append(report, s[:]...)
}

// Prob returns the probability of a report's sign, given its seed, when the device holds
// x. The seed itself is uniform.
func (m Sign) Prob(report []byte, x []float64) float64 {
	m.must(len(x))
	s, sign, err := readSign(report)
	if err != nil {
		return 0
	}
	length := norm(x)
	if !(length > 0) || math.IsInf(length, 1) {
		return 0.5
	}
	if along(x, s, make([]float64, m.Dim)) < 0 {
		sign = -sign
	}
	first, favoured := (1+math.Min(1, length/m.Clip))/2, 1/(1+math.Exp(-m.Epsilon))
	if sign < 0 {
		first = 1 - first
	}
	return first*favoured + (1-first)*(1-favoured)
}

func readSign(report []byte) (s seed, sign float64, err error) {
	if len(report) != SignBytes || report[0] > 1 {
		return s, 0, fmt.Errorf("direction: not a sign and a seed: want %d bytes, the first of them 0 or 1", SignBytes)
	}
	copy(s[:], report[1:])
	return s, 1 - 2*float64(report[0]), nil
}

// Check says whether a report has the form of one.
func (m Sign) Check(report []byte) error {
	_, _, err := readSign(report)
	return err
}

// Sum adds up the directions of reports, Dim coordinates. It does not depend on how
// many processors there are.
func (m Sign) Sum(reports iter.Seq[[]byte]) ([]float64, error) {
	m.must(m.Dim)
	return sum(m.Dim, reports, readSign)
}

// Factor debiases the mean of reports,
//
//	Clip sqrt(pi) Gamma((Dim+1)/2)/Gamma(Dim/2) (e^Epsilon + 1)/(e^Epsilon - 1).
//
// ESA, Algorithm 5, line 5 divides it by Dim; the mean is then not that of the
// devices' vectors.
func (m Sign) Factor() float64 { return m.Clip / meanAlong(m.Dim) / math.Tanh(m.Epsilon/2) }

// Estimate returns the mean of the clipped vectors of n devices, given the sum of their
// reports. A coordinate of a direction has the variance 1/Dim, whatever the sign.
func (m Sign) Estimate(sum []float64, n int) []estimate.Value {
	m.must(len(sum))
	return means(sum, n, m.Factor(), 1/float64(m.Dim))
}

// Event returns what the accountant is told of the shuffled reports of so many users: of
// all reports each end of a line favours one half, the other end the other
// (shorter vectors are mixtures of the two ends).
func (m Sign) Event(users int) account.Event {
	return amplify.FavouredResponse{Users: users, Share: 0.5, Epsilon: m.Epsilon}
}

// Local returns what a device is promised against everybody else, for each report.
func (m Sign) Local(adj account.Adjacency) account.Guarantee {
	m.must(m.Dim)
	return local(m.Epsilon, 0.5, adj, "sign of a random direction", "ratio of its two probabilities; ESA, Algorithm 4")
}
