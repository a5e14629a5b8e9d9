package sketch

import (
	"runtime"
	"sync"
)

// sums are the counts of each candidate's cells over all rows and, if others are asked
// for, those of the cells that differ in the lowest bit.
//
// It goes row by row, so that the counts of one row stay in the cache while all
// candidates look there, and splits the candidates among the processors.
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
			points := make([]point, end-start)
			for i := range points {
				points[i] = newPoint(candidates[start+i])
			}
			for i := range r.coefficients {
				row := counts[i*r.Cells() : (i+1)*r.Cells()]
				if others {
					r.addBoth(row, &r.coefficients[i], points, own[start:end], other[start:end])
				} else {
					r.add(row, &r.coefficients[i], points, own[start:end])
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
