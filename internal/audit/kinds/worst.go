package kinds

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	vectors "github.com/confetti-dp/confetti/question/vector"
)

// worst is the pair that a climb over records ends with, from each of some pairs: the first is
// what all others hold, so that they hide least. What a climb goes by is how far the rows' counts are
// moved, in deviations of the others' bits.
type worst struct {
	protocol *protocol.Protocol
	public   bool // features are, and labels differ
	rand     *rand.Rand
}

// climbs is how many records a climb tries.
const climbs = 600

func (w worst) from(pairs []Records) ([]Records, error) {
	out := make([]Records, len(pairs))
	for i, at := range pairs {
		at[2] = at[0]
		most, err := w.moved(at)
		if err != nil {
			return nil, err
		}
		for step := range climbs {
			next := at
			of := step % 3 // the one, the other, or both
			size := math.Exp(-5 * float64(step) / climbs)
			switch {
			case w.public: // both have the same features
				next[0] = w.near(at[0], size)
				next[1] = turned(next[0], at[1], 1)
			case of == 0:
				next[0] = w.near(at[0], size)
			case of == 1:
				next[1] = w.near(at[1], size)
			default:
				next[0] = w.near(at[0], size)
				next[1] = turned(next[0], at[1], -1)
			}
			next[2] = next[0]
			moved, err := w.moved(next)
			if err != nil {
				return nil, err
			}
			if moved > most {
				most, at = moved, next
			}
		}
		out[i] = at
	}
	return out, nil
}

// moved adds up over rows of the square of how far the pair moves one, over the variance of a bit
// of the others.
func (w worst) moved(pair Records) (sum float64, err error) {
	var ones [2][]float64
	for i := range ones {
		if ones[i], err = Ones(w.protocol, pair[i]); err != nil {
			return 0, err
		}
	}
	for i, first := range ones[0] {
		gap := ones[1][i] - first
		sum += gap * gap / (first * (1 - first))
	}
	return sum, nil
}

// near draws another record of the same length.
func (w worst) near(v question.Value, size float64) question.Value {
	switch v := v.(type) {
	case vectors.Record:
		v.Features = w.moves(v.Features, size)
		return v
	case gradient.Labelled:
		v.Features = w.moves(v.Features, size)
		return v
	case label.Record:
		v.Features = w.moves(v.Features, size)
		return v
	case density.Labelled:
		v.Features = w.moves(v.Features, size)
		return v
	}
	return v
}

func (w worst) moves(x []float32, size float64) []float32 {
	out, length := make([]float32, len(x)), math.Sqrt(squared(x))
	for i := range out {
		out[i] = x[i] + float32(size*length/math.Sqrt(float64(len(x)))*w.rand.NormFloat64())
	}
	return scaled(out, length)
}

func squared(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

// scaled brings a vector to a length, in place.
func scaled(x []float32, length float64) []float32 {
	if of := math.Sqrt(squared(x)); of > 0 {
		for i := range x {
			x[i] = float32(float64(x[i]) / of * length)
		}
	}
	return x
}

// turned takes the features of a record times a sign, and all else of another.
func turned(v, rest question.Value, sign float32) question.Value {
	turn := func(x []float32) []float32 {
		x = slices.Clone(x)
		for i := range x {
			x[i] *= sign
		}
		return x
	}
	switch rest := rest.(type) {
	case vectors.Record:
		rest.Features = turn(v.(vectors.Record).Features)
		return rest
	case gradient.Labelled:
		rest.Features = turn(v.(gradient.Labelled).Features)
		return rest
	case label.Record:
		rest.Features = turn(v.(label.Record).Features)
		return rest
	case density.Labelled:
		rest.Features = turn(v.(density.Labelled).Features)
		return rest
	}
	return rest
}

// mostEntries bounds the public rotation that is written down to saturate rows.
const mostEntries = 1 << 20

// saturated makes a vector of length one, in so many numbers as respondents hold, that is clipped in as
// many rows of the public rotation as its length allows, or nearly so: the sum of these rows. The
// accountant charges for a pair of such a vector and its opposite. It is nil where the rotation is
// too large to be written down.
func saturated(m *vector.Mechanism) []float32 {
	spec := m.Spec()
	if spec.Dimension*spec.Rows > mostEntries {
		return nil
	}
	const quarter = 0.25 // so short a vector is clipped in no row of more than four times its mean
	rows := make([][]float32, spec.Rows)
	unit, ones := make([]float32, spec.Dimension), make([]float64, spec.Rows)
	for i := range unit {
		clear(unit)
		unit[i] = quarter
		m.Ones(unit, ones)
		for row, p := range ones {
			rows[row] = append(rows[row], float32((p-0.5)/(0.5-spec.Flip)/quarter*spec.Clip/math.Sqrt(float64(spec.Rows))))
		}
	}
	whole := max(1, int(float64(spec.Rows)/(spec.Clip*spec.Clip)))
	sum := slices.Clone(rows[0])
	used := map[int]bool{0: true}
	for len(used) < min(whole, spec.Rows) {
		best, most, sign := 0, -1.0, float32(1)
		for row, x := range rows {
			if used[row] {
				continue
			}
			along := 0.0
			for i := range x {
				along += float64(x[i]) * float64(sum[i])
			}
			if math.Abs(along) > most {
				best, most, sign = row, math.Abs(along), float32(math.Copysign(1, along))
			}
		}
		used[best] = true
		for i, x := range rows[best] {
			sum[i] += sign * x
		}
	}
	return scaled(sum, 1-1e-6)
}
