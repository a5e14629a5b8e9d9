package advise

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/sketch"
)

// protocols in the order of the table. An option's error says why the protocol
// cannot be used for the task.
var protocols = []struct {
	name   string
	local  bool // a device hides what it holds by itself, too
	option func(Task) (Option, error)
}{
	{"randomized response", true, adviseRR},
	{"k-ary response", true, adviseKRR},
	{"3NB", false, adviseThreeNB},
	{"Pure", false, advisePure},
	{"attribute fragments", true, adviseAttributes},
	{"report fragments", true, adviseReports},
	{"sketch", true, adviseSketch},
	{"central Gaussian", false, adviseGaussian},
	{"central discrete Laplace", false, adviseLaplace},
}

var (
	errNoBits   = errors.New("it answers bits; here every respondent holds one value of a domain: see attribute fragments")
	errNoLocal  = errors.New("what one device sends, or the curator gets, shows what it holds: no local epsilon holds for it")
	errNoDomain = errors.New("it counts the values of a domain; here every respondent answers bits")
)

// adviseRR sends every bit by itself, flipped with one probability.
func adviseRR(t Task) (Option, error) {
	if t.Domain > 0 {
		return Option{}, errNoBits
	}
	all := func(flip float64) account.Event {
		return account.Repeat{Event: bitsum.RR{Flip: flip}.Event(t.Users), Rounds: t.Repetitions}
	}
	e, g, err := t.bits(t.target(t.Users, t.Repetitions, t.Delta), all)
	if err != nil {
		return Option{}, err
	}
	m := bitsum.RR{Flip: e.Flip}
	one, err := account.OneMessage(all(m.Flip), t.Delta)
	return Option{
		Noise: fmt.Sprintf("flip probability %.4g", m.Flip), Guarantee: g, RMSE: m.Estimate([2]uint64{}, t.Users).StdErr,
		Messages: float64(t.Repetitions) * m.MessagesPerUser(), Envelopes: t.Repetitions,
		Local: float64(t.Repetitions) * m.Local().Epsilon, OneFragment: one,
	}, err
}

// bits returns the least noise of the target's rounds of one bit that keeps both epsilons of
// the task; all is the event of all that one device sends, as a function of the flips.
func (t Task) bits(target calibrate.Target, all func(flip float64) account.Event) (e shuffle.RandomizedResponse, g account.Guarantee, err error) {
	e.Users = target.Users
	if t.Epsilon > 0 {
		if e, g, err = shuffle.CalibrateRR(target, calibrate.Exact); err != nil {
			return e, g, err
		}
	}
	if t.LocalEpsilon == 0 {
		return e, g, nil
	}
	flip, err := shuffle.LocalFlip(t.LocalEpsilon, 0.5, all)
	if err != nil || flip <= e.Flip {
		return e, g, err
	}
	e.Flip = flip
	g, err = account.Epsilon(account.Repeat{Event: e, Rounds: target.Rounds}, target.Delta)
	return e, g, err
}

// adviseKRR sends the value as it is or another at random. The error of a value
// depends on how many hold it, but the root mean square over all values does not.
func adviseKRR(t Task) (Option, error) {
	if t.Domain == 0 {
		return Option{}, errNoDomain
	}
	event := func(local float64) account.Event {
		return randomize.KRR{K: t.Domain, Epsilon: local}.Event(t.Users)
	}
	local, g, err := math.Inf(1), account.Guarantee{}, error(nil)
	if t.Epsilon > 0 {
		local, g, err = amplify.CalibrateLocal(t.target(t.Users, 1, t.Delta), event)
	}
	if err == nil && t.LocalEpsilon > 0 && t.LocalEpsilon < local {
		local = t.LocalEpsilon
		g, err = account.Epsilon(event(local), t.Delta)
	}
	if err != nil {
		return Option{}, err
	}
	one, err := account.OneMessage(event(local), t.Delta) // the message is the report
	m := randomize.KRR{K: t.Domain, Epsilon: local}
	if err := m.Validate(); err != nil {
		return Option{}, err
	}
	return Option{
		Noise:     fmt.Sprintf("probability of the truth %.4g", m.Prob(0, 0)),
		Guarantee: g,
		RMSE:      m.RMSE(t.Users),
		Messages:  1, Envelopes: 1, Local: m.Epsilon, OneFragment: one,
	}, err
}

// adviseThreeNB sends ones, and noise of which everyone makes a share.
func adviseThreeNB(t Task) (Option, error) {
	target := t.target(t.Users, t.rounds(), t.Delta*(1-overflowShare))
	extra, err := bitnoise.FloodMessages(target)
	if err != nil {
		return Option{}, err
	}
	// At large noise parameters the flood must not be zero more often than delta.
	e, g, err := bitnoise.CalibrateFlooded(target, extra, math.Max(bitnoise.FloodShape, -math.Log(t.Delta)))
	if err != nil {
		return Option{}, err
	}
	g.Delta = t.Delta
	n, sums := float64(t.Users), float64(t.sums())
	ones, most := 1.0, 1.0
	if t.Repetitions > 0 {
		ones, most = sums/2, sums
	}
	envelopes, err := t.envelopes(func(x float64) float64 {
		return most*x + sums/n*(2*negativeBinomialMGF(1, math.Exp(-e.Noise), x)+negativeBinomialMGF(e.FloodShape, e.FloodProb, 2*x))
	}, math.Inf(1))
	if err != nil {
		return Option{}, err
	}
	return Option{
		Noise:     fmt.Sprintf("e1 %.4g, flood r %.4g, p %.4g", e.Noise, e.FloodShape, e.FloodProb),
		Guarantee: g, RMSE: e.RMSE(),
		Messages: ones + sums*e.MessagesPerUser(), Envelopes: envelopes,
		Local: math.Inf(1), OneFragment: nothing,
	}, nil
}

