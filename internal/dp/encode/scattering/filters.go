package scattering

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

const (
	narrowest = 0.8             // deviation of the envelope at the first scale, in pixels
	highest   = 3 * math.Pi / 4 // frequency there, in radians a pixel
	slant     = 0.5             // of the envelope: across the direction it is twice as wide
	periods   = 2               // of the margin's neighbours that an envelope reaches into
)

// morlet returns a wave in frequency, on rows times cols pixels whose ends meet: an envelope times a
// wave along direction 3 - t of eight in a half turn from the columns' axis, less as much of the
// envelope as makes its mean zero. It is real, as waves and envelope are even together.
func morlet(rows, cols, scale, t int) []float32 {
	sigma, frequency := narrowest*float64(int(1)<<scale), highest/float64(int(1)<<scale)
	angle := float64(directions/2-1-t) * math.Pi / directions
	c, s := math.Cos(angle), math.Sin(angle)
	wave, envelope := make([]complex128, rows*cols), make([]complex128, rows*cols)
	var waves, envelopes complex128
	scaled := slant / (2 * math.Pi * sigma * sigma)
	for i := -periods * rows; i < (periods+1)*rows; i++ {
		for j := -periods * cols; j < (periods+1)*cols; j++ {
			along, beside := c*float64(i)+s*float64(j), slant*(c*float64(j)-s*float64(i))
			e := complex(scaled*math.Exp(-(along*along+beside*beside)/(2*sigma*sigma)), 0)
			at := mod(i, rows)*cols + mod(j, cols)
			w := e * cmplx.Exp(complex(0, frequency*along))
			wave[at], envelope[at] = wave[at]+w, envelope[at]+e
			waves, envelopes = waves+w, envelopes+e
		}
	}
	for at, e := range envelope {
		wave[at] -= waves / envelopes * e
	}
	return spectrum(wave, rows, cols)
}

// spectrum returns the real part of the Fourier transform, which is all of it.
func spectrum(x []complex128, rows, cols int) []float32 {
	row, col, line := fourier.NewCmplxFFT(cols), fourier.NewCmplxFFT(rows), make([]complex128, rows)
	for i := range rows {
		row.Coefficients(x[i*cols:(i+1)*cols], x[i*cols:(i+1)*cols])
	}
	out := make([]float32, len(x))
	for j := range cols {
		for i := range rows {
			line[i] = x[i*cols+j]
		}
		col.Coefficients(line, line)
		for i, v := range line {
			out[i*cols+j] = float32(real(v))
		}
	}
	return out
}

// lowpass takes a line of points to every step-th pixel of the image within its margin.
type lowpass struct {
	out            int
	matrix, turned []float32 // a row for each of out; a column
}

// newLowpass returns the widest envelope, on a line of pixels that has been halved so often: of its
// frequencies those that are left there.
func newLowpass(pixels, halved int) lowpass {
	sigma := narrowest * float64(int(1)<<(scales-1))
	line := make([]complex128, pixels)
	for i := -periods * pixels; i < (periods+1)*pixels; i++ {
		line[mod(i, pixels)] += complex(math.Exp(-float64(i*i)/(2*sigma*sigma))/math.Sqrt(2*math.Pi*sigma*sigma), 0)
	}
	fourier.NewCmplxFFT(pixels).Coefficients(line, line)
	n := pixels >> halved
	low := append(append([]complex128(nil), line[:n/2]...), line[pixels-n/2:]...)
	fourier.NewCmplxFFT(n).Sequence(low, low)
	l := lowpass{out: pixels/step - 2}
	l.matrix, l.turned = make([]float32, l.out*n), make([]float32, n*l.out)
	for u := range l.out {
		for i := range n {
			v := float32(real(low[mod((u+1)*step>>halved-i, n)]) / float64(n))
			l.matrix[u*n+i], l.turned[i*l.out+u] = v, v
		}
	}
	return l
}

func mod(i, n int) int { return ((i % n) + n) % n }
