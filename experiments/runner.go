package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/dp/account/shuffle"
	"github.com/confetti-dp/confetti/dp/account/theorems"
	"github.com/confetti-dp/confetti/dp/bitsum"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/learn/hdc"
	"github.com/confetti-dp/confetti/simulate"
)

// Runner measures the cells of a spec.
type Runner struct {
	Out  string                                  // folder, made if need be
	Load func(name string) (*dataset.Set, error) // of data sets that are not made up here
	// Population loads a population that is not made up here.
	Population func(name string) (*dataset.Population, error)
	Tell       simulate.Progress        // of finished cells
	stop       func(measured int) error // tests end a run early with it
}

// Outcome counts what a run did.
type Outcome struct {
	Cells    []Measured // all of the spec's, in its order
	Measured int        // now
	Kept     int        // from earlier runs in the folder
	Refused  int        // could not be measured; each says why
}

// Run measures what the folder does not have yet. Cells that share a population
// are measured together, whatever their order in the spec.
func (r Runner) Run(cells []Cell) (Outcome, error) {
	var out Outcome
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return out, err
	}
	kept, err := openStore(r.Out)
	if err != nil {
		return out, err
	}
	defer kept.close()
	var missing []Cell
	for _, c := range cells {
		if kept.has(c) {
			out.Kept++
		} else if !slices.Contains(missing, c) {
			missing = append(missing, c)
		}
	}
	// By data set first, so that only one is in memory.
	slices.SortStableFunc(missing, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.shared().key(), b.shared().key()))
	})
	b := newBench(r.Load)
	p := populationBench{load: r.Population, out: r.Out}
	for i, c := range missing {
		r.Tell(c.String(), i, len(missing))
		measure := b.measure
		if c.Histogram != (Histogram{}) {
			measure = p.measure
		}
		m, err := measure(c)
		if err != nil {
			return out, fmt.Errorf("%s: %w", c, err)
		}
		if err := kept.put(m); err != nil {
			return out, err
		}
		if !m.measured() {
			out.Refused++
		} else {
			out.Measured++
		}
		if r.stop != nil {
			if err := r.stop(i + 1); err != nil {
				return out, err
			}
		}
	}
	for _, c := range cells {
		out.Cells = append(out.Cells, kept.done[c.key()])
	}
	return out, nil
}

// bench holds what cells share: one data set, the populations of one kernel on
// it, and mechanisms, whose calibration takes longer than all else.
type bench struct {
	load        func(name string) (*dataset.Set, error)
	records     *records
	shared      Cell
	populations []*population
	mechanisms  map[calibration]calibrated
	open        map[Cell][2]float64 // accuracies without privacy, for all levels of label noise
	unproved    bool                // also measure what a formula gives outside its domain
	progress    simulate.Progress   // of the records of a population
}

func newBench(load func(string) (*dataset.Set, error)) *bench {
	return &bench{load: load, mechanisms: map[calibration]calibrated{}, open: map[Cell][2]float64{}, progress: func(string, int, int) {}}
}

// calibration is all that the noise depends on.
type calibration struct {
	way         Cell // bitsum, accounting, budget
	users       int
	channels    int
	sensitivity encode.Sensitivity
}

type calibrated struct {
	mechanism mechanism
	err       error
}

// refused says why a cell has no result, where that is a finding and not a failure.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

// measure is the cell's result, or why it has none.
func (b *bench) measure(c Cell) (Measured, error) {
	b.unproved = true
	m, err := b.result(c)
	var why *refused
	if errors.As(err, &why) {
		return Measured{Cell: c, Reason: why.Error()}, nil
	}
	return m, err
}

func (b *bench) result(c Cell) (Measured, error) {
	start := time.Now()
	m := Measured{Cell: c}
	e := c.kde()
	if err := e.Validate(); err != nil {
		return m, &refused{err}
	}
	if err := b.prepare(c); err != nil {
		return m, err
	}
	users := b.populations[0].users()
	for _, p := range b.populations {
		users = min(users, p.users())
	}
	mech, err := b.calibrate(e, users)
	if err != nil {
		printed, ok := outsideDomain(e, b.populations[0].features, users, err)
		if !ok || !b.unproved {
			return m, &refused{err}
		}
		mech, m.Unproved = printed, err.Error()
	}
	set := b.records
	m.Result = &KDEResult{
		Dataset: set.Name, Synthetic: set.Synthetic, Kernel: string(c.Kernel), Bitsum: c.Bitsum, Accounting: string(c.Accounting),
		Repetitions: b.populations[0].features.Repetitions(), Runs: c.Runs, Seed: c.Seed, LabelEpsilon: "none", Users: users,
	}
	if c.LabelEpsilon > 0 {
		m.Result.LabelEpsilon = c.LabelEpsilon
		if local := m.Result.EpsilonLocal; local != nil {
			*local += c.LabelEpsilon
		}
	}
	mech.state(m.Result)
	if !c.CostOnly {
		if err := b.accuracies(c, mech, m.Result, &m); err != nil {
			return m, err
		}
	}
	m.Result.Seconds = time.Since(start).Seconds()
	return m, nil
}

