package measure

import (
	"io"
	"math"
	"slices"
	"sort"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/textpage"
	"github.com/confetti-dp/confetti/release"
)

// Errors sums those of estimates of counts, over the cells of several tables or runs.
type Errors struct {
	Most int // that a count is known to be; 0: nothing is known

	cells                  int
	raw, positive, within  float64 // squares: as they are, taken to zero, and to Most too
	largest, largestOfThem float64 // of those taken to zero, and as they are
}

// Add adds estimates of counts that are so in truth, and returns the errors of these alone.
func (e *Errors) Add(estimates []estimate.Value, truth func(i int) int) (rmse, linf float64) {
	before := e.positive
	for i, v := range estimates {
		t := float64(truth(i))
		off := func(mean float64) float64 { return (mean - t) * (mean - t) }
		e.raw += off(v.Mean)
		e.positive += off(math.Max(0, v.Mean))
		e.within += off(math.Min(float64(e.Most), math.Max(0, v.Mean)))
		e.largestOfThem = math.Max(e.largestOfThem, math.Abs(v.Mean-t))
		linf = math.Max(linf, math.Abs(math.Max(0, v.Mean)-t))
	}
	e.cells += len(estimates)
	e.largest = math.Max(e.largest, linf)
	return math.Sqrt((e.positive - before) / float64(max(1, len(estimates)))), linf
}

// Into writes them into what is said of counts, and of a survey where there is one.
func (e *Errors) Into(c *CountErrors, s *Survey) {
	root := func(squares float64) float64 { return math.Sqrt(squares / float64(max(1, e.cells))) }
	c.RMSE, c.Unbiased, c.Linf = root(e.positive), root(e.raw), e.largest
	if e.Most > 0 {
		c.Within = root(e.within)
	}
	if s != nil {
		s.LinfUnbiased = e.largestOfThem
	}
}

// Top returns the largest estimates of cells, with the ends of their intervals.
func Top(cells []int, name func(cell int) string, values []estimate.Value, ends func(i, cell int) (low, high float64), truth func(cell int) int) []TopCell {
	top := []TopCell{}
	for i, cell := range cells {
		low, high := ends(i, cell)
		top = append(top, TopCell{Value: name(cell), Estimate: values[cell].Mean, Low: low, High: high, Truth: float64(truth(cell))})
	}
	return top
}

// Largest returns the m of k cells with the most of it, most first, of equal ones the first.
func Largest(k, m int, of func(cell int) float64) []int {
	var top []int
	for cell := range k {
		if len(top) == m && of(cell) <= of(top[m-1]) {
			continue
		}
		at := sort.Search(len(top), func(i int) bool { return of(top[i]) < of(cell) })
		top = slices.Insert(top, at, cell)
		top = top[:min(m, len(top))]
	}
	return top
}

// ShowTop draws the largest estimates as bars.
func ShowTop(w io.Writer, title string, top []TopCell) error {
	if len(top) == 0 {
		return nil
	}
	f := release.Figure{Name: "top", Title: title, Alt: title, Kind: release.Bars, Series: make([]release.Series, 1)}
	s := &f.Series[0]
	for _, t := range top {
		f.Categories = append(f.Categories, t.Value)
		s.Y, s.Low, s.High = append(s.Y, t.Estimate), append(s.Low, t.Low), append(s.High, t.High)
		s.Truth = append(s.Truth, t.Truth)
	}
	return textpage.WriteFigure(w, f)
}
