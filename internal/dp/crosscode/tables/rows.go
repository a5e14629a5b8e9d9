package tables

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

const (
	drawn   = 40_000 // records that a tree of columns gives, before they are weighed
	strong  = 4      // pairs for each column whose tables the weights have to fit
	rakings = 25     // of each of these
	step    = 5.0    // by which a weight moves at most at once
	spread  = 1e-3   // of a table's mass is spread evenly, so that no weight has to be zero
)

// Rows draws so many records that look like those of respondents: from a tree of the columns that tell most of each other,
// weighed so that the strongest pairs have their tables. They are evidence about nobody.
func (s *Sums) Rows(r *rand.Rand, n int) [][]int {
	order := s.tree()
	pool := make([][]int, drawn)
	first := cumulated(s.Held(order[0].to))
	laws := make([][][]float64, len(order)) // of a column, by the value of the one before it
	for i, e := range order[1:] {
		a, b := min(e.from, e.to), max(e.from, e.to)
		t, kb := s.Guess(a, b).Table, s.Code.Sizes[b]
		for x := range s.Code.Sizes[e.from] {
			law := make([]float64, s.Code.Sizes[e.to])
			for y := range law {
				at := x*kb + y
				if e.from > e.to {
					at = y*kb + x
				}
				law[y] = t[at] + 1e-9
			}
			laws[i+1] = append(laws[i+1], cumulated(law))
		}
	}
	for k := range pool {
		record := make([]int, s.columns())
		record[order[0].to] = pick(r, first)
		for i, e := range order[1:] {
			record[e.to] = pick(r, laws[i+1][record[e.from]])
		}
		pool[k] = record
	}
	weights := cumulated(s.rake(pool))
	out := make([][]int, n)
	for i := range out {
		out[i] = pool[pick(r, weights)]
	}
	return out
}

// edge joins a column to one that is there before it.
type edge struct{ from, to int }

// tree returns all columns, each joined to the one before it that tells most of it; the first is joined to none.
func (s *Sums) tree() []edge {
	order := []edge{{to: 0}}
	for len(order) < s.columns() {
		best, most := edge{}, -1.0
		for _, in := range order {
			for to := range s.columns() {
				if slices.ContainsFunc(order, func(e edge) bool { return e.to == to }) {
					continue
				}
				if told := s.Guess(min(in.to, to), max(in.to, to)).Information; told > most {
					best, most = edge{in.to, to}, told
				}
			}
		}
		order = append(order, best)
	}
	return order
}

// rake returns weights of records under which the strongest pairs have their tables, nearly.
func (s *Sums) rake(records [][]int) []float64 {
	var pairs []edge
	for a, b := range s.Pairs {
		pairs = append(pairs, edge{a, b})
	}
	slices.SortStableFunc(pairs, func(x, y edge) int {
		return cmp.Compare(s.Guess(y.from, y.to).Information, s.Guess(x.from, x.to).Information)
	})
	pairs = pairs[:min(len(pairs), strong*s.columns())]
	weights := make([]float64, len(records))
	for i := range weights {
		weights[i] = 1 / float64(len(records))
	}
	for range rakings {
		for _, e := range pairs {
			t, kb := s.Guess(e.from, e.to).Table, s.Code.Sizes[e.to]
			have := make([]float64, len(t))
			for i, r := range records {
				have[r[e.from]*kb+r[e.to]] += weights[i]
			}
			even, mass := spread*float64(s.Respondents)/float64(len(t)), (1+spread)*float64(s.Respondents)
			sum := 0.0
			for i, r := range records {
				at := r[e.from]*kb + r[e.to]
				weights[i] *= min(step, max(1/step, (t[at]+even)/mass/max(have[at], 1e-9)))
				sum += weights[i]
			}
			for i := range weights {
				weights[i] /= sum
			}
		}
	}
	return weights
}

// cumulated returns the sums of weights up to each, over that of all.
func cumulated(weights []float64) []float64 {
	out, sum := make([]float64, len(weights)), 0.0
	for i, w := range weights {
		sum += w
		out[i] = sum
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// pick draws from cumulated weights.
func pick(r *rand.Rand, cumulated []float64) int {
	i, _ := slices.BinarySearch(cumulated, r.Float64())
	return min(i, len(cumulated)-1)
}
