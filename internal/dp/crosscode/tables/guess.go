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

// best takes noise out of all pairs. What independence leaves of a pair is guessed twice: by the pair alone, where it is told
// from noise; and by the directions in which a column goes with all others. The second counts for half at most, and
// for less where the pair itself is most of what tells of directions: of two columns for nothing.
func (s *Sums) best() []Guess {
	held, means := make([][]float64, s.columns()), make([][]float64, s.columns())
	for a := range s.Code.Sizes {
		held[a] = s.Held(a)
		means[a] = s.mean(a, held[a])
	}
	left, noise := make([][]float64, s.Code.Pairs()), make([]float64, s.Code.Pairs())
	for a, b := range s.Pairs {
		at := s.Pair(a, b)
		left[at], noise[at] = s.two(a, b), s.Error/s.Code.PairWeight(a, b)
		for i, x := range s.independent(means[a], means[b]) {
			left[at][i] -= x
		}
	}
	level := levelOf(left, noise)
	shared, out := s.shared(left, noise), make([]Guess, s.Code.Pairs())
	for a, b := range s.Pairs {
		at := s.Pair(a, b)
		kept := s.independent(means[a], means[b])
		alone := make([]float64, len(kept))
		if told(left[at], noise[at], level) {
			alone = shrinkSpectrum(left[at], s.Code.Sizes[b]-1, noise[at])
		}
		others := (1 - float64(s.Code.Sizes[b]-1)/float64(s.beside(a))) * (1 - float64(s.Code.Sizes[a]-1)/float64(s.beside(b))) / 2
		for i := range kept {
			kept[i] += alone[i] + others*(shared[at][i]-alone[i])
		}
		g := Guess{Table: Nearest(s.table(a, b, held[a], held[b], kept), float64(s.Respondents))}
		if told(left[at], noise[at], surely/float64(s.Code.Pairs())) {
			g.Association, g.Information = associated(g.Table, s.Code.Sizes[b])
		}
		out[at] = g
	}
	return out
}

// surely is how seldom, in releases whose columns tell nothing of each other, some two are said to; and which share of pairs that
// are guessed by themselves tell nothing.
const surely = 0.05

// told says whether what independence leaves of a pair is more than noise, at a level.
func told(left []float64, noise, level float64) bool {
	return dot(left, left) > noise*noise*chiSquared(float64(len(left)), level)
}

// levelOf returns the level at which pairs are guessed by themselves: the more of them are told from noise, the higher it is
// (Benjamini and Hochberg).
func levelOf(left [][]float64, noise []float64) float64 {
	for most := len(left); most > 1; most-- {
		level, found := surely*float64(most)/float64(len(left)), 0
		for at := range left {
			if told(left[at], noise[at], level) {
				found++
			}
		}
		if found >= most {
			return level
		}
	}
	return surely / float64(len(left))
}

// believed is how much stronger than the edge of noise a direction is that is believed: of few people some of noise are above it.
const believed = 1.1

// chiSquared returns the number that a sum of so many squared normals exceeds with a probability, nearly (Wilson and
// Hilferty).
func chiSquared(n, tail float64) float64 {
	return n * math.Pow(1-2/(9*n)-prob.NormalQuantile(tail)*math.Sqrt(2/(9*n)), 3)
}

// mean returns the sum of the corners of respondents who hold a column's values that often.
func (s *Sums) mean(a int, held []float64) []float64 {
	sum := make([]float64, s.Code.Sizes[a]-1)
	for i, corner := range s.Code.Corners(a) {
		for x, v := range corner {
			sum[x] += v * held[i]
		}
	}
	return sum
}

// independent returns the products that a pair would sum to whose columns tell nothing of each other.
func (s *Sums) independent(x, y []float64) []float64 {
	out := make([]float64, 0, len(x)*len(y))
	for _, v := range x {
		for _, w := range y {
			out = append(out, v*w/float64(s.Respondents))
		}
	}
	return out
}

// above returns the strength of a direction of a matrix without its noise, in parts of the noise of the matrix's longer
// side, and zero where noise alone makes as strong ones. Value is what it has with noise, and aspect the shorter side's part
// of the longer (Gavish and Donoho).
func above(value, aspect float64) float64 {
	rest := value*value - aspect - 1
	if value <= believed*(1+math.Sqrt(aspect)) {
		return 0
	}
	return (rest + math.Sqrt(rest*rest-4*aspect)) / 2
}

