package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Laplace samples around its inputs (Learning to noise, section 3): means, pulled back to a length of at most Length
// in the sum of magnitudes, each with Laplace noise of one scale. A pass that was not given chance (Pass.Sample)
// answers with the means.
//
// The loss takes part of it: backward adds the derivative of Weight times the divergence of each example's noise
// from that of the prior, around zero with a scale of Prior (laplaceDivergence). It is for training: what is
// drawn carries no guarantee.
type Laplace struct {
	Size   int     `json:"size"`
	Length float64 `json:"length,omitempty"` // 0: as long as they are
	Scale  float64 `json:"scale"`            // of the noise; where it is learned, before the first step
	Prior  float64 `json:"prior"`
	Weight float64 `json:"weight,omitempty"` // of the divergence in the loss
	// Learned makes the logarithm of the scale a number that is learned.
	Learned bool `json:"learned,omitempty"`
}

func (l Laplace) Shape() (in, out, params int) {
	if l.Learned {
		params = 1
	}
	return l.Size, l.Size, params
}

func (l Laplace) check() error {
	inside := func(x float64) bool { return x >= 1e-6 && x <= 1e6 }
	if !inside(l.Scale) || !inside(l.Prior) || l.Length != 0 && !inside(l.Length) || !(l.Weight >= 0 && l.Weight <= 1e6) {
		return fmt.Errorf("nn: a Laplace layer of length %v, scales %v and %v, weight %v: scales and lengths are 1e-6 to 1e6, a weight at most that", l.Length, l.Scale, l.Prior, l.Weight)
	}
	return positive("Laplace", l.Size)
}

func (l Laplace) start(_ *rand.Rand, w []float32) {
	if l.Learned {
		w[0] = float32(math.Log(l.Scale))
	}
}

// forward keeps the noise in units of its scale, and behind it the scale.
func (l Laplace) forward(s *scratch, w, x, y []float32, n int) {
	scale := l.Scale
	if l.Learned {
		scale = math.Exp(float64(w[0]))
	}
	noise := room(&s.kept, n*l.Size+1)
	clear(noise)
	noise[n*l.Size] = float32(scale)
	for i := range n {
		mean, of := y[i*l.Size:(i+1)*l.Size], x[i*l.Size:(i+1)*l.Size]
		pull := l.pull(of)
		for j, v := range of {
			mean[j] = float32(pull) * v
		}
	}
	if s.chance == nil {
		return
	}
	for i := range y {
		noise[i] = float32(s.chance.ExpFloat64())
		if s.chance.Uint64()>>63 == 1 {
			noise[i] = -noise[i]
		}
		y[i] += float32(scale) * noise[i]
	}
}

// pull returns the factor that brings means back to the length.
func (l Laplace) pull(x []float32) float64 {
	if sum := magnitudes(x); l.Length > 0 && sum > l.Length {
		return l.Length / sum
	}
	return 1
}

func magnitudes(x []float32) (sum float64) {
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	return sum
}

// backward: where means are pulled back, by c to the length l, the derivative is c (g - sign(h) (g.h)/|h|).
func (l Laplace) backward(s *scratch, _, x, _, dy, dx []float32, n int) {
	scale := float64(s.kept[n*l.Size])
	for i := range n {
		of, back := x[i*l.Size:(i+1)*l.Size], dx[i*l.Size:(i+1)*l.Size]
		pull, along := l.pull(of), 0.0
		for j, v := range of {
			_, byMean, _ := laplaceDivergence(pull*float64(v), scale, l.Prior)
			g := float64(dy[i*l.Size+j]) + l.Weight*byMean
			back[j], along = float32(g), along+g*float64(v)
		}
		if pull == 1 {
			continue
		}
		along /= magnitudes(of)
		for j, v := range of {
			back[j] = float32(pull * (float64(back[j]) - math.Copysign(1, float64(v))*along))
		}
	}
}

// laplaceDivergence returns the Kullback-Leibler divergence of Laplace noise of a scale around a mean from that of a scale prior
// around zero, ln(prior/scale) + |mean|/prior + (scale/prior) e^(-|mean|/scale) - 1, and its derivatives in the mean
// and in the logarithm of the scale.
func laplaceDivergence(mean, scale, prior float64) (divergence, byMean, byLogScale float64) {
	far := math.Abs(mean)
	near := math.Exp(-far / scale)
	byMean = math.Copysign((1-near)/prior, mean)
	return math.Log(prior/scale) + far/prior + scale/prior*near - 1, byMean, (scale+far)/prior*near - 1
}

// byScale returns the derivative of an example's loss in the logarithm of the scale.
func (l Laplace) byScale(s *scratch, x, dy []float32, i, n int) (sum float64) {
	scale, pull := float64(s.kept[n*l.Size]), l.pull(x[i*l.Size:(i+1)*l.Size])
	for at := i * l.Size; at < (i+1)*l.Size; at++ {
		_, _, byLog := laplaceDivergence(pull*float64(x[at]), scale, l.Prior)
		sum += float64(dy[at])*float64(s.kept[at])*scale + l.Weight*byLog
	}
	return sum
}

func (l Laplace) norms(s *scratch, x, dy, sq []float32, n int) {
	for i := 0; l.Learned && i < n; i++ {
		g := l.byScale(s, x, dy, i, n)
		sq[i] += float32(g * g)
	}
}

func (l Laplace) gradient(s *scratch, x, dy, scale, sum []float32, n int) {
	for i := 0; l.Learned && i < n; i++ {
		if scale != nil && scale[i] == 0 {
			continue
		}
		g := l.byScale(s, x, dy, i, n)
		if scale != nil {
			g *= float64(scale[i])
		}
		sum[0] += float32(g)
	}
}
