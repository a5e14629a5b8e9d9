package flags

import (
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

// Route says which way answers go.
type Route struct {
	Route string `help:"mix: sealed envelopes, which a shuffler permutes; sum: shares of vectors with a proof, which two aggregators add up." enum:"mix,sum" default:"mix"`
	Noise string `help:"Of a sum, who adds it: aggregators (each all of it, so that one honest one suffices), shared (each half of it) or devices (which flip their bits, or with --encoding none add a share each). Without flag, aggregators for histograms, strings, tables and experiments, and devices for all else." placeholder:"WHO"`
}

// Check is of the flags by themselves.
func (r Route) Check() error {
	switch {
	case r.Route == plan.RouteSum && r.Noise != "":
		return Word("noise", r.Noise, []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices})
	case r.Noise != "":
		return terminal.Usagef("--noise is of sums: set --route sum, or leave it out")
	}
	return nil
}

// Adds returns who adds the noise of a sum, of a question of that kind; empty where answers are
// mixed.
func (r Route) Adds(kind string) string {
	switch {
	case r.Route != plan.RouteSum:
		return ""
	case r.Noise != "":
		return r.Noise
	case kind == "histogram", kind == "strings", kind == "table", kind == "experiment":
		return plan.NoiseAggregators
	}
	return plan.NoiseDevices
}

// Noised says that cells go as they are, and that noise is added to their sums.
func (f Histogram) Noised(r Route) bool {
	by := r.Adds("histogram")
	return by != "" && (by != plan.NoiseDevices || f.Encoding == plan.RandomizerNone)
}

// CheckNoised lists flags of a histogram that say nothing where noise is added to the sums.
func (f Histogram) CheckNoised(r Route, localEpsilon float64) (errs []error) {
	if !f.Noised(r) {
		if f.Encoding == plan.RandomizerNone {
			errs = append(errs, terminal.Usagef("--encoding none leaves cells as they are, for sums that get noise: set --route sum, or name another"))
		}
		return errs
	}
	if e := f.Encoding; e != "" && e != plan.RandomizerNone && !slices.Contains(sketches, e) {
		errs = append(errs, terminal.Usagef("--encoding %s is of devices that add noise: leave it out, name a sketch (count-mean, count), or set --noise devices", e))
	}
	if f.Adjacency == string(account.Removal) {
		errs = append(errs, terminal.Usagef("--adjacency removal is of answers that are flipped: both aggregators know how many answered"))
	}
	if localEpsilon != 0 {
		errs = append(errs, terminal.Usagef("--local-epsilon: both aggregators together have the answer, with hardly any noise: leave it out, or have devices flip their bits (--noise devices)"))
	}
	return errs
}
