package vector_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
)

// documents are generated ones in 20 public directions: what respondents hold, and a test set.
func documents(t *testing.T) (held distribution.Values, test results.Records, classes []string) {
	t.Helper()
	set, err := dataset.Generate(1, dataset.GenerateOptions{Train: 10_000, Test: 2000})
	if err != nil {
		t.Fatal(err)
	}
	directions, err := principal.Fit(set.WordX, 20, 0.3, principal.Half)
	if err != nil {
		t.Fatal(err)
	}
	along := func(x blas32.General) blas32.General {
		y := blas32.General{Rows: x.Rows, Cols: 20, Stride: 20, Data: make([]float32, 20*x.Rows)}
		for i := range x.Rows {
			directions.Apply(slices.Clone(x.Data[i*x.Stride:][:x.Cols]), y.Data[20*i:][:20])
		}
		return y
	}
	x := along(set.Train.X)
	for i, y := range set.Train.Y {
		held = append(held, vector.Record{Features: x.Data[20*i:][:20], Class: y})
	}
	return held, results.Records{X: along(set.Test.X), Y: set.Test.Y}, set.Classes
}

// How far liars move a model: those who answer for another class than theirs, and those who
// together choose every bit of every envelope against the sum of the others.
// docs/learning.md has the numbers.
func TestLiars(t *testing.T) {
	held, test, classes := documents(t)
	p := asking(20, classes, plan.VectorRound{Sums: plan.SumsClasses, Answered: 16})
	p.Crowd.Minimum = len(held)
	proto := example.Runnable(t, example.Design(t, p))
	envelopes := proto.Plan.Envelopes.PerDevice
	accuracy := func(c tally.Crowd) float64 {
		m, err := proto.Learn([]tally.Crowd{c})
		if err != nil {
			t.Fatal(err)
		}
		headline, _, err := results.Describe(m, results.Public{Test: test})
		if err != nil {
			t.Fatal(err)
		}
		return headline[0].Value
	}
	draw := func(p *protocol.Protocol, who distribution.Values, seed uint64) tally.Crowd {
		crowds, err := distribution.Draw(p, who, func(part ...uint64) *rand.Rand { return seeded.New(seed, part...) }, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		return crowds[0]
	}
	honest := accuracy(draw(proto, held, 1))
	proved := provedOf(t, 20, classes, len(held), plan.NoiseAggregators)
	shared := provedOf(t, 20, classes, len(held), plan.NoiseShared)
	learn := func(p *protocol.Protocol, c tally.Crowd) float64 {
		m, err := p.Learn([]tally.Crowd{c})
		if err != nil {
			t.Fatal(err)
		}
		headline, _, err := results.Describe(m, results.Public{Test: test})
		if err != nil {
			t.Fatal(err)
		}
		return headline[0].Value
	}
	alone := besideLiars(t, proved, held, 0, learn)
	for _, percent := range []int{1, 2, 5, 10, 20} {
		lying := len(held) * percent / 100
		mixed := slices.Clone(held)
		for i := range lying {
			r := mixed[i].(vector.Record)
			r.Class = (r.Class + 1) % len(classes)
			mixed[i] = r
		}
		flipped := accuracy(draw(proto, mixed, 1))

		fewer := proto.Plan
		fewer.Crowd.Minimum = len(held) - lying
		c := draw(example.Runnable(t, fewer), held[lying:], 1)
		truth, err := distribution.Reveal(proto, held[lying:])
		if err != nil {
			t.Fatal(err)
		}
		against, norm := make([]float32, len(truth.Sum)), 0.0
		for _, x := range truth.Sum {
			norm += x * x
		}
		for k, x := range truth.Sum {
			against[k] = float32(-x / math.Sqrt(norm) * (1 - 1e-6))
		}
		w := make([]float64, proto.Question.(*vector.Question).Rows().Spec().Rows)
		proto.Question.(*vector.Question).Rows().Ones(against, w)
		distribution.Fill(c.Tally.(*tally.Counts).N, w, lying*envelopes)
		c.Respondents = len(held)
		chosen := accuracy(c)
		expected := proto.Question.(*vector.Question).Expected(len(held))
		if m, err := proto.Learn([]tally.Crowd{c}); err != nil || m.(*vector.Model).Answers < expected.Mean+6*expected.StdErr {
			t.Errorf("%d%% liars fill every envelope, and it does not show: %v", percent, err)
		}
		t.Logf("%2d%% liars: accuracy %.3f by other classes, %.3f by chosen bits (%.3f without), %d envelopes, %d answers", percent, flipped, chosen, honest, envelopes, 16)
		within, less := besideLiars(t, proved, held, lying, learn), besideLiars(t, shared, held, lying, learn)
		t.Logf("%2d%% liars: accuracy %.3f by vectors of proved length (%.3f without), %.3f with shared noise", percent, within, alone, less)
		if percent <= 5 && within < alone-0.01 {
			t.Errorf("%d%% liars: %.3f of %.3f though vectors are proved", percent, within, alone)
		}
		if percent <= 2 && flipped < honest-0.03 || percent == 20 && chosen > honest-0.2 {
			t.Errorf("%d%% liars: %.3f and %.3f of %.3f", percent, flipped, chosen, honest)
		}
	}
}
