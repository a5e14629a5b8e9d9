package additive

import (
	"fmt"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

const (
	// maxShares keeps what a power rounds small beside the loss of a round.
	maxShares = 10_000_000
	// maxSumSigma keeps a transform within 2^18 points.
	maxSumSigma = 1e4
	// foldedMass is what may lie outside a transform, relative to the tilted law.
	foldedMass = 1e-18
)

// tiltedGaussian returns the law proportional to e^(-x^2/(2 sigma^2) + tilt x) on the
// integers: its mean and variance, and the log of its normalizer over that at tilt 0.
func tiltedGaussian(sigma, tilt float64) (mean, variance, log float64) {
	centre := tilt * sigma * sigma
	nearest := math.Round(centre)
	var total, at0, first, second float64
	reach := math.Ceil(10*sigma) + 1
	for i := -reach; i <= reach; i++ {
		x := nearest + i - centre
		w := math.Exp(-x * x / (2 * sigma * sigma))
		total += w
		first += w * x
		second += w * x * x
		at0 += math.Exp(-i * i / (2 * sigma * sigma))
	}
	first /= total
	return centre + first, second/total - first*first, centre*tilt/2 + math.Log(total/at0)
}

// gaussianSum tabulates ln P(X = k), k = 0..top, of the sum X of n discrete Gaussians;
// each is right to the returned error, which is that of rounding.
//
// For a range of k about the mean of the sum tilted by e^(tilt x), of deviation s,
// P(k) = q(k) e^(n K(tilt) - tilt k) where q is the n-fold convolution of the tilted law,
// by one transform: there q is not much less than its peak, so that the errors of
// transform and power, relative to the peak, are small relative to q too. The next
// tilt has its mean some two s further up.
//
// The transform folds what is far from the mean. A tilted discrete Gaussian has variance
// at most sigma^2 + 1/4 whatever the tilt, so that the sum is sub-Gaussian with variance
// proxy V = n (sigma^2 + 1/4). (With c = tilt sigma^2 the log normalizer is c^2/(2 sigma^2)
// + ln theta(c), theta(c) = product over m of 1 + 2 a cos(2 pi c) + a^2 but for a constant,
// a = e^(-2 pi^2 sigma^2 (2m-1)), by Poisson's summation and Jacobi's triple product; each
// factor's log has second derivative in c at most 4 pi^2 2a/(1-a)^2 <= 4 pi^2 2/x^2 for a =
// e^-x, and the sum over m times sigma^4 is at most (2/pi^2) (pi^2/8) = 1/4.)
func gaussianSum(n int, sigma float64, top int) (log []float64, relative float64, err error) {
	proxy := float64(n) * (sigma*sigma + 0.25)
	far := math.Sqrt(2 * proxy * math.Log(2/foldedMass))
	size, levels := 16, 4.0
	for float64(size) < 2*(far+3*math.Sqrt(proxy)) {
		size, levels = 2*size, levels+1
	}
	fft := fourier.NewFFT(size)
	wrapped, factor := make([]float64, size), make([]complex128, size/2+1)
	// A coefficient is right to about roundoff log2(size), its power to n times that, and
	// what is left of the logarithms to a hundred roundoffs; 4 is for the constant of the
	// transform, and 8 for the fall of q from its peak over two deviations.
	relative = 8 * 4 * 0x1p-53 * levels * float64(n+100)
	log = make([]float64, 0, top+1)
	for tilt := 0.0; len(log) <= top; {
		mean, variance, k := tiltedGaussian(sigma, tilt)
		deviation := math.Sqrt(float64(n) * variance)
		clear(wrapped)
		centre := tilt * sigma * sigma
		nearest := int(math.Round(centre))
		reach := int(math.Ceil(10*sigma)) + 1
		total := 0.0
		for x := nearest - reach; x <= nearest+reach; x++ {
			d := float64(x) - centre
			w := math.Exp(-d * d / (2 * sigma * sigma))
			total += w
			wrapped[fold(x-nearest, size)] += w
		}
		for i := range wrapped {
			wrapped[i] /= total
		}
		fft.Coefficients(factor, wrapped)
		for i, z := range factor {
			if abs := cmplx.Abs(z); float64(n)*math.Log(abs) < -100 {
				factor[i] = 0
			} else {
				factor[i] = cmplx.Pow(z, complex(float64(n), 0))
			}
		}
		fft.Sequence(wrapped, factor)
		middle := float64(n) * mean
		last := int(middle + deviation)
		for at := len(log); at <= min(last, top); at++ {
			if float64(at) < middle-2*deviation {
				return nil, 0, fmt.Errorf("account: the law of %d discrete Gaussians of sigma %v bends too much to be computed", n, sigma)
			}
			q := wrapped[fold(at-n*nearest, size)] / float64(size)
			log = append(log, math.Log(q)+float64(n)*k-tilt*float64(at))
		}
		tilt += 2 / deviation
	}
	return log, relative, nil
}

// fold is i modulo size, a power of two.
func fold(i, size int) int { return i & (size - 1) }

// Distributions has one law: with outputs s + z and z the loss ln(P(z)/P(z+s)) has the
// same law in both directions, by x -> s - x. That both probabilities may be off by a
// share is charged: the loss is raised by twice that, and the mass by it.
func (e DistributedGaussian) Distributions(o account.Options) ([]*pld.Distribution, error) {
	if o.Lower {
		return nil, &account.Unsupported{Event: e, Reason: "no lower bound is computed"}
	}
	// P(|X| > w) <= 2 e^(-w^2/(2 n sigma^2)): each share is sub-Gaussian with variance
	// proxy sigma^2 (Canonne, Kamath, Steinke 2020, Corollary 17).
	total := e.Sigma * math.Sqrt(float64(e.Users))
	w := int(math.Ceil(total * math.Sqrt(-2*math.Log(math.Max(o.Neglect, profile.MinTail)/2))))
	log, off, err := gaussianSum(e.Users, e.Sigma, w+e.Sensitivity)
	if err != nil {
		return nil, &account.Unsupported{Event: e, Reason: err.Error()}
	}
	rest := 2 * math.Exp(-float64(w)*float64(w)/(2*total*total))
	atoms := make([]pld.Atom, 0, 2*w+1)
	mass := 0.0
	for z := -w; z <= w; z++ {
		here, there := log[max(z, -z)], log[max(z+e.Sensitivity, -z-e.Sensitivity)]
		p := math.Exp(here)
		mass += p
		atoms = append(atoms, pld.Atom{Loss: here - there + 2*off, Mass: p * (1 + off)})
	}
	if math.Abs(mass-1) > rest+off {
		return nil, &account.Unsupported{Event: e, Reason: fmt.Sprintf("its law sums to %v", mass)}
	}
	d, err := pld.FromAtoms(atoms, rest, o.Step)
	return []*pld.Distribution{d}, err
}
