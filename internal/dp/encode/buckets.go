package encode

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// Axis cuts the numbers from Low to High into Cells intervals of one width.
type Axis struct {
	Low, High float64 // finite, at most MaxEnd in size, Low < High
	Cells     int     // from 1
}

// MaxEnd bounds the ends of an axis, so that their difference times Cells is finite.
const MaxEnd = 1e100

// Edge returns where interval i begins and interval i-1 ends, i from 0 to Cells: the float64
// nearest to Low + i (High-Low)/Cells, computed without rounding. So the edges between 0
// and 1 in tenths, or between -0.1 and 0.2 in thirds, are the decimals as written, and
// every language has the same.
func (a Axis) Edge(i int) float64 {
	low, high, cells := new(big.Rat).SetFloat64(a.Low), new(big.Rat).SetFloat64(a.High), big.NewRat(int64(a.Cells), 1)
	low.Mul(low, big.NewRat(int64(a.Cells-i), 1))
	high.Mul(high, big.NewRat(int64(i), 1))
	edge, _ := low.Quo(low.Add(low, high), cells).Float64()
	return edge
}

func (a Axis) validate() error {
	if !(math.Abs(a.Low) <= MaxEnd && math.Abs(a.High) <= MaxEnd && a.Low < a.High) {
		return fmt.Errorf("encode: an axis from %v to %v: give two numbers, the lower first, of at most %g", a.Low, a.High, MaxEnd)
	}
	if a.Cells < 1 || a.Cells > maxCells {
		return fmt.Errorf("encode: an axis of %d intervals: give from 1 to %d", a.Cells, maxCells)
	}
	// In intervals of sixteen float64s at the larger end, edges are apart and where find
	// says.
	end := math.Max(math.Abs(a.Low), math.Abs(a.High))
	if step := math.Nextafter(end, math.Inf(1)) - end; (a.High-a.Low)/float64(a.Cells) < 16*step {
		return fmt.Errorf("encode: %d intervals from %v to %v are narrower than a float64 can tell apart: ask for fewer", a.Cells, a.Low, a.High)
	}
	return nil
}

// find returns the interval that holds x: Edge(i) <= x < Edge(i+1), and High in the last.
// What is outside has the interval nearest to it, and NaN none that means anything.
func (a Axis) find(x float64) (i int, inside bool) {
	switch {
	case math.IsNaN(x):
		return 0, false
	case x < a.Low:
		return 0, false
	case x >= a.High:
		return a.Cells - 1, x == a.High
	}
	// The four roundings of the quotient move it by at most Cells 2^-51 <= 2^-25, that of an
	// edge moves the edge by at most 1/32. Within 1/16 of an edge the edge decides.
	at := (x - a.Low) / (a.High - a.Low) * float64(a.Cells)
	if near := math.Round(at); math.Abs(at-near) > 1./16 {
		return int(at), true
	} else if i = int(near); i == a.Cells || i > 0 && x < a.Edge(i) {
		i--
	}
	return i, true
}

var errNoNumber = errors.New("encode: a value that is no number: say what it stands for, or ask with a cell for others")

// name writes an interval, which has its lower end and not its upper one (the last, where
// nothing lies above it, has both); unbounded says that the ones at the edges hold what is
// outside.
func (a Axis) name(i int, unbounded bool) string {
	switch {
	case unbounded && a.Cells == 1:
		return "any number"
	case unbounded && i == 0:
		return "below " + a.number(1)
	case unbounded && i+1 == a.Cells:
		return a.number(i) + " and more"
	}
	return a.number(i) + " to " + a.number(i+1)
}

// FormatEdge writes edge i in decimals, as names of cells have it.
func (a Axis) FormatEdge(i int) string { return a.number(i) }

// number writes an edge in as many digits as tell it from the edges next to it, and a
// few more, but no roundoff.
func (a Axis) number(i int) string {
	edge := a.Edge(i)
	width := (a.High - a.Low) / float64(a.Cells)
	size := math.Max(math.Abs(edge), width)
	digits := min(17, max(6, 4+int(math.Ceil(math.Log10(size/width)))))
	if math.Abs(edge) < width*1e-9 { // a zero with roundoff
		edge = 0
	}
	rounded := strconv.FormatFloat(edge, 'g', digits, 64)
	if size < 1e15 && width > 1e-6 {
		short, _ := strconv.ParseFloat(rounded, 64) // what has just been written can be read
		return strconv.FormatFloat(short, 'f', -1, 64)
	}
	return rounded
}

// Buckets are the intervals of an axis. Values outside are in the interval nearest to
// them, which is then open on that side; or in a last cell for others, if there is one.
type Buckets struct {
	axis   Axis
	others bool
}

// NewBuckets checks the axis.
func NewBuckets(axis Axis, others bool) (*Buckets, error) {
	if err := axis.validate(); err != nil {
		return nil, err
	}
	if err := checkCells(withOthers(axis.Cells, others)); err != nil {
		return nil, err
	}
	return &Buckets{axis, others}, nil
}

// Size returns the number of cells.
func (b *Buckets) Size() int { return withOthers(b.axis.Cells, b.others) }

// Encode returns the bucket of x. What is no number (NaN) is another value, if there is a
// cell for others; an infinity is outside.
func (b *Buckets) Encode(x float64) ([]uint32, error) {
	i, inside := b.axis.find(x)
	switch {
	case b.others && !inside:
		i = b.axis.Cells
	case math.IsNaN(x):
		return nil, errNoNumber
	}
	return []uint32{uint32(i)}, nil
}

// Name returns the interval of a cell, such as "10 to 20", "below 10" and "90 and more", or "others".
func (b *Buckets) Name(cell int) string {
	mustHave(cell, b.Size())
	if cell == b.axis.Cells {
		return othersName
	}
	return b.axis.name(cell, !b.others)
}
