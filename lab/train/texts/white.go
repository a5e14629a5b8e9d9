package texts

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
)

// mostWords bounds the covariance of FitWhite.
const mostWords = 1 << 13

// FitWhite returns the state with a direction for each word of the vocabulary, which makes
// public texts white: with C the second moments of texts as weighted words, the columns of the
// inverse of L, L L' = C + reg mean(eigenvalues of C). Inner products of features are then
// those of all latent directions, each divided by its eigenvalue, and no eigenvector is needed.
func FitWhite(texts []string, common, reg float64) (*lsa.State, error) {
	s, rows, err := vocabulary(texts, lsa.Words{Common: common})
	if err != nil {
		return nil, err
	}
	n := len(s.Words)
	if n > mostWords || !(reg > 0) {
		return nil, fmt.Errorf("texts: %d words in public texts, regularization %v: give at most %d, and a number above 0", n, reg, mostWords)
	}
	c := blas64.Symmetric{N: n, Stride: n, Data: make([]float64, n*n), Uplo: blas.Lower}
	trace := 0.0
	for _, row := range rows {
		for i, a := range row { // places rise
			for _, b := range row[:i+1] {
				c.Data[a.Word*n+b.Word] += float64(a.Weight) * float64(b.Weight) / float64(len(rows))
			}
			trace += float64(a.Weight) * float64(a.Weight) / float64(len(rows))
		}
	}
	for i := range n {
		c.Data[i*n+i] += reg * trace / float64(n)
	}
	factor, ok := lapack64.Potrf(c)
	if !ok || !lapack64.Trtri(factor) {
		return nil, errors.New("texts: the public texts cannot be made white: give a larger regularization")
	}
	for word := range n {
		s.Directions[word] = make([]float32, n)
		for k := word; k < n; k++ {
			s.Directions[word][k] = float32(factor.Data[k*n+word])
		}
	}
	return s, s.Prepare()
}
