package tables

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Guess is the likeliest table of a pair: noise that has no structure is taken out, and no count is below zero. It is
// biased, and has no error of its own.
type Guess struct {
	Table []float64 // row by row; they sum to the number of respondents
	// Association is Cramer's V, from 0 (neither tells of the other) to 1; 0 where nothing is told from noise.
	Association float64
	// Information is what one tells of the other, in nats.
	Information float64
}

// Guess returns that of a pair, a before b.
func (s *Sums) Guess(a, b int) Guess { return s.guess()[s.Pair(a, b)] }

// best takes noise out of all pairs. It keeps the stronger singular values of what independence leaves of each, or
// scales each as a whole: whichever has the smaller estimated risk over all pairs.
func (s *Sums) best() []Guess {
	bases, spectral, whole := make([][]float64, s.Code.Pairs()), make([][]float64, s.Code.Pairs()), make([][]float64, s.Code.Pairs())
	told := make([]bool, s.Code.Pairs())
	risk := 0.0 // of the first less that of the second
	for a, b := range s.Pairs {
		at, noise := s.Pair(a, b), s.Error/s.Code.PairWeight(a, b)
		bases[at] = s.independent(a, b)
		left := s.two(a, b)
		for i, x := range bases[at] {
			left[i] -= x
		}
		told[at] = dot(left, left) > noise*noise*chiSquared(float64(len(left)), surely/float64(s.Code.Pairs()))
		var r1, r2 float64
		spectral[at], r1 = shrinkSpectrum(left, s.Code.Sizes[b]-1, noise)
		whole[at], r2 = shrinkWhole(left, noise)
		risk += r1 - r2
	}
	kept := spectral
	if risk > 0 {
		kept = whole
	}
	out := make([]Guess, len(kept))
	for a, b := range s.Pairs {
		at := s.Pair(a, b)
		for i, x := range kept[at] {
			bases[at][i] += x
		}
		g := Guess{Table: Nearest(s.table(a, b, bases[at]), float64(s.Respondents))}
		if told[at] {
			g.Association, g.Information = associated(g.Table, s.Code.Sizes[b])
		}
		out[at] = g
	}
	return out
}

// surely is how seldom, in releases whose columns tell nothing of each other, some two are said to.
const surely = 0.05

// chiSquared returns the number that a sum of so many squared normals exceeds with a probability, nearly (Wilson and
// Hilferty).
func chiSquared(n, tail float64) float64 {
	return n * math.Pow(1-2/(9*n)-prob.NormalQuantile(tail)*math.Sqrt(2/(9*n)), 3)
}

// independent returns the products that a pair would sum to whose columns tell nothing of each other.
func (s *Sums) independent(a, b int) []float64 {
	x, y := s.one(a), s.one(b)
	out := make([]float64, 0, len(x)*len(y))
	for _, v := range x {
		for _, w := range y {
			out = append(out, v*w/float64(s.Respondents))
		}
	}
	return out
}

// shrinkWhole scales a matrix with noise of that deviation in each number (James and Stein), and estimates its risk.
func shrinkWhole(m []float64, noise float64) (out []float64, risk float64) {
	energy, unit := dot(m, m), noise*noise
	n := float64(len(m))
	if keep := 1 - n*unit/energy; energy > 0 && keep > 0 {
		return scaled(m, keep), n*unit + n*n*unit*unit/energy - 2*n*(n-2)*unit*unit/energy
	}
	return make([]float64, len(m)), energy - n*unit
}

