package experiments

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
)

// Histogram is what a plan of a histogram question leaves open, in the plan's words. Each
// respondent holds one cell.
type Histogram struct {
	Encoding   string               `json:"encoding,omitempty"` // one of Encodings
	Accounting calibrate.Accounting `json:"accounting,omitempty"`
	// Epsilon is the central one, that of one-hot reports. ESA's accounting, which
	// has none for sketches, gives those the local epsilon of one-hot reports.
	Epsilon float64 `json:"epsilon,omitempty"`
	// LocalEpsilon is the most that all of one respondent's messages may tell, under
	// Adjacency: beside Epsilon, or instead of it; 0: no limit.
	LocalEpsilon float64           `json:"local_epsilon,omitempty"`
	Delta        float64           `json:"delta,omitempty"`
	Adjacency    account.Adjacency `json:"adjacency,omitempty"`
	Fragments    int               `json:"fragments,omitempty"` // report fragments behind a backstop; 0 or 1: none
	Repeats      int               `json:"repeats,omitempty"`   // every respondent reports so often, each time with that share of the local epsilon; 0: once
	Hashes       int               `json:"hashes,omitempty"`    // of a sketch
	Width        int               `json:"width,omitempty"`     // of a sketch
	Crowds       int               `json:"crowds,omitempty"`    // of derived crowds
	// CrowdEpsilon is the part of LocalEpsilon that the name of a derived crowd takes.
	CrowdEpsilon float64 `json:"crowd_epsilon,omitempty"`
}

// Encodings are what Histogram.Encoding may be.
var Encodings = []string{OneHot, Asymmetric, CountMean, Count, Central, DerivedCrowds}

const (
	OneHot     = "one-hot"            // ESA, Algorithm 1
	Asymmetric = "one-hot-asymmetric" // set bits are sent half of the time
	CountMean  = "count-mean"         // sketch whose rows are answered by one-hot
	Count      = "count"              // the same with signs
	Central    = Curator              // of Gaussian noise on every count
	// DerivedCrowds are one-hot reports in crowds that a hash of the value names: what ESA,
	// section V, advises against. They are an experiment and no more.
	DerivedCrowds = "derived-crowds"
)

func (h Histogram) validate(f *faults) {
	check := f.check
	sketched := h.Encoding == CountMean || h.Encoding == Count
	check(slices.Contains(Encodings, h.Encoding), "encoding %q: choose one of %v", h.Encoding, Encodings)
	check(h.Accounting == calibrate.Exact || h.Accounting == calibrate.Paper, "accounting %q: choose %q or %q", h.Accounting, calibrate.Exact, calibrate.Paper)
	check(h.Adjacency == account.Removal || h.Adjacency == account.Replacement, "adjacency %q: choose %q or %q", h.Adjacency, account.Removal, account.Replacement)
	check(h.Accounting != calibrate.Paper || h.Adjacency == account.Removal, "accounting paper: ESA's is for removal")
	check(h.Accounting != calibrate.Paper || h.Encoding != Asymmetric, "accounting paper: ESA has none for %s", Asymmetric)
	check(h.Epsilon > 0 || h.LocalEpsilon > 0, "epsilon %v: must be above 0, or a local epsilon be given", h.Epsilon)
	check(h.Epsilon >= 0 && h.Epsilon <= 100, "epsilon %v: must be above 0, at most 100", h.Epsilon)
	check(h.LocalEpsilon == 0 || h.LocalEpsilon >= 1e-6 && h.LocalEpsilon <= 1e6, "local epsilon %v: must be from 1e-6 to 1e6", h.LocalEpsilon)
	check(h.LocalEpsilon == 0 || h.Encoding != Central, "local epsilon: %s has no such limit, a curator sees all; choose another encoding", h.Encoding)
	check(h.Delta > 0 && h.Delta < 1, "delta %v: must be between 0 and 1, both excluded", h.Delta)
	check(h.Fragments >= 0 && h.Fragments <= 1024, "%d report fragments: must be 1 to 1024", h.Fragments)
	check(h.Repeats >= 0 && h.Repeats <= 1024, "%d repeats: must be 1 to 1024", h.Repeats)
	check(h.Repeats <= 1 || h.Fragments <= 1, "report fragments and repeats: give one of them")
	check(h.Fragments <= 1 || h.Encoding != Asymmetric && h.Encoding != Central, "report fragments: %s has none", h.Encoding)
	check(h.Repeats <= 1 || h.Encoding != Asymmetric && h.Encoding != Central, "repeats: %s has none", h.Encoding)
	check(!sketched || h.Hashes >= 1 && h.Width >= 2, "%s: needs at least one hash function of two cells", h.Encoding)
	check(sketched || h.Hashes == 0 && h.Width == 0, "hash functions: %s has none", h.Encoding)
	check((h.Encoding == DerivedCrowds) == (h.Crowds >= 2), "%d crowds: %s has two or more, and nothing else any", h.Crowds, DerivedCrowds)
	check(h.Encoding != DerivedCrowds || h.Epsilon == 0, "%s: is given a local epsilon only", DerivedCrowds)
	check((h.Encoding == DerivedCrowds) == (h.CrowdEpsilon > 0) && (h.CrowdEpsilon == 0 || h.CrowdEpsilon < h.LocalEpsilon), "epsilon %v of the crowd: %s needs one below the local epsilon", h.CrowdEpsilon, DerivedCrowds)
	check(h.Encoding != DerivedCrowds || max(h.Fragments, h.Repeats) <= 1 && h.Adjacency == account.Removal, "%s: without fragments and repeats, for removal", DerivedCrowds)
}

// String says what is measured, for progress and for errors.
func (h Histogram) String() string { return fmt.Sprintf("%s, %s", h.Way(), h.Target()) }

// Target returns what its noise is to keep.
func (h Histogram) Target() string {
	if h.Epsilon == 0 {
		return fmt.Sprintf("local %g", h.LocalEpsilon)
	}
	return fmt.Sprintf("central %g", h.Epsilon)
}

// Way returns all but the budget.
func (h Histogram) Way() string {
	s := h.Encoding
	if h.Encoding == Central {
		return s
	}
	if h.Fragments > 1 {
		s += fmt.Sprintf(" in %d fragments", h.Fragments)
	}
	if h.Repeats > 1 {
		s += fmt.Sprintf(" %d times", h.Repeats)
	}
	if h.Crowds > 0 {
		return s + fmt.Sprintf(", %d at epsilon %g", h.Crowds, h.CrowdEpsilon)
	}
	return s + ", " + string(h.Accounting)
}
