package decode

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
)

// needed returns the normal point whose upper tail is that of a log probability, at least -40.
func needed(log float64) float64 { return -prob.NormalLogQuantile(math.Min(log, math.Log(0.5))) }

// bucket reads a bucket: the strings of it that pass, fitted together. It walks again after each that it takes.
func (d *decoder) bucket(b *beam, c *checks, bucket int) (found []*Found) {
	sums := d.sums[bucket*d.size : (bucket+1)*d.size]
	left, width := slices.Clone(sums), beamWidth
	freedom := float64(d.Positions() * (d.Cells - 1))
	unrest := func(left []float32) float64 { // deviations by which what is left has more energy than noise
		return (energy(left)/(freedom*d.deviation*d.deviation) - 1) / math.Sqrt(2/freedom)
	}
	for {
		taken := d.next(b, c, sums, left, found, bucket, width)
		switch {
		case taken != nil && width < confirmWidth:
			width = confirmWidth // nothing is taken from a narrow beam
		case taken != nil:
			found = append(found, taken)
			left = d.refit(sums, found, 0, d.Positions())
		case width < confirmWidth && unrest(left) > uneasy:
			width = confirmWidth
		case width < widest && unrest(left) > restless:
			width = widest
		default:
			found, left = d.dropped(sums, found)
			if bucket == d.reserved.bucket {
				found = d.countReserved(sums, found)
			}
			copy(sums, left)
			return found
		}
	}
}

// countReserved counts the reserved string beside those that were found in its bucket, and leaves it out of these. It is known
// beforehand, so that it needs no check, and its count is not one that is seen only where it passed.
func (d *decoder) countReserved(sums []float32, found []*Found) []*Found {
	found = slices.DeleteFunc(found, func(f *Found) bool { return len(f.symbols) == 0 })
	fitted := []*Found{d.reserved}
	for _, f := range found {
		beside := *f // what was found keeps its count
		fitted = append(fitted, &beside)
	}
	d.refit(sums, fitted, 0, d.Positions())
	return found
}

func energy(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// next returns the first candidate that passes beside those found; nil: none.
func (d *decoder) next(b *beam, c *checks, sums, left []float32, found []*Found, bucket, width int) *Found {
	tried, body := 0, d.Positions()-d.Tail
	for _, likely := range b.walk(left, bucket, width) {
		if tried == tries {
			break
		}
		symbols := likely.symbols
		text, ok := d.Decode(symbols)
		if !ok && len(symbols) > 0 || slices.ContainsFunc(found, func(f *Found) bool { return slices.Equal(f.symbols, symbols) }) {
			continue
		}
		tried++
		f := &Found{Text: text, bucket: bucket, symbols: symbols, tail: float64(d.Tail) / float64(d.Positions())}
		_, f.cells = d.Word(symbols)
		alike, spelt := d.priors(symbols)
		f.z = needed(goesOn(alike, spelt, 0) + d.share)
		needs := d.needs(d.refit(sums, append(slices.Clone(found), f), 0, body), f, alike, spelt)
		deviation := f.Count.StdErr * math.Sqrt(float64(body)/float64(d.Tail))
		if needs < beyond*deviation && d.check(c, left, f, needs) {
			return f
		}
	}
	return nil
}

// refit fits strings to some positions of their bucket together, by least squares, and returns what is left of all. A residual
// above the noise widens the errors.
func (d *decoder) refit(sums []float32, found []*Found, from, to int) (left []float32) {
	n, positions, q := len(found), float64(to-from), float64(d.Cells)
	products, right := make([][]float64, n), make([]float64, n)
	for i, f := range found {
		products[i] = make([]float64, n)
		for k, g := range found {
			alike := 0.0
			for at := from; at < to; at++ {
				if f.cells[at] == g.cells[at] {
					alike++
				}
			}
			products[i][k] = alike/positions - 1/q
		}
		for at := from; at < to; at++ {
			right[i] += float64(sums[at*d.Cells+int(f.cells[at])]) / positions
		}
	}
	inverse := inverted(products)
	left = slices.Clone(sums)
	counts := make([]float64, n)
	for i, f := range found {
		for k := range right {
			counts[i] += inverse[i][k] * right[k] * d.roots
		}
		each := float32(counts[i] / d.roots)
		for at, cell := range f.cells {
			row := left[at*d.Cells : (at+1)*d.Cells]
			for k := range row {
				row[k] += each / float32(q)
			}
			row[cell] -= each
		}
	}
	freedom := positions*(q-1) - float64(n)
	inflation := math.Max(1, energy(left[from*d.Cells:to*d.Cells])/freedom/(d.deviation*d.deviation)/(1+math.Sqrt(2/freedom)))
	for i, f := range found {
		f.Count.Mean, f.Count.StdErr = counts[i], d.deviation*math.Sqrt(inflation*inverse[i][i]/positions)*d.roots
		f.Needed = f.z * f.Count.StdErr
	}
	return left
}

// inverted returns the inverse of a symmetric matrix.
func inverted(m [][]float64) [][]float64 {
	n := len(m)
	a := make([][]float64, n)
	for i := range a {
		a[i] = append(slices.Clone(m[i]), make([]float64, n)...)
		a[i][n+i] = 1
		a[i][i] += 1e-9
	}
	for i := range a {
		by := a[i][i]
		for k := range a[i] {
			a[i][k] /= by
		}
		for r := range a {
			if of := a[r][i]; r != i && of != 0 {
				for k := range a[r] {
					a[r][k] -= of * a[i][k]
				}
			}
		}
	}
	for i := range a {
		a[i] = a[i][n:]
	}
	return a
}

// says returns the count by the positions of a string from one on alone.
func (d *decoder) says(left []float32, f *Found, from int) float64 {
	sum := 0.0
	for at := from; at < d.Positions(); at++ {
		sum += float64(left[at*d.Cells+int(f.cells[at])])
	}
	return f.Count.Mean + sum*d.roots/float64(d.Positions()-from)/d.centred
}

// dropped leaves out those that no longer stand out as a whole beside the others, the weakest first, and returns what is
// left of the sums.
func (d *decoder) dropped(sums []float32, found []*Found) (stay []*Found, left []float32) {
	left = slices.Clone(sums)
	for len(found) > 0 {
		left = d.refit(sums, found, 0, d.Positions())
		weakest, short := -1, 0.0
		for i, f := range found {
			if by := f.z - f.Count.Mean/f.Count.StdErr; by > short {
				weakest, short = i, by
			}
		}
		if weakest < 0 {
			for _, f := range found {
				f.after = f.after[:0]
				for symbols := 1; symbols <= len(f.symbols); symbols++ {
					from := symbols * d.Hashes
					f.after = append(f.after, estimate.Value{
						Mean: d.says(left, f, from), StdErr: f.Count.StdErr * math.Sqrt(float64(d.Positions())/float64(d.Positions()-from)),
					})
				}
			}
			break
		}
		found, left = slices.Delete(found, weakest, weakest+1), slices.Clone(sums)
	}
	return found, left
}
