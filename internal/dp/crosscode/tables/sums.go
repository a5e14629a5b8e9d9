// Package tables reads tables out of a sum of vectors of package crosscode: counts as they are with their errors, best
// guesses, rows that are drawn and an additive model. Used by question/table, internal/release/results and
// cmd/confetti/internal/ask, and by no device.
package tables

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Sums are what is known of the vectors of so many respondents.
type Sums struct {
	Code        *crosscode.Code
	Respondents int
	Error       float64   // standard error of each number
	Spare       int       // numbers that nobody has, of which the error was estimated; 0: it is known
	Vector      []float64 // the estimated sum
	Ordered     []bool    // columns whose values are in order, such as ranges of a number

	guess  func() []Guess
	starts []int // of the sums of each column, then of each pair
}

// New returns the sums of a vector of the code's length.
func New(code *crosscode.Code, respondents int, vector []float64, err float64) *Sums {
	s := &Sums{Code: code, Respondents: respondents, Error: err, Vector: vector}
	s.guess = sync.OnceValue(s.best)
	at := 0
	for _, k := range code.Sizes {
		s.starts = append(s.starts, at)
		at += k - 1
	}
	for a, b := range s.Pairs {
		s.starts = append(s.starts, at)
		at += (code.Sizes[a] - 1) * (code.Sizes[b] - 1)
	}
	return s
}

// columns returns how many columns there are.
func (s *Sums) columns() int { return len(s.Code.Sizes) }

// Pair returns the number of a pair of columns, a before b.
func (s *Sums) Pair(a, b int) int { return a*(2*s.columns()-a-1)/2 + b - a - 1 }

// Pairs yields all pairs of columns, a before b.
func (s *Sums) Pairs(yield func(a, b int) bool) {
	for a := range s.columns() {
		for b := a + 1; b < s.columns(); b++ {
			if !yield(a, b) {
				return
			}
		}
	}
}

// column returns where the sums of a column stand.
func (s *Sums) column(a int) (from, size int) { return s.starts[a], s.Code.Sizes[a] - 1 }

// pair returns where the sums of a pair stand, and how many stand in a row.
func (s *Sums) pair(a, b int) (from, rows, wide int) {
	return s.starts[s.columns()+s.Pair(a, b)], s.Code.Sizes[a] - 1, s.Code.Sizes[b] - 1
}

// one returns the mean direction of a column: the sum of its respondents' corners.
func (s *Sums) one(a int) []float64 {
	from, size := s.column(a)
	return scaled(s.Vector[from:from+size], 1/s.Code.ColumnWeight(a))
}

// two returns the sum of the products of a pair's corners, row by row.
func (s *Sums) two(a, b int) []float64 {
	from, rows, wide := s.pair(a, b)
	return scaled(s.Vector[from:from+rows*wide], 1/s.Code.PairWeight(a, b))
}

func scaled(x []float64, by float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * by
	}
	return out
}

// Column returns how many hold each value of a column, unbiased.
func (s *Sums) Column(a int) []estimate.Value {
	k := float64(s.Code.Sizes[a])
	out := make([]estimate.Value, s.Code.Sizes[a])
	one, m := s.Code.ColumnWeight(a), s.one(a)
	for i, corner := range s.Code.Corners(a) {
		out[i] = estimate.Value{Mean: float64(s.Respondents)/k + (k-1)/k*dot(corner, m), StdErr: s.Error * (k - 1) / k / one}
	}
	return out
}

// CellError returns the standard error of each count of a pair.
func (s *Sums) CellError(a, b int) float64 {
	ka, kb := float64(s.Code.Sizes[a]), float64(s.Code.Sizes[b])
	one, other, two := s.Code.ColumnWeight(a), s.Code.ColumnWeight(b), s.Code.PairWeight(a, b)
	return s.Error * math.Sqrt(math.Pow((ka-1)/(ka*kb*one), 2)+math.Pow((kb-1)/(ka*kb*other), 2)+math.Pow((ka-1)*(kb-1)/(ka*kb*two), 2))
}

