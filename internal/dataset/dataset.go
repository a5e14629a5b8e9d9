// Package dataset reads and generates labelled vectors and populations: public data sets by name, a user's own
// tables, and made-up records. Used by cmd/confetti/internal, internal/simulate and lab.
package dataset

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"
)

// Labelled is rows of features with the class of each.
type Labelled struct {
	X blas32.General // one row per record
	Y []int          // class indices, in [0, number of classes)
}

// Set is a data set split into training and test records.
type Set struct {
	Name      string
	Classes   []string
	Columns   []string // names of the features, where a table has them
	Train     Labelled
	Test      Labelled
	Words     []string       // vocabulary in the feature space; may be empty
	WordX     blas32.General // one row per word
	Synthetic bool           // generated, not observed
	Checksum  string         // of the files that it was read from; empty: of none
}

// Dimension returns the number of features.
func (s *Set) Dimension() int { return s.Train.X.Cols }

// String describes the set in one line.
func (s *Set) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d training and %d test records, %d features, %d classes",
		s.Name, s.Train.Len(), s.Test.Len(), s.Dimension(), len(s.Classes))
	if len(s.Words) > 0 {
		fmt.Fprintf(&b, ", %d words", len(s.Words))
	}
	if s.Synthetic {
		b.WriteString(" (synthetic)")
	}
	return b.String()
}

// Len returns the number of records.
func (l Labelled) Len() int { return len(l.Y) }

// Head returns the first n records (all, if there are fewer), sharing storage.
func (l Labelled) Head(n int) Labelled {
	n = min(n, l.Len())
	h := l
	h.X.Rows, h.Y = n, l.Y[:n]
	return h
}

// Counts returns the number of records of each of k classes.
func (l Labelled) Counts(k int) []int {
	n := make([]int, k)
	for _, y := range l.Y {
		n[y]++
	}
	return n
}

// ByClass copies the rows into one block per class, in their order.
func (l Labelled) ByClass(k int) []blas32.General {
	counts := l.Counts(k)
	blocks := make([]blas32.General, k)
	for c := range blocks {
		blocks[c] = matrix(counts[c], l.X.Cols)
		blocks[c].Rows = 0
	}
	for i, y := range l.Y {
		b := &blocks[y]
		copy(b.Data[b.Rows*b.Stride:], row(l.X, i))
		b.Rows++
	}
	return blocks
}

// Split deals the records at random into a part of round(share*n) records and
// the rest. It keeps at least one record on each side where there are two.
func (l Labelled) Split(r *rand.Rand, share float64) (part, rest Labelled) {
	n := l.Len()
	k := min(max(int(share*float64(n)+0.5), min(1, n)), max(n-1, 0))
	order := r.Perm(n)
	return l.pick(order[:k]), l.pick(order[k:])
}

func (l Labelled) pick(index []int) Labelled {
	p := Labelled{X: Rows(l.X, index), Y: make([]int, len(index))}
	for i, from := range index {
		p.Y[i] = l.Y[from]
	}
	return p
}

// Copied returns a matrix with numbers of its own, row after row.
func Copied(x blas32.General) blas32.General {
	out := matrix(x.Rows, x.Cols)
	for i := range x.Rows {
		copy(row(out, i), row(x, i))
	}
	return out
}

// Rows returns those of a matrix with the given numbers, copied.
func Rows(x blas32.General, which []int) blas32.General {
	out := matrix(len(which), x.Cols)
	for i, from := range which {
		copy(row(out, i), row(x, from))
	}
	return out
}

// check verifies that the labels fit the rows and the classes.
func (l Labelled) check(classes int) error {
	if l.X.Rows != len(l.Y) {
		return fmt.Errorf("%d rows of features but %d labels: the two files do not belong together", l.X.Rows, len(l.Y))
	}
	if len(l.Y) == 0 {
		return fmt.Errorf("no records")
	}
	for i, y := range l.Y {
		if y < 0 || y >= classes {
			return fmt.Errorf("label of row %d is outside 0 to %d", i, classes-1)
		}
	}
	return nil
}

func matrix(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: max(cols, 1), Data: make([]float32, rows*max(cols, 1))}
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride : i*x.Stride+x.Cols] }
