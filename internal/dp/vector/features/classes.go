package features

import "math"

// ClassLen returns the number of coordinates of a message of class sums alone, the learner for
// features that public inputs of the same kind have made white, as those of texts.
func (s Shape) ClassLen() int { return s.Dimension * (s.Classes - 1) }

// ClassDistance is the largest squared distance of two messages of class sums: features of
// one class can be opposite. Of two classes it is at most 2 + 2/(K-1).
const ClassDistance = 4

// LabelDistance returns the largest squared distance of two messages of class sums with the same
// features, of length one at most: that of two corners, 2K/(K-1), rounded up.
func (s Shape) LabelDistance() float64 {
	k := float64(s.Classes)
	return math.Nextafter(2*k/(k-1), 4)
}

// Code returns the corner of a regular simplex of so many corners, of length one, which stands
// for a class: sqrt(K/(K-1)) times Helmert's contrasts.
func (s Shape) Code(class int) []float64 {
	scale := math.Sqrt(float64(s.Classes) / float64(s.Classes-1))
	code := make([]float64, s.Classes-1)
	for i := range code {
		j := float64(i + 1)
		switch {
		case class <= i:
			code[i] = scale / math.Sqrt(j*(j+1))
		case class == i+1:
			code[i] = -scale * j / math.Sqrt(j*(j+1))
		}
	}
	return code
}

// ClassMessage writes c_y (x) psi, c_y the corner of the class: a row of features for each
// coordinate of the corner.
func (s Shape) ClassMessage(psi []float32, class int, out []float32) {
	for k, c := range s.Code(class) {
		row := out[k*s.Dimension : (k+1)*s.Dimension]
		for i, x := range psi {
			row[i] = float32(c*(1-0x1p-22)) * x
		}
	}
}