// advisePure returns the pure protocol for every sum.
func advisePure(t Task) (Option, error) {
	e, g, err := bitnoise.CalibratePure(t.target(t.Users, t.rounds(), t.Delta*(1-overflowShare)))
	if err != nil {
		return Option{}, err
	}
	g.Delta = t.Delta
	n, sums := float64(t.Users), float64(t.sums())
	ones, most := 1.0, 1.0
	if t.Repetitions > 0 {
		ones, most = sums/2, sums
	}
	if e.Size > maxAdvised {
		return Option{}, fmt.Errorf("every device would send more than %d messages for each sum", 2*maxAdvised)
	}
	envelopes, err := t.envelopes(func(x float64) float64 {
		return most*x + sums*2*float64(e.Size)*x + sums/n*(2*negativeBinomialMGF(1, math.Exp(e.Theta-e.Epsilon), x)+floodMGF(e, 2*x))
	}, math.Inf(1))
	return Option{
		Noise:     fmt.Sprintf("epsilon %.4g a sum, theta %.3g, drop %.3g, size %d", e.Epsilon, e.Theta, e.Drop, e.Size),
		Guarantee: g, RMSE: e.RMSE(t.Users),
		Messages: ones + sums*e.MessagesPerUser(), Envelopes: envelopes,
		Local: math.Inf(1), OneFragment: nothing,
	}, err
}

// adviseAttributes sends a one-hot report bit by bit, and only the ones (ESA,
// Algorithm 1).
func adviseAttributes(t Task) (Option, error) {
	if t.Domain == 0 {
		return Option{}, errNoDomain
	}
	o, _, err := t.oneHot(t.Users, t.Domain)
	return o, err
}

// oneHot is attribute fragments of so many cells among so many users.
func (t Task) oneHot(users, cells int) (Option, shuffle.RandomizedResponse, error) {
	all := func(flip float64) account.Event {
		return shuffle.OneHot{Users: users, Flip: flip, Adjacency: account.Replacement}
	}
	e, g, err := t.bits(t.target(users, 2, t.Delta*(1-overflowShare)), all)
	if err != nil {
		return Option{}, e, err
	}
	if t.Epsilon == 0 { // of which reports that outgrow their envelopes take a share
		t.Epsilon = g.Epsilon
	}
	p, k := e.Flip, float64(cells)
	envelopes, err := t.envelopes(func(x float64) float64 {
		return bernoulliMGF(1-p, x) + (k-1)*bernoulliMGF(p, x)
	}, k)
	g.Delta = t.Delta
	return Option{
		Noise: fmt.Sprintf("flip probability %.4g", p), Guarantee: g,
		RMSE:     math.Sqrt(randomize.OneHot{K: 1, Keep: 1 - p, Flip: p}.Variance(0, t.Users)),
		Messages: 1 - p + (k-1)*p, Envelopes: envelopes,
		Local: 2 * e.Losses().Report, OneFragment: t.opened(account.All{Events: []account.Event{shuffle.RandomizedResponse{Users: 1, Flip: p}, e}}, e, e.Losses().Report, 2*e.Losses().Report),
	}, e, err
}

