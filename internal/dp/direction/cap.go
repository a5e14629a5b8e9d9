package direction

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Cap tells of a vector x of length at most Clip one direction, e^Epsilon times as
// likely to lie in the cap about the drawn end of x's line as outside: seeds are drawn
// until one is taken, each within the cap, of the others one in e^Epsilon. The cap
// has the Share of the sphere. Its reports are less noisy than Sign's where Epsilon is
// large, and a byte shorter.
//
// Epsilon rests on every cap's having the same share of all seeds. A generator whose 2^128
// directions are spread like draws from the sphere gives that up to a part in 2^60. Products
// round at a cap's edge, which counts for more: in two dimensions, where the edge is two
// points, by some 1e-15 of a share of a quarter, 1e-13 of a hundredth and 2e-11 of LeastShare
// (TestCapsHaveOneShare). Epsilon is off by no more than that, and account by 1e-9.
type Cap struct {
	Dim     int     // of a vector, in [2, maxDim]
	Clip    float64 // the length that vectors are clipped to, > 0
	Share   float64 // of the sphere, in [2^-10, 1/2]
	Epsilon float64 // local, under replacement, in [MinEpsilon, MaxEpsilon]
}

// LeastShare of the sphere bounds the seeds that a device draws to about a thousand on average: the
// best cap of a large epsilon would take as many as e^Epsilon.
const LeastShare = 0x1p-10

// BestCap returns the cap whose reports have the least noise, of those that a device has time for.
func BestCap(dim int, clip, epsilon float64) Cap {
	best := Cap{Dim: dim, Clip: clip, Share: 0.5, Epsilon: epsilon}
	for _, step := range []float64{0.1, 0.01, 0.001} { // the gain has one peak in log Share
		for from := best.Share; ; {
			improved := false
			for _, share := range []float64{from * math.Exp(-step), from * math.Exp(step)} {
				other := best
				if other.Share = share; share >= LeastShare && share <= 0.5 && other.gain() > best.gain() {
					best, improved = other, true
				}
			}
			if from = best.Share; !improved {
				break
			}
		}
	}
	return best
}

// Validate says what is wrong with the parameters.
func (m Cap) Validate() error {
	if !(m.Share >= LeastShare && m.Share <= 0.5) {
		return fmt.Errorf("direction: a cap with a share %v of the sphere: give a number from %v to 1/2: devices draw seeds until one lies in it", m.Share, LeastShare)
	}
	return validate(m.Dim, 2, m.Clip, m.Epsilon)
}

func (m Cap) must(x int) {
	if err := m.Validate(); err != nil {
		panic(err.Error())
	}
	if x != m.Dim {
		panic(fmt.Sprintf("direction: %d coordinates where %d are due", x, m.Dim))
	}
}

// An edgeOf is what edge has found for the caps of a plan.
type edgeOf struct {
	dim         int
	share, edge float64
}

// lastEdge is the last one that was found, since every report of a plan asks for the same. A search for the best cap
// leaves nothing here.
var lastEdge atomic.Pointer[edgeOf]

// edge returns the least <u, v> of a direction v in the cap about u: <u, v>^2 has the law
// Beta(1/2, (Dim-1)/2).
func (m Cap) edge() float64 {
	if last := lastEdge.Load(); last != nil && last.dim == m.Dim && last.share == m.Share {
		return last.edge
	}
	found := edgeOf{m.Dim, m.Share, m.findEdge()}
	lastEdge.Store(&found)
	return found.edge
}

