// Package routes compares the ways that aggregators' sums may be noisy: error, bytes, and what each rests on. Used by
// protocol/design, and by the lab's advice.
package routes

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/plan"
)

// Route is a way that answers may go, with the noise that keeps an epsilon and delta against whoever
// reads what is released.
type Route struct {
	Name   string
	RMSE   float64 // of one sum, in respondents
	Bytes  int     // that a device sends, before it is sealed; of mixing 0, which depends on the hops
	Micros float64 // of the processors of all services together, for one respondent; about
	Rests  string  // what the guarantee rests on
	Local  float64 // epsilon though everyone colludes; +Inf where nothing is promised
	Liar   string  // what a device can do that lies
}

// microsANumber is about what both aggregators take for a number of a vector of 1,024, in microseconds of
// one core (go test -bench Prio3 ./internal/prio3).
const microsANumber = 0.16

// Routes by their names: both aggregators' noise together is that of one, or devices add it.
const (
	SharedNoise  = "summed, shared noise"
	DevicesNoise = "summed, shares of devices"
)

// Noised returns the sums of so many counts to which noise is added: by each aggregator all of it, or half
// of it, or a share by each device. A respondent holds one value, whose change moves two counts
// (the target's rounds).
func Noised(target calibrate.Target, domain int) (all []Route, err error) {
	for _, shared := range []bool{false, true} {
		r, err := noised(target, domain, shared)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	r, err := scattered(target, domain)
	return append(all, r), err
}

// laplace returns the noise that keeps the target with part of its delta, whoever answers.
func laplace(t calibrate.Target, delta float64) (float64, error) {
	t.Users, t.Delta = 1, delta
	return additive.LaplaceNoise(t)
}

// scattered returns the sum of cells to which each device adds its share of discrete Laplace noise:
// half of delta pays for shares that are cut.
func scattered(t calibrate.Target, domain int) (Route, error) {
	decay, err := laplace(t, t.Delta/2)
	if err != nil {
		return Route{}, err
	}
	m := sumprivacy.DistributedLaplace{Users: t.Users, Noise: decay}
	reach := m.Reach(t.Delta / 2 / ((1 + math.Exp(t.Epsilon)) * float64(t.Rounds)))
	r, err := Summed(DevicesNoise, additive.DiscreteLaplace{Noise: decay, Sensitivity: 1}.RMSE(), plan.Circuit{Kind: plan.CircuitSumVec, Length: domain, Max: 2*reach + 1})
	r.Rests = fmt.Sprintf("one honest aggregator that checks tokens, and the noise of %d respondents", t.Users)
	r.Local, r.Liar = math.Inf(1), fmt.Sprintf("move each sum by %d reports at most, which it proves", reach+1)
	return r, err
}

// noised returns the sum to which aggregators add discrete Laplace noise.
func noised(t calibrate.Target, domain int, shared bool) (Route, error) {
	decay, err := laplace(t, t.Delta)
	if err != nil {
		return Route{}, err
	}
	rmse := additive.DiscreteLaplace{Noise: decay, Sensitivity: 1}.RMSE()
	name, rests := "summed, each aggregator's noise", "one honest aggregator, and on no respondent"
	if shared {
		name, rests = SharedNoise, "both aggregators being honest, and on no respondent"
	} else {
		rmse *= math.Sqrt2
	}
	r, err := Summed(name, rmse, plan.Circuit{Kind: plan.CircuitHistogram, Length: domain + 1})
	r.Rests, r.Local = rests, math.Inf(1)
	return r, err
}

// Summed returns what it takes to sum the answers of a circuit.
func Summed(name string, rmse float64, c plan.Circuit) (Route, error) {
	v, err := vdaf.New(&plan.Sum{Circuit: c, Chunk: sum.Chunk(c), Noise: plan.NoiseDevices}, nil)
	if err != nil {
		return Route{}, err
	}
	public, leader, helper := v.ShareSizes()
	return Route{Name: name, RMSE: rmse, Bytes: public + leader + helper, Micros: microsANumber * float64(c.Length*max(1, bits.Len(uint(c.Max)))), Liar: "move each sum by one report at most, which it proves"}, nil
}
