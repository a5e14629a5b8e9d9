// Package crosscode turns a record of categories into a vector of length one that tells every column and every two
// columns together (docs/crosstabs.md). Used by question/table, and its subpackage tables reads sums of such vectors.
//
// A value of a column is a corner of a simplex: corners are unit vectors that sum to zero. A vector has each column's
// corner, and for each pair of columns the products of their two corners.
package crosscode

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

const (
	maxColumns = 256
	maxNumbers = 1 << 18 // of a vector
)

// None stands for the value of a column that nobody knows: all that it would tell is zero.
const None = -1

// Shape is how many values each column has, and the share of the squared length that tells columns by themselves. A share
// of 0 is of vectors that are read out of sums of cells (Cells), in which columns have no numbers of their own.
type Shape struct {
	Sizes []int
	Main  float64
}

// Main returns the share of columns by themselves that so many columns do best with.
func Main(columns int) float64 { return min(0.5, 0.4/math.Sqrt(float64(columns))) }

// Validate says what is wrong with the shape.
func (s Shape) Validate() error {
	if len(s.Sizes) < 2 || len(s.Sizes) > maxColumns {
		return fmt.Errorf("crosscode: %d columns: give 2 to %d", len(s.Sizes), maxColumns)
	}
	if !(s.Main >= 0 && s.Main < 1) {
		return fmt.Errorf("crosscode: columns by themselves have the share %v: give a number from 0 and below 1", s.Main)
	}
	for i, k := range s.Sizes {
		if k < 2 || k > maxNumbers {
			return fmt.Errorf("crosscode: column %d has %d values: give 2 to %d", i+1, k, maxNumbers)
		}
	}
	if n := s.Cells(); s.Main == 0 && n > maxNumbers {
		return fmt.Errorf("crosscode: tables have more than %d cells: give fewer columns, or fewer values", maxNumbers)
	}
	if n := s.Numbers(); n > maxNumbers {
		return fmt.Errorf("crosscode: vectors have more than %d numbers: give fewer columns, or fewer values", maxNumbers)
	}
	return nil
}

// Numbers returns the length of a vector; above what Validate takes it may be too small.
func (s Shape) Numbers() int {
	n, sum := 0, 0
	for _, k := range s.Sizes {
		if n > maxNumbers {
			return n
		}
		n += k - 1 + sum*(k-1)
		sum += k - 1
	}
	return n
}

// Pairs returns the number of pairs of columns.
func (s Shape) Pairs() int { return len(s.Sizes) * (len(s.Sizes) - 1) / 2 }

// ColumnWeight returns by what a column's corner is scaled, so that each number of a sum has the same error.
func (s Shape) ColumnWeight(a int) float64 {
	if s.Main == 0 {
		return math.Sqrt(s.across(a) * s.kept(a))
	}
	return math.Sqrt(s.Main / float64(len(s.Sizes)))
}

// PairWeight returns by what the products of two columns' corners are scaled.
func (s Shape) PairWeight(a, b int) float64 {
	if s.Main == 0 {
		return math.Sqrt(s.kept(a) * s.kept(b))
	}
	return math.Sqrt((1 - s.Main) / float64(s.Pairs()))
}

// kept returns what the mean of a column's values leaves of the variance of each.
func (s Shape) kept(a int) float64 { return 1 - 1/float64(s.Sizes[a]) }

// Code is a shape made ready.
type Code struct {
	Shape
	corners [][][]float64 // by column and value
}

// New computes the corners of a valid shape.
func New(s Shape) *Code {
	c := &Code{s, make([][][]float64, len(s.Sizes))}
	for i, k := range s.Sizes {
		if at := slices.Index(s.Sizes[:i], k); at >= 0 {
			c.corners[i] = c.corners[at]
			continue
		}
		c.corners[i] = simplex(k)
	}
	return c
}

// simplex returns k unit vectors of k-1 numbers, each two of product -1/(k-1). Number j of vector i is zero where
// i > j+1.
func simplex(k int) [][]float64 {
	out := make([][]float64, k)
	for i := range out {
		out[i] = make([]float64, k-1)
		for j := max(0, i-1); j < k-1; j++ {
			scale := math.Sqrt(float64(k) / (float64(k-1) * float64(j+1) * float64(j+2)))
			out[i][j] = scale
			if i == j+1 {
				out[i][j] = -float64(j+1) * scale
			}
		}
	}
	return out
}

