package tables

import (
	"errors"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Condition keeps the values of a column that are asked for.
type Condition struct {
	Column int
	Values []int
}

// linear is a number that follows from the sums: a constant, and a weight for each sum in some stretches of them.
type linear struct {
	constant float64
	parts    map[int][]float64 // by where a stretch begins
}

// add adds weights of the sums from one on.
func (l *linear) add(from int, weights []float64) {
	if l.parts == nil {
		l.parts = map[int][]float64{}
	}
	have := l.parts[from]
	if have == nil {
		have = make([]float64, len(weights))
		l.parts[from] = have
	}
	for i, w := range weights {
		have[i] += w
	}
}

// value returns the number.
func (s *Sums) value(l linear) float64 {
	v := l.constant
	for from, w := range l.parts {
		v += dot(w, s.Vector[from:from+len(w)])
	}
	return v
}

// product returns the covariance of two numbers, in units of the squared error of a sum.
func (l linear) product(other linear) (sum float64) {
	for from, w := range l.parts {
		if v, ok := other.parts[from]; ok {
			sum += dot(w, v)
		}
	}
	return sum
}

// count returns how many hold all the values that are asked for, of at most two columns.
func (s *Sums) count(where ...Condition) linear {
	n := float64(s.Respondents)
	l := linear{constant: n}
	directions := make([][]float64, len(where))
	shares := make([]float64, len(where))
	for i, c := range where {
		k := float64(s.Code.Sizes[c.Column])
		directions[i] = make([]float64, s.Code.Sizes[c.Column]-1)
		for _, v := range c.Values {
			for x, w := range s.Code.Corners(c.Column)[v] {
				directions[i][x] += w * (k - 1) / k
			}
		}
		shares[i] = float64(len(c.Values)) / k
		l.constant *= shares[i]
	}
	for i, c := range where {
		from, _ := s.column(c.Column)
		others := 1.0
		for j := range where {
			if j != i {
				others *= shares[j]
			}
		}
		l.add(from, scaled(directions[i], others/s.Code.ColumnWeight(c.Column)))
	}
	if len(where) == 2 {
		first, second := 0, 1
		if where[0].Column > where[1].Column {
			first, second = 1, 0
		}
		from, _, _ := s.pair(where[first].Column, where[second].Column)
		two := s.Code.PairWeight(where[first].Column, where[second].Column)
		var weights []float64
		for _, x := range directions[first] {
			weights = append(weights, scaled(directions[second], x/two)...)
		}
		l.add(from, weights)
	}
	return l
}

// Answer is what a release tells of one count.
type Answer struct {
	Count  float64 // the best guess, not below zero
	Raw    float64 // unbiased; NaN where it is of three columns
	StdErr float64 // of Raw
	// Low and High hold the count, beside all else that can be asked (Questions), at the level asked for.
	Low, High float64
	// Share, of those who hold the second list of values, with its own interval at that level; NaN where they are too few.
	Share, ShareLow, ShareHigh float64
	ByModel                    bool // of three columns: the range is all that tables of two allow, and the guess a model's

	of linear
}

// clearly is how many errors a count is above zero before shares of it are stated.
const clearly = 8

// errValues says that a condition keeps values for which no range is counted.
var errValues = errors.New("tables: conditions of one column leave neither one value, nor all but one, nor a range of a number: ask for each value by itself")

// errColumns says that an answer is of more columns than three.
var errColumns = errors.New("tables: a question is of at most three columns: this release tells of two together, and bounds what three allow")

// Questions returns how many counts and shares can be asked for: of a column one value, all but it or, where values are in
// order, a range of them; each with one such of another column, and as a share of either. Others are refused (counted), or
// have no share (among).
func (s *Sums) Questions() float64 {
	n, before := 0.0, 0.0
	for a, k := range s.Code.Sizes {
		ways := float64(2 * k)
		if a < len(s.Ordered) && s.Ordered[a] {
			ways = float64(k)*float64(k+1)/2 + float64(k-2) // all but one that is within
		}
		n += ways + 3*before*ways
		before += ways
	}
	return n
}

// Quantile returns how many errors bound all that can be asked at once, at a level.
func (s *Sums) Quantile(level float64) float64 { return s.Among(level, s.Questions()) }

// Among returns how many errors bound so many numbers at once, at a level: by Student's law where the error is estimated,
// of numbers that are independent of these.
func (s *Sums) Among(level, numbers float64) float64 {
	beyond := (1 - level) / numbers
	z := -prob.NormalQuantile(beyond / 2)
	if s.Spare == 0 {
		return z
	}
	// Student's law lies beyond t, to both sides, with I_x(n/2, 1/2) at x = n/(n+t^2), and further out than the normal law.
	n, low, high := float64(s.Spare), z, 2*z
	rarer := func(t float64) bool { return prob.LogRegularizedBeta(n/2, 0.5, n/(n+t*t)) <= math.Log(beyond) }
	for !rarer(high) {
		low, high = high, 2*high
	}
	for range 30 {
		if mid := (low + high) / 2; rarer(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// Answer returns how many hold all the values that are asked for, and which share that is of those who hold what within
// asks. Conditions of one column are joined, and a column with all its values tells nothing. What Questions does not count
// is refused.
func (s *Sums) Answer(where, within []Condition, level float64) (Answer, error) {
	where, within = s.joined(where), s.joined(within)
	for _, c := range slices.Concat(where, within) {
		if !s.counted(c) {
			return Answer{}, errValues
		}
	}
	a, err := s.bounded(where, level)
	if err != nil {
		return a, err
	}
	a.Share, a.ShareLow, a.ShareHigh = math.NaN(), math.NaN(), math.NaN()
	of, err := s.bounded(within, level)
	if err != nil {
		return a, err
	}
	switch {
	case a.ByModel:
		if of.Low > 0 {
			a.Share, a.ShareLow, a.ShareHigh = min(1, a.Count/of.Count), a.Low/of.High, min(1, a.High/of.Low)
		}
	case among(where, within) && of.Raw > clearly*of.StdErr:
		unit := s.Error * s.Error
		low, high, ok := ratio(a.Raw, of.Raw, unit*a.of.product(a.of), unit*of.of.product(of.of), unit*a.of.product(of.of), s.Quantile(level))
		if ok {
			a.Share = min(1, a.Count/max(of.Count, a.Count))
			a.ShareLow, a.ShareHigh = min(1, max(0, low)), max(0, min(1, high))
		}
	}
	return a, nil
}

// ratio returns all r by which a - r of is no more than z of its own errors (Fieller), of two numbers with their variances
// and covariance; ok is false where these have no end.
func ratio(a, of, va, vof, both, z float64) (low, high float64, ok bool) {
	lead, middle, last := of*of-z*z*vof, a*of-z*z*both, a*a-z*z*va
	if lead <= 0 {
		return 0, 0, false
	}
	root := math.Sqrt(max(0, middle*middle-lead*last))
	return (middle - root) / lead, (middle + root) / lead, true
}

// counted reports whether Questions counts a condition. One that nobody meets has no noise.
func (s *Sums) counted(c Condition) bool {
	n, k := len(c.Values), s.Code.Sizes[c.Column]
	if n <= 1 || n >= k-1 {
		return true
	}
	return c.Column < len(s.Ordered) && s.Ordered[c.Column] && slices.Max(c.Values)-slices.Min(c.Values) == n-1
}

// among reports whether a share of those within is one that Questions counts: all that they hold is asked for as well.
func among(where, within []Condition) bool {
	for _, c := range within {
		if !slices.ContainsFunc(where, func(w Condition) bool { return w.Column == c.Column && slices.Equal(w.Values, c.Values) }) {
			return false
		}
	}
	return true
}

// joined returns conditions of different columns, in their order, each of values that none of them refuses.
func (s *Sums) joined(all []Condition) (out []Condition) {
	for _, c := range all {
		at := slices.IndexFunc(out, func(o Condition) bool { return o.Column == c.Column })
		if at < 0 {
			out = append(out, Condition{c.Column, slices.Clone(c.Values)})
			continue
		}
		out[at].Values = slices.DeleteFunc(out[at].Values, func(v int) bool { return !slices.Contains(c.Values, v) })
	}
	out = slices.DeleteFunc(out, func(c Condition) bool { return len(c.Values) == s.Code.Sizes[c.Column] })
	slices.SortFunc(out, func(a, b Condition) int { return a.Column - b.Column })
	return out
}

// bounded returns a count with its interval.
func (s *Sums) bounded(where []Condition, level float64) (Answer, error) {
	switch {
	case len(where) > 3:
		return Answer{}, errColumns
	case len(where) == 3:
		return s.three(where, level), nil
	}
	l := s.count(where...)
	a := Answer{Raw: s.value(l), StdErr: s.Error * math.Sqrt(l.product(l)), of: l, Count: s.guessed(where)}
	z, n := s.Quantile(level), float64(s.Respondents)
	a.Low, a.High = min(n, max(0, a.Raw-z*a.StdErr)), max(0, min(n, a.Raw+z*a.StdErr))
	return a, nil
}

// guessed returns the best guess of a count of at most two columns.
func (s *Sums) guessed(where []Condition) (sum float64) {
	switch len(where) {
	case 0:
		return float64(s.Respondents)
	case 1:
		for _, v := range where[0].Values {
			sum += s.Held(where[0].Column)[v]
		}
		return sum
	}
	g := s.Guess(where[0].Column, where[1].Column)
	for _, v := range where[0].Values {
		for _, w := range where[1].Values {
			sum += g.Table[v*s.Code.Sizes[where[1].Column]+w]
		}
	}
	return sum
}

// Held returns the best guess of how many hold each value of a column: of few people nearer to an equal part of each, as
// costs less by squared error than counts as they are (James and Stein), and none below zero.
func (s *Sums) Held(a int) []float64 {
	column, k, n := s.Column(a), float64(s.Code.Sizes[a]), float64(s.Respondents)
	out, energy, noise := means(column), 0.0, 0.0 // noise: of one of k-1 numbers
	for i, v := range column {
		energy += (out[i] - n/k) * (out[i] - n/k)
		noise += v.StdErr * v.StdErr / (k - 1)
	}
	if k > 3 && energy > 0 {
		for i, x := range out {
			out[i] = n/k + max(0, 1-(k-3)*noise/energy)*(x-n/k)
		}
	}
	return Nearest(out, n)
}

// three bounds a count of three columns by those of two, whatever the three have to do with each other, and guesses it by
// the model in which no three have more to do with each other than any two of them say.
func (s *Sums) three(where []Condition, level float64) Answer {
	n := float64(s.Respondents)
	a := Answer{Raw: math.NaN(), StdErr: math.NaN(), High: n, ByModel: true}
	for i := range where {
		x, y, z := where[i], where[(i+1)%3], where[(i+2)%3]
		xy, _ := s.bounded(s.joined([]Condition{x, y}), level)
		xz, _ := s.bounded(s.joined([]Condition{x, z}), level)
		yz, _ := s.bounded(s.joined([]Condition{y, z}), level)
		all, _ := s.bounded([]Condition{x}, level)
		a.High = min(a.High, xy.High)
		a.Low = max(a.Low, xy.Low+xz.Low-all.High, yz.Low+all.Low-n)
	}
	a.Count = min(a.High, max(a.Low, s.model(where)))
	return a
}

// sweeps is how often a model is fitted to its three tables in turn.
const sweeps = 60

// model fits three tables of two columns each (iterative proportional fitting), and counts what is asked for.
func (s *Sums) model(where []Condition) (sum float64) {
	a, b, c := where[0].Column, where[1].Column, where[2].Column
	ka, kb, kc := s.Code.Sizes[a], s.Code.Sizes[b], s.Code.Sizes[c]
	ab, ac, bc := s.Guess(a, b).Table, s.Guess(a, c).Table, s.Guess(b, c).Table
	t := make([]float64, ka*kb*kc)
	for i := range t {
		t[i] = float64(s.Respondents) / float64(len(t))
	}
	fit := func(target []float64, cell func(i int) int) {
		have := make([]float64, len(target))
		for i, x := range t {
			have[cell(i)] += x
		}
		for i := range t {
			if at := cell(i); have[at] > 0 {
				t[i] *= target[at] / have[at]
			}
		}
	}
	for range sweeps {
		fit(ab, func(i int) int { return i / kc })
		fit(ac, func(i int) int { return i/(kb*kc)*kc + i%kc })
		fit(bc, func(i int) int { return i % (kb * kc) })
	}
	for _, x := range where[0].Values {
		for _, y := range where[1].Values {
			for _, z := range where[2].Values {
				sum += t[(x*kb+y)*kc+z]
			}
		}
	}
	return sum
}

// Correlation returns how far the noise of two answers goes together, from -1 to 1; 0 where one has none, as a count of
// three columns.
func Correlation(a, b Answer) float64 {
	both := a.of.product(a.of) * b.of.product(b.of)
	if both <= 0 {
		return 0
	}
	return a.of.product(b.of) / math.Sqrt(both)
}
