package attack

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
	"github.com/confetti-dp/confetti/lab/train/encoder"
)

// extremes are what all numbers of the attacked row are: none has a gradient that single precision holds well.
var extremes = []float32{3e38, float32(math.Inf(-1)), float32(math.NaN()), 1e-45}

// trainer is a private training, as whoever gets its model meets it.
type trainer struct {
	name string
	// train returns what is told of a model that was trained on rows of extremeColumns numbers, which all count.
	train func(r *rand.Rand, rows [][]float32) ([]float32, error)
}

const (
	extremeColumns = 3
	extremeOthers  = 4    // rows beside the one that is attacked
	extremeTries   = 64   // trainings of either kind from which the attacker learns
	extremeRuns    = 2048 // trainings that are attacked
)

// Extremes attacks training by rows that hold no ordinary numbers: of a training with such a row and one in which it
// counts for nothing, whoever has the model guesses which it was. It does so with DP-SGD, and with the
// DP-Adam of the second stage of an encoder and of a decoder, as many steps as the row needs to take part in.
func Extremes(t dpsgd.Training, claim account.Guarantee, seed uint64, progress func(done, of int)) (findings []audit.Finding, err error) {
	t.Steps = min(t.Steps, int(math.Ceil(3/t.Sampling)))
	t.Clip, t.Expected, t.Rate = 1, math.Max(1, t.Sampling*extremeOthers), 0.1
	trainers := []trainer{gradientTrainer(t)}
	for _, decoder := range []bool{false, true} {
		second, err := halfTrainer(t, decoder)
		if err != nil {
			return nil, err
		}
		trainers = append(trainers, second)
	}
	for i, of := range trainers {
		for j, v := range extremes {
			f, err := of.attack(v, claim, seed+uint64(j), func(done, all int) {
				progress((i*len(extremes)+j)*all+done, len(trainers)*len(extremes)*all)
			})
			if err != nil {
				return nil, err
			}
			findings = append(findings, f)
		}
	}
	return findings, nil
}

// attack puts a row of one number to the trainer.
func (t trainer) attack(v float32, claim account.Guarantee, seed uint64, progress func(done, of int)) (audit.Finding, error) {
	weigh, err := t.learn(seeded.New(seed, forTraining), v)
	if err != nil {
		return audit.Finding{}, err
	}
	o := audit.Observed{Sees: fmt.Sprintf("the model of %s, by a row of %v", t.name, v), New: func() audit.View {
		return func(r *rand.Rand, second bool) float64 {
			told, err := t.train(r, t.rows(v, second))
			if err != nil {
				panic("attack: " + err.Error()) // it has trained before
			}
			return modelScore(told, weigh)
		}
	}}
	return o.Attack(claim, extremeRuns, seed, progress), nil
}

// rows returns those of a training, the attacked one among them or not.
func (t trainer) rows(v float32, second bool) (rows [][]float32) {
	row := func(v float32) []float32 { return []float32{v, v, v} }
	for i := range extremeOthers {
		rows = append(rows, row(float32(i+1)/(extremeOthers+1)))
	}
	if second {
		rows = append(rows, row(v))
	}
	return rows
}

// learn returns how much the mean of each number that is told is moved by the row.
func (t trainer) learn(r *rand.Rand, v float32) (weigh []float64, err error) {
	for try := range 2 * extremeTries {
		second := try%2 == 1
		told, err := t.train(r, t.rows(v, second))
		if err != nil {
			return nil, err
		}
		if weigh == nil {
			weigh = make([]float64, len(told))
		}
		for i, x := range told {
			if by := float64(x) / extremeTries; second && by-by == 0 {
				weigh[i] += by
			} else if by-by == 0 {
				weigh[i] -= by
			}
		}
	}
	return weigh, nil
}

// modelScore returns the larger, the more a model looks like one of the row: most, where a number of it is none.
func modelScore(told []float32, weigh []float64) (sum float64) {
	for i, x := range told {
		sum += weigh[i] * float64(x)
	}
	if sum-sum != 0 {
		return math.MaxFloat64
	}
	return sum
}

// gradientTrainer is DP-SGD of a linear model.
func gradientTrainer(t dpsgd.Training) trainer {
	return trainer{"DP-SGD", func(r *rand.Rand, rows [][]float32) ([]float32, error) {
		examples := make([]dpsgd.Example, len(rows))
		for i, row := range rows {
			examples[i] = dpsgd.Example{X: row, Class: i % 2}
		}
		m, err := nn.New(r, nn.Dense{In: extremeColumns, Out: 2, Silent: true})
		if err != nil {
			return nil, err
		}
		return m.Params, t.Fit(r, m, examples)
	}}
}

// extremeVAE is a small encoder.
var extremeVAE = encoder.VAE{Dim: 2, Length: 2, Epsilon: 4, Likelihood: encoder.Bernoulli, Epochs: 1, Batch: 4, Rate: 1e-3}

// halfTrainer returns the DP-Adam of the second stage of an encoder, or of a decoder, whose records nobody has brought to a
// range.
func halfTrainer(t dpsgd.Training, decoder bool) (trainer, error) {
	r, public := seeded.New(1), blas32.General{Rows: 8, Cols: extremeColumns, Stride: extremeColumns}
	for range public.Rows * public.Cols {
		public.Data = append(public.Data, r.Float32())
	}
	first, err := extremeVAE.Fit(r, public, func(string, int, int) {})
	name := "DP-Adam of an encoder"
	if decoder {
		name = "DP-Adam of a decoder"
	}
	return trainer{name, func(r *rand.Rand, rows [][]float32) ([]float32, error) {
		x := blas32.General{Rows: len(rows), Cols: extremeColumns, Stride: extremeColumns}
		for _, row := range rows {
			x.Data = append(x.Data, row...)
		}
		m, err := extremeVAE.Again(r, r, first, x, t, decoder, func(string, int, int) {})
		if err != nil {
			return nil, err
		}
		if decoder {
			return m.Decoder.Params, nil
		}
		return m.Encoder.Params, nil
	}}, err
}
