package labels

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/labels/descent"
	"github.com/confetti-dp/confetti/lab/train/labels"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
)

// fittedOn is about how many public rows directions are found from.
const fittedOn = 15_000

// xy sums features times label once, in public directions, and descends on what is public.
func (t *task) xy() error {
	some, step := t.x, (t.x.Rows+fittedOn-1)/fittedOn
	some.Rows, some.Stride = (t.x.Rows+step-1)/step, t.x.Stride*step
	directions, err := principal.Fit(some, min(descent.Directions, t.x.Cols), descent.Regular, principal.Half)
	if err != nil {
		return err
	}
	state := &vector.State{Map: directions}
	bits, err := t.bits()
	if err != nil {
		return err
	}
	m, err := t.learned(plan.Label{Features: directions.Len(), Report: plan.LabelSums, Seed: measure.PublicSeed(t.Seed), Sum: &plan.VectorRound{Answered: bits}}, len(t.y), state.Marshal())
	if err != nil {
		return err
	}
	t.out.Noise = m.Sum.Error
	x, shape := projected(directions, t.x), features.Shape{Dimension: directions.Len(), Classes: len(t.classes)}
	sums, deviation, err := descent.ClassSums(shape, m.Sum.Sum, m.Sum.Error, x)
	if err != nil {
		return err
	}
	test := projected(directions, t.test)
	judged := func(sums []float64, deviation float64) (e hdc.Evaluation, err error) {
		net, err := descent.FromSums(labels.Usual, x, sums, deviation, len(t.classes))
		if err != nil {
			return e, err
		}
		return hdc.Judge(nn.Classify(net, func(i int) []float32 { return test.Data[i*test.Stride:][:test.Cols] }, test.Rows), t.want, len(t.classes))
	}
	e, err := judged(sums, deviation)
	if err != nil {
		return err
	}
	t.judged(e)
	e, err = judged(exact(x, t.y, len(t.classes)), 0)
	t.out.AccuracyNoPrivacy = e.Accuracy
	return err
}

// bits returns how many a device answers: as many, by powers of two, as keep what they round below
// half the variance of a curator's noise.
func (t *task) bits() (int, error) {
	const (
		fewest, most = 1 << 10, 1 << 14
		clipped      = 6 // about the square at which rotated numbers are clipped
	)
	noise, _, err := central.CalibrateGaussian(calibrate.Target{Rounds: 1, Epsilon: t.Epsilon, Delta: t.Delta}, math.Sqrt2)
	if err != nil {
		return 0, err
	}
	bits := fewest
	for bits < most && float64(len(t.y))*clipped/float64(bits) > noise.Sigma*noise.Sigma/2 {
		bits *= 2
	}
	return bits, nil
}

// exact returns the sums that somebody would know who is told every label.
func exact(x blas32.General, y []int, classes int) []float64 {
	sums := make([]float64, x.Cols*classes)
	for i, class := range y {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			sums[j*classes+class] += float64(v)
		}
	}
	return sums
}

// projected are rows as devices map them.
func projected(m *whiten.State, x blas32.General) blas32.General {
	y := m.Project(dataset.Copied(x))
	for i := range y.Rows {
		whiten.Normalize(y.Data[i*y.Stride:][:y.Cols])
	}
	return y
}
