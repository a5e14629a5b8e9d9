package experiments

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// Histogram is one cell of the tables of ESA, section VII: an encoding and a
// budget on one population, at fidelity law.
type Histogram struct {
	Encoding   string             `json:"encoding,omitempty"` // one of Encodings
	Accounting account.Accounting `json:"accounting,omitempty"`
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
	Runs         int     `json:"runs,omitempty"`
	Seed         uint64  `json:"seed,omitempty"`
}

// Encodings are what Histogram.Encoding may be.
var Encodings = []string{OneHot, Asymmetric, CountMean, Count, Central, DerivedCrowds}

const (
	OneHot     = "one-hot"            // ESA, Algorithm 1
	Asymmetric = "one-hot-asymmetric" // set bits are sent half of the time
	CountMean  = "count-mean"         // sketch whose rows are answered by one-hot
	Count      = "count"              // the same with signs
	Central    = "central"            // a curator's Gaussian noise on every count
)

// HistogramResult is what a Histogram gives. Errors are in respondents, and means
// over runs, which draw new noise.
type HistogramResult struct {
	Dataset     string  `json:"dataset"`
	Synthetic   bool    `json:"synthetic"`
	Encoding    string  `json:"encoding"`
	Accounting  string  `json:"accounting"`
	Adjacency   string  `json:"adjacency"`
	Respondents int     `json:"devices"`
	Cells       int     `json:"cells"`
	Fragments   int     `json:"fragments"`
	Repeats     int     `json:"repeats"`
	Hashes      int     `json:"hashes,omitempty"`
	Width       int     `json:"width,omitempty"`
	Runs        int     `json:"runs"`
	Seed        uint64  `json:"seed"`
	RMSE        float64 `json:"rmse"`                  // over all cells, of estimates that are taken to zero where they are below, as in ESA
	RMSEStd     float64 `json:"rmse_std"`              // standard deviation of that over runs; 0 for one run
	Linf        float64 `json:"linf"`                  // the largest error of those
	Unbiased    float64 `json:"rmse_unbiased"`         // of the estimates as they are
	Within      float64 `json:"rmse_within,omitempty"` // taken to the population's public bound too, if it has one
	// Epsilons: null is none at all. Local and that of one fragment are pure.
	EpsilonCentral      *float64   `json:"epsilon_central"`
	EpsilonCentralExact *float64   `json:"epsilon_central_exact"` // of the same reports, by exact accounting
	EpsilonLocal        *float64   `json:"epsilon_local"`
	EpsilonAlone        *float64   `json:"epsilon_fragment_alone"` // of one fragment, to who sees nothing else, as in ESA
	Delta               float64    `json:"delta"`
	Method              string     `json:"method"`
	Plan                *plan.Plan `json:"plan,omitempty"`       // of one collection, noise included; none of a baseline
	Sigma               float64    `json:"sigma,omitempty"`      // of central noise
	MessagesPerDevice   float64    `json:"messages_per_device"`  // mean, dummies left out
	EnvelopesPerDevice  int        `json:"envelopes_per_device"` // the constant number that is sent
	BytesPerDevice      int        `json:"bytes_per_device"`     // of those, sealed for two hops and the analyzer
	Discoveries         *Found     `json:"discoveries,omitempty"`
	Top                 []TopCell  `json:"top"`
	Seconds             float64    `json:"seconds"`
}

// TopCell is one of the largest estimates of the first run, beside the truth. The
// intervals of all cells, from which these were picked, hold at once with 95 %.
type TopCell struct {
	Value    string  `json:"value"`
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Truth    float64 `json:"truth"`
}

// Found says what the heavy hitters at a false-discovery rate of 5 % were, in the mean.
type Found struct {
	Cells  float64 `json:"cells"`
	False  float64 `json:"false_share"` // share of them that nobody holds
	Top100 float64 `json:"top_100"`     // of the hundred largest cells in truth
}

const (
	topCells      = 10
	intervalLevel = 0.95
	discoveryRate = 0.05
)

// Validate lists everything that is wrong with the measurement.
func (h Histogram) Validate() error {
	var errs []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	sketched := h.Encoding == CountMean || h.Encoding == Count
	check(slices.Contains(Encodings, h.Encoding), "encoding %q: choose one of %v", h.Encoding, Encodings)
	check(h.Accounting == account.ExactAccounting || h.Accounting == account.PaperAccounting, "accounting %q: choose %q or %q", h.Accounting, account.ExactAccounting, account.PaperAccounting)
	check(h.Adjacency == account.Removal || h.Adjacency == account.Replacement, "adjacency %q: choose %q or %q", h.Adjacency, account.Removal, account.Replacement)
	check(h.Accounting != account.PaperAccounting || h.Adjacency == account.Removal, "accounting paper: ESA's is for removal")
	check(h.Accounting != account.PaperAccounting || h.Encoding != Asymmetric, "accounting paper: ESA has none for %s", Asymmetric)
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
	check(h.Runs >= 1 && h.Runs <= 10000, "runs %d: must be 1 to 10000", h.Runs)
	return errors.Join(errs...)
}

