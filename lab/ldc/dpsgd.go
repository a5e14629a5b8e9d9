package ldc

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// DP-SGD trains on features of one length beside the constant of a bias. The loss of an example is
// then smooth with half of their squared length, and steps are two over that.
const (
	featureLength = 3
	batchSize     = 600
	passes        = 10
	stepLength    = 4. / (featureLength*featureLength + 1)
)

// dpSGD is noisy gradient descent of the logistic loss by a curator, who shows the last model
// alone (LDC, section 7). A label moves the gradient of its example by at most root two times
// the example's length, and nothing is clipped. The epsilon is that of the records of the last
// step, which nothing comes after; LDC's code states those of earlier ones, which are smaller.
func dpSGD(t *task, l experiments.Labels, run int, res *experiments.Result) (float64, error) {
	n := len(t.labels)
	steps, delta := max(1, n/batchSize), cmp.Or(l.Delta, 1/float64(n))
	at := func(position int) func(noise float64) account.Event {
		return func(noise float64) account.Event {
			return iteration{Distance: 1 / noise, Steps: steps, Position: position, Passes: passes}
		}
	}
	target := calibrate.Target{Users: n, Rounds: 1, Epsilon: l.Epsilon, Delta: delta}
	noise, err := target.Search(calibrate.Search{Noise: 1 / target.PerRound(), Most: 1e6, Tolerance: 1e-4}, at(steps))
	if err != nil {
		return 0, &inadmissible{err}
	}
	g, err := account.Epsilon(at(steps)(noise), delta)
	if err != nil {
		return 0, err
	}
	g.Users = n
	res.Promised, res.Learned.Positions = measure.PromisedBy(g), nil
	for _, share := range []float64{0.5, 0.9, 0.99} {
		earlier, err := account.Epsilon(at(int(math.Ceil(share*float64(steps))))(noise), delta)
		if err != nil {
			return 0, err
		}
		res.Learned.Positions = append(res.Learned.Positions, experiments.Position{Share: share, Epsilon: earlier.Epsilon})
	}
	moved := math.Sqrt(2*(featureLength*featureLength+1)) / float64(n/steps)
	return t.descend(steps, moved*noise, run)
}

// descend makes the passes, with normal noise of so large a deviation in each step's mean
// gradient, and gives the accuracy of the last model.
func (t *task) descend(steps int, deviation float64, run int) (float64, error) {
	train, test := lengthened(t.train), lengthened(t.test)
	r := seeded.New(t.seed, forNoise, uint64(run))
	order, size := r.Perm(train.Rows), train.Rows/steps
	m, err := nn.New(r, nn.Dense{In: train.Cols, Out: t.classes, Silent: true})
	if err != nil {
		return 0, err
	}
	pass, sum, targets := nn.NewPass(m), make([]float32, len(m.Params)), training.OneHot(t.labels, t.classes)
	dy := make([]float32, size*t.classes)
	for step := range passes * steps {
		who := order[step%steps*size:][:size]
		likes := make([]float32, 0, len(dy))
		for _, i := range who {
			likes = append(likes, targets[i*t.classes:][:t.classes]...)
		}
		nn.CrossEntropy(pass.Forward(dataset.Rows(train, who).Data, size), likes, dy, t.classes)
		pass.Backward(dy)
		clear(sum)
		pass.Gradient(sum)
		for i, v := range sum {
			m.Params[i] -= float32(stepLength * (float64(v)/float64(size) + deviation*r.NormFloat64()))
		}
	}
	return training.Accuracy(m, test, t.tests), nil
}

// lengthened are rows of one length.
func lengthened(x blas32.General) blas32.General {
	y := dataset.Copied(x)
	for i := range y.Rows {
		row := blas32.Vector{N: y.Cols, Inc: 1, Data: y.Data[i*y.Stride:]}
		if length := blas32.Nrm2(row); length > 0 {
			blas32.Scal(featureLength*(1-0x1p-20)/length, row)
		}
	}
	return y
}
