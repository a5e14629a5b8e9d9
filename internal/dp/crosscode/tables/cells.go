package tables

import (
	"cmp"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
)

// FromCells returns the sums that counts of cells tell (crosscode.Shape.Mark), each with the same error, of its own.
//
// A column's values are counted in each of its tables, and the error of a count there goes with how many values the other
// column has. So the mean over tables weighs each by one over these. What all cells of a table sum to is known.
func FromCells(code *crosscode.Code, respondents int, cells []float64, err float64) (*Sums, error) {
	columns, pairs := make([][]float64, len(code.Sizes)), make([][]float64, 0, code.Pairs())
	for a, k := range code.Sizes {
		columns[a] = make([]float64, k)
	}
	weights := make([]float64, len(code.Sizes))
	for a, k := range code.Sizes {
		for b := a + 1; b < len(code.Sizes); b++ {
			wide := code.Sizes[b]
			t := cells[:k*wide]
			cells = cells[k*wide:]
			pairs = append(pairs, t)
			weights[a] += 1 / float64(wide)
			weights[b] += 1 / float64(k)
			for i, x := range t {
				columns[a][i/wide] += x / float64(wide)
				columns[b][i%wide] += x / float64(k)
			}
		}
	}
	for a, w := range weights {
		columns[a] = scaled(columns[a], 1/w)
	}
	return Again(code, respondents, err, columns, pairs)
}

// Moved returns by how much one who marks as many cells as there are pairs, wherever it likes, moves a count as it is of two
// columns, at most.
func Moved(s crosscode.Shape) (most float64) {
	across := make([]float64, len(s.Sizes))
	for a := range s.Sizes {
		for b, k := range s.Sizes {
			if b != a {
				across[a] += 1 / float64(k)
			}
		}
	}
	type cells struct {
		each float64 // by what one moves the count
		many int
	}
	for a, ka := range s.Sizes {
		for b := a + 1; b < len(s.Sizes); b++ {
			kb := s.Sizes[b]
			fa, fb := float64(ka), float64(kb)
			var all []cells
			// beside adds what the tables of a column with all others tell of a value of it, and its own is added to.
			beside := func(a, own int, k, other float64) (rows, rest float64) {
				for c, kc := range s.Sizes {
					if w := 1 / (float64(kc) * across[a] * other); c == own {
						rows, rest = w*(1-1/k), -w/k
					} else if c != a {
						all = append(all, cells{w * (1 - 1/k), kc}, cells{-w / k, kc * (int(k) - 1)})
					}
				}
				return rows, rest
			}
			row, otherRows := beside(a, b, fa, fb)
			column, otherColumns := beside(b, a, fb, fa)
			all = append(all,
				cells{(1-1/fa)*(1-1/fb) + row + column, 1},
				cells{-(1-1/fa)/fb + row + otherColumns, kb - 1},
				cells{-(1-1/fb)/fa + otherRows + column, ka - 1},
				cells{1/(fa*fb) + otherRows + otherColumns, (ka - 1) * (kb - 1)})
			slices.SortFunc(all, func(x, y cells) int { return cmp.Compare(y.each, x.each) })
			up, down := 1/(fa*fb), -1/(fa*fb)
			for i, left, below := 0, s.Pairs(), s.Pairs(); i < len(all); i++ {
				n := min(left, all[i].many)
				left -= n
				up += max(0, all[i].each) * float64(n)
				least := all[len(all)-1-i]
				n = min(below, least.many)
				below -= n
				down += max(0, -least.each) * float64(n)
			}
			most = max(most, up, down)
		}
	}
	return most
}
