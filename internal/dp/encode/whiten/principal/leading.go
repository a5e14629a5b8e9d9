package principal

import (
	"errors"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/kernel"
)

const (
	// Above so many features, of which few directions are kept, all of them are not looked for.
	manyFeatures = 1500
	spare        = 50 // directions looked for and not kept, which speed up the others
	iterations   = 8
)

// leading returns about the largest eigenvalues of the covariance of centred rows, rising, and their
// eigenvectors as columns: those of a random subspace after some iterations. Any subspace will do, so
// that it is the same for all.
func leading(x blas32.General, dimension int) ([]float64, *mat.Dense, error) {
	n, d, wide := x.Rows, x.Cols, min(dimension+spare, x.Cols)
	r := rand.New(rand.NewPCG(1, 2))
	at, along := make([]float32, d*wide), make([]float32, n*wide)
	for i := range at {
		at[i] = float32(r.NormFloat64())
	}
	orthonormal(at, wide)
	for range iterations {
		kernel.Gemm(along, x.Data, at, n, d, wide)
		kernel.TurnedGemm(at, x.Data, along, d, n, wide)
		orthonormal(at, wide)
	}
	kernel.Gemm(along, x.Data, at, n, d, wide)
	var small mat.SymDense
	small.SymOuterK(1/float64(n), dense(along, wide).T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&small, true) {
		return nil, nil, errDirections
	}
	var turn, vectors mat.Dense
	eigen.VectorsTo(&turn)
	vectors.Mul(dense(at, wide), &turn)
	return eigen.Values(nil), &vectors, nil
}

var errDirections = errors.New("principal: the covariance of the public rows has no eigenvectors: are its numbers finite?")

func dense(x []float32, cols int) *mat.Dense {
	out := mat.NewDense(len(x)/cols, cols, nil)
	for i, v := range x {
		out.RawMatrix().Data[i] = float64(v)
	}
	return out
}

// orthonormal makes the columns of x orthonormal, by Householder's reflections.
func orthonormal(x []float32, cols int) {
	m := dense(x, cols).RawMatrix()
	scales, size := make([]float64, min(m.Rows, cols)), make([]float64, 1)
	lapack64.Geqrf(m, scales, size, -1)
	work := make([]float64, max(int(size[0]), 32*cols))
	lapack64.Geqrf(m, scales, work, len(work))
	lapack64.Orgqr(m, scales, work, len(work))
	for i, v := range m.Data {
		x[i] = float32(v)
	}
}
