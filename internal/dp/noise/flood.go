package noise

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/rng"
)

// RisingFlood is the sum over j = 1..Size of j Poisson(Rate e^(Theta j)/j). At Rate 1
// its law rises, P(c) = P(0) e^(Theta c), up to c = Size, and from there on falls: no
// number is less likely than e^-Theta times the one after it. It is infinitely
// divisible: n devices of rate 1/n draw it together.
type RisingFlood struct {
	Rate  float64 // > 0
	Theta float64 // >= 2^-40
	Size  int     // 1 to 2^24; Theta Size is at most 20
}

// Validate says what is wrong with the parameters. A flood has e^(Theta Size) clusters
// and more, which all have to be drawn.
func (d RisingFlood) Validate() error {
	if !positive(d.Rate) || !(d.Theta >= 0x1p-40) || d.Size < 1 || d.Size > 1<<24 {
		return fmt.Errorf("noise: rising flood of rate %v, theta %v and size %d: give a rate above 0, theta of at least 2^-40 and a size from 1 to 2^24", d.Rate, d.Theta, d.Size)
	}
	if d.Theta*float64(d.Size) > 20 || d.Rate > 1e9 {
		return fmt.Errorf("noise: rising flood of rate %v, theta %v and size %d: too large to draw: give theta times size up to 20 and a rate up to 1e9", d.Rate, d.Theta, d.Size)
	}
	return nil
}

// Sample draws one number. Where many are wanted that are mostly zero, use Scatter.
func (d RisingFlood) Sample(r *rand.Rand) int {
	k := 0
	d.Scatter(r, 1, func(_, size int) { k += size })
	return k
}

// Scatter draws the flood independently in each of the given number of channels: emit
// is told a channel and by how much to increase it, possibly several times for one.
//
// Clusters of size j are a Poisson number of mean channels Rate e^(Theta j)/j. They are
// thinned out of a larger number: in each block 2^b <= j <= top, top = min(2^(b+1) - 1,
// Size), all sizes are proposed alike with mean channels Rate e^(Theta top)/2^b, and
// kept with probability (2^b/j) e^(-Theta (top-j)). About 2 + Theta Size times as many
// are proposed as kept.
//
// What floats round amounts to means that are off by at most 2^-44 of themselves.
func (d RisingFlood) Scatter(r *rand.Rand, channels int, emit func(channel, size int)) {
	if err := d.Validate(); err != nil {
		panic(err.Error())
	}
	fall := rng.NewPowers(decay(d.Theta))
	for first := 1; first <= d.Size; first *= 2 {
		top := min(2*first-1, d.Size)
		sizes := top - first + 1
		mean := float64(channels) * d.Rate * math.Exp(d.Theta*float64(top)) * float64(sizes) / float64(first)
		for range (Poisson{Mean: mean}).Sample(r) {
			j := first + r.IntN(sizes)
			if r.IntN(j) < first && fall.Bernoulli(r, top-j) {
				emit(r.IntN(channels), j)
			}
		}
	}
}
