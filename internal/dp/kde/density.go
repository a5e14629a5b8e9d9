// Package kde estimates kernel densities, mixtures of densities and their errors from private bit sums (KDE,
// Algorithm 1). Used by question/density, internal/learn/hdc and internal/release/results.
package kde

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"gonum.org/v1/gonum/blas/blas32"
)

// Density is the mean of k(x, .) over a group of respondents, known from an
// estimate B of the number of ones among their bits in each channel. Since a bit
// is one with probability (1 + f(x)/R)/2, the sum of f is F = (2B - n)R, and the
// density at y is 1/(n I) sum F g(y) over the channels.
type Density struct {
	Features    *kernelmap.Features
	Sums        []estimate.Value // B, one per channel; errors independent, rounding of the bits not included
	Respondents int              // n, at least 1
}

func (d Density) check() error {
	switch {
	case d.Features == nil:
		return errors.New("kde: density without a feature map")
	case d.Respondents < 1:
		return errors.New("kde: density of no respondents: the group was empty or withheld")
	case len(d.Sums) != d.Features.Channels():
		return fmt.Errorf("kde: %d sums for %d channels", len(d.Sums), d.Features.Channels())
	}
	for c, sum := range d.Sums {
		if x := sum.Mean * sum.StdErr; x-x != 0 { // NaN or infinite
			return fmt.Errorf("kde: the sum of channel %d is not finite", c)
		}
	}
	return nil
}

// variance bounds that of F/n in a channel: the error of the sum, and n p(1-p) for
// the rounding, p = B/n, at least the true variance since p(1-p) is concave. step
// is what one more one adds to F/n.
func (d Density) variance(step float64, channel int) float64 {
	n, sum := float64(d.Respondents), d.Sums[channel]
	p := min(max(sum.Mean/n, 0), 1)
	return step * step * (sum.StdErr*sum.StdErr + n*p*(1-p))
}

// step returns what one more one adds to F/n: 2R/n.
func (d Density) step() float64 { return 2 * d.Features.Bound() / float64(d.Respondents) }

// noise returns the sum of these variances over the channels, exactly, for inner products: a
// bit stands for R or -R, so that rounding a value adds R^2 - f^2 in each channel, and the
// sum of f^2 is the same for all unit vectors (kernelmap.Isometry).
func (d Density) noise() float64 {
	isometry, ok := d.Features.Isometry()
	if !ok {
		return 0
	}
	n, r := float64(d.Respondents), d.Features.Bound()
	var flips float64
	for _, sum := range d.Sums {
		flips += sum.StdErr * sum.StdErr
	}
	return 4*r*r/(n*n)*flips + (r*r*float64(len(d.Sums))-isometry.Energy*float64(d.Features.Repetitions()))/n
}

// SupRMSE bounds the root mean square error of the density at any point, over what was drawn of features, rounding and
// noise (kernelmap.Features.SupRMSE), with the errors of the sums that there are.
func (d Density) SupRMSE() (float64, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	largest := 0.0
	for _, sum := range d.Sums {
		largest = max(largest, sum.StdErr)
	}
	return d.Features.SupRMSE(largest, d.Respondents), nil
}

// Query returns the density at y with its standard error (see Mixture).
func (d Density) Query(y []float32) (estimate.Value, error) {
	m, err := Mix([]float64{1}, []Density{d})
	if err != nil {
		return estimate.Value{}, err
	}
	g := make([]float32, d.Features.Channels())
	if err := d.Features.Query(y, g); err != nil {
		return estimate.Value{}, err
	}
	return m.At(g), nil
}

// QueryAll is Query for each row of ys.
func (d Density) QueryAll(ys blas32.General) ([]estimate.Value, error) {
	m, err := Mix([]float64{1}, []Density{d})
	if err != nil {
		return nil, err
	}
	values := make([]estimate.Value, ys.Rows)
	err = Each(d.Features, ys, func(i int, g []float32) { values[i] = m.At(g) })
	return values, err
}
