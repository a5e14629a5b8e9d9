package sketch

import (
	"runtime"
	"sync"
)

// block is how many candidates look at a row together: their points and sums are two
// megabytes, which stay in a shared cache while all rows pass.
const block = 1 << 16

// sums returns the counts of each candidate's cells over all rows and, if others are asked
// for, those of the cells that differ in the lowest bit. It splits the candidates among
// the processors.
func (r rows) sums(counts []uint64, candidates []uint32, others bool) (own, other []uint64) {
	own = make([]uint64, len(candidates))
	if others {
		other = make([]uint64, len(candidates))
	}
	var working sync.WaitGroup
	part := max(1, (len(candidates)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for start := 0; start < len(candidates); start += part {
		end := min(start+part, len(candidates))
		working.Go(func() {
			points, near := make([]point, 0, min(block, end-start)), []uint64(nil)
			for from := start; from < end; from += block {
				to := min(from+block, end)
				points = points[:0]
				for _, c := range candidates[from:to] {
					points = append(points, newPoint(c))
				}
				for i := range r.coefficients {
					row := counts[i*r.Cells() : (i+1)*r.Cells()]
					if len(points) >= r.Cells()/8 {
						// More looks than lines of 8 counts: brought near in order, none waits for memory.
						near = append(near[:0], row...)
						row = near
					}
					if others {
						r.addBoth(row, &r.coefficients[i], points, own[from:to], other[from:to])
					} else {
						r.add(row, &r.coefficients[i], points, own[from:to])
					}
				}
			}
		})
	}
	working.Wait()
	return own, other
}

func (r rows) add(row []uint64, a *[4]uint64, points []point, own []uint64) {
	for i, p := range points {
		own[i] += row[r.cell(a, p)]
	}
}

func (r rows) addBoth(row []uint64, a *[4]uint64, points []point, own, other []uint64) {
	for i, p := range points {
		cell := r.cell(a, p)
		own[i] += row[cell]
		other[i] += row[cell^1]
	}
}
