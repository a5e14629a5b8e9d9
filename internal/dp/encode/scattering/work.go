package scattering

import (
	"math"

	"github.com/confetti-dp/confetti/internal/kernel"
)

// transform is the Fourier transform of signals of rows times cols points, by products of matrices,
// which at these sizes are faster than what is called fast: several signals at once.
type transform struct {
	rows, cols     int
	across, down   []float32 // forward, of real signals
	acrossi, downi []float32 // inverse
}

func newTransform(rows, cols int) *transform {
	t := &transform{rows: rows, cols: cols, across: make([]float32, cols*2*cols), down: make([]float32, 4*rows*rows), acrossi: make([]float32, 4*cols*cols), downi: make([]float32, 4*rows*rows)}
	for k := range cols {
		for j := range cols {
			s, c := math.Sincos(2 * math.Pi * float64(k*j%cols) / float64(cols))
			cos, sin := float32(c), float32(s)
			t.across[k*2*cols+j], t.across[k*2*cols+cols+j] = cos, -sin
			t.acrossi[k*2*cols+j], t.acrossi[k*2*cols+cols+j] = cos, sin
			t.acrossi[(cols+k)*2*cols+j], t.acrossi[(cols+k)*2*cols+cols+j] = -sin, cos
		}
	}
	for k := range rows {
		for i := range rows {
			s, c := math.Sincos(2 * math.Pi * float64(k*i%rows) / float64(rows))
			cos, sin := float32(c), float32(s)
			t.down[k*2*rows+i], t.down[k*2*rows+rows+i] = cos, sin
			t.down[(rows+k)*2*rows+i], t.down[(rows+k)*2*rows+rows+i] = -sin, cos
			t.downi[k*2*rows+i], t.downi[k*2*rows+rows+i] = cos, -sin
			t.downi[(rows+k)*2*rows+i], t.downi[(rows+k)*2*rows+rows+i] = sin, cos
		}
	}
	return t
}

// spectra are signals in frequency, or complex ones: n of rows times cols, real parts and then
// imaginary ones, in each a row of the first signal followed by that row of the others.
type spectra struct {
	n, rows, cols int
	re, im        []float32
}

// forward transforms n real signals, one after another.
func (t *transform) forward(x []float32, n int) spectra {
	half := make([]float32, n*t.rows*2*t.cols)
	kernel.Gemm(half, x, t.across, n*t.rows, t.cols, 2*t.cols)
	return t.finish(half, t.down, n)
}

// inverse transforms n spectra, one after another, each a row of real parts followed by that of
// imaginary ones. It leaves out the factor of one over the number of points.
func (t *transform) inverse(x []float32, n int) spectra {
	half := make([]float32, n*t.rows*2*t.cols)
	kernel.Gemm(half, x, t.acrossi, n*t.rows, 2*t.cols, 2*t.cols)
	return t.finish(half, t.downi, n)
}

// finish transforms columns.
func (t *transform) finish(half, down []float32, n int) spectra {
	wide := n * t.cols
	turned := make([]float32, 2*t.rows*wide)
	for at := range n {
		for i := range t.rows {
			row := half[(at*t.rows+i)*2*t.cols:][:2*t.cols]
			copy(turned[i*wide+at*t.cols:], row[:t.cols])
			copy(turned[(t.rows+i)*wide+at*t.cols:], row[t.cols:])
		}
	}
	out := make([]float32, len(turned))
	kernel.Gemm(out, down, turned, 2*t.rows, 2*t.rows, wide)
	return spectra{n, t.rows, t.cols, out[:len(out)/2], out[len(out)/2:]}
}

// reflect returns the image with a margin in which it is mirrored at its outermost pixels.
func (m *Map) reflect(image []float32) []float32 {
	rows, cols := m.padded()
	out := make([]float32, rows*cols)
	for i := range rows {
		from := image[mirror(i-step, m.height)*m.width:]
		for j := range cols {
			out[i*cols+j] = from[mirror(j-step, m.width)]
		}
	}
	return out
}

func mirror(i, n int) int {
	if i = max(i, -i); i >= n {
		i = 2*(n-1) - i
	}
	return i
}

// strengths returns the moduli of what all waves of a scale find in one of several signals in frequency,
// one after another, at a resolution halved as often as the scale says.
func (m *Map) strengths(s spectra, at, scale int) []float32 {
	t := m.transforms[scale]
	z := make([]float32, directions*t.rows*2*t.cols)
	for u, wave := range m.waves[scale] {
		for i := range s.rows {
			to := z[(u*t.rows+i%t.rows)*2*t.cols:][:2*t.cols]
			for j := 0; j < s.cols; j += t.cols {
				from := i*s.n*s.cols + at*s.cols + j
				by := wave[i*s.cols+j:][:t.cols]
				times(to[:t.cols], s.re[from:][:t.cols], by)
				times(to[t.cols:], s.im[from:][:t.cols], by)
			}
		}
	}
	found := t.inverse(z, directions)
	out, scaled := make([]float32, len(found.re)), float32(1/float64(s.rows*s.cols))
	for i := range t.rows {
		for u := range directions {
			from, to := (i*directions+u)*t.cols, (u*t.rows+i)*t.cols
			for j, re := range found.re[from:][:t.cols] {
				im := found.im[from+j]
				out[to+j] = scaled * float32(math.Sqrt(float64(re*re+im*im)))
			}
		}
	}
	return out
}

// times adds the product of x and y to out.
func times(out, x, y []float32) {
	for i, v := range x {
		out[i] += v * y[i]
	}
}

// smooth writes signals at a resolution halved so often, one after another, smoothed, at every
// step-th pixel.
func (m *Map) smooth(signals []float32, halved int, out []float32) {
	down, across, t := m.down[halved], m.across[halved], m.transforms[halved]
	n, cells := len(signals)/(t.rows*t.cols), down.out*across.out
	half := make([]float32, n*t.rows*across.out)
	kernel.Gemm(half, signals, across.turned, n*t.rows, t.cols, across.out)
	for at := range n {
		kernel.Gemm(out[at*cells:][:cells], down.matrix, half[at*t.rows*across.out:][:t.rows*across.out], down.out, t.rows, across.out)
	}
}
