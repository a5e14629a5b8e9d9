package decode

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/prob"
)

// needed returns the normal point whose upper tail is that of a log probability, at least -40.
func needed(log float64) float64 { return -prob.NormalLogQuantile(math.Min(log, math.Log(0.5))) }

// bucket reads a bucket: the strings of it that pass, fitted together. It walks again after each that it takes, and may try
// a string in as many fits as it takes strings, and one more.
func (d *decoder) bucket(b *beam, bucket int) []*Found {
	sums := d.sums[bucket*d.size : (bucket+1)*d.size]
	var found []*Found
	left, width := slices.Clone(sums), beamWidth
	freedom := float64(d.Positions() * (d.Cells - 1))
	for {
		taken := d.next(b, sums, left, found, bucket, width)
		switch {
		case taken != nil && width < confirmWidth:
			width = confirmWidth // nothing is taken from a narrow beam
		case taken != nil:
			found = append(found, taken)
			left, _ = d.refit(sums, found)
		case energy(left)/(freedom*d.deviation*d.deviation) > 1+restless*math.Sqrt(2/freedom) && width < widest:
			width = min(4*width, widest)
		default:
			found, left = d.dropped(sums, found)
			copy(sums, left)
			return found
		}
	}
}

func energy(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// next returns the first candidate that passes beside those found; nil: none.
func (d *decoder) next(b *beam, sums, left []float32, found []*Found, bucket, width int) *Found {
	tried := 0
	for _, c := range b.walk(left, bucket, width) {
		if tried == tries {
			break
		}
		text, ok := d.Decode(c.symbols)
		if !ok && len(c.symbols) > 0 || slices.ContainsFunc(found, func(f *Found) bool { return slices.Equal(f.symbols, c.symbols) }) {
			continue
		}
		tried++
		f := &Found{Text: text, bucket: bucket, symbols: c.symbols}
		_, f.cells = d.Word(c.symbols)
		alike, spelt := d.priors(c.symbols)
		f.logPrior = goesOn(alike, spelt, 0)
		f.z = needed(f.logPrior + d.share)
		rest, _ := d.refit(sums, append(slices.Clone(found), f))
		if f.Count.Mean > f.Needed && d.tail(rest, f) && d.cuts(rest, f, alike, spelt) {
			return f
		}
	}
	return nil
}

// refit fits strings to the sums of their bucket together, by least squares, and returns what is left. A residual
// above the noise widens the errors.
func (d *decoder) refit(sums []float32, found []*Found) (left []float32, inflation float64) {
	n, j, q := len(found), float64(d.Positions()), float64(d.Cells)
	products, right := make([][]float64, n), make([]float64, n)
	for i, f := range found {
		products[i] = make([]float64, n)
		for k, g := range found {
			alike := 0.0
			for at := range f.cells {
				if f.cells[at] == g.cells[at] {
					alike++
				}
			}
			products[i][k] = alike/j - 1/q
		}
		for at, cell := range f.cells {
			right[i] += float64(sums[at*d.Cells+int(cell)]) / d.roots
		}
	}
	inverse := inverted(products)
	left = slices.Clone(sums)
	counts := make([]float64, n)
	for i, f := range found {
		for k := range right {
			counts[i] += inverse[i][k] * right[k]
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
	freedom := j*(q-1) - float64(n)
	inflation = math.Max(1, energy(left)/freedom/(d.deviation*d.deviation)/(1+math.Sqrt(2/freedom)))
	for i, f := range found {
		f.Count.Mean, f.Count.StdErr = counts[i], d.deviation*math.Sqrt(inflation*inverse[i][i])
		f.Needed = f.z * f.Count.StdErr
	}
	return left, inflation
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

// beyond returns what cells of a string have beyond its count, as counts, from a position on.
func (d *decoder) beyond(left []float32, f *Found, from int) float64 {
	sum := 0.0
	for at := from; at < d.Positions(); at++ {
		sum += float64(left[at*d.Cells+int(f.cells[at])])
	}
	return sum * d.roots / float64(d.Positions()-from) / d.centred
}

// tail says that the positions of the whole string carry its count, or at least half of it: a wrong path
// fits everywhere else.
func (d *decoder) tail(left []float32, f *Found) bool {
	more := d.beyond(left, f, d.Positions()-d.Tail)
	return more >= -f.Count.Mean/2 || more > -tailAgrees*f.Count.StdErr*math.Sqrt(float64(d.Positions())/float64(d.Tail))
}

// cuts says that what follows each beginning of the string passes by itself: others of the bucket may share the
// beginning, and lend it their people.
func (d *decoder) cuts(left []float32, f *Found, alike, spelt []float64) bool {
	for symbols := 1; symbols <= len(f.symbols); symbols++ {
		from := symbols * d.Hashes
		said := float64(d.Positions()) / float64(d.Positions()-from)
		z := (f.Count.Mean + d.beyond(left, f, from)) / (f.Count.StdErr * math.Sqrt(said))
		if z < needed(goesOn(alike, spelt, symbols)+d.share) {
			return false
		}
	}
	return true
}

// dropped leaves out those that no longer pass the first test beside the others, the weakest first, and returns what is
// left of the sums. It asks no other test again.
func (d *decoder) dropped(sums []float32, found []*Found) (stay []*Found, left []float32) {
	left = slices.Clone(sums)
	for len(found) > 0 {
		left, _ = d.refit(sums, found)
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
						Mean: f.Count.Mean + d.beyond(left, f, from), StdErr: f.Count.StdErr * math.Sqrt(float64(d.Positions())/float64(d.Positions()-from)),
					})
				}
			}
			break
		}
		found, left = slices.Delete(found, weakest, weakest+1), slices.Clone(sums)
	}
	return found, left
}
