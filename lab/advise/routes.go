package advise

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/routes"
	"github.com/confetti-dp/confetti/plan"
)

// Route is a way that the answers to a task may go.
type Route = routes.Route

// About what services take for one envelope, in microseconds of one core: both hops and the
// analyzer, each of whom docs/performance.md has between 43 and 54.
const microsAnEnvelope = 141

// summable are the protocols whose messages a sum adds up as they are.
var summable = []string{"randomized response", "k-ary response", "attribute fragments"}

// Routes compares mixing by the recommended protocol with sums by two aggregators: the least
// error first.
func (a Advice) Routes(t Task) (all []Route, err error) {
	if a.Best >= 0 {
		best := a.Options[a.Best]
		all = append(all, Route{
			Name: "mixed: " + best.Protocol, RMSE: best.RMSE, Micros: microsAnEnvelope * float64(best.Envelopes), Local: best.Local,
			Rests: fmt.Sprintf("one honest hop, and the noise of %d respondents", t.Users),
			Liar:  fmt.Sprintf("put all its %d messages into one sum", best.Envelopes),
		})
	}
	for _, o := range a.Options {
		if o.Excluded != "" || !slices.Contains(summable, o.Protocol) {
			continue
		}
		c := plan.Circuit{Kind: plan.CircuitMultihot, Length: t.sums(), Weight: max(1, min(o.Envelopes, t.sums()))}
		if t.Repetitions > 0 {
			c = plan.Circuit{Kind: plan.CircuitSumVec, Length: t.sums(), Max: 1}
		}
		r, err := routes.Summed("summed, devices' noise: "+o.Protocol, o.RMSE, c)
		if err != nil {
			return nil, err
		}
		r.Rests = fmt.Sprintf("one honest aggregator that checks tokens, and the noise of %d respondents", t.Users)
		r.Local = o.Local
		all = append(all, r)
	}
	noised, err := t.noised()
	if err != nil {
		return nil, err
	}
	all = append(all, noised...)
	slices.SortStableFunc(all, func(a, b Route) int { return int(math.Copysign(1, a.RMSE-b.RMSE)) })
	return all, nil
}

// noised returns the sums to which aggregators or devices add the noise. None keeps a local
// epsilon, and only counts are summed so.
func (t Task) noised() ([]Route, error) {
	if t.Domain == 0 || t.LocalEpsilon > 0 {
		return nil, nil
	}
	return routes.Noised(calibrate.Target{Users: t.Users, Rounds: t.rounds(), Epsilon: t.Epsilon, Delta: t.Delta}, t.Domain)
}

// Chosen says which route is to be preferred, and why: of those that one party alone cannot
// break, with an error that nobody could tell from the least, the one that takes services
// the least time. Shares of devices are left to whoever asks for them: one that lies moves
// each sum by dozens.
func Chosen(all []Route) string {
	best := Route{RMSE: math.Inf(1)}
	for _, r := range all {
		if r.Name != routes.SharedNoise && r.Name != routes.DevicesNoise && (r.RMSE*tie < best.RMSE || r.RMSE <= tie*best.RMSE && r.Micros < best.Micros) {
			best = r
		}
	}
	if math.IsInf(best.RMSE, 1) {
		return "none can be used"
	}
	s := fmt.Sprintf("%s: of those that hold as long as one of the parties between is honest, it errs least (%.4g respondents), or as little as others and takes services less time (about %.2g ms a respondent). It rests on %s. A device that lies can %s.",
		best.Name, best.RMSE, best.Micros/1000, best.Rests, best.Liar)
	if math.IsInf(best.Local, 1) {
		s += " If all these parties collude there is " + account.NoProtection + "."
	}
	return s
}