// accuracies fills in what takes the data.
func (b *bench) accuracies(c Cell, mech mechanism, res *KDEResult, m *Measured) error {
	var private, debiased, nearest, squares []float64
	for _, p := range b.populations {
		densities, err := p.densities(mech)
		if err != nil {
			return err
		}
		model, err := hdc.New(p.records.Classes, densities)
		if err != nil {
			return err
		}
		a, err := accuracy(model, p.records.Test)
		if err != nil {
			return err
		}
		private = append(private, a)
		if c.NearestMean {
			if a, err = nearestMean(model, p.records.Test); err != nil {
				return err
			}
			nearest = append(nearest, a)
		}
		if c.LabelEpsilon > 0 {
			// Classes smaller than the noise of the labels cannot be debiased: no number then.
			if clean, err := model.Debias(p.label); err == nil {
				if a, err = accuracy(clean, p.records.Test); err != nil {
					return err
				}
				debiased = append(debiased, a)
			}
		}
		if c.Queries > 0 {
			s, err := p.squaredError(densities, c.Queries)
			if err != nil {
				return err
			}
			squares = append(squares, s)
		}
		if c.Words > 0 && m.Words == nil {
			if m.Words, err = words(model, p.records.Set, c.Words); err != nil {
				return err
			}
		}
	}
	res.Accuracy, res.AccuracyStd = meanStd(private)
	if len(debiased) == len(b.populations) {
		res.AccuracyDebiased, _ = meanStd(debiased)
	}
	s, _ := meanStd(squares)
	res.KDERMSE = math.Sqrt(s)
	open, err := b.noPrivacy(c)
	res.AccuracyNoPrivacy, m.NearestMeanNoPrivacy = open[0], open[1]
	m.NearestMean, m.NearestMeanStd = meanStd(nearest)
	return err
}

// prepare loads the cell's records and makes its populations, unless they are
// those of the cell before.
func (b *bench) prepare(c Cell) error {
	if b.records == nil || b.records.Name != c.Dataset {
		b.records, b.populations = nil, nil // let go of the memory before more is taken
		rec, err := loadRecords(c.Dataset, c.Seed, b.load)
		if err != nil {
			return err
		}
		b.records = rec
	}
	if b.populations != nil && b.shared == c.shared() {
		return nil
	}
	b.populations, b.shared = nil, c.shared()
	var populations []*population
	for run := range c.Runs {
		p, err := newPopulation(c, uint64(run), b.records, b.progress)
		if err != nil {
			return err
		}
		populations = append(populations, p)
	}
	b.populations = populations
	return nil
}

// calibrate finds the mechanism of the cell for the smallest class of all runs.
func (b *bench) calibrate(e KDE, users int) (mechanism, error) {
	p := b.populations[0]
	key := calibration{
		way:   Cell{Bitsum: e.Bitsum, Accounting: e.Accounting, Epsilon: e.Epsilon, Delta: e.Delta, LocalEpsilon: max(0, e.LocalEpsilon-e.LabelEpsilon)},
		users: users, channels: p.features.Channels(), sensitivity: p.features.Sensitivity(),
	}
	known, ok := b.mechanisms[key]
	if !ok {
		known.mechanism, known.err = e.calibrate(users, p.features)
		b.mechanisms[key] = known
	}
	return known.mechanism, known.err
}

// outsideDomain is randomized response at the flip probability that the lemma's
// formula gives where the lemma does not hold: what KDE measured, without a promise.
func outsideDomain(e KDE, f *encode.Features, users int, err error) (mechanism, bool) {
	var domain *theorems.DomainError
	if e.Bitsum != "rr" || !errors.As(err, &domain) || !(domain.Formula > 0 && domain.Formula < float64(users)) {
		return mechanism{}, false
	}
	rr := bitsum.RR{Flip: domain.Formula / (2 * float64(users))}
	return mechanism{
		estimate: func(r *rand.Rand, ones, n int) estimate.Value { return rr.Estimate(rr.DrawCounts(r, ones, n), n) },
		rmse:     shuffle.RandomizedResponse{Users: users, Flip: rr.Flip}.RMSE(),
		messages: float64(f.Channels()) * rr.MessagesPerUser(),
		report:   func(r *KDEResult) { r.FlipProbability = rr.Flip },
	}, true
}

// noPrivacy is the accuracy, and that of the nearest mean if the cell asks for
// it. It does not depend on the noise of labels, but for whether there is any.
func (b *bench) noPrivacy(c Cell) (mean [2]float64, err error) {
	key := c.shared()
	key.LabelEpsilon, key.NearestMean = min(key.LabelEpsilon, 1), c.NearestMean
	if known, ok := b.open[key]; ok {
		return known, nil
	}
	for _, p := range b.populations {
		highest, nearest, err := p.noPrivacy(c.NearestMean)
		if err != nil {
			return mean, err
		}
		mean[0] += highest / float64(len(b.populations))
		mean[1] += nearest / float64(len(b.populations))
	}
	b.open[key] = mean
	return mean, nil
}

// words are the top words of each class.
func words(model *hdc.Model, set *dataset.Set, top int) (map[string]Decoding, error) {
	if len(set.Words) == 0 {
		return nil, nil
	}
	highest, err := model.Decode(set.Words, set.WordX, top)
	if err != nil {
		return nil, err
	}
	apart, err := model.Distinguish(set.Words, set.WordX, top)
	if err != nil {
		return nil, err
	}
	list := func(ws []hdc.Word) (names []string) {
		for _, w := range ws {
			names = append(names, w.Word)
		}
		return names
	}
	out := map[string]Decoding{}
	for c, name := range set.Classes {
		out[name] = Decoding{Highest: list(highest[c]), Apart: list(apart[c])}
	}
	return out, nil
}
