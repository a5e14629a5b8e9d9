package kde

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"gonum.org/v1/gonum/blas/blas32"
)

// Mixture is a weighted sum of densities over one feature map: a density itself,
// the difference of two, or one with its label noise taken out. Weights may be
// negative.
//
// Its standard error covers the bit sums and the rounding of features to bits,
// and the sampling of random features; it takes the weights and the respondents
// as given. With random features it comes from the spread of the I estimates that
// the repetitions make, so it also holds for differences, whose feature errors
// largely cancel; with fewer than two repetitions it is +Inf. (Orthogonal features
// spread more than their mean errs.) Inner products by one orthogonal map have no
// features to sample: the errors of the sums are propagated, with n p(1-p) for the
// rounding, p = B/n, which is at least the true variance since p(1-p) is concave;
// what clipping biases is in kernelmap.Features.ClipBias, not here.
type Mixture struct {
	features *kernelmap.Features
	weight   []float64 // per channel: sum over densities of weight * F/n
	variance []float64 // of weight
	noise    float64   // sum of the variances of weight, exactly and not at most; for inner products
	q        int       // channels a repetition
}

// Mix returns the sum of weights[k] times densities[k], whose respondents are distinct.
// A density of weight zero may be empty.
func Mix(weights []float64, densities []Density) (Mixture, error) {
	if len(weights) != len(densities) {
		return Mixture{}, fmt.Errorf("kde: %d weights for %d densities", len(weights), len(densities))
	}
	var m Mixture
	for k, w := range weights {
		if w == 0 {
			continue
		}
		d := densities[k]
		if err := d.check(); err != nil {
			return Mixture{}, err
		}
		if m.features == nil {
			m.features = d.Features
			m.q = d.Features.Channels() / d.Features.Repetitions()
			m.weight = make([]float64, d.Features.Channels())
			m.variance = make([]float64, d.Features.Channels())
		}
		if m.features.Spec() != d.Features.Spec() {
			return Mixture{}, errors.New("kde: densities of different feature maps cannot be mixed")
		}
		r, step := d.Features.Bound(), d.step()
		for c, sum := range d.Sums {
			m.weight[c] += w * (step*sum.Mean - r)
			m.variance[c] += w * w * d.variance(step, c)
		}
		m.noise += w * w * d.noise()
	}
	if m.features == nil {
		return Mixture{}, errors.New("kde: nothing to mix")
	}
	return m, nil
}

// At returns the mixture where the query features are g, one per channel, as
// kernelmap.Features.Query writes them.
func (m Mixture) At(g []float32) estimate.Value {
	var sum, squares float64
	switch {
	case !m.features.Sampled():
		for c, v := range g {
			sum += m.weight[c] * float64(v)
			squares += m.variance[c] * float64(v) * float64(v)
		}
	case m.q == 1:
		for c, v := range g {
			e := m.weight[c] * float64(v)
			sum += e
			squares += e * e
		}
	default:
		for at := 0; at < len(g); at += m.q {
			var e float64
			for c, v := range g[at : at+m.q] {
				e += m.weight[at+c] * float64(v)
			}
			sum += e
			squares += e * e
		}
	}
	return value(m.features, sum, squares)
}

// Rise returns the mixture at features g less that at h, with the error of the
// difference: the two share the errors of the sums and of the features.
func (m Mixture) Rise(g, h []float32) estimate.Value {
	var sum, squares float64
	if !m.features.Sampled() {
		for c, v := range g {
			d := float64(v - h[c])
			sum += m.weight[c] * d
			squares += m.variance[c] * d * d
		}
		return value(m.features, sum, squares)
	}
	for at := 0; at < len(g); at += m.q {
		var e float64
		for c, v := range g[at : at+m.q] {
			e += m.weight[at+c] * float64(v-h[at+c])
		}
		sum += e
		squares += e * e
	}
	return value(m.features, sum, squares)
}

// value returns the estimate from sums: of the estimates of the repetitions and of their
// squares where features are sampled, over the channels of the products and of
// their variances where not.
func value(f *kernelmap.Features, sum, squares float64) estimate.Value {
	if !f.Sampled() {
		return estimate.Value{Mean: sum, StdErr: math.Sqrt(squares)}
	}
	n := float64(f.Repetitions())
	mean := sum / n
	if n < 2 {
		return estimate.Value{Mean: mean, StdErr: math.Inf(1)}
	}
	// Single repetitions are far noisier than their mean is large, so that the
	// difference of squares does not cancel.
	variance := max(0, squares/n-mean*mean) / (n - 1)
	return estimate.Value{Mean: mean, StdErr: math.Sqrt(variance)}
}

// Each calls visit with the query features of each row of ys, in no order and
// from several goroutines at once. It holds blockRows of features at a time.
// g is only valid during the call.
func Each(f *kernelmap.Features, ys blas32.General, visit func(i int, g []float32)) error {
	block := blockRows(f)
	rows := min(block, max(ys.Rows, 1))
	out := blas32.General{Rows: rows, Cols: f.Channels(), Stride: f.Channels(), Data: make([]float32, rows*f.Channels())}
	for from := 0; from < ys.Rows; from += block {
		part := ys
		part.Rows = min(block, ys.Rows-from)
		part.Data = ys.Data[from*ys.Stride:]
		out.Rows = part.Rows
		if err := f.QueryAll(part, out); err != nil {
			return fmt.Errorf("kde: queries from row %d: %w", from, err)
		}
		var next atomic.Int64
		var workers sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			workers.Go(func() {
				for i := int(next.Add(1)) - 1; i < part.Rows; i = int(next.Add(1)) - 1 {
					visit(from+i, out.Data[i*out.Stride:(i+1)*out.Stride])
				}
			})
		}
		workers.Wait()
	}
	return nil
}
