package crosscode

import "math/rand/v2"

// Cells returns how many cells the tables of every two columns have.
func (s Shape) Cells() (n int) {
	before := 0
	for _, k := range s.Sizes {
		if n > maxNumbers {
			return n
		}
		n += before * k
		before += k
	}
	return n
}

// Mark writes a one for each two columns, in the cell of their table that a record has: pair by pair, first columns first,
// and the first column's values are rows. A value that is None is drawn, each with the same probability.
func (s Shape) Mark(r *rand.Rand, record []int, out []uint64) {
	clear(out)
	held := make([]int, len(record))
	for i, v := range record {
		if held[i] = v; v == None {
			held[i] = r.IntN(s.Sizes[i])
		}
	}
	at := 0
	for a, v := range held {
		for b := a + 1; b < len(held); b++ {
			out[at+v*s.Sizes[b]+held[b]] = 1
			at += s.Sizes[a] * s.Sizes[b]
		}
	}
}

// across returns what the tables of a column tell of each of its values, in parts of what a count by itself would: a row of
// k cells has the errors of k.
func (s Shape) across(a int) (sum float64) {
	for b, k := range s.Sizes {
		if b != a {
			sum += 1 / float64(k)
		}
	}
	return sum
}
