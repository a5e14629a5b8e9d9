package simulate_test

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/dp/kde/exact"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// certain is a population whose bits are certain, and so are rounded once: in one dimension
// unit vectors are +1 and -1, which is one bit in one channel.
func certain(t *testing.T, p *protocol.Protocol, n, ones int) *distribution.Rounded {
	t.Helper()
	row := func(i int) []float32 {
		if i < ones {
			return []float32{1}
		}
		return []float32{-1}
	}
	bits, err := distribution.Round(p.Plan, distribution.Records{Classes: make([]int, n), Row: row}, example.Streams(1), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return bits
}

// The error of a sum over its standard error is a number of mean zero and square
// one: over 3,000 collections of 3,000 devices, and 95 % intervals cover the truth
// as often as the law of the noise has it. That is 95 % for the normal errors of
// rr, and 93.7 % for the Laplace errors of a single sum of 3nb. Errors 16 % too
// small or 22 % too large are caught.
func TestErrorsOfSumsAreAsPredicted(t *testing.T) {
	const n, ones, runs = 3000, 1000, 3000
	for _, bitsum := range []string{"rr", "3nb"} {
		t.Run(bitsum, func(t *testing.T) {
			p := sample(bitsum, 1)
			p.Crowd.Minimum = n
			p.Crowd.Names = []string{"all"}
			// Discrete Laplace noise of decay 0.02 is wide enough to be counted as
			// continuous, of kurtosis 6.
			p.Question.Density.Bitsum.Noise = min(p.Question.Density.Bitsum.Noise, 0.02)
			proto, _ := runnable(t, p)
			bits := certain(t, proto, n, ones)
			var z, squares []float64
			covered, tooNarrow := 0, 0
			level, kurtosis := 0.95, 3.0
			if bitsum == "3nb" {
				kurtosis = 6
				level = -math.Expm1(-math.Sqrt2 * 1.959964) // of Laplace within 1.96 deviations
			}
			r := stattest.Rand(t)
			for range runs {
				col, err := simulate.Law(proto, bits, r.Uint64(), quiet)
				if err != nil {
					t.Fatal(err)
				}
				v := proto.Estimate(col.Crowds)[0][0]
				error := (v.Mean - ones) / v.StdErr
				z, squares = append(z, error), append(squares, error*error)
				if lo, hi := v.Interval(0.95); lo <= ones && ones <= hi {
					covered++
				}
				if lo, hi := v.Interval(0.9); lo <= ones && ones <= hi {
					tooNarrow++
				}
			}
			stattest.Mean(t, 0, 1, z)
			stattest.Mean(t, 1, kurtosis-1, squares)
			stattest.Binomial(t, level, runs, covered)
			stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, level, runs, tooNarrow) })
			for i := range squares {
				squares[i] *= 1.5
			}
			stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, kurtosis-1, squares) })
		})
	}
}

// Intervals of a density cover the exact one as often as they say, where noise,
// rounding and random features all err: 2,000 collections, each with features
// of its own. With 64 features the error of the standard error makes a 95 %
// interval one of 94.6 %, of Student's law.
func TestIntervalsOfDensitiesCover(t *testing.T) {
	const respondents, dimension, repetitions, runs = 150, 4, 64, 2000
	x := blas32.General{Rows: respondents, Cols: dimension, Stride: dimension, Data: make([]float32, respondents*dimension)}
	r := seeded.New(3)
	for i := range x.Data {
		x.Data[i] = float32(0.3 + 0.4*r.NormFloat64())
	}
	values := make([]question.Value, respondents)
	for i := range values {
		values[i] = density.Labelled{Features: x.Data[i*dimension : (i+1)*dimension]}
	}
	y := []float32{0.2, 0.5, 0, 0.3}
	truth := exact.Gaussian(x, blas32.General{Rows: 1, Cols: dimension, Stride: dimension, Data: y}, 1)[0]

	r = stattest.Rand(t)
	covered, tooNarrow := 0, 0
	for range runs {
		spec := kernelmap.Spec{Kernel: kernelmap.Gaussian, Dimension: dimension, Repetitions: repetitions, Bandwidth: 1}
		for i := range spec.Seed {
			spec.Seed[i] = byte(r.Uint32())
		}
		v := densityAt(t, spec, values, r.Uint64(), y)
		if lo, hi := v.Interval(0.95); lo <= truth && truth <= hi {
			covered++
		}
		if lo, hi := v.Interval(0.9); lo <= truth && truth <= hi {
			tooNarrow++
		}
	}
	const student63 = 0.9456 // P(|T| <= 1.96) at 63 degrees of freedom
	stattest.Binomial(t, student63, runs, covered)
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, student63, runs, tooNarrow) })
}

// densityAt is the estimate at y of one collection under the given features.
func densityAt(t *testing.T, spec kernelmap.Spec, values []question.Value, seed uint64, y []float32) estimate.Value {
	t.Helper()
	p := sample("rr", spec.Dimension)
	d := p.Question.Density
	p.Crowd.Names = []string{"all"}
	d.Normalize, d.Repetitions = false, spec.Repetitions
	d.Kernel = plan.Kernel{Name: string(spec.Kernel), Bandwidth: spec.Bandwidth, Seed: hex.EncodeToString(spec.Seed[:])}
	p.Crowd.Minimum = len(values)
	for _, party := range []*plan.Party{&p.Analyzer, &p.Route.Mix.Instances[0].Hops[0], &p.Route.Mix.Instances[0].Hops[1]} {
		party.Key = "x25519:never used"
	}
	p.Analyzer.Releases = "ed25519:" + strings.Repeat("A", 43)
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	col, err := simulate.Law(proto, distribution.Values(values), seed, quiet)
	if err != nil {
		t.Fatal(err)
	}
	features, err := kernelmap.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	v, err := kde.Density{Features: features, Sums: proto.Estimate(col.Crowds)[0], Respondents: len(values)}.Query(y)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
