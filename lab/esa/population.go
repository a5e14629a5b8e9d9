package esa

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/seeded"
)

// Populations in the shapes of ESA, Table II, and the words of the project's own
// criterion. The paper's pictures are not public domain; these have their sizes,
// their numbers of respondents and, for the horse, their share of black.
const (
	horseLike    = "horse-like"
	mapLike      = "map-like"
	childLike    = "child-like"
	heavyHitters = "heavy-hitters"
	heavyBehind  = "heavy-hitters-behind" // whose power law goes on behind the hundred, where that of the other begins anew
	zipfWords    = "zipf-words"
)

// MadeUp returns those that need no folder.
func MadeUp() []string {
	return []string{horseLike, mapLike, childLike, heavyHitters, heavyBehind, zipfWords}
}

// Population is made up, or loaded. The seed draws the words; pictures are the same for
// every seed.
func Population(name string, seed uint64, load func(name string) (*dataset.Population, error)) (*dataset.Population, error) {
	const white, brighter = 255, 637 // 2.5 times white, which ESA scales its map by
	picture := func(rows, columns, total, white int, shade func(x, y float64) float64) *dataset.Population {
		return &dataset.Population{Name: name, Synthetic: true, Columns: columns, Most: white, Holders: expose(rows, columns, total, white, shade)}
	}
	switch name {
	case horseLike:
		return picture(274, 320, 1_914_589, white, sketchShade(274, 320, 0.15)), nil
	case childLike:
		return picture(721, 497, 50_409_435, white, portraitShade), nil
	case mapLike:
		return picture(1365, 2048, 236_559_063, brighter, cityShade()), nil
	case heavyHitters, heavyBehind:
		// A hundred heavy hitters with half of the reports, and a power law.
		first := 1
		if name == heavyBehind {
			first = 101
		}
		weights := make([]float64, 1_778_120)
		for i := range weights {
			if i < 100 {
				weights[i] = 1 / float64(i+1)
			} else {
				weights[i] = math.Pow(float64(i-100+first), -1.35)
			}
		}
		scale(weights[:100], 0.5)
		scale(weights[100:], 0.5)
		return &dataset.Population{Name: name, Synthetic: true, Holders: drawHolders(seeded.New(seed, forPopulation), weights, 203_950_512)}, nil
	case zipfWords:
		weights := make([]float64, 100_000)
		for i := range weights {
			weights[i] = math.Pow(float64(i+1), -1.1)
		}
		return &dataset.Population{Name: name, Synthetic: true, Holders: drawHolders(seeded.New(seed, forPopulation), weights, 1_000_000)}, nil
	}
	return load(name)
}

const forPopulation = 0xe5b

func scale(weights []float64, total float64) {
	sum := prob.SumOf(weights)
	for i := range weights {
		weights[i] *= total / sum
	}
}

// drawHolders is n draws of a cell by weight: a binomial of those left for each.
func drawHolders(r *rand.Rand, weights []float64, n int) []int {
	left := prob.SumOf(weights)
	holders := make([]int, len(weights))
	for i, w := range weights {
		if i == len(weights)-1 {
			holders[i] = n
			break
		}
		holders[i] = prob.DrawBinomial(r, n, math.Min(1, w/left))
		n -= holders[i]
		left -= w
	}
	return holders
}
