package dataset

import (
	"fmt"
	"math"
)

// Normalize scales every row to unit length, in place. A row of zeros has no
// direction: the error names it.
func (l Labelled) Normalize() error {
	for i := range l.Len() {
		row := l.X.Data[i*l.X.Stride : i*l.X.Stride+l.X.Cols]
		var sum float64
		for _, v := range row {
			sum += float64(v) * float64(v)
		}
		if sum == 0 {
			return fmt.Errorf("dataset: row %d is all zeros and cannot be scaled to unit length: leave it out", i+1)
		}
		inverse := 1 / math.Sqrt(sum)
		for j, v := range row {
			row[j] = float32(float64(v) * inverse)
		}
	}
	return nil
}