// adviseReports tears every bit into Tau fragments behind a backstop (ESA,
// Algorithm 2) by FragmentEpsilon.
func adviseReports(t Task) (Option, error) {
	delta, adjacency, answers := t.Delta, account.Removal, t.Repetitions // of one bit that changes, either way
	if t.Domain > 0 {
		delta, adjacency, answers = delta*(1-overflowShare), account.Replacement, 1
	}
	tau := float64(t.Tau)
	var r shuffle.Fragments
	var g account.Guarantee
	var err error
	if t.Epsilon > 0 {
		if r, g, err = shuffle.CalibrateFragments(t.target(t.Users, answers, delta), t.Tau, adjacency); err != nil {
			return Option{}, err
		}
	}
	if t.LocalEpsilon > 0 {
		within, err := shuffle.LocalFragments(t.Users, t.Tau, adjacency, t.LocalEpsilon/float64(t.rounds()))
		if err != nil {
			return Option{}, err
		}
		if t.Epsilon == 0 || within.Fragment < r.Fragment {
			r = within
			if g, err = account.Epsilon(account.Repeat{Event: r.OneHot(0), Rounds: answers}, delta); err != nil {
				return Option{}, err
			}
		}
	}
	if t.Epsilon == 0 {
		t.Epsilon = g.Epsilon
	}
	all, err := r.Exposed(t.Tau)
	if err != nil {
		return Option{}, err
	}
	local := float64(t.rounds()) * all.Epsilon
	g.Adjacency = account.Replacement
	// Of a one-hot report a fragment shows every bit; of several bits it is of one.
	var seen account.Event = r.OneHot(1)
	if answers > 1 {
		seen = account.All{Events: []account.Event{r.Bit(1), account.Repeat{Event: r.Bit(0), Rounds: answers - 1}}}
	}
	rest := account.Repeat{Event: shuffle.RandomizedResponse{Users: t.Users, Flip: shuffle.FlipOf(r.Fragment)}, Rounds: t.rounds() * (t.Tau - 1)}
	one := t.opened(seen, rest, 2*r.Fragment, local)
	b, f := shuffle.FlipOf(r.Backstop), shuffle.FlipOf(r.Fragment)
	m := fragmented(b, f, t.Tau)
	g.Delta = t.Delta
	o := Option{
		Noise:     fmt.Sprintf("%d fragments, backstop epsilon %.4g, fragment epsilon %.4g", t.Tau, r.Backstop, r.Fragment),
		Guarantee: g,
		RMSE:      math.Sqrt(m.Variance(0, t.Users, t.Tau)),
		Messages:  tau * float64(t.sums()), Envelopes: t.Tau * t.sums(),
		Local: local, OneFragment: one,
	}
	if t.Domain > 0 { // only the ones are sent
		k := float64(t.Domain)
		o.Messages = tau * (m.Prob(true) + (k-1)*m.Prob(false))
		bit := func(kept, x float64) float64 { // given the backstop the fragments are independent
			return logMix(kept, tau*bernoulliMGF(1-f, x), tau*bernoulliMGF(f, x))
		}
		o.Envelopes, err = t.envelopes(func(x float64) float64 { return bit(1-b, x) + (k-1)*bit(b, x) }, tau*k)
	}
	return o, err
}

// fragmented returns one bit in tau fragments, the backstop flipped with probability b and a
// fragment with f.
func fragmented(b, f float64, tau int) randomize.Fragmented {
	bit := func(flip float64) randomize.OneHot { return randomize.OneHot{K: 1, Keep: 1 - flip, Flip: flip} }
	return randomize.Fragmented{Backstop: bit(b), Fragment: bit(f), Tau: tau}
}

// adviseSketch hashes the value into one row of a count-mean sketch and sends
// the row as attribute fragments. Rows are crowds of an equal number of
// respondents, so only the noise of one row's respondents is relied upon.
func adviseSketch(t Task) (Option, error) {
	if t.Domain == 0 {
		return Option{}, errNoDomain
	}
	users := t.Users / t.Hashes
	if users < 2 {
		return Option{}, fmt.Errorf("%d rows share %d respondents: nobody is left to hide among", t.Hashes, t.Users)
	}
	o, e, err := t.oneHot(users, t.Width)
	if err != nil {
		return Option{}, err
	}
	table, err := sketch.NewCountMean(t.Hashes, t.Width, [32]byte{})
	if err != nil {
		return Option{}, err
	}
	row := randomize.OneHot{K: t.Width, Keep: 1 - e.Flip, Flip: e.Flip}
	if err := row.Validate(); err != nil {
		return Option{}, err
	}
	answer := sketch.OneHot(row)
	// All others of one value are the worst: they fall into a cell together.
	others := float64(t.Users - 1)
	o.RMSE = math.Sqrt(table.Variance(1, t.Users, others*(others-1), answer))
	o.Noise = fmt.Sprintf("%d rows of %d, flip probability %.4g", t.Hashes, t.Width, e.Flip)
	return o, nil
}

// adviseGaussian returns a curator who adds normal noise to every sum.
func adviseGaussian(t Task) (Option, error) {
	e, g, err := central.CalibrateGaussian(t.target(t.Users, t.rounds(), t.Delta), 1)
	if err != nil {
		return Option{}, err
	}
	return Option{Noise: fmt.Sprintf("sigma %.4g", e.Sigma), Guarantee: g, RMSE: e.Sigma, Local: math.Inf(1), OneFragment: nothing}, nil
}

// adviseLaplace returns a curator who adds discrete Laplace noise to every sum.
func adviseLaplace(t Task) (Option, error) {
	e1, err := additive.LaplaceNoise(t.target(t.Users, t.rounds(), t.Delta))
	if err != nil {
		return Option{}, err
	}
	e := additive.DiscreteLaplace{Noise: e1, Sensitivity: 1}
	g, err := account.Epsilon(account.Repeat{Event: e, Rounds: t.rounds()}, t.Delta)
	return Option{Noise: fmt.Sprintf("parameter %.4g", e1), Guarantee: g, RMSE: e.RMSE(), Local: math.Inf(1), OneFragment: nothing}, err
}

func (t Task) target(users, rounds int, delta float64) calibrate.Target {
	return calibrate.Target{Users: users, Rounds: rounds, Epsilon: t.Epsilon, Delta: delta}
}