// WeighedError returns the standard error of a sum of a pair's counts, each times a weight, row by row.
func (s *Sums) WeighedError(a, b int, weights []float64) float64 {
	ka, kb := s.Code.Sizes[a], s.Code.Sizes[b]
	rows, columns, mean := make([]float64, ka), make([]float64, kb), 0.0
	for i, w := range weights {
		rows[i/kb] += w
		columns[i%kb] += w
		mean += w / float64(len(weights))
	}
	fa, fb := float64(ka), float64(kb)
	between := func(sums []float64, size, other float64) (spread float64) {
		for _, x := range sums {
			spread += (x/other - mean) * (x/other - mean)
		}
		return spread * (size - 1) / size
	}
	apart := 0.0 // what neither rows nor columns tell
	for i, w := range weights {
		d := w - rows[i/kb]/fb - columns[i%kb]/fa + mean
		apart += d * d
	}
	one, other, two := s.Code.ColumnWeight(a), s.Code.ColumnWeight(b), s.Code.PairWeight(a, b)
	return s.Error * math.Sqrt(between(rows, fa, fb)/(one*one)+between(columns, fb, fa)/(other*other)+apart*(fa-1)/fa*(fb-1)/fb/(two*two))
}

// Table returns how many hold each value of a pair together, row by row, unbiased.
func (s *Sums) Table(a, b int) []float64 {
	return s.table(a, b, means(s.Column(a)), means(s.Column(b)), s.two(a, b))
}

func means(counts []estimate.Value) []float64 {
	out := make([]float64, len(counts))
	for i, v := range counts {
		out[i] = v.Mean
	}
	return out
}

// table returns the counts of a pair whose columns have those counts, and whose products have that sum.
func (s *Sums) table(a, b int, rows, columns, two []float64) []float64 {
	ka, kb := s.Code.Sizes[a], s.Code.Sizes[b]
	n, fa, fb := float64(s.Respondents), float64(ka), float64(kb)
	out := make([]float64, ka*kb)
	half := make([]float64, kb-1)
	for i, corner := range s.Code.Corners(a) {
		clear(half)
		for x, v := range corner {
			for y := range half {
				half[y] += v * two[x*(kb-1)+y]
			}
		}
		for j, other := range s.Code.Corners(b) {
			out[i*kb+j] = rows[i]/fb + columns[j]/fa - n/(fa*fb) + (fa-1)/fa*(fb-1)/fb*dot(half, other)
		}
	}
	return out
}

// Again returns the sums that have these counts: of each column, and of each pair in the order of Pairs.
func Again(code *crosscode.Code, respondents int, err float64, columns, pairs [][]float64) (*Sums, error) {
	s := New(code, respondents, make([]float64, code.Numbers()), err)
	for a := range columns {
		from, size := s.column(a)
		one := code.ColumnWeight(a)
		if len(columns[a]) != size+1 {
			return nil, fmt.Errorf("tables: column %d has %d counts, and %d values", a+1, len(columns[a]), size+1)
		}
		for i, corner := range code.Corners(a) {
			for x, v := range corner {
				s.Vector[from+x] += one * v * columns[a][i]
			}
		}
	}
	if len(columns) != s.columns() || len(pairs) != code.Pairs() {
		return nil, errors.New("tables: there are other tables than the columns have")
	}
	for a, b := range s.Pairs {
		from, rows, wide := s.pair(a, b)
		t := pairs[s.Pair(a, b)]
		if len(t) != (rows+1)*(wide+1) {
			return nil, fmt.Errorf("tables: columns %d and %d have %d counts, and %d cells", a+1, b+1, len(t), (rows+1)*(wide+1))
		}
		copy(s.Vector[from:], scaled(s.products(a, b, t), code.PairWeight(a, b)))
	}
	return s, nil
}

// products returns the sum of the products of a pair's corners over respondents who are counted in a table.
func (s *Sums) products(a, b int, t []float64) []float64 {
	kb := s.Code.Sizes[b]
	out := make([]float64, (s.Code.Sizes[a]-1)*(kb-1))
	half := make([]float64, kb-1)
	for i, corner := range s.Code.Corners(a) {
		clear(half)
		for j, other := range s.Code.Corners(b) {
			for y, w := range other {
				half[y] += w * t[i*kb+j]
			}
		}
		for x, v := range corner {
			if v == 0 {
				continue
			}
			for y, w := range half {
				out[x*(kb-1)+y] += v * w
			}
		}
	}
	return out
}

func dot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}
