package kernelmap

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// hyperplanes cuts a ball of radius r round zero by random hyperplanes <u, x> = t, u
// uniform on the sphere and t on [-r, r], as many as a Poisson number of mean
//
//	2r/(h c),   c = E|u_1| = Gamma(d/2)/(sqrt(pi) Gamma((d+1)/2)).
//
// One hyperplane separates x and y with probability E|<u, x-y>|/(2r) = c|x-y|_2/(2r), so
// that the number that does is Poisson of mean |x-y|_2/h, and zero with probability
// exp(-|x-y|_2/h). Two values share a cell if none does. Outside of the ball there would
// be too few.
type hyperplanes struct {
	directions blas32.General // of all repetitions, a row each
	offsets    []float32
	keys       []uint64 // k_j of each row
	owner      []int32  // the repetition of each row
	first      []uint64 // k_0 of each repetition
}

// planes returns the mean number of hyperplanes of one repetition.
func planes(s Spec) float64 {
	d := float64(s.Dimension)
	above, _ := math.Lgamma((d + 1) / 2)
	below, _ := math.Lgamma(d / 2)
	return 2 * s.Radius / s.Bandwidth * math.Sqrt(math.Pi) * math.Exp(above-below)
}

// newHyperplanes reads the arrivals of a Poisson process on [0, planes) from the stream
// "<kernel>/offsets", gaps being -ln(1-u), repetition after repetition; an arrival at a
// is the offset r(2a/planes - 1). Directions are normalized normal vectors of the stream
// "<kernel>/directions"; keys come from "<kernel>/keys", k_0 of a repetition before its
// others.
func newHyperplanes(s Spec) cells {
	h := &hyperplanes{first: make([]uint64, s.Repetitions)}
	mean := planes(s)
	offsets := newStream(s.Seed, string(s.Kernel)+"/offsets")
	keys := newStream(s.Seed, string(s.Kernel)+"/keys")
	for i := range h.first {
		h.first[i] = keys.Uint64()
		for at := -math.Log1p(-offsets.uniform()); at < mean; at -= math.Log1p(-offsets.uniform()) {
			h.offsets = append(h.offsets, float32(s.Radius*(2*at/mean-1)))
			h.keys = append(h.keys, keys.Uint64())
			h.owner = append(h.owner, int32(i))
		}
	}
	d := s.Dimension
	h.directions = blas32.General{Rows: len(h.offsets), Cols: d, Stride: d, Data: make([]float32, len(h.offsets)*d)}
	directions := newStream(s.Seed, string(s.Kernel)+"/directions")
	z := make([]float64, d)
	for i := range h.offsets {
		directions.normals(z)
		var squares float64
		for _, v := range z {
			squares += v * v
		}
		for j, v := range z {
			h.directions.Data[i*d+j] = float32(v / math.Sqrt(squares))
		}
	}
	return h
}

func (h *hyperplanes) repetitions() int { return len(h.first) }

// A hyperplane is a coordinate of the cell that is one beyond it and zero before.
func (h *hyperplanes) words(x blas32.General, scale []float32, out []uint64) {
	n := len(h.first)
	for i := range x.Rows {
		copy(out[i*n:], h.first)
	}
	var products []float32
	panels(h.directions, func(at int, panel blas32.General) {
		if products == nil {
			products = make([]float32, panel.Rows)
		}
		offsets, keys, owner := h.offsets[at:], h.keys[at:], h.owner[at:]
		for i := range x.Rows {
			blas32.Gemv(blas.NoTrans, scale[i], panel, vector(row(x, i)), 0, vector(products[:panel.Rows]))
			words := out[i*n : (i+1)*n]
			for j, v := range products[:panel.Rows] {
				if v > offsets[j] {
					words[owner[j]] += keys[j]
				}
			}
		}
	})
}
