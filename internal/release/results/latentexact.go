package results

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	learn "github.com/confetti-dp/confetti/internal/learn/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
)

// LatentAccuracy returns that of what learns from the records themselves as the analyzer does from what it is told:
// from their clusters, or from the prototypes that are nearest to their vectors.
func LatentAccuracy(m *latent.Model, train, test Records) (float64, error) {
	var class func(record []float32) int
	row := func(x blas32.General, i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }
	if m.Vectors == nil {
		f := m.Finder
		counts := make([][]int, len(f.Sizes))
		for i := range counts {
			counts[i] = make([]int, len(m.Asked.Classes))
		}
		for i, y := range train.Y {
			if at, ok := f.Find(row(train.X, i)); ok {
				counts[at][y]++
			}
		}
		class = func(record []float32) int {
			at, _ := f.Find(record)
			return slices.Index(counts[at], slices.Max(counts[at]))
		}
	} else {
		e, r := m.Vectors.Encoder, rand.New(rand.NewPCG(1, 0)) // as of the reports
		nearest := make([]float32, len(train.Y)*e.Prototypes.Rows)
		codes := learn.Codes(e, train.X)
		for i := range codes.Rows {
			best, at := math.Inf(1), 0
			for j := range e.Prototypes.Rows {
				d := 0.0
				for k, v := range row(codes, i) {
					d += float64(v-row(e.Prototypes, j)[k]) * float64(v-row(e.Prototypes, j)[k])
				}
				if d < best {
					best, at = d, j
				}
			}
			nearest[i*e.Prototypes.Rows+at] = 1
		}
		const surely = 50 // an epsilon at which a class is told as it is
		learned, err := learn.ByPrototypes(r, e.Prototypes, nearest, train.Y, surely, len(m.Asked.Classes), func(string, int, int) {})
		if err != nil {
			return 0, err
		}
		class = func(record []float32) int {
			return learned.Classes(learn.Codes(e, blas32.General{Rows: 1, Cols: len(record), Stride: len(record), Data: record}))[0]
		}
	}
	right := 0
	for i, y := range test.Y {
		if class(row(test.X, i)) == y {
			right++
		}
	}
	return float64(right) / float64(len(test.Y)), nil
}
