package nn

import "math"

// SGD is gradient descent with momentum: velocity = Momentum velocity + gradient,
// params -= Rate velocity.
type SGD struct {
	Rate, Momentum float64
	velocity       []float32
}

// Step moves params against the gradient, both of one length, the same each time.
func (o *SGD) Step(params, gradient []float32) {
	if o.velocity == nil {
		o.velocity = make([]float32, len(params))
	}
	for i, g := range gradient {
		o.velocity[i] = float32(o.Momentum)*o.velocity[i] + g
		params[i] -= float32(o.Rate) * o.velocity[i]
	}
}

// Adam is Kingma and Ba 2015, Algorithm 1, with their decays.
type Adam struct {
	Rate          float64
	mean, squares []float32
	steps         int
}

const (
	adamMean   = 0.9
	adamSquare = 0.999
	adamFloor  = 1e-8
)

// Step moves params against the gradient, both of one length, the same each time.
func (o *Adam) Step(params, gradient []float32) {
	if o.mean == nil {
		o.mean, o.squares = make([]float32, len(params)), make([]float32, len(params))
	}
	o.steps++
	rate := o.Rate * math.Sqrt(1-math.Pow(adamSquare, float64(o.steps))) / (1 - math.Pow(adamMean, float64(o.steps)))
	for i, g := range gradient {
		o.mean[i] = adamMean*o.mean[i] + (1-adamMean)*g
		o.squares[i] = adamSquare*o.squares[i] + (1-adamSquare)*g*g
		params[i] -= float32(rate * float64(o.mean[i]) / (math.Sqrt(float64(o.squares[i])) + adamFloor))
	}
}