// directions returns those in which a column goes with others, and by how much more than noise does, for each number. The
// matrix has all of its pairs beside each other, in units of noise.
func directions(all []float64, rows, columns int) (found [][]float64, strength []float64) {
	turned, values := decompose(all, rows, columns)
	long := float64(max(rows, columns))
	for i, y := range values {
		if x := above(y/math.Sqrt(long), float64(min(rows, columns))/long); x > 0 {
			found, strength = append(found, turned[i]), append(strength, x*long/float64(columns))
		}
	}
	return found, strength
}

// beside returns how many numbers all other columns have.
func (s *Sums) beside(a int) (n int) {
	for b, k := range s.Code.Sizes {
		if b != a {
			n += k - 1
		}
	}
	return n
}

// shared guesses what independence leaves of all pairs. A column goes with others in few directions, which all pairs tell
// together. Of a pair, a number of two such directions is kept by the product of their strengths, and how much in all by the
// pair's own.
func (s *Sums) shared(left [][]float64, noise []float64) [][]float64 {
	wide, all, at := make([]int, s.columns()), make([][]float64, s.columns()), make([]int, s.columns())
	for a, k := range s.Code.Sizes {
		wide[a] = s.beside(a)
		all[a] = make([]float64, (k-1)*wide[a])
	}
	for a, b := range s.Pairs {
		i, p, q := s.Pair(a, b), s.Code.Sizes[a]-1, s.Code.Sizes[b]-1
		if noise[i] > 0 {
			for j, x := range left[i] {
				all[a][j/q*wide[a]+at[a]+j%q] = x / noise[i]
				all[b][j%q*wide[b]+at[b]+j/q] = x / noise[i]
			}
		}
		at[a], at[b] = at[a]+q, at[b]+p
	}
	found, strength := make([][][]float64, s.columns()), make([][]float64, s.columns())
	for a, k := range s.Code.Sizes {
		found[a], strength[a] = directions(all[a], k-1, wide[a])
	}
	out := make([][]float64, len(left))
	for a, b := range s.Pairs {
		i := s.Pair(a, b)
		if noise[i] <= 0 {
			out[i] = slices.Clone(left[i])
			continue
		}
		out[i] = turnedBack(left[i], found[a], found[b], strength[a], strength[b], noise[i])
	}
	return out
}

// turnedBack keeps of a matrix the numbers of some directions of its rows and of its columns: each by how strong both are,
// and all by how much more they have than noise.
func turnedBack(m []float64, rows, columns [][]float64, strong, strength []float64, noise float64) []float64 {
	wide, out := 0, make([]float64, len(m))
	if len(rows) == 0 || len(columns) == 0 {
		return out
	}
	wide = len(columns[0])
	along := make([]float64, len(rows)*wide) // rows times the matrix
	for i, u := range rows {
		for x, v := range u {
			for y := range wide {
				along[i*wide+y] += v * m[x*wide+y]
			}
		}
	}
	numbers, energy, sum := make([]float64, 0, len(rows)*len(columns)), 0.0, 0.0
	for i := range rows {
		for j, v := range columns {
			x := dot(along[i*wide:(i+1)*wide], v) / noise
			numbers = append(numbers, x)
			energy, sum = energy+x*x, sum+strong[i]*strength[j]
		}
	}
	scale := max(0, energy-float64(len(numbers))) / sum
	clear(along)
	for i := range rows {
		for j, v := range columns {
			signal := scale * strong[i] * strength[j]
			kept := numbers[i*len(columns)+j] * noise * signal / (signal + 1)
			for y, w := range v {
				along[i*wide+y] += kept * w
			}
		}
	}
	for i, u := range rows {
		for x, v := range u {
			for y := range wide {
				out[x*wide+y] += v * along[i*wide+y]
			}
		}
	}
	return out
}

// shrinkSpectrum shrinks the singular values of a matrix of so many columns with noise of that deviation in each number,
// as costs least by squared error where the matrix is large (Gavish and Donoho).
func shrinkSpectrum(m []float64, columns int, noise float64) []float64 {
	rows := len(m) / columns
	if noise <= 0 {
		return slices.Clone(m)
	}
	u, values := decompose(m, rows, columns)
	p, q := float64(min(rows, columns)), float64(max(rows, columns))
	out := make([]float64, len(m))
	for i, y := range values {
		z := y / (noise * math.Sqrt(q))
		if z <= 1+math.Sqrt(p/q) {
			continue
		}
		inner := z*z - p/q - 1
		kept := math.Sqrt(inner*inner-4*p/q) / (z * z)
		for y := range columns {
			along := 0.0
			for x := range rows {
				along += u[i][x] * m[x*columns+y]
			}
			for x := range rows {
				out[x*columns+y] += kept * u[i][x] * along
			}
		}
	}
	return out
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
