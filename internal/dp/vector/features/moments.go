package features

import (
	"fmt"
	"math"
)

// The parts of a message's squared norm: of second moments, of the class, and within it of
// its features; the rest counts the class.
const (
	secondPart  = 0.65
	classPart   = 1 - secondPart
	featurePart = 0.9
)

// second returns the number of different second moments.
func (s Shape) second() int { return s.Dimension * (s.Dimension + 1) / 2 }

// Len returns the number of coordinates of a message.
func (s Shape) Len() int { return s.second() + s.Classes*(s.Dimension+1) }

// Message writes (a svec(psi psi'), b e_y (x) (c psi, sqrt(1-c^2))) for features psi of unit
// length and the class y: the products of features, those of different ones times sqrt 2,
// then a row for each class, zero but for y. a^2 is 0.65, b^2 the rest, c^2 = 0.9. Its norm is
// one.
func (s Shape) Message(psi []float32, class int, out []float32) {
	a, at := float32(math.Sqrt(secondPart)), 0
	for i, x := range psi {
		off := a * math.Sqrt2 * x
		row := out[at : at+i+1]
		for j := range i {
			row[j] = off * psi[j]
		}
		row[i] = a * x * x
		at += i + 1
	}
	clear(out[at:])
	own := out[at+class*(s.Dimension+1):][:s.Dimension+1]
	b := float32(math.Sqrt(classPart * featurePart))
	for i, x := range psi {
		own[i] = b * x
	}
	own[s.Dimension] = float32(math.Sqrt(classPart * (1 - featurePart)))
}

// SquaredDistance returns the largest of two messages. Of one class, with t = <psi, psi'>, it is
// 2 a^2 (1-t^2) + 2 b^2 c^2 (1-t), largest at t = -b^2 c^2/(2 a^2): outer products cannot be
// opposite. Of two classes it is 2 - 2 a^2 t^2.
func SquaredDistance() float64 {
	linear := classPart * featurePart
	return math.Max(2, 2*secondPart+2*linear+linear*linear/(2*secondPart))
}

// Sums over all respondents.
type Sums struct {
	Second []float64 // psi psi', row by row
	Class  []float64 // psi of each class: a row for each class
	Count  []float64 // respondents of each class
	// Noise is the standard error of what Second has off the diagonal; on it the error
	// is sqrt 2 times that.
	Noise float64
}

// Decode takes the sum of messages apart; noise is the error of each of its coordinates.
func (s Shape) Decode(sum []float64, noise float64) (Sums, error) {
	if len(sum) != s.Len() {
		return Sums{}, fmt.Errorf("features: a sum of %d numbers, want %d", len(sum), s.Len())
	}
	d := s.Dimension
	out := Sums{Second: make([]float64, d*d), Class: make([]float64, s.Classes*d), Count: make([]float64, s.Classes)}
	a, at := math.Sqrt(secondPart), 0
	for i := range d {
		for j := range i {
			out.Second[i*d+j] = sum[at+j] / (a * math.Sqrt2)
			out.Second[j*d+i] = out.Second[i*d+j]
		}
		out.Second[i*d+i] = sum[at+i] / a
		at += i + 1
	}
	for k := range s.Classes {
		row := sum[at+k*(d+1):][:d+1]
		for i := range d {
			out.Class[k*d+i] = row[i] / math.Sqrt(classPart*featurePart)
		}
		out.Count[k] = row[d] / math.Sqrt(classPart*(1-featurePart))
	}
	out.Noise = noise / (a * math.Sqrt2)
	return out, nil
}
