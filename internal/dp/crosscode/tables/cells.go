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

// Moved returns by how much one moves a count as it is, at most, who marks as many cells as there are pairs, wherever it
// likes. Counts are all that Questions counts, where the values of some columns are in order.
func Moved(s crosscode.Shape, ordered []bool) (most float64) {
	type column struct {
		size    int
		ordered bool
	}
	sizes := map[int]int{} // how many columns have so many values
	for _, k := range s.Sizes {
		sizes[k]++
	}
	seen := map[[2]column]bool{}
	for b, kb := range s.Sizes {
		for a, ka := range s.Sizes[:b] {
			pair := [2]column{{ka, ordered[a]}, {kb, ordered[b]}}
			if seen[pair] { // columns of one size are moved alike
				continue
			}
			seen[pair] = true
			for _, m := range asked(ka, ordered[a]) {
				for _, n := range asked(kb, ordered[b]) {
					most = max(most, moved(sizes, s.Pairs(), [2]int{ka, kb}, [2]int{m, n}))
				}
			}
		}
	}
	return most
}

// asked returns of how many values of a column a count may be; all of them say nothing of it.
func asked(size int, ordered bool) []int {
	if !ordered {
		return []int{1, size - 1, size}
	}
	all := make([]int, size)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// moved returns by how much so many marks move the count of some values of one column with some of another, at most.
func moved(sizes map[int]int, marks int, size, values [2]int) float64 {
	type cells struct {
		each float64 // by what one moves the count
		many int
	}
	var all []cells
	var share, row [2]float64 // of a mark in their own table a column counts so much
	for i, k := range size {
		share[i] = float64(values[i]) / float64(k)
		across := -1 / float64(k) // a column stands in the tables of all others
		for other, columns := range sizes {
			across += float64(columns) / float64(other)
		}
		row[i] = 1 / (float64(size[1-i]) * across)
		for other, columns := range sizes { // tables of the column with a third one
			if other == k {
				columns--
			}
			if other == size[1-i] {
				columns--
			}
			weight := float64(values[1-i]) / float64(size[1-i]) / (float64(other) * across)
			all = append(all, cells{weight * (1 - share[i]), columns * other * values[i]}, cells{-weight * share[i], columns * other * (k - values[i])})
		}
	}
	for _, within := range [][2]float64{{1, 1}, {1, 0}, {0, 1}, {0, 0}} {
		x, y := within[0]-share[0], within[1]-share[1]
		many := 1
		for i, in := range within {
			if in == 1 {
				many *= values[i]
			} else {
				many *= size[i] - values[i]
			}
		}
		all = append(all, cells{x*y + share[1]*row[0]*x + share[0]*row[1]*y, many})
	}
	slices.SortFunc(all, func(x, y cells) int { return cmp.Compare(y.each, x.each) })
	up, down := share[0]*share[1], -share[0]*share[1] // who answers is one respondent more
	for i, left, below := 0, marks, marks; i < len(all); i++ {
		n := min(left, all[i].many)
		left -= n
		up += max(0, all[i].each) * float64(n)
		least := all[len(all)-1-i]
		n = min(below, least.many)
		below -= n
		down += max(0, -least.each) * float64(n)
	}
	return max(up, down)
}