func (m Cap) findEdge() float64 {
	low, high := 0.0, 1.0
	for range 60 {
		middle := (low + high) / 2
		if outside := prob.LogRegularizedBeta(float64(m.Dim-1)/2, 0.5, 1-middle*middle); outside > math.Log(2*m.Share) {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// gain returns the mean of <u, v> over reports v of a device that stands at the end u:
// with g the edge and c the density of <u, v> at 0,
//
//	c (1-g^2)^((Dim-1)/2) / (Dim-1) (p/Share - (1-p)/(1-Share)),
//
// where p = e^Epsilon Share / (1 - Share + e^Epsilon Share) is in the cap.
func (m Cap) gain() float64 {
	g, e := m.findEdge(), math.Expm1(m.Epsilon)
	moment := meanAlong(m.Dim) / 2 * math.Exp(float64(m.Dim-1)/2*math.Log1p(-g*g))
	return moment * e / (1 + m.Share*e)
}

// Randomize returns the report of a device that holds x, of Dim coordinates: SeedBytes.
// A vector of zeros, or with a coordinate that is not finite, gives a uniform direction.
//
// Rounding is against the mechanism: directions outside the cap are taken with a
// probability enlarged by 2^-50 of itself, drawn exactly.
func (m Cap) Randomize(r *rand.Rand, x []float64) []byte {
	m.must(len(x))
	sign, known := end(r, x, m.Clip)
	if !known {
		s := draw(r)
		return s[:]
	}
	edge, v := m.edge()*norm(x), make([]float64, m.Dim)
	taken := rng.Prob(math.Min(1, math.Exp(-m.Epsilon)*(1+0x1p-50)))
	for {
		if s := draw(r); sign*along(x, s, v) >= edge || rng.Bernoulli(r, taken) {
			return s[:]
		}
	}
}

// Prob returns the probability of a report when the device holds x, over that under the
// uniform law.
func (m Cap) Prob(report []byte, x []float64) float64 {
	m.must(len(x))
	s, _, err := readSeed(report)
	if err != nil {
		return 0
	}
	length := norm(x)
	if !(length > 0) || math.IsInf(length, 1) {
		return 1
	}
	least, first := 1/(1+m.Share*math.Expm1(m.Epsilon)), (1+math.Min(1, length/m.Clip))/2
	switch edge, at := m.edge()*length, along(x, s, make([]float64, m.Dim)); {
	case at >= edge:
		return least * (1 + first*math.Expm1(m.Epsilon))
	case -at >= edge:
		return least * (1 + (1-first)*math.Expm1(m.Epsilon))
	}
	return least
}

func readSeed(report []byte) (s seed, sign float64, err error) {
	if len(report) != SeedBytes {
		return s, 0, fmt.Errorf("direction: not a seed: want %d bytes", SeedBytes)
	}
	copy(s[:], report)
	return s, 1, nil
}

// Check says whether a report has the form of one.
func (m Cap) Check(report []byte) error {
	_, _, err := readSeed(report)
	return err
}

// Sum adds up the directions of reports, Dim coordinates. It does not depend on how
// many processors there are.
func (m Cap) Sum(reports iter.Seq[[]byte]) ([]float64, error) {
	m.must(m.Dim)
	return sum(m.Dim, reports, readSeed)
}

// Factor debiases the mean of reports.
func (m Cap) Factor() float64 { return m.Clip / m.gain() }

// Estimate returns the mean of the clipped vectors of n devices, given the sum of their
// reports. Errors are those of a coordinate that all vectors lie along, and too large
// for others by up to sqrt(Dim along()); their mean square is at most
// Factor()^2/(Dim n).
func (m Cap) Estimate(sum []float64, n int) []estimate.Value {
	m.must(len(sum))
	return means(sum, n, m.Factor(), m.along())
}

// along returns the mean of <u, v>^2 over reports v of a device at the end u, at least
// 1/Dim. Over all directions it is 1/Dim, and over those in the cap t^2 has, but for
// that factor, the law Beta(3/2, (Dim-1)/2) beyond the edge's square.
func (m Cap) along() float64 {
	g, e, each := m.edge(), math.Expm1(m.Epsilon), 1/float64(m.Dim)
	inside := each / 2 * prob.RegularizedBeta(float64(m.Dim-1)/2, 1.5, 1-g*g)
	return (each + e*inside) / (1 + m.Share*e)
}

// Event returns what the accountant is told of the shuffled reports of so many users.
func (m Cap) Event(users int) account.Event {
	return amplify.FavouredResponse{Users: users, Share: m.Share, Epsilon: m.Epsilon}
}

// Local returns what a device is promised against everybody else, for each report.
func (m Cap) Local(adj account.Adjacency) account.Guarantee {
	m.must(m.Dim)
	return local(m.Epsilon, m.Share, adj, "random direction from a cap, if every cap has its share of all seeds", "ratio of its two probabilities; Bhowmick et al. 2018")
}
