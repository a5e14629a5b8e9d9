package results

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode"
)

// Truth is what a simulation knows of the population that answered.
type Truth struct {
	Crowds  []int                  // respondents of each class of a density
	Tables  map[[2]int]*TableTruth // of a histogram, by crowd and attribute
	Sum     []float64              // of all respondents' vectors
	Strings map[string]int         // respondents who hold each string; "" those whose string does not fit
	Columns [][]float64            // respondents who hold each value of a column
	Pairs   [][]float64            // respondents who hold each two values of a pair of columns, row by row
	Arms    [][]float64            // means of metrics, uncut, by arm and metric
	Rounds  [][]int                // of a study that counts events: how often each cell was said in each round; nil of one that was withheld
}

// TableTruth is that of one attribute in one crowd.
type TableTruth struct {
	Counts []int // respondents who hold each cell
	// Numbers are those that were answered to a question of buckets and lie in one, in
	// ascending order.
	Numbers []float64
}

// Table returns the truth of an attribute in a crowd; nil where it is not known.
func (t *Truth) Table(crowd, attribute int) *TableTruth {
	if t == nil {
		return nil
	}
	return t.Tables[[2]int{crowd, attribute}]
}

// count returns the number of respondents who hold a cell, nil where it is not known.
func (t *TableTruth) count(cells ...int) *float64 {
	if t == nil {
		return nil
	}
	sum := 0.0
	for _, cell := range cells {
		sum += float64(t.Counts[cell])
	}
	return &sum
}

// mean returns that of the numbers, clipped to the axis; nil where they are not known.
func (t *TableTruth) mean(axis encode.Axis) *float64 {
	if t == nil || len(t.Numbers) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range t.Numbers {
		sum += min(axis.High, max(axis.Low, x))
	}
	sum /= float64(len(t.Numbers))
	return &sum
}

// quantile returns the smallest number at or below which the share q of them lie.
func (t *TableTruth) quantile(q float64) (x float64, ok bool) {
	if t == nil || len(t.Numbers) == 0 {
		return 0, false
	}
	return t.Numbers[max(0, int(math.Ceil(q*float64(len(t.Numbers))))-1)], true
}

// str returns how many hold a string, nil where it is not known.
func (t *Truth) str(text string) *float64 {
	if t == nil || t.Strings == nil {
		return nil
	}
	n := float64(t.Strings[text])
	return &n
}

// column returns how many hold each value of a column, nil where it is not known.
func (t *Truth) column(a int) []float64 {
	if t == nil || t.Columns == nil {
		return nil
	}
	return t.Columns[a]
}

// pair returns how many hold each two values of a pair of columns, nil where it is not known.
func (t *Truth) pair(at int) []float64 {
	if t == nil || t.Pairs == nil {
		return nil
	}
	return t.Pairs[at]
}
