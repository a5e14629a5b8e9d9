// Package texts finds the directions of package lsa in public texts. Used by lab/train/featuremap; a device carries the
// directions and not this package.
package texts

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
)

const (
	minTexts   = 2  // a word must be in
	pairTexts  = 6  // and two words that count as one
	spare      = 20 // directions looked for and not kept, which speed up the others
	iterations = 5
)

// Fit returns the state with so many leading singular directions of public texts, found by
// iterating a random subspace drawn from r. Its directions have the length of no scale: what
// comes after divides each by its own (package whiten).
func Fit(r *rand.Rand, texts []string, dimension int, count lsa.Words) (*lsa.State, error) {
	s, rows, err := vocabulary(texts, count)
	if err != nil {
		return nil, err
	}
	wide := dimension + spare
	if dimension < 1 || wide > len(s.Words) || wide > len(texts) {
		return nil, fmt.Errorf("texts: %d directions of %d words in %d public texts: give fewer, or more texts", dimension, len(s.Words), len(texts))
	}
	words := blas64.General{Rows: len(s.Words), Cols: wide, Stride: wide, Data: make([]float64, len(s.Words)*wide)}
	for i := range words.Data {
		words.Data[i] = r.NormFloat64()
	}
	docs := blas64.General{Rows: len(texts), Cols: wide, Stride: wide, Data: make([]float64, len(texts)*wide)}
	for range iterations {
		times(rows, words, docs)
		if err := orthonormal(docs); err != nil {
			return nil, err
		}
		transposed(rows, docs, words)
	}
	// words is now X'Q: its right singular vectors turn it into directions.
	gram := symmetric(words)
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(wide, gram.Data), true) {
		return nil, errors.New("texts: the public texts have no singular directions")
	}
	var turn mat.Dense
	eigen.VectorsTo(&turn)
	values := eigen.Values(nil)
	for i := range s.Words {
		s.Directions[i] = make([]float32, dimension)
		for k := range dimension {
			at, sum := wide-1-k, 0.0
			for j, w := range words.Data[i*wide : (i+1)*wide] {
				sum += w * turn.At(j, at)
			}
			s.Directions[i][k] = float32(sum / math.Sqrt(math.Max(values[at], 1e-300)))
		}
	}
	return s, s.Prepare()
}

// vocabulary returns the words of at least two public texts and at most a share of them, or pairs of
// words in several, with their weights, and the texts as rows of them.
func vocabulary(texts []string, count lsa.Words) (*lsa.State, [][]lsa.Term, error) {
	split, in := make([][]string, len(texts)), map[string]int{}
	for i, text := range texts {
		split[i] = count.Of(text)
		seen := map[string]bool{}
		for _, w := range split[i] {
			if !seen[w] {
				seen[w] = true
				in[w]++
			}
		}
	}
	most := count.Common * float64(len(texts))
	maps.DeleteFunc(in, func(w string, texts int) bool {
		return texts < minTexts || float64(texts) > most || texts < pairTexts && strings.Contains(w, lsa.Pairing)
	})
	if len(in) == 0 {
		return nil, nil, fmt.Errorf("texts: no word is in two public texts, and in no more than the share %v of them", count.Common)
	}
	s := &lsa.State{Words: slices.Sorted(maps.Keys(in)), Directions: make([][]float32, len(in)), Singular: count.Singular}
	for _, w := range s.Words {
		s.Weights = append(s.Weights, float32(math.Log(float64(1+len(texts))/float64(1+in[w]))+1))
	}
	s.Index()
	rows := make([][]lsa.Term, len(texts))
	for i := range texts {
		rows[i] = s.Row(split[i])
	}
	return s, rows, nil
}

// times is out = X a.
func times(x [][]lsa.Term, a, out blas64.General) {
	clear(out.Data)
	for i, row := range x {
		to := out.Data[i*out.Stride:][:out.Cols]
		for _, t := range row {
			for k, v := range a.Data[t.Word*a.Stride:][:a.Cols] {
				to[k] += float64(t.Weight) * v
			}
		}
	}
}

// transposed is out = X' a.
func transposed(x [][]lsa.Term, a, out blas64.General) {
	clear(out.Data)
	for i, row := range x {
		from := a.Data[i*a.Stride:][:a.Cols]
		for _, t := range row {
			to := out.Data[t.Word*out.Stride:][:out.Cols]
			for k, v := range from {
				to[k] += float64(t.Weight) * v
			}
		}
	}
}

// symmetric is a'a, its upper half.
func symmetric(a blas64.General) blas64.Symmetric {
	s := blas64.Symmetric{N: a.Cols, Stride: a.Cols, Data: make([]float64, a.Cols*a.Cols), Uplo: blas.Upper}
	blas64.Syrk(blas.Trans, 1, a, 0, s)
	return s
}

// orthonormal makes the columns of a orthonormal, by the Cholesky factor of a'a, twice.
func orthonormal(a blas64.General) error {
	for range 2 {
		factor, ok := lapack64.Potrf(symmetric(a))
		if !ok {
			return errors.New("texts: public texts have fewer directions than asked for")
		}
		blas64.Trsm(blas.Right, blas.NoTrans, 1, factor, a)
	}
	return nil
}
