package esa

import (
	"maps"
	"math"
	"slices"
)

// Picture is how many cells have each number of holders.
type Picture map[int]float64

// Clipped returns the root mean square error of estimates with normal noise of a deviation that are taken into [0, white].
func (p Picture) Clipped(sigma, white float64) float64 {
	squares, cells := 0.0, 0.0
	for _, f := range slices.Sorted(maps.Keys(p)) { // in one order, for the same last digit
		x, n := float64(f), p[f]
		// The estimate less x is z sigma within (low, high), and an end of the interval beyond.
		low, high := -x/sigma, (white-x)/sigma
		beyond := x*x*below(low) + (white-x)*(white-x)*below(-high)
		within := below(high) - below(low) + low*bell(low) - high*bell(high)
		squares, cells = squares+n*(beyond+sigma*sigma*within), cells+n
	}
	return math.Sqrt(squares / cells)
}

// below and bell are the standard normal's probability below z and its density.
func below(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
func bell(z float64) float64  { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }

// Floor returns the error that taking counts to white leaves without any noise.
func (p Picture) Floor(white float64) float64 {
	squares, cells := 0.0, 0.0
	for _, f := range slices.Sorted(maps.Keys(p)) {
		squares, cells = squares+p[f]*math.Pow(max(0, float64(f)-white), 2), cells+p[f]
	}
	return math.Sqrt(squares / cells)
}

// OneHotNoise returns the deviation of a count of n respondents who flip each bit at a local epsilon of removal.
func OneHotNoise(n int, epsilon float64) float64 {
	p := 1 / (1 + math.Exp(epsilon))
	return math.Sqrt(float64(n)*p*(1-p)) / (1 - 2*p)
}

// Sketch returns a picture of the Horse's size of which a share is bright, from black to white, its contrast such that there are
// as many respondents.
func Sketch(bright float64) Picture {
	const rows, columns, total, white = 274, 320, 1_914_589, 255
	of := expose(rows, columns, total, white, func(x, y float64) float64 {
		at := (math.Floor(y*rows)*columns + math.Floor(x*columns)) / (rows * columns)
		return max(0, 1-at/bright)
	})
	return counts(of)
}

// Lights returns a picture of the Map's size and number of respondents whose counts have a Weibull law of a shape, up to 637.
func Lights(shape float64) Picture {
	const cells, respondents, brighter, parts = 2_795_520.0, 236_559_063.0, 637.0, 4000
	at := func(scale float64) (all []float64, sum float64) {
		for i := range parts {
			x := min(brighter, scale*math.Pow(-math.Log1p(-(float64(i)+0.5)/parts), 1/shape))
			all, sum = append(all, x), sum+x
		}
		return all, sum
	}
	low, high := 1e-3, 1e5
	for range 60 {
		middle := math.Sqrt(low * high)
		if _, sum := at(middle); sum*cells > respondents*parts {
			high = middle
		} else {
			low = middle
		}
	}
	p := Picture{}
	all, _ := at(low)
	for _, x := range all {
		p[int(math.Round(x))] += cells / parts
	}
	return p
}

// Collisions returns the deviation of an estimate by ESA's sketch without any noise: by chance a share of all others, and of each
// single value, falls into a cell's own in one of the hash functions.
func Collisions(holders []int) float64 {
	respondents, squares := 0.0, 0.0
	for _, f := range holders {
		respondents, squares = respondents+float64(f), squares+float64(f)*float64(f)
	}
	return math.Sqrt(respondents/width + squares/(hashes*width))
}

func counts(holders []int) Picture {
	p := Picture{}
	for _, f := range holders {
		p[f]++
	}
	return p
}
