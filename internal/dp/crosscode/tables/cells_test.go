package tables

import (
	"math"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// marked returns the cells that made-up records mark, and their code.
func marked(t *testing.T) (*crosscode.Code, [][]int, []float64) {
	r := seeded.New(7)
	sizes, records := people(r, 400)
	code := crosscode.New(crosscode.Shape{Sizes: sizes})
	if err := code.Validate(); err != nil {
		t.Fatal(err)
	}
	cells, one := make([]float64, code.Cells()), make([]uint64, code.Cells())
	for _, record := range records {
		code.Mark(r, record, one)
		for i, x := range one {
			cells[i] += float64(x)
		}
	}
	return code, records, cells
}

func fromCells(t *testing.T, code *crosscode.Code, n int, cells []float64, err float64) *Sums {
	s, failed := FromCells(code, n, cells, err)
	if failed != nil {
		t.Fatal(failed)
	}
	return s
}

// Tables that are marked without noise are those of the records. The error that is stated of a count, of a column or of two,
// is what the noise of all cells does to it: exactly, by moving each cell. So is that of each number of the sum, and no two
// numbers of two stretches have noise together.
func TestCellsTellTables(t *testing.T) {
	code, records, cells := marked(t)
	s := fromCells(t, code, len(records), cells, 7)
	for a, b := range s.Pairs {
		for i, x := range s.Table(a, b) {
			wide := code.Sizes[b]
			if want := held(records, Condition{a, []int{i / wide}}, Condition{b, []int{i % wide}}); math.Abs(x-want) > 1e-9 {
				t.Errorf("columns %d and %d, cell %d: %v, want %v", a, b, i, x, want)
			}
		}
	}
	moved := make([]*Sums, len(cells))
	for i := range cells {
		more := slices.Clone(cells)
		more[i]++
		moved[i] = fromCells(t, code, len(records), more, 7)
	}
	// together returns the covariance of two numbers that follow from cells.
	together := func(f, g func(*Sums) float64) (sum float64) {
		for _, m := range moved {
			sum += 49 * (f(m) - f(s)) * (g(m) - g(s))
		}
		return sum
	}
	same := func(name string, got, want float64) {
		if math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for a, b := range s.Pairs {
		for i := range s.Table(a, b) {
			f := func(of *Sums) float64 { return of.Table(a, b)[i] }
			same("a cell", s.CellError(a, b), math.Sqrt(together(f, f)))
		}
	}
	for a := range code.Sizes {
		for i, v := range s.Column(a) {
			f := func(of *Sums) float64 { return of.Column(a)[i].Mean }
			same("a value", v.StdErr, math.Sqrt(together(f, f)))
		}
	}
	for i := range s.Vector {
		for j := range i + 1 {
			got := together(func(of *Sums) float64 { return of.Vector[i] }, func(of *Sums) float64 { return of.Vector[j] })
			if want := map[bool]float64{true: 49}[i == j]; math.Abs(got-want) > 1e-6 {
				t.Fatalf("numbers %d and %d have the covariance %v, want %v", i, j, got, want)
			}
		}
	}
}

// Who marks as many cells as there are pairs moves no count that can be asked for by more than is said, and some by as much.
// Each cell is moved, and the best are taken. The twin looks at single values of two columns alone.
func TestMoved(t *testing.T) {
	caught := 0
	for _, c := range []struct {
		sizes   []int
		ordered int // of the last columns
	}{{[]int{3, 2}, 0}, {[]int{2, 2, 2}, 0}, {[]int{4, 4, 4}, 0}, {[]int{3, 2, 5, 4}, 2}, {[]int{6, 6, 6, 6, 6}, 5}, {[]int{2, 2, 2, 2, 2, 2, 2, 2}, 0}} {
		code := crosscode.New(crosscode.Shape{Sizes: c.sizes})
		ordered := make([]bool, len(c.sizes))
		for a := range c.ordered {
			ordered[len(ordered)-1-a] = true
		}
		none := fromCells(t, code, 0, make([]float64, code.Cells()), 1)
		none.Ordered = ordered
		units := make([]*Sums, code.Cells())
		for at := range units {
			cells := make([]float64, code.Cells())
			cells[at] = 1
			units[at] = fromCells(t, code, 1, cells, 1)
		}
		most, single, all := 0.0, 0.0, 0.0
		for a, b := range none.Pairs {
			for _, x := range stretches(c.sizes[a]) {
				for _, y := range stretches(c.sizes[b]) {
					where := none.joined([]Condition{{a, x}, {b, y}})
					if len(where) == 0 || !none.counted(Condition{a, x}) || !none.counted(Condition{b, y}) {
						continue
					}
					of := units[0].count(where...)
					everybody := of.constant // who answers counts a little, as the number of all is known
					var moves []float64
					for _, one := range units {
						moves = append(moves, one.value(of)-everybody)
					}
					slices.Sort(moves)
					up, down := everybody, -everybody
					for i := range code.Pairs() {
						up += max(0, moves[len(moves)-1-i])
						down += max(0, -moves[i])
					}
					all = max(all, up, down)
					if len(x) == 1 && len(y) == 1 {
						single = max(single, up, down)
					}
				}
			}
		}
		if most = Moved(code.Shape, ordered); math.Abs(most-all) > 1e-9 || most < 1 {
			t.Errorf("%v: a count is moved by %v, want %v", c.sizes, most, all)
		}
		if most > single+1e-9 {
			caught++
		}
	}
	if caught < 3 {
		t.Errorf("the twin is caught %d times", caught)
	}
}

// stretches returns values that follow each other, in any number, and all but one.
func stretches(size int) (out [][]int) {
	whole := make([]int, size)
	for i := range whole {
		whole[i] = i
	}
	for from := range whole {
		for to := from + 1; to <= size; to++ {
			out = append(out, whole[from:to])
		}
		out = append(out, slices.Delete(slices.Clone(whole), from, from+1))
	}
	return out
}