// shrinkSpectrum shrinks the singular values of a matrix of so many columns with noise of that deviation in each number,
// as costs least by squared error where the matrix is large (Gavish and Donoho), and estimates its risk (Stein).
func shrinkSpectrum(m []float64, columns int, noise float64) (out []float64, risk float64) {
	rows := len(m) / columns
	if noise <= 0 {
		return slices.Clone(m), 0
	}
	u, values := decompose(m, rows, columns)
	p, q := float64(min(rows, columns)), float64(max(rows, columns))
	shrink := func(y float64) (x, slope float64) {
		z := y / (noise * math.Sqrt(q))
		if z <= 1+math.Sqrt(p/q) {
			return 0, 0
		}
		inner := z*z - p/q - 1
		root := math.Sqrt(inner*inner - 4*p/q)
		return root / z * noise * math.Sqrt(q), 2*inner/root - root/(z*z)
	}
	kept := make([]float64, len(values))
	unit := noise * noise
	risk = -p * q * unit
	divergence := 0.0
	for i, y := range values {
		x, slope := shrink(y)
		if y > 0 {
			kept[i] = x / y
			divergence += slope + (q-p)*x/y
		}
		risk += (y - x) * (y - x)
		for _, w := range values {
			if y*y-w*w > 1e-9*y*y {
				z, _ := shrink(w)
				divergence += 2 * (y*x - w*z) / (y*y - w*w)
			}
		}
	}
	risk += 2 * unit * divergence
	// The matrix times its kept directions: sum over i of kept_i u_i (u_i^T m).
	out = make([]float64, len(m))
	for i, k := range kept {
		if k == 0 {
			continue
		}
		for y := range columns {
			along := 0.0
			for x := range rows {
				along += u[i][x] * m[x*columns+y]
			}
			for x := range rows {
				out[x*columns+y] += k * u[i][x] * along
			}
		}
	}
	return out, risk
}

// decompose returns as many left singular vectors of a matrix as it has rows or columns, whichever are fewer, and their
// values, by Jacobi's rotations of the rows of its shorter side.
func decompose(m []float64, rows, columns int) (left [][]float64, values []float64) {
	if rows > columns { // the other side is turned instead: u = m v / value
		turned := make([]float64, len(m))
		for x := range rows {
			for y := range columns {
				turned[y*rows+x] = m[x*columns+y]
			}
		}
		right, values := decompose(turned, columns, rows)
		left = make([][]float64, columns)
		for i := range left {
			left[i] = make([]float64, rows)
			for x := range rows {
				if values[i] > 0 {
					left[i][x] = dot(m[x*columns:(x+1)*columns], right[i]) / values[i]
				}
			}
		}
		return left, values
	}
	a, u := make([][]float64, rows), make([][]float64, rows)
	for i := range a {
		a[i], u[i] = slices.Clone(m[i*columns:(i+1)*columns]), make([]float64, rows)
		u[i][i] = 1
	}
	for sweep, moved := 0, true; moved && sweep < 60; sweep++ {
		moved = false
		for i := range rows {
			for j := range i {
				x, y, z := dot(a[i], a[i]), dot(a[j], a[j]), dot(a[i], a[j])
				if math.Abs(z) <= 1e-13*math.Sqrt(x*y) {
					continue
				}
				moved = true
				t := (y - x) / (2 * z)
				t = math.Copysign(1, t) / (math.Abs(t) + math.Hypot(1, t))
				c := 1 / math.Hypot(1, t)
				turn(a[i], a[j], c, t*c)
				turn(u[i], u[j], c, t*c)
			}
		}
	}
	values = make([]float64, rows)
	for i := range a {
		values[i] = math.Sqrt(dot(a[i], a[i]))
	}
	return u, values
}

// turn rotates two rows.
func turn(x, y []float64, c, s float64) {
	for k := range x {
		x[k], y[k] = c*x[k]-s*y[k], s*x[k]+c*y[k]
	}
}

// Nearest returns the nearest counts, by squared distance, that are not below zero and sum to n.
func Nearest(t []float64, n float64) []float64 {
	sorted := slices.Clone(t)
	slices.Sort(sorted)
	slices.Reverse(sorted)
	sum, off := -n, 0.0
	for i, x := range sorted {
		sum += x
		if at := sum / float64(i+1); x > at {
			off = at
		}
	}
	out := make([]float64, len(t))
	for i, x := range t {
		out[i] = max(0, x-off)
	}
	return out
}

// associated returns Cramer's V of a table of counts, and the mutual information.
func associated(t []float64, columns int) (v, nats float64) {
	rows := len(t) / columns
	across, down, n := make([]float64, rows), make([]float64, columns), 0.0
	for i, x := range t {
		across[i/columns] += x
		down[i%columns] += x
		n += x
	}
	for i, x := range t {
		expected := across[i/columns] * down[i%columns] / n
		if expected > 0 {
			v += (x - expected) * (x - expected) / expected / n
		}
		if x > 0 {
			nats += x / n * math.Log(x/expected)
		}
	}
	return math.Sqrt(v / float64(min(rows, columns)-1)), nats
}
