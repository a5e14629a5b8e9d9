package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/release"
)

// Spec is a named measurement: which cells it takes, and how they are shown.
type Spec struct {
	Name  string
	Title string
	// Paper is what KDE or ESA shows there and what stands in for it here.
	Paper string
	// Datasets are those that the measurement speaks of, unless others are asked for.
	Datasets []string
	cells    func(o Options, dataset string) []Cell
	sections func(s Spec, measured []Measured) []release.Section
	// populations says that the data sets are populations, of which histograms are
	// measured.
	populations bool
}

// Options bend a measurement without changing what it measures.
type Options struct {
	Datasets []string // empty: the measurement's own
	Runs     int      // 0: the measurement's own
	Quick    bool     // two budgets, one run, the first data set only
	Seed     uint64
}

// Cell is one point: a kernel, a bitsum and a budget on a data set, or a Histogram
// of a population. Cells that are equal are measured once.
type Cell struct {
	Dataset      string             `json:"dataset"`
	Kernel       encode.Kernel      `json:"kernel"`
	Bandwidth    float64            `json:"bandwidth,omitempty"`
	Clip         float64            `json:"clip,omitempty"`
	Radius       float64            `json:"radius,omitempty"`
	Buckets      int                `json:"buckets,omitempty"`
	Bitsum       string             `json:"bitsum"`
	Accounting   account.Accounting `json:"accounting"`
	Epsilon      float64            `json:"epsilon"`
	Delta        float64            `json:"delta"`
	LabelEpsilon float64            `json:"label_epsilon,omitempty"` // 0: labels are sent as they are
	LocalEpsilon float64            `json:"local_epsilon,omitempty"` // 0: no limit
	Repetitions  int                `json:"repetitions,omitempty"`   // 0: the dimension, as in KDE
	Seed         uint64             `json:"seed"`
	Runs         int                `json:"runs"`
	Queries      int                `json:"queries,omitempty"`      // test records at which densities are compared with the exact ones
	Words        int                `json:"words,omitempty"`        // of each class
	CostOnly     bool               `json:"cost_only,omitempty"`    // nothing but what the accountant and the bitsum say
	NearestMean  bool               `json:"nearest_mean,omitempty"` // classify with corrected norms too
	Histogram    Histogram          `json:"histogram,omitzero"`     // but for its seed and runs; then no more of the above is set
}

// key names the cell: a digest of all that determines its result.
func (c Cell) key() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic("experiments: a cell that is no JSON: " + err.Error())
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:12])
}

// kde is the cell as a measurement of its own.
func (c Cell) kde() KDE {
	return KDE{
		Kernel: c.Kernel, Bandwidth: c.Bandwidth, Clip: c.Clip, Radius: c.Radius, Buckets: c.Buckets, Bitsum: c.Bitsum, Accounting: c.Accounting, Epsilon: c.Epsilon, Delta: c.Delta,
		LabelEpsilon: c.LabelEpsilon, LocalEpsilon: c.LocalEpsilon, Repetitions: c.Repetitions, Seed: c.Seed, Runs: c.Runs,
	}
}

func (c Cell) String() string {
	if h := c.Histogram; h != (Histogram{}) {
		return fmt.Sprintf("%s, %s", c.Dataset, h)
	}
	return fmt.Sprintf("%s, %s, %s by %s accounting, epsilon %g", c.Dataset, c.Kernel, c.Bitsum, c.Accounting, c.Epsilon)
}

// Measured is a cell with what came out: a result, or the reason why there is
// none, such as a theorem that does not hold there.
type Measured struct {
	Cell      Cell             `json:"cell"`
	Result    *KDEResult       `json:"result,omitempty"`
	Histogram *HistogramResult `json:"histogram,omitempty"` // of a histogram cell, instead of Result
	Reason    string           `json:"reason,omitempty"`
	// Unproved says why the noise, which is that of a printed formula outside its
	// domain, keeps no promise. It is measured because KDE does.
	Unproved string              `json:"unproved,omitempty"`
	Words    map[string]Decoding `json:"words,omitempty"` // by class
	// Accuracy of the nearest class mean; only where the cell asks for it.
	NearestMean          float64 `json:"nearest_mean,omitempty"`
	NearestMeanStd       float64 `json:"nearest_mean_std,omitempty"`
	NearestMeanNoPrivacy float64 `json:"nearest_mean_no_privacy,omitempty"`
}

// measured says whether there is a result.
func (m Measured) measured() bool { return m.Result != nil || m.Histogram != nil }

// Decoding is a class in words, best first.
type Decoding struct {
	Highest []string `json:"highest"` // by density, as in KDE
	Apart   []string `json:"apart"`   // by density less that in the other classes
}

// Specs are all measurements, in the order of the papers.
func Specs() []Spec {
	return append([]Spec{
		figure1("figure1", 5), figure2(), figure3(), figure4(),
		figure1("figure5", 10), figure1("figure6", 7), figure1("figure7", 5), figure1("figure8", 3),
		labelTable("table2", "DBPedia-14", "mnist", []float64{2, 4.5, 7}), labelTable("table3", "AG News", "agnews_lsa256", []float64{2, 4.5, 7}),
		labelTable("table4", "SST2", "sst2", []float64{2, 4.5, 7}), labelTable("table5", "CIFAR-10", "fashion-mnist", []float64{1.5, 3, 4.7}),
		wordTable("table1", 3.2), wordTable("table6", 5.7), wordTable("table7", 4.4), wordTable("table8", 3.2),
		beyond(), kernels(), extrapolation(),
	}, esaSpecs()...)
}

// Find is the measurement of that name.
func Find(name string) (Spec, bool) {
	all := Specs()
	i := slices.IndexFunc(all, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	return all[i], true
}

// Takes says whether the measurement can be made on a data set, and whether that
// needs the folder of data sets.
func (s Spec) Takes(set string) (takes, folder bool) {
	if s.populations {
		made := slices.Contains(MadeUpPopulations(), set)
		folder = slices.Contains(dataset.PopulationNames(), set)
		return made || folder || dataset.IsPicture(set), folder
	}
	folder = slices.Contains(dataset.Names(), set)
	return folder || slices.Contains(MadeUp(), set), folder
}

// Choices names what Takes takes.
func (s Spec) Choices() []string {
	if s.populations {
		return slices.Concat(MadeUpPopulations(), dataset.PopulationNames(), []string{"a PNG file"})
	}
	return slices.Concat(dataset.Names(), MadeUp())
}

// Cells are the spec's cells under the options.
func (s Spec) Cells(o Options) []Cell {
	sets := s.Datasets
	if len(o.Datasets) > 0 {
		sets = o.Datasets
	}
	if o.Quick {
		sets, o.Runs = sets[:1], 1
	}
	var cells []Cell
	for _, set := range sets {
		for _, c := range s.cells(o, set) {
			c.Dataset, c.Seed = set, o.Seed
			if o.Runs > 0 {
				c.Runs = o.Runs
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// some is the first and last budget where there is no time for all.
func (o Options) some(epsilons ...float64) []float64 {
	if o.Quick {
		return []float64{epsilons[0], epsilons[len(epsilons)-1]}
	}
	return epsilons
}

// deltaOf is the paper's choice by the number of records: 1e-6 for its larger
// sets, 1e-5 for the others. Ours are all of the smaller kind, but the one
// made in the shape of DBPedia.
func deltaOf(dataset string) float64 {
	if dataset == dbpediaLike {
		return 1e-6
	}
	return 1e-5
}
