package esa

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/seeded"
)

// tones that a shade can have.
const tones = 1024

// expose returns a picture of a shade in [0, 1] at each point of the unit square, its
// contrast such that so many respondents are in it. Black stays black, and nothing
// else becomes it.
func expose(rows, columns, total, white int, shade func(x, y float64) float64) []int {
	shades, holders, pixels := make([]int, rows*columns), make([]int, rows*columns), [tones + 1]int{}
	for i := range shades {
		s := shade((float64(i%columns)+0.5)/float64(columns), (float64(i/columns)+0.5)/float64(rows))
		shades[i] = int(math.Ceil(s * tones))
		pixels[shades[i]]++
	}
	var levels [tones + 1]int
	develop := func(gamma float64) (sum int) {
		for tone := 1; tone <= tones; tone++ {
			levels[tone] = max(1, int(math.Round(float64(white)*math.Pow(float64(tone)/tones, gamma))))
			sum += pixels[tone] * levels[tone]
		}
		return sum
	}
	low, high := 1./64, 64. // of gamma, in which the sum falls
	for range 60 {
		if middle := math.Sqrt(low * high); develop(middle) >= total {
			low = middle
		} else {
			high = middle
		}
	}
	left := develop(low) - total
	for i, tone := range shades {
		holders[i] = levels[tone]
	}
	for i := 0; left > 0; i = (i + 7919) % len(holders) { // a prime spreads what rounding left
		if holders[i] > 1 {
			holders[i]--
			left--
		}
	}
	return holders
}

// sketchShade is contours in white on black over so large a share of the pixels.
func sketchShade(rows, columns int, share float64) func(x, y float64) float64 {
	distance := func(x, y float64) float64 {
		best := math.Inf(1)
		for i := 1; i < len(horse); i++ {
			best = math.Min(best, toSegment(x, y, horse[i-1], horse[i]))
		}
		return best
	}
	var all []float64
	for y := range rows {
		for x := range columns {
			all = append(all, distance((float64(x)+0.5)/float64(columns), (float64(y)+0.5)/float64(rows)))
		}
	}
	slices.Sort(all)
	reach := all[int(share*float64(len(all)))]
	return func(x, y float64) float64 { return math.Max(0, 1-distance(x, y)/reach) }
}

// horse is an outline, from the ear along the back.
var horse = [][2]float64{
	{0.17, 0.10}, {0.20, 0.17}, {0.27, 0.24}, {0.34, 0.33}, {0.42, 0.38}, {0.55, 0.39}, {0.68, 0.36}, {0.78, 0.38}, {0.84, 0.45}, {0.90, 0.60}, {0.92, 0.78},
	{0.88, 0.66}, {0.83, 0.55}, {0.82, 0.66}, {0.79, 0.74}, {0.80, 0.92}, {0.75, 0.92}, {0.74, 0.75}, {0.70, 0.63}, {0.58, 0.62}, {0.46, 0.63}, {0.43, 0.74},
	{0.44, 0.93}, {0.39, 0.93}, {0.38, 0.75}, {0.33, 0.60}, {0.27, 0.50}, {0.22, 0.38}, {0.17, 0.33}, {0.12, 0.38}, {0.07, 0.36}, {0.06, 0.31}, {0.11, 0.21}, {0.14, 0.16}, {0.17, 0.10},
}

func toSegment(x, y float64, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	along := math.Max(0, math.Min(1, ((x-a[0])*dx+(y-a[1])*dy)/(dx*dx+dy*dy)))
	return math.Hypot(x-a[0]-along*dx, y-a[1]-along*dy)
}

// portraitShade returns a face before a bright wall: smooth, and nowhere black.
func portraitShade(x, y float64) float64 {
	blob := func(cx, cy, rx, ry float64) float64 {
		return math.Exp(-(x-cx)*(x-cx)/(rx*rx) - (y-cy)*(y-cy)/(ry*ry))
	}
	s := 0.62 - 0.18*y + 0.06*math.Sin(9*x+4*y)
	s += 0.30*blob(0.50, 0.42, 0.22, 0.20) - 0.42*blob(0.50, 0.16, 0.26, 0.11)
	s -= 0.45*blob(0.41, 0.38, 0.04, 0.02) + 0.45*blob(0.59, 0.38, 0.04, 0.02) + 0.30*blob(0.50, 0.54, 0.08, 0.015)
	s -= 0.25 * blob(0.50, 0.90, 0.40, 0.18)
	return math.Max(0.05, math.Min(1, s))
}

// cityShade returns a city by night: streets that cross, and lights where many are.
func cityShade() func(x, y float64) float64 {
	const forLights = 0xe5c
	r := seeded.New(1, forLights)
	lights := make([][3]float64, 60)
	for i := range lights {
		lights[i] = [3]float64{0.5 + 0.18*r.NormFloat64(), 0.5 + 0.2*r.NormFloat64(), 0.01 + 0.04*r.Float64()}
	}
	street := func(at, width float64) float64 {
		at -= math.Floor(at)
		return math.Exp(-math.Min(at, 1-at) / width)
	}
	return func(x, y float64) float64 {
		s := 0.4*street(24*x+2*y, 0.05) + 0.4*street(16*y-2*x, 0.05) + 0.7*street(5*x+y+0.3, 0.02) + 0.7*street(4*y-x, 0.02)
		if s < 0.029 { // black, however near the lights are
			return 0
		}
		near := 0.
		for _, l := range lights {
			if near += math.Exp(-math.Hypot(x-l[0], y-l[1]) / l[2]); near >= 1 {
				break
			}
		}
		if s = math.Min(1, s) * (0.15 + 0.85*math.Min(1, near)); s < 0.03 {
			return 0
		}
		return s
	}
}
