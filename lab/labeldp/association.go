package labeldp

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// LabelAssociation returns how well counts with noise at epsilon tell which of the classes occur in
// clusters of so many examples, each of another class (LDC, Definition 2): a label is said to occur
// where its noisy count is at least threshold. Both are exact.
func LabelAssociation(classes, size int, epsilon float64, threshold int) (precision, recall float64, err error) {
	if size < 1 || size >= classes || !(epsilon > 0) {
		return 0, 0, fmt.Errorf("labeldp: clusters of %d examples of %d classes at epsilon %v: give fewer examples than classes, and a positive epsilon", size, classes, epsilon)
	}
	d := noise.DiscreteLaplace{Decay: epsilon / 2}
	atLeast := func(z int) float64 { // P(noise >= z)
		if z <= 0 {
			return 1 - math.Exp(-d.Decay*float64(1-z))/(1+math.Exp(-d.Decay))
		}
		return math.Exp(-d.Decay*float64(z)) / (1 + math.Exp(-d.Decay))
	}
	recall = atLeast(threshold - 1)
	there, not := float64(size)*recall, float64(classes-size)*atLeast(threshold)
	return there / (there + not), recall, nil
}

// LabelAssociationBound returns what precision times recall is at most for any mechanism with label
// epsilon (LDC, Theorem 5).
func LabelAssociationBound(classes, size int, epsilon float64) float64 {
	return math.Exp(epsilon) * float64(size) / float64(classes-size)
}
