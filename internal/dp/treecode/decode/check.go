package decode

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

const (
	steps  = 2048 // of the law of what a tail says
	barely = 1.65 // deviations by which 19 of 20 tails pass, of strings that only just stand out
	mostly = 0.6  // share of what other positions say that nearly all tails say; half of a tail is met by chance too often
	nearly = 3.0  // deviations by which nearly all tails say less than the other positions
	beyond = 4.0  // deviations of its tail from which a candidate is not checked: it needs more
)

// checks remembers what a bucket's tail was asked, and what that may let pass. Each string is asked of once: the first answer
// stands, whoever is found later.
type checks struct {
	asked map[string]answer
	level float64 // by which the number of false ones that pass is bounded, in expectation
}

// answer says whether a tail passed, and the count from which it passes.
type answer struct {
	passes bool
	from   float64
}

// check says whether the positions of the whole string carry what it needs of them. They have no part in choosing it: until
// here nothing has read their cells. A string that nobody holds has cells that are drawn at random, so that it passes with a
// probability of at most what is added to the level. Less is added where a string has to stand out more, as an unlikely spelling does:
// its tail then tells more.
func (d *decoder) check(c *checks, left []float32, f *Found, needs float64) bool {
	key := string(f.symbols)
	if before, known := c.asked[key]; known {
		f.checked = before.from
		return before.passes
	}
	first := d.Positions() - d.Tail
	sum := 0.0
	for at := first; at < d.Positions(); at++ {
		sum += float64(left[at*d.Cells+int(f.cells[at])])
	}
	law := d.chance(left[first*d.Cells:])
	scale := float64(d.Tail) * d.centred / d.roots // of a count
	level := math.Min(d.level, math.Exp(prob.LogNormalSurvival(f.z*math.Sqrt(f.tail)-barely)))
	from := law.quantile(level) / scale
	level = math.Min(level, law.atLeast(needs*scale))
	level = math.Min(level, law.atLeast(d.expects(f)*scale))
	c.level += level
	says := answer{law.atLeast(sum) <= level, from}
	c.asked[key], f.checked = says, says.from
	return says.passes
}

// needs returns the count that the tail of a candidate has to say, given what all other positions say: so that the whole passes,
// and what follows each of its beginnings. left is what the fit of these positions leaves.
func (d *decoder) needs(left []float32, f *Found, alike, spelt []float64) float64 {
	body := d.Positions() - d.Tail
	most := math.Inf(-1)
	for symbols := 0; symbols <= len(f.symbols); symbols++ {
		from := symbols * d.Hashes
		says := f.Count.Mean * float64(body-from)
		for at := from; at < body; at++ {
			says += float64(left[at*d.Cells+int(f.cells[at])]) * d.roots / d.centred
		}
		z := needed(goesOn(alike, spelt, symbols) + d.share)
		all := float64(d.Positions() - from)
		most = math.Max(most, (z*f.Count.StdErr*math.Sqrt(float64(body)*all)-says)/float64(d.Tail))
	}
	return most
}

// expects returns the count that nearly all tails say at least of strings of which the other positions say so much: most
// of that, or some errors less. Another in the bucket that was not found yet may take from a tail, but seldom so much.
func (d *decoder) expects(f *Found) float64 {
	body := float64(d.Positions() - d.Tail)
	apart := f.Count.StdErr * math.Sqrt(1+body/float64(d.Tail))
	return math.Min(mostly*f.Count.Mean, f.Count.Mean-nearly*apart)
}

// chance is the law of the sum of one cell of each position, drawn at random as hashes name them. Steps are rounded so that no
// probability is too small.
type chance struct {
	low, step float64
	tails     []float64 // the probability of at least low + i step
}

func (d *decoder) chance(tail []float32) (c chance) {
	weights := make([]float64, d.Cells) // of 256 values of a byte
	for b := range uint64(256) {
		weights[d.Cell(b, 0)] += 1.0 / 256
	}
	spread := 0.0
	lows := make([]float64, 0, d.Tail)
	for at := 0; at < len(tail); at += d.Cells {
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range tail[at : at+d.Cells] {
			low, high = math.Min(low, float64(x)), math.Max(high, float64(x))
		}
		lows = append(lows, low)
		c.low += low
		spread += high - low
	}
	c.step = math.Max(spread/steps, math.SmallestNonzeroFloat32)
	c.tails = make([]float64, steps+len(lows)+2)
	c.tails[0] = 1
	next, top := make([]float64, len(c.tails)), 0
	for i, low := range lows {
		clear(next)
		highest := 0
		for cell, x := range tail[i*d.Cells : (i+1)*d.Cells] {
			up := int(math.Ceil((float64(x) - low) / c.step))
			highest = max(highest, up)
			for at, p := range c.tails[:top+1] {
				next[at+up] += p * weights[cell]
			}
		}
		c.tails, next, top = next, c.tails, top+highest
	}
	for i := len(c.tails) - 2; i >= 0; i-- {
		c.tails[i] += c.tails[i+1]
	}
	return c
}

// atLeast returns the probability of a sum, or more, rounded up.
func (c chance) atLeast(sum float64) float64 {
	const rounding = 1e-6 // of a step
	at := math.Floor((sum-c.low)/c.step - rounding)
	switch {
	case at <= 0:
		return 1
	case at >= float64(len(c.tails)):
		return 0
	}
	return math.Min(1, c.tails[int(at)])
}

// quantile returns the least sum that has at most a probability.
func (c chance) quantile(p float64) float64 {
	for i, tail := range c.tails {
		if tail <= p {
			return c.low + float64(i)*c.step
		}
	}
	return math.Inf(1)
}
