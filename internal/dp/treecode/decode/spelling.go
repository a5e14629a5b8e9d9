package decode

import (
	"cmp"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/treecode"
)

// spelling returns the log of how likely each symbol is beside its context, from sums of pairs (times
// scale they are counts) with a deviation: of a place as far as its cells stand out, backed by
// all places together, backed by all symbols alike. Those of one context sum to one.
func spelling(d *treecode.Code, sums []float64, scale, deviation float64) []float32 {
	a, length := d.Symbols(), d.Length()
	kinds := 1
	if d.Alphabet == "" {
		kinds = 2 // a high half is told beside another, and a low half beside its own high one
	}
	pooled := make([]float64, kinds*a*a)
	for i := range pooled {
		kind, pair := i/(a*a), i%(a*a)
		total, places := 0.0, 0.0
		for at := kind; at < length; at += kinds {
			total += scale * sums[at*a*a+pair]
			places++
		}
		pooled[i] = math.Max(0, total-cut*deviation*math.Sqrt(places))
	}
	all, alike := float64(a), 1/float64(a)
	weakPool, weakPlace := 0.3*all*deviation*math.Sqrt(float64(length)), 0.5*all*deviation
	out := make([]float32, length*a*a)
	here := make([]float64, a)
	for at := range length {
		for context := range a {
			row := at*a*a + context*a
			pool := pooled[(at%kinds)*a*a+context*a:][:a]
			inPool, inPlace := 0.0, 0.0
			for s := range a {
				here[s] = math.Max(0, scale*sums[row+s]-cut*deviation)
				inPool += pool[s]
				inPlace += here[s]
			}
			for s := range a {
				p := (pool[s] + weakPool*alike) / (inPool + weakPool)
				p = (here[s] + weakPlace*p) / (inPlace + weakPlace)
				out[row+s] = float32(math.Log((1-uniform)*p + uniform*alike))
			}
		}
	}
	return out
}

// likeliest returns the symbols of each context, of so many, the likeliest first.
func likeliest(prior []float32, symbols int) []uint8 {
	out := make([]uint8, len(prior))
	for at := 0; at < len(prior); at += symbols {
		row := out[at : at+symbols]
		for i := range row {
			row[i] = uint8(i)
		}
		slices.SortFunc(row, func(x, y uint8) int { return cmp.Compare(prior[at+int(y)], prior[at+int(x)]) })
	}
	return out
}

// priors returns, for each number of symbols from none on, the log of the two priors of what a string begins with:
// all symbols alike, and as strings are spelt (-Inf where that is not known). The end counts as a symbol.
func (d *decoder) priors(symbols []uint8) (alike, spelt []float64) {
	each := -math.Log(float64(d.Symbols()))
	alike, spelt = make([]float64, d.Length()+1), make([]float64, d.Length()+1)
	for at := range d.Length() {
		alike[at+1], spelt[at+1] = alike[at], spelt[at]
		symbol := uint8(0)
		if at < len(symbols) {
			symbol = symbols[at]
		} else if at > len(symbols) {
			continue
		}
		alike[at+1] += each
		if d.prior == nil {
			spelt[at+1] = math.Inf(-1)
		} else {
			spelt[at+1] += float64(d.prior[d.Pair(at, d.Context(symbols, at), symbol)])
		}
	}
	return alike, spelt
}

// goesOn returns the log of the prior of what follows the first symbols of a string, given these: half of the larger
// of the two, so that those of all that may follow sum to at most one.
func goesOn(alike, spelt []float64, from int) float64 {
	last := len(alike) - 1
	larger := alike[last] - alike[from]
	if !math.IsInf(spelt[last], -1) {
		larger = math.Max(larger, spelt[last]-spelt[from])
	}
	return larger - math.Ln2
}
