package tables

import (
	"errors"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Fit is an additive model of one value of a column: a share for everybody, and for each value of each other column by how
// much the share of those who hold it differs, all else alike.
type Fit struct {
	Share   estimate.Value
	Effects [][]estimate.Value // by column and value; of the target's none. Of a column they are zero in the mean of respondents
	// Explained is the share of the target's variance that the model accounts for: its opinion of itself.
	Explained float64
}

// Fit fits the model by least squares. What that takes are counts of single columns and of pairs, so it is the fit that
// respondents' own records would give, but for noise. Errors are of the noise and, where sampled, of drawing respondents
// from many more people.
func (s *Sums) Fit(target, value int, sampled bool) (Fit, error) {
	n := float64(s.Respondents)
	f := Fit{Effects: make([][]estimate.Value, s.columns())}
	var columns []int // of the model
	starts, size := map[int]int{}, 1
	for a := range s.columns() {
		if a != target {
			columns = append(columns, a)
			starts[a] = size
			size += s.Code.Sizes[a] - 1
		}
	}
	gram := make([][]float64, size)
	for i := range gram {
		gram[i] = make([]float64, size)
	}
	right := make([]float64, size)
	gram[0][0] = n
	kt := float64(s.Code.Sizes[target])
	corner := s.Code.Corners(target)[value]
	hold := s.Column(target)[value].Mean
	right[0] = hold
	for i, a := range columns {
		from, wide := starts[a], s.Code.Sizes[a]-1
		one := s.one(a)
		for x := range wide {
			gram[0][from+x], gram[from+x][0] = one[x], one[x]
		}
		for v, held := range s.Column(a) {
			c := s.Code.Corners(a)[v]
			for x := range c {
				for y := range c {
					gram[from+x][from+y] += held.Mean * c[x] * c[y]
				}
			}
		}
		for _, b := range columns[i+1:] {
			two := s.two(a, b)
			for x := range wide {
				for y := range s.Code.Sizes[b] - 1 {
					gram[from+x][starts[b]+y], gram[starts[b]+y][from+x] = two[x*(s.Code.Sizes[b]-1)+y], two[x*(s.Code.Sizes[b]-1)+y]
				}
			}
		}
		// The indicator of the value is 1/k + (k-1)/k <corner, corner of the target>.
		for x := range wide {
			right[from+x] = one[x]/kt + (kt-1)/kt*s.along(a, target, x, corner)
		}
	}
	inverse, err := invert(gram)
	if err != nil {
		return f, err
	}
	weights := make([]float64, size)
	for i := range weights {
		weights[i] = dot(inverse[i], right)
	}
	variance, left := 0.0, 0.0
	if hold > 0 && hold < n { // noise may take a count beyond: nobody varies then, and nothing is explained
		variance = hold * (1 - hold/n)
		left = max(0, variance-(dot(weights, right)-hold*hold/n))
		f.Explained = min(1, max(0, 1-left/variance))
	}
	toward := func(own int, functional []float64) float64 {
		u := make([]float64, size)
		for i := range u {
			u[i] = dot(inverse[i], functional)
		}
		noise := s.moved(u, weights, columns, starts, target, own, corner)
		sample := 0.0
		if sampled {
			sample = left / n * dot(u, functional)
		}
		return math.Sqrt(s.Error*s.Error*noise + sample)
	}
	f.Share = s.Column(target)[value].Scale(1 / n)
	if sampled {
		f.Share.StdErr = math.Sqrt(f.Share.StdErr*f.Share.StdErr + variance/n/n)
	}
	for _, a := range columns {
		from, wide := starts[a], s.Code.Sizes[a]-1
		mean := scaled(s.one(a), 1/n)
		for _, c := range s.Code.Corners(a) {
			functional := make([]float64, size)
			for x := range wide {
				functional[from+x] = c[x] - mean[x]
			}
			f.Effects[a] = append(f.Effects[a], estimate.Value{Mean: dot(functional, weights), StdErr: toward(a, functional)})
		}
	}
	return f, nil
}

// along returns the sum of one coordinate of a column's corners, each times how far the target's corner goes along another.
func (s *Sums) along(a, target, x int, corner []float64) (sum float64) {
	if a < target {
		wide := s.Code.Sizes[target] - 1
		return dot(s.two(a, target)[x*wide:(x+1)*wide], corner)
	}
	two, wide := s.two(target, a), s.Code.Sizes[a]-1
	for y, v := range corner {
		sum += two[y*wide+x] * v
	}
	return sum
}

// moved returns the variance of <u, right> - u^T gram weights, in units of the squared error of a sum: by how much the
// noise of each sum moves an effect of a column of its own. The mean that effects are told from has noise too.
func (s *Sums) moved(u, weights []float64, columns []int, starts map[int]int, target, own int, corner []float64) (variance float64) {
	kt := float64(s.Code.Sizes[target])
	for x := range corner { // the target by itself is in the share of everybody
		d := u[0] * (kt - 1) / kt * corner[x] / s.Code.ColumnWeight(target)
		variance += d * d
	}
	for i, a := range columns {
		from, size := starts[a], s.Code.Sizes[a]
		k := float64(size)
		one, beside := s.Code.ColumnWeight(a), s.Code.PairWeight(a, target)
		for x := range size - 1 {
			// By itself a column is beside the constant, in the target's share, and in its own block, where the count of a
			// value is 1/k of everybody and (k-1)/k along its corner.
			d := u[from+x]/kt - u[0]*weights[from+x] - u[from+x]*weights[0]
			for _, c := range s.Code.Corners(a) {
				d -= (k - 1) / k * c[x] * dot(u[from:from+size-1], c) * dot(weights[from:from+size-1], c)
			}
			if a == own {
				d -= weights[from+x] / float64(s.Respondents)
			}
			variance += d * d / (one * one)
			for y := range corner {
				d := u[from+x] * (kt - 1) / kt * corner[y] / beside
				variance += d * d
			}
		}
		for _, b := range columns[i+1:] {
			at, two := starts[b], s.Code.PairWeight(a, b)
			for x := range size - 1 {
				for y := range s.Code.Sizes[b] - 1 {
					d := (u[from+x]*weights[at+y] + u[at+y]*weights[from+x]) / two
					variance += d * d
				}
			}
		}
	}
	return variance
}

// errSingular says that columns tell so much of each other, or so little is known, that no model is told from noise.
var errSingular = errors.New("tables: columns cannot be told apart: one follows from others, or a value is too rare")

// invert returns the inverse of a symmetric matrix that is positive (Cholesky).
func invert(m [][]float64) ([][]float64, error) {
	n := len(m)
	l := make([][]float64, n)
	for i := range l {
		l[i] = make([]float64, n)
		for j := range i + 1 {
			sum := m[i][j] - dot(l[i][:j], l[j])
			if i != j {
				l[i][j] = sum / l[j][j]
				continue
			}
			if sum <= 1e-6*m[i][i] {
				return nil, errSingular
			}
			l[i][i] = math.Sqrt(sum)
		}
	}
	out := make([][]float64, n)
	for k := range out { // column k, which is row k
		x := make([]float64, n)
		for i := k; i < n; i++ {
			x[i] = -dot(l[i][k:i], x[k:])
			if i == k {
				x[i]++
			}
			x[i] /= l[i][i]
		}
		for i := n - 1; i >= 0; i-- {
			for j := i + 1; j < n; j++ {
				x[i] -= l[j][i] * x[j]
			}
			x[i] /= l[i][i]
		}
		out[k] = x
	}
	return out, nil
}
