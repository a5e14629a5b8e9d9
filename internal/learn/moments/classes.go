package moments

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
)

// ClassSums returns the classifier by the sum of the class messages of a shape: the score of class k
// is c_k times the sum times the features, which is the nearest mean where classes are of one
// size.
func ClassSums(s features.Shape, sum []float64) (Linear, error) {
	if len(sum) != s.ClassLen() {
		return Linear{}, fmt.Errorf("moments: class sums of %d numbers, want %d", len(sum), s.ClassLen())
	}
	l := Linear{Weights: mat.NewDense(s.Dimension, s.Classes, nil), Offset: make([]float64, s.Classes)}
	for class := range s.Classes {
		for k, c := range s.Code(class) {
			for i := range s.Dimension {
				l.Weights.Set(i, class, l.Weights.At(i, class)+c*sum[k*s.Dimension+i])
			}
		}
	}
	return l, nil
}
