package labeldp

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Prior is randomized response among the labels that a public model expects (Ghazi, Golowich,
// Kumar, Manurangsi and Zhang 2021, RRWithPrior): the second stage of LP-2ST. A device can do
// it alone, since the model and the features are public.
type Prior struct {
	Epsilon float64 // local, in (0, randomize.MaxEpsilon]
	// Kept are the labels that are expected most, most first. Any other label is answered by a
	// uniform one of them.
	Kept []int
}

// Expect keeps the number of labels with which the report is most often the true label, if
// labels are as likely as the model says.
func Expect(expected []float32, epsilon float64) (Prior, error) {
	p := Prior{Epsilon: epsilon, Kept: make([]int, len(expected))}
	if !(epsilon > 0 && epsilon <= randomize.MaxEpsilon) || len(expected) < 2 {
		return p, fmt.Errorf("labeldp: epsilon %v, %d labels: give a number above 0 and at most %d, and two labels", epsilon, len(expected), randomize.MaxEpsilon)
	}
	for y := range p.Kept {
		p.Kept[y] = y
	}
	slices.SortStableFunc(p.Kept, func(a, b int) int { return cmp.Compare(expected[b], expected[a]) })
	best, keep, sum := 0.0, 1, 0.0
	for k, y := range p.Kept {
		sum += float64(expected[y])
		if right := sum * math.Exp(epsilon) / (math.Exp(epsilon) + float64(k)); right > best {
			best, keep = right, k+1
		}
	}
	p.Kept = p.Kept[:keep]
	return p, nil
}

// Randomize returns the report of a device with label y.
func (p Prior) Randomize(r *rand.Rand, y int) int {
	k, at := len(p.Kept), slices.Index(p.Kept, y)
	switch {
	case k == 1:
		return p.Kept[0]
	case at < 0:
		return p.Kept[r.IntN(k)]
	}
	return p.Kept[randomize.KRR{K: k, Epsilon: p.Epsilon}.Randomize(r, at)]
}

// Law returns the probability of a report from a device with label y.
func (p Prior) Law(y, report int) float64 {
	k := len(p.Kept)
	switch {
	case !slices.Contains(p.Kept, report):
		return 0
	case !slices.Contains(p.Kept, y):
		return 1 / float64(k)
	case y == report:
		return math.Exp(p.Epsilon) / (math.Exp(p.Epsilon) + float64(k-1))
	}
	return 1 / (math.Exp(p.Epsilon) + float64(k-1))
}
