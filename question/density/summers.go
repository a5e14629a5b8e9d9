package density

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/plan"
)

// The bitsums of plans, and what each can do: an ability whose signature changed does not compile
// here, and TestBitsumsHaveTheirAbilities holds who must have which.
var (
	_ = []summer{flips{}, threeNoises{}, pure{}, poisson{}, negativeBinomial{}}
	_ = []varying{threeNoises{}, pure{}, poisson{}, negativeBinomial{}}
	_ = []flipping{flips{}}
	_ = []published{flips{}, threeNoises{}, pure{}}
	_ = []computed{threeNoises{}}
	_ = []thinnable{negativeBinomial{}}
	_ = []divisible{flips{}, threeNoises{}, pure{}, poisson{}, negativeBinomial{}}
)

// flips is randomized response of each bit.
type flips struct {
	bitsum.RR
	users int
}

func (m flips) Event() account.Event { return m.RR.Event(m.users) }

func (m flips) least(b plan.Bitsum, f *kernelmap.Features, t calibrate.Target, _ float64) (plan.Bitsum, account.Guarantee, error) {
	return m.paper(b, f, t, calibrate.Exact)
}

func (flips) paper(b plan.Bitsum, f *kernelmap.Features, t calibrate.Target, a calibrate.Accounting) (plan.Bitsum, account.Guarantee, error) {
	var g account.Guarantee
	var err error
	b.FlipProbability, g, err = kde.CalibrateRR(f, t.Users, t.Epsilon, t.Delta, a)
	return b, g, err
}

func (m flips) flipped() float64 { return m.Flip }

func (m flips) LocalEpsilon(f *kernelmap.Features) float64 { return kde.LocalEpsilon(f, m.Flip) }

func (flips) within(b plan.Bitsum, f *kernelmap.Features, epsilon float64) (plan.Bitsum, error) {
	flip, err := kde.LocalFlip(f, epsilon)
	b.FlipProbability = math.Max(b.FlipProbability, flip)
	return b, err
}

// threeNoises is 3NB.
type threeNoises struct{ bitsum.ThreeNB }

func (threeNoises) calibrated(b plan.Bitsum, t calibrate.Target, a calibrate.Accounting, extra float64) (plan.Bitsum, account.Guarantee, error) {
	e, g, err := bitnoise.CalibrateThreeNB(t, a, extra)
	b.Noise, b.FloodShape, b.FloodProbability = e.Noise, e.FloodShape, e.FloodProb
	return b, g, err
}

func (m threeNoises) least(b plan.Bitsum, _ *kernelmap.Features, t calibrate.Target, _ float64) (plan.Bitsum, account.Guarantee, error) {
	extra, err := bitnoise.FloodMessages(t)
	if err != nil {
		return b, account.Guarantee{}, err
	}
	return m.calibrated(b, t, calibrate.Exact, extra)
}

// paper: its flood is what it is.
func (m threeNoises) paper(b plan.Bitsum, _ *kernelmap.Features, t calibrate.Target, a calibrate.Accounting) (plan.Bitsum, account.Guarantee, error) {
	return m.calibrated(b, t, a, 0)
}

func (threeNoises) unharmed() float64 { return thinnedTimes }

// pure is the protocol of no delta.
type pure struct{ bitsum.Pure }

// paperRho is the largest rho that Ghazi, Kumar and Manurangsi 2023 allow.
const paperRho = 0.5

func (pure) filled(b plan.Bitsum, e bitnoise.Pure) plan.Bitsum {
	b.ChannelEpsilon, b.Theta, b.Drop, b.Size = e.Epsilon, e.Theta, e.Drop, e.Size
	return b
}

func (m pure) least(b plan.Bitsum, _ *kernelmap.Features, t calibrate.Target, _ float64) (plan.Bitsum, account.Guarantee, error) {
	e, g, err := bitnoise.CalibratePure(t)
	return m.filled(b, e), g, err
}

func (m pure) paper(b plan.Bitsum, _ *kernelmap.Features, t calibrate.Target, _ calibrate.Accounting) (plan.Bitsum, account.Guarantee, error) {
	e, err := bitnoise.PublishedPure(t.Users, t.Epsilon/float64(t.Rounds), paperRho)
	if err != nil {
		return m.filled(b, e), account.Guarantee{}, err
	}
	g, err := e.Guarantee(t.Rounds)
	return m.filled(b, e), g, err
}

// poisson is single Poisson noise.
type poisson struct{ bitsum.PoissonSum }

func (poisson) least(b plan.Bitsum, _ *kernelmap.Features, t calibrate.Target, _ float64) (plan.Bitsum, account.Guarantee, error) {
	e, err := bitnoise.PoissonMean(t.Users, t.Rounds, t.Epsilon, t.Delta)
	b.Mean = e.Mean
	if err != nil {
		return b, account.Guarantee{}, err
	}
	g, err := account.Epsilon(account.Repeat{Event: e, Rounds: t.Rounds}, t.Delta)
	return b, g, err
}

// negativeBinomial is single negative binomial noise.
type negativeBinomial struct{ bitsum.NegativeBinomialSum }

// singleProbability is p of the single negative binomial noise: at one half
// its error is within a percent of the least, for two messages where Poisson
// noise needs some more.
const singleProbability = 0.5

func (negativeBinomial) least(b plan.Bitsum, _ *kernelmap.Features, t calibrate.Target, times float64) (plan.Bitsum, account.Guarantee, error) {
	e, g, err := bitnoise.CalibrateThinnedNegativeBinomialSum(t, singleProbability, times)
	b.Shape, b.Probability = e.Shape, e.Prob
	return b, g, err
}

func (m negativeBinomial) thinned(times float64) account.Event {
	return bitnoise.ThinnedNegativeBinomialSum{Sum: bitnoise.NegativeBinomialSum(m.NegativeBinomialSum), Times: times}
}