// Run measures the cell on a population. progress is told of finished runs.
func (h Histogram) Run(p *dataset.Population, progress simulate.Progress) (HistogramResult, error) {
	res, _, err := h.measure(p, progress)
	return res, err
}

// measure is Run, with the estimates of the first run.
func (h Histogram) measure(p *dataset.Population, progress simulate.Progress) (HistogramResult, []estimate.Value, error) {
	start := time.Now()
	if err := h.Validate(); err != nil {
		return HistogramResult{}, nil, err
	}
	n := p.Respondents()
	d, err := h.design(n, len(p.Holders))
	if err != nil {
		return HistogramResult{}, nil, err
	}
	res := HistogramResult{
		Dataset: p.Name, Synthetic: p.Synthetic, Encoding: h.Encoding, Accounting: string(h.Accounting), Adjacency: string(h.Adjacency),
		Respondents: n, Cells: len(p.Holders), Fragments: max(1, h.Fragments), Repeats: max(1, h.Repeats), Hashes: h.Hashes, Width: h.Width, Runs: h.Runs, Seed: h.Seed,
	}
	d.state(&res)
	const forNoise = 0xe5a
	var first []estimate.Value
	var squares errorSquares
	for run := range h.Runs {
		progress("runs", run, h.Runs)
		c, err := d.draw(replay.New(h.Seed, forNoise, uint64(run)), p.Holders)
		if err != nil {
			return HistogramResult{}, nil, err
		}
		squares.add(p, c.values)
		if c.table != nil && max(h.Fragments, h.Repeats) <= 1 && p.Columns == 0 {
			if hitters, ok := c.table.HeavyHitters(discoveryRate); ok {
				res.Discoveries = res.Discoveries.with(found(p.Holders, hitters), run)
			}
		}
		if run == 0 {
			first, res.Top = c.values, c.top(p)
		}
	}
	progress("runs", h.Runs, h.Runs)
	squares.state(&res, p)
	res.Seconds = time.Since(start).Seconds()
	return res, first, nil
}

// errorSquares are sums over the cells of all runs.
type errorSquares struct {
	raw, positive, within, largest float64
	runs                           []float64 // root of the mean of positive, by run
}

func (e *errorSquares) add(p *dataset.Population, values []estimate.Value) {
	before := e.positive
	for i, v := range values {
		truth := float64(p.Holders[i])
		positive := math.Max(0, v.Mean) - truth
		within := math.Min(float64(p.Most), math.Max(0, v.Mean)) - truth
		e.raw += (v.Mean - truth) * (v.Mean - truth)
		e.positive += positive * positive
		e.within += within * within
		e.largest = math.Max(e.largest, math.Abs(positive))
	}
	e.runs = append(e.runs, math.Sqrt((e.positive-before)/float64(len(values))))
}

func (e *errorSquares) state(res *HistogramResult, p *dataset.Population) {
	root := func(sum float64) float64 { return math.Sqrt(sum / float64(res.Runs*res.Cells)) }
	res.RMSE, res.Unbiased, res.Linf = root(e.positive), root(e.raw), e.largest
	_, res.RMSEStd = meanStd(e.runs)
	if p.Most > 0 {
		res.Within = root(e.within)
	}
}

// found compares the heavy hitters with the truth.
func found(holders, hitters []int) Found {
	f := Found{Cells: float64(len(hitters))}
	if len(hitters) == 0 {
		return f
	}
	top := map[int]bool{}
	for _, cell := range largest(len(holders), 100, func(i int) float64 { return float64(holders[i]) }) {
		top[cell] = holders[cell] > 0
	}
	for _, cell := range hitters {
		if holders[cell] == 0 {
			f.False += 1 / f.Cells
		}
		if top[cell] {
			f.Top100++
		}
	}
	return f
}

// with is the mean of f over so many earlier runs and of one more.
func (f *Found) with(more Found, runs int) *Found {
	if f == nil {
		return &more
	}
	mean := func(a, b float64) float64 { return a + (b-a)/float64(runs+1) }
	return &Found{mean(f.Cells, more.Cells), mean(f.False, more.False), mean(f.Top100, more.Top100)}
}

// largest are the m of k cells with the most of it, most first, of equal ones the first.
func largest(k, m int, of func(cell int) float64) []int {
	var top []int
	for cell := range k {
		if len(top) == m && of(cell) <= of(top[m-1]) {
			continue
		}
		at := sort.Search(len(top), func(i int) bool { return of(top[i]) < of(cell) })
		top = slices.Insert(top, at, cell)
		top = top[:min(m, len(top))]
	}
	return top
}
