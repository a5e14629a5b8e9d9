package pld

import (
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// room is what a convolution of one length needs, and the next of that length again.
type room struct {
	fft             *fourier.FFT
	wrapped         []float64
	factor, product []complex128
	// errorFactor[j] accumulates sum over parts of rounds/|z|: the relative
	// error of the product per unit of absolute error in a coefficient z.
	errorFactor []float64
}

// rooms has a *sync.Pool for each length.
var rooms sync.Map

// roomOf returns one whose product is that of no factors.
func roomOf(n int) *room {
	pool, _ := rooms.LoadOrStore(n, &sync.Pool{New: func() any {
		return &room{fourier.NewFFT(n), make([]float64, n), make([]complex128, n/2+1), make([]complex128, n/2+1), make([]float64, n/2+1)}
	}})
	r := pool.(*sync.Pool).Get().(*room)
	for i := range r.product {
		r.product[i] = 1
	}
	clear(r.errorFactor)
	return r
}

func (r *room) free() {
	pool, _ := rooms.Load(len(r.wrapped))
	pool.(*sync.Pool).Put(r)
}

// smooth returns the least number from n on that is a power of two, or three or five times one: a
// transform of that length takes few steps.
func smooth(n int) int {
	m := 4
	for m < n {
		m *= 2
	}
	switch {
	case m/8*5 >= n:
		return m / 8 * 5
	case m/4*3 >= n:
		return m / 4 * 3
	}
	return m
}
