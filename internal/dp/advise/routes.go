package advise

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/plan"
)

// Route is a way that the answers to a task may go, with the noise that keeps the task's
// epsilon and delta against whoever reads what is released.
type Route struct {
	Name   string
	RMSE   float64 // of one sum, in respondents
	Bytes  int     // that a device sends, before it is sealed; of mixing 0, which depends on the hops
	Micros float64 // of the processors of all services together, for one respondent; about
	Rests  string  // what the guarantee rests on
	Local  float64 // epsilon though everyone colludes; +Inf where nothing is promised
	Liar   string  // what a device can do that lies
}

// About what services take for one respondent, in microseconds of one core: both hops and
// the analyzer for an envelope, each of whom docs/performance.md has between 43 and 54; and
// both aggregators for a number of a vector of 1,024 (go test -bench Prio3 ./internal/prio3).
const (
	microsAnEnvelope = 141
	microsANumber    = 0.16
)

const (
	sharedNoise  = "summed, shared noise"
	devicesNoise = "summed, shares of devices"
)

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
		r, err := summed("summed, devices' noise: "+o.Protocol, o.RMSE, c)
		if err != nil {
			return nil, err
		}
		r.Rests = fmt.Sprintf("one honest aggregator that checks tokens, and the noise of %d respondents", t.Users)
		r.Local = o.Local
		all = append(all, r)
	}
	noised, err := t.Noised()
	if err != nil {
		return nil, err
	}
	all = append(all, noised...)
	slices.SortStableFunc(all, func(a, b Route) int { return int(math.Copysign(1, a.RMSE-b.RMSE)) })
	return all, nil
}

// Noised returns the sums to which aggregators add the noise: each all of it, or half of it. None
// keeps a local epsilon, and only counts are summed so.
func (t Task) Noised() (all []Route, err error) {
	if t.Domain == 0 || t.LocalEpsilon > 0 {
		return nil, nil
	}
	for _, shared := range []bool{false, true} {
		r, err := t.noised(shared)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	r, err := t.scattered()
	return append(all, r), err
}

// scattered returns the sum of cells to which each device adds its share of discrete Laplace noise:
// half of delta pays for shares that are cut.
func (t Task) scattered() (Route, error) {
	decay, err := additive.LaplaceNoise(t.target(1, t.rounds(), t.Delta/2))
	if err != nil {
		return Route{}, err
	}
	m := bitsum.DistributedLaplace{Users: t.Users, Noise: decay}
	reach := m.Reach(t.Delta / 2 / ((1 + math.Exp(t.Epsilon)) * float64(t.rounds())))
	r, err := summed(devicesNoise, additive.DiscreteLaplace{Noise: decay, Sensitivity: 1}.RMSE(), plan.Circuit{Kind: plan.CircuitSumVec, Length: t.Domain, Max: 2*reach + 1})
	r.Rests = fmt.Sprintf("one honest aggregator that checks tokens, and the noise of %d respondents", t.Users)
	r.Local, r.Liar = math.Inf(1), fmt.Sprintf("move each sum by %d reports at most, which it proves", reach+1)
	return r, err
}

// noised returns the sum to which aggregators add discrete Laplace noise.
func (t Task) noised(shared bool) (Route, error) {
	decay, err := additive.LaplaceNoise(t.target(1, t.rounds(), t.Delta))
	if err != nil {
		return Route{}, err
	}
	rmse := additive.DiscreteLaplace{Noise: decay, Sensitivity: 1}.RMSE()
	name, rests := "summed, each aggregator's noise", "one honest aggregator, and on no respondent"
	if shared {
		name, rests = sharedNoise, "both aggregators being honest, and on no respondent"
	} else {
		rmse *= math.Sqrt2
	}
	r, err := summed(name, rmse, plan.Circuit{Kind: plan.CircuitHistogram, Length: t.Domain + 1})
	r.Rests, r.Local = rests, math.Inf(1)
	return r, err
}

func summed(name string, rmse float64, c plan.Circuit) (Route, error) {
	s, err := sum.New(plan.Plan{Route: plan.Route{Sum: &plan.Sum{Circuit: c, Chunk: sum.Chunk(c), Noise: plan.NoiseDevices}}})
	if err != nil {
		return Route{}, err
	}
	v, err := s.VDAF(nil)
	if err != nil {
		return Route{}, err
	}
	public, leader, helper := v.ShareSizes()
	return Route{Name: name, RMSE: rmse, Bytes: public + leader + helper, Micros: microsANumber * float64(c.Length*max(1, bits.Len(uint(c.Max)))), Liar: "move each sum by one report at most, which it proves"}, nil
}

// Chosen says which route is to be preferred, and why: of those that one party alone cannot
// break, with an error that nobody could tell from the least, the one that takes services
// the least time. Shares of devices are left to whoever asks for them: one that lies moves
// each sum by dozens.
func Chosen(all []Route) string {
	best := Route{RMSE: math.Inf(1)}
	for _, r := range all {
		if r.Name != sharedNoise && r.Name != devicesNoise && (r.RMSE*tie < best.RMSE || r.RMSE <= tie*best.RMSE && r.Micros < best.Micros) {
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
