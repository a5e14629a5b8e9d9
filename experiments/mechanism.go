package experiments

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/bitsum"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
)

// mechanism is a bitsum with its numbers filled in.
type mechanism struct {
	// estimate draws a channel's estimate from its law.
	estimate  func(r *rand.Rand, ones, users int) estimate.Value
	rmse      float64           // of one channel's sum
	messages  float64           // mean a device
	guarantee account.Guarantee // its zero value: none
	report    func(*KDEResult)  // writes down the parameters that it has
}

// Bitsums are what KDE.Bitsum may be.
var Bitsums = append(slices.Clone(plan.Bitsums), "central", "local", "none")

// Validate lists everything that is wrong with the cell.
func (e KDE) Validate() error {
	var errs []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	check(slices.Contains(Bitsums, e.Bitsum), "bitsum %q: choose one of %v", e.Bitsum, Bitsums)
	check(e.Accounting == account.ExactAccounting || e.Accounting == account.PaperAccounting, "accounting %q: choose %q or %q", e.Accounting, account.ExactAccounting, account.PaperAccounting)
	check(slices.Contains([]string{"", HighestDensity, NearestMean}, e.Classifier), "classifier %q: choose %s or %s", e.Classifier, HighestDensity, NearestMean)
	check(e.Classifier != NearestMean || e.innerProduct(), "classifier %s: needs a kernel of inner products (ip-...)", NearestMean)
	check(e.Epsilon > 0 && e.Epsilon <= 100 || e.Epsilon == 0 && e.LocalEpsilon > 0, "epsilon %v: must be above 0, at most 100", e.Epsilon)
	check(e.LocalEpsilon == 0 || e.LocalEpsilon >= 1e-6 && e.LocalEpsilon <= 1e6, "local epsilon %v: must be from 1e-6 to 1e6", e.LocalEpsilon)
	check(e.LocalEpsilon == 0 || e.LocalEpsilon > e.LabelEpsilon, "local epsilon %v: the label alone is sent with epsilon %v", e.LocalEpsilon, e.LabelEpsilon)
	check(e.LocalEpsilon == 0 || e.Bitsum == "rr" || e.Bitsum == "local", "local epsilon: %s has none, since its devices do not hide their bits by themselves; choose rr or local", e.Bitsum)
	check(e.Delta > 0 && e.Delta < 1, "delta %v: must be between 0 and 1, both excluded", e.Delta)
	check(e.LabelEpsilon >= 0 && e.LabelEpsilon <= 100, "label epsilon %v: must be above 0, at most 100", e.LabelEpsilon)
	check(e.Repetitions >= 0 && e.Repetitions <= 1<<20, "repetitions %d: must be at least 1, at most 2^20", e.Repetitions)
	check(e.Runs >= 1 && e.Runs <= 10000, "runs %d: must be 1 to 10000", e.Runs)
	return errors.Join(errs...)
}

// calibrate finds the least noise that keeps the budget for users respondents.
func (e KDE) calibrate(users int, f *encode.Features) (mechanism, error) {
	switch e.Bitsum {
	case "central":
		// The rounds are one vector of sums: a replaced record moves each by at most one.
		t := account.Target{Epsilon: e.Epsilon, Delta: e.Delta, Users: users, Rounds: f.Sensitivity().Coordinates}
		event, g, err := additive.CalibrateGaussian(t, 1)
		if err != nil {
			return mechanism{}, err
		}
		gauss := bitsum.Gaussian{Sigma: event.Sigma}
		return mechanism{
			estimate: gauss.DrawEstimate, rmse: event.Sigma, messages: 1, guarantee: g,
			report: func(r *KDEResult) { r.Sigma = event.Sigma },
		}, nil
	case "none":
		return mechanism{estimate: bitsum.Exact{}.DrawEstimate, messages: 1, report: func(*KDEResult) {}}, nil
	}
	b := plan.Bitsum{Name: e.Bitsum, Accounting: string(e.Accounting)}
	honest := users
	if e.Bitsum == "local" {
		b.Name, honest = "rr", 1 // nobody else's noise is relied upon
	}
	b, g, err := e.least(b, f, honest)
	if err != nil {
		return mechanism{}, err
	}
	if e.Bitsum == "local" {
		g.Trust = account.Local
	}
	bits, _, err := density.NewBitsum(b, users)
	if err != nil {
		return mechanism{}, err
	}
	draw := bits.DrawCounts
	if p, ok := bits.(bitsum.Pure); ok {
		draw = p.DrawNetCounts // the flood cancels in the estimate, and is a flood
	}
	half := uint64(users / 2)
	return mechanism{
		estimate: func(r *rand.Rand, ones, n int) estimate.Value { return bits.Estimate(draw(r, ones, n), n) },
		rmse:     bits.Estimate([2]uint64{half, half}, users).StdErr, messages: float64(f.Channels()) * bits.MessagesPerUser(), guarantee: g,
		report: func(r *KDEResult) {
			if p := b.FlipProbability; b.Name == "rr" && p > 0 {
				local := kde.LocalEpsilon(f, p)
				r.EpsilonLocal = &local
			}
			r.FlipProbability, r.Noise, r.FloodShape, r.FloodProbability = b.FlipProbability, b.Noise, b.FloodShape, b.FloodProbability
			r.ChannelEpsilon, r.Theta, r.Drop, r.Size, r.Mean, r.Shape, r.Probability = b.ChannelEpsilon, b.Theta, b.Drop, b.Size, b.Mean, b.Shape, b.Probability
		},
	}, nil
}

// least is the bitsum of least noise that keeps the budget for users respondents.
func (e KDE) least(b plan.Bitsum, f *encode.Features, users int) (plan.Bitsum, account.Guarantee, error) {
	var g account.Guarantee
	var err error
	if e.Epsilon > 0 {
		if b, g, err = density.DesignBitsum(b, f, users, 1, e.Epsilon, e.Delta); err != nil || e.LocalEpsilon == 0 {
			return b, g, err
		}
	}
	if b, err = density.WithinLocal(b, f, e.LocalEpsilon-e.LabelEpsilon); err != nil {
		return b, g, err
	}
	_, channel, err := density.NewBitsum(b, users)
	if err != nil {
		return b, g, err
	}
	g, err = account.Epsilon(kde.Loss(f, channel), e.Delta)
	return b, g, err
}

// state writes the mechanism into the result.
func (m mechanism) state(r *KDEResult) {
	m.report(r)
	r.RMSEBitsum, r.MessagesPerDevice = m.rmse, m.messages
	if g := m.guarantee; g.Method != "" {
		r.Epsilon, r.Delta = &g.Epsilon, g.Delta
		r.Adjacency, r.Trust, r.Method, r.Certified = string(g.Adjacency), string(g.Trust), g.Method, g.Certified
	}
}