// Corners returns the unit vectors of a column's values, which the caller leaves as they are.
func (c *Code) Corners(column int) [][]float64 { return c.corners[column] }

// Write writes the vector of a record, the number of each column's value or None.
func (c *Code) Write(record []int, out []float32) {
	clear(out)
	at := 0
	for i, value := range record {
		one := c.ColumnWeight(i)
		if value != None {
			for j, x := range c.corners[i][value] {
				out[at+j] = float32(one * x)
			}
		}
		at += c.Sizes[i] - 1
	}
	for a := range record {
		for b := a + 1; b < len(record); b++ {
			wide, two := c.Sizes[b]-1, c.PairWeight(a, b)
			if record[a] != None && record[b] != None {
				for i, x := range c.corners[a][record[a]] {
					if x == 0 {
						continue
					}
					row, scaled := out[at+i*wide:][:wide], two*x
					for j, y := range c.corners[b][record[b]] {
						row[j] = float32(scaled * y)
					}
				}
			}
			at += (c.Sizes[a] - 1) * wide
		}
	}
}

// mostPatterns bounds an enumeration; beyond it a bound in closed form is used.
const mostPatterns = 1 << 22

// SquaredDistance bounds |v - v'|^2 of the vectors of any two records, and is attained where the numbers of columns
// of each size leave few enough patterns of agreement. A value that is None is no further: its vector is the mean of
// those of all values, and a squared length is convex.
func (s Shape) SquaredDistance() float64 {
	least, ok := s.patterns(func(int) float64 { return 1 }, func(product, _ float64) float64 { return product }, math.Min)
	if !ok {
		return min(4, s.bound())
	}
	return min(4, 2-2*least)
}

// bound returns a squared distance that no two records exceed, in closed form.
func (s Shape) bound() float64 {
	one, two := s.ColumnWeight(0), s.PairWeight(0, 1)
	t := 1 / float64(slices.Min(s.Sizes)-1)
	half := (1-t)/2 - one*one/(two*two)
	return 2 + two*two*(t*float64(len(s.Sizes))+half*half)
}

// Alike returns the means of <v, v'>^k of two records, k = 3, 5 and 7, that agree in a column of so many values with
// the probability that agree gives, in each by itself; zeros where these are too many to enumerate.
func (s Shape) Alike(agree func(size int) float64) (means [3]float64) {
	for i := range means {
		power := float64(3 + 2*i)
		means[i], _ = s.patterns(agree, func(product, p float64) float64 { return p * math.Pow(product, power) }, func(a, b float64) float64 { return a + b })
		means[i] = max(0, means[i])
	}
	return means
}

// patterns folds the products of two vectors over all numbers of columns of each size in which their records agree, with
// the probability of each; ok is false where these are too many.
func (s Shape) patterns(agree func(size int) float64, value func(product, p float64) float64, fold func(a, b float64) float64) (result float64, ok bool) {
	counts := map[int]int{}
	for _, k := range s.Sizes {
		counts[k]++
	}
	sizes := slices.Sorted(maps.Keys(counts))
	all := 1
	for _, k := range sizes {
		if all *= counts[k] + 1; all > mostPatterns {
			return 0, false
		}
	}
	one, two := s.ColumnWeight(0), s.PairWeight(0, 1)
	first := true
	var walk func(at int, sum, squares, p float64)
	walk = func(at int, sum, squares, p float64) {
		if at == len(sizes) {
			v := value(one*one*sum+two*two*(sum*sum-squares)/2, p)
			if first {
				result, first = v, false
			} else {
				result = fold(result, v)
			}
			return
		}
		n, differ, q := counts[sizes[at]], -1/float64(sizes[at]-1), agree(sizes[at])
		ways := 1.0
		for same := 0; same <= n; same++ {
			other := float64(n - same)
			walk(at+1, sum+float64(same)+other*differ, squares+float64(same)+other*differ*differ, p*ways*math.Pow(q, float64(same))*math.Pow(1-q, other))
			ways = ways * other / float64(same+1)
		}
	}
	walk(0, 0, 0, 1)
	return result, true
}
