package features

import (
	"fmt"
	"math"
)

// Squares is the shape of a record of features of norm at most one and a number, the
// target, in [-1, 1]: its messages are summed for least squares.
type Squares struct{ Dimension int }

// The parts of the squared norm of (features, target, 1).
const (
	inputPart  = 0.7
	targetPart = 0.2
	onePart    = 1 - inputPart - targetPart
)

// SquaresDistance is the largest squared distance of two messages: with u and w of norm
// at most one, |uu' - ww'|^2 = |u|^4 + |w|^4 - 2 <u, w>^2.
const SquaresDistance = 2

// Validate says what is wrong with the shape.
func (s Squares) Validate() error {
	if s.Dimension < 1 || s.Dimension > 1<<14 {
		return fmt.Errorf("features: %d features: give 1 to %d", s.Dimension, 1<<14)
	}
	return nil
}

// Len returns the number of coordinates of a message.
func (s Squares) Len() int { return (s.Dimension + 3) * (s.Dimension + 4) / 2 }

// Message writes svec(u u'), the products of different coordinates times sqrt 2, row by row
// up to the diagonal, of u = (a x, b t, c, e), a^2 = 0.7, b^2 = 0.2, c^2 = 0.1, and e fills u up
// to length one, so that clipping leaves as much of every message. A target beyond [-1, 1] is
// cut off.
func (s Squares) Message(x []float32, target float64, out []float32) {
	u, left := make([]float32, s.Dimension+3), 1.0
	for i, v := range x {
		u[i] = float32(math.Sqrt(inputPart)) * v
	}
	u[s.Dimension] = float32(math.Sqrt(targetPart) * math.Max(-1, math.Min(1, target)))
	u[s.Dimension+1] = float32(math.Sqrt(onePart))
	for _, v := range u {
		left -= float64(v) * float64(v)
	}
	u[s.Dimension+2] = float32(math.Sqrt(math.Max(0, left)))
	at := 0
	for i, v := range u {
		v *= 1 - 0x1p-21
		row := out[at : at+i+1]
		for j := range i {
			row[j] = math.Sqrt2 * v * u[j]
		}
		row[i] = v * u[i]
		at += i + 1
	}
}

// SquareSums are sums over all respondents, for least squares.
type SquareSums struct {
	Sums             // of one class, whose count is the sum of targets
	First  []float64 // features
	Target float64   // squares of targets
	// Standard errors of what Class, First, Target and Count have.
	ClassNoise, FirstNoise, TargetNoise, CountNoise float64
}

// Decode takes the sum of messages apart; noise is the error of each of its coordinates.
func (s Squares) Decode(sum []float64, noise float64) (SquareSums, error) {
	if len(sum) != s.Len() {
		return SquareSums{}, fmt.Errorf("features: a sum of %d numbers, want %d", len(sum), s.Len())
	}
	d, at := s.Dimension, 0
	out := SquareSums{Sums: Sums{Second: make([]float64, d*d), Class: make([]float64, d), Count: make([]float64, 1)}, First: make([]float64, d)}
	for i := range d {
		for j := range i {
			out.Second[i*d+j] = sum[at+j] / (inputPart * math.Sqrt2)
			out.Second[j*d+i] = out.Second[i*d+j]
		}
		out.Second[i*d+i] = sum[at+i] / inputPart
		at += i + 1
	}
	ofTarget, ofOne := sum[at:], sum[at+d+1:]
	for i := range d {
		out.Class[i] = ofTarget[i] / math.Sqrt(2*inputPart*targetPart)
		out.First[i] = ofOne[i] / math.Sqrt(2*inputPart*onePart)
	}
	out.Target, out.Count[0] = ofTarget[d]/targetPart, ofOne[d]/math.Sqrt(2*targetPart*onePart)
	out.Noise, out.TargetNoise = noise/(inputPart*math.Sqrt2), noise/targetPart
	out.ClassNoise, out.FirstNoise, out.CountNoise = noise/math.Sqrt(2*inputPart*targetPart), noise/math.Sqrt(2*inputPart*onePart), noise/math.Sqrt(2*targetPart*onePart)
	return out, nil
}
