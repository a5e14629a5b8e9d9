package kde

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// gridSteps is how fine numbers are where no bit is drawn of them: what a bit says in one step, a number
// says in 1,024.
const gridSteps = 1024

// step returns the number in [0, gridSteps] that is nearest to the probability of a one, (1 + f(x)/R)/2.
func step(feature float32) int {
	return int(math.Round((1 + float64(min(1, max(-1, feature)))) / 2 * gridSteps))
}

// realSums returns the noise of sums of such numbers (KDE, Appendix B.2), in ones. A replaced record moves all of a
// device's numbers together by at most the root of the features' SumSquares, and by at most one step more in each
// channel, since each of two numbers is rounded by at most a half.
//
// A curator's noise is Gaussian. Devices' own is a discrete Gaussian from each of those that are relied upon, of
// which nothing but the sum is revealed: between those sums and one discrete Gaussian of n times the variance any
// event's probabilities differ by a factor of at most e^tau a channel (Kairouz, Liu and Steinke 2021, Lemma 5,
// as closeness prints it), which epsilon and delta are charged with.
func realSums(d experiments.Density, f *kernelmap.Features, users int) (way, error) {
	moves := f.Sensitivity()
	sensitivity := gridSteps*math.Sqrt(moves.SumSquares) + math.Sqrt(float64(f.Channels()))
	target := calibrate.Target{Epsilon: d.Epsilon, Delta: d.Delta, Users: users, Rounds: 1}
	w := way{onGrid: true}
	if d.Bitsum == experiments.Holder {
		e, g, err := central.CalibrateGaussian(target, sensitivity)
		w.promised, w.sigma = measure.PromisedBy(g), e.Sigma/gridSteps
		w.promised.MessagesPerDevice, w.rmse = 1, w.sigma
		curator := gaussianSum{Sigma: e.Sigma}
		w.draw = func(r *rand.Rand, sum, n int) estimate.Value {
			return curator.drawEstimate(r, sum, n*gridSteps).Scale(1. / gridSteps)
		}
		return w, err
	}
	// The noise is first found for the discrete Gaussian, at a target that leaves room for the closeness of sums.
	const room = 1e-6
	target.Epsilon, target.Delta = d.Epsilon*(1-room), d.Delta*(1-room)
	sigma, g, err := concentrated(target, sensitivity)
	if err != nil {
		return w, err
	}
	share := noise.DiscreteGaussian{Sigma: sigma / math.Sqrt(float64(users))}
	if err := share.Validate(); err != nil {
		return w, &refused{err}
	}
	if far := 2 * closeness(share.Sigma, users) * float64(f.Channels()); !(far <= room*d.Epsilon && math.Expm1(far) <= room) {
		return w, &refused{fmt.Errorf("the shares of %d devices, %.3g steps each, are too small to add up to what is nearly a discrete Gaussian", users, share.Sigma)}
	}
	g.Epsilon, g.Delta, g.Users, g.Trust = d.Epsilon, d.Delta, users, additive.Aggregated
	g.Method, g.Source = "concentrated differential privacy, and the closeness of sums", account.Join(g.Source, "Kairouz, Liu, Steinke 2021, Lemma 5")
	w.promised, w.sigma = measure.PromisedBy(g), sigma/gridSteps
	w.promised.MessagesPerDevice, w.rmse = 1, w.sigma
	w.draw = func(r *rand.Rand, sum, n int) estimate.Value {
		v := estimate.Value{Mean: float64(sum + sampleSum(share, r, n)), StdErr: math.Sqrt(float64(n) * share.Variance())}
		return v.Scale(1. / gridSteps)
	}
	return w, nil
}

// concentrated returns the least noise of a discrete Gaussian in each of several sums that keeps the target, where a record
// moves them by so much in the two-norm.
func concentrated(t calibrate.Target, sensitivity float64) (sigma float64, g account.Guarantee, err error) {
	event := func(sigma float64) gaussianVector {
		return gaussianVector{Sigma: sigma, Sensitivity: sensitivity}
	}
	sigma, err = t.Search(calibrate.Search{Noise: sensitivity / t.Distance(), Most: math.Inf(1), Tolerance: calibrate.CloseEnough}, func(sigma float64) account.Event { return event(sigma) })
	if err != nil {
		return 0, g, err
	}
	e, g, err := calibrate.Meets(t, event(sigma))
	return e.Sigma, g, err
}

// closeness bounds the logarithm of the ratio of the probabilities of any number under the sum of n discrete
// Gaussians of a sigma and under one of sigma sqrt n: 10 times the sum of e^(-2 pi^2 sigma^2 k/(k+1)), k below n.
func closeness(sigma float64, n int) float64 {
	return 10 * float64(n) * math.Exp(-math.Pi*math.Pi*sigma*sigma) // k/(k+1) is at least a half
}

// onGrid has the sums of such numbers in the place of the sums of bits, found once for a population.
func (p *population) onGrid() (*distribution.Rounded, error) {
	if p.grid != nil {
		return p.grid, nil
	}
	bits, err := p.bits()
	if err != nil {
		return nil, err
	}
	const rows = 256
	channels, d := p.features.Channels(), p.features.Spec().Dimension
	x := blas32.General{Cols: d, Stride: d, Data: make([]float32, rows*d)}
	mapped := blas32.General{Cols: channels, Stride: channels, Data: make([]float32, rows*channels)}
	grid := &distribution.Rounded{Batches: make([][]distribution.Batch, len(bits.Batches))}
	for class := range grid.Batches {
		who := members(bits, class)
		sums := make([]int, channels)
		for from := 0; from < len(who); from += rows {
			part := who[from:min(from+rows, len(who))]
			x.Rows, mapped.Rows = len(part), len(part)
			for i, at := range part {
				copy(row(x, i), p.records.row(at))
			}
			if err := p.features.MapAll(x, mapped); err != nil {
				return nil, err
			}
			for i := range part {
				for c, v := range row(mapped, i) {
					sums[c] += step(v)
				}
			}
		}
		grid.Batches[class] = []distribution.Batch{{Members: who, Ones: sums}}
	}
	p.grid = grid
	return grid, nil
}
