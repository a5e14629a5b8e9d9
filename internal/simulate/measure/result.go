package measure

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

// Result is what came of a simulated collection: the plan, what it promises and costs, and how far its
// answers are from the truth.
type Result struct {
	Dataset     string `json:"dataset"`
	Synthetic   bool   `json:"synthetic"`
	Respondents int    `json:"devices"`
	Users       int    `json:"users"` // smallest crowd, which noise is calibrated to
	Seed        uint64 `json:"seed"`
	// Plan is without keys and parties.
	Plan *plan.Plan `json:"plan,omitempty"`
	Promised
	*Accuracies
	*CountErrors
	*Survey
	Crosstabs *Crosstabs `json:"crosstabs,omitempty"`
	Seconds   float64    `json:"seconds"`
}

// Promised is the guarantee, and what it costs a device. An epsilon that is null is none.
type Promised struct {
	Epsilon      *float64 `json:"epsilon"`                          // to the analyzer, where the shuffler is honest; of densities for the features alone
	EpsilonExact *float64 `json:"epsilon_exact,omitempty"`          // of the same reports by exact accounting, where Epsilon is by another
	EpsilonLocal *float64 `json:"epsilon_local"`                    // of all that a device sends, labels included, though everyone colludes
	EpsilonAlone *float64 `json:"epsilon_fragment_alone,omitempty"` // of one fragment, to who sees nothing else, as in ESA
	Delta        float64  `json:"delta"`
	Adjacency    string   `json:"adjacency"`
	Trust        string   `json:"trust"`
	Method       string   `json:"method"`
	Certified    string   `json:"certified,omitempty"`

	MessagesPerDevice  float64 `json:"messages_per_device"`            // mean, dummies left out
	EnvelopesPerDevice int     `json:"envelopes_per_device,omitempty"` // the constant number that is sent
	BytesPerDevice     int     `json:"bytes_per_device,omitempty"`     // of those, sealed
}

// PromisedBy returns what a guarantee says, without costs.
func PromisedBy(g account.Guarantee) Promised {
	return Promised{
		Epsilon: Finite(g.Epsilon), Delta: g.Delta, Adjacency: string(g.Adjacency), Trust: string(g.Trust), Method: g.Method, Certified: g.Certified,
	}
}

// Finite is null for an infinite epsilon, which JSON does not have.
func Finite(epsilon float64) *float64 {
	if math.IsInf(epsilon, 1) {
		return nil
	}
	return &epsilon
}

// Accuracies are of the classifiers that densities give.
type Accuracies struct {
	Accuracy          float64 `json:"accuracy"`                 // of Classifier
	AccuracyStd       float64 `json:"accuracy_std"`             // standard deviation over runs; 0 for one run
	AccuracyNoPrivacy float64 `json:"accuracy_no_privacy"`      // from exact sums of the same bits
	AccuracyExact     float64 `json:"accuracy_exact,omitempty"` // of the best classifier that sees the records themselves
	ExactClassifier   string  `json:"exact_classifier,omitempty"`
	AccuracyDebiased  float64 `json:"accuracy_debiased,omitempty"` // label noise taken out; only where labels are randomized
	Choice            string  `json:"choice,omitempty"`            // how the kernel was chosen
	RMSEBitsum        float64 `json:"rmse_bitsum"`                 // of one channel's sum, in respondents
	KDERMSE           float64 `json:"kde_rmse,omitempty"`          // of the densities at test records, against the exact ones
	KDERMSEStd        float64 `json:"kde_rmse_std,omitempty"`      // standard deviation of that over runs; 0 for one run

	Classifier                   string  `json:"classifier"` // HighestDensity or NearestMean
	AccuracyHighestDensity       float64 `json:"accuracy_highest_density"`
	AccuracyNearestMean          float64 `json:"accuracy_nearest_mean,omitempty"` // of inner products only
	AccuracyNearestMeanStd       float64 `json:"accuracy_nearest_mean_std,omitempty"`
	AccuracyNearestMeanNoPrivacy float64 `json:"accuracy_nearest_mean_no_privacy,omitempty"`

	Words map[string]Decoding `json:"words,omitempty"` // by class
}

// Classifiers of densities.
const (
	HighestDensity = "highest-density" // KDE, section 3.3
	NearestMean    = "nearest-mean"    // densities of inner products with the norms of the means corrected for
)

// Decoding is a class in words, best first.
type Decoding struct {
	Highest []string `json:"highest"` // by density, as in KDE
	Apart   []string `json:"apart"`   // by density less that in the other classes
}

// CountErrors are of estimated counts, in respondents, over all cells.
type CountErrors struct {
	Cells       int       `json:"cells"`
	RMSE        float64   `json:"rmse"`                  // of estimates that are taken to zero where they are below, as in ESA
	RMSEStd     float64   `json:"rmse_std"`              // standard deviation of that over runs; 0 for one run
	Linf        float64   `json:"linf"`                  // the largest error of those
	Unbiased    float64   `json:"rmse_unbiased"`         // of the estimates as they are
	Within      float64   `json:"rmse_within,omitempty"` // taken to the population's public bound too, if it has one
	Discoveries *Found    `json:"discoveries,omitempty"`
	Top         []TopCell `json:"top"`
}

// Survey is what a collection of several attributes, crowds or rounds has beside the errors
// over all cells of all tables.
type Survey struct {
	Collect            string   `json:"collect,omitempty"`
	Fidelity           string   `json:"fidelity"`
	LinfUnbiased       float64  `json:"linf_unbiased"`        // the largest error of estimates as they are
	EpsilonOneFragment *float64 `json:"epsilon_one_fragment"` // opened, and the others seen shuffled
	DeltaOneFragment   float64  `json:"delta_one_fragment"`
	EpsilonCrowdSizes  *float64 `json:"epsilon_crowd_sizes,omitempty"` // of what deletion leaves of the sizes of crowds
	// Guarantees are those epsilons in the words of a release, with the number of a
	// replacement beside a removal's.
	Guarantees []account.Statement `json:"guarantees"`
	Found      int                 `json:"found,omitempty"`       // strings that nobody listed
	FalseFound *int                `json:"false_found,omitempty"` // of these, held by nobody
	Lifts      []Lift              `json:"lifts,omitempty"`       // of an experiment
	Withheld   []string            `json:"withheld,omitempty"`
	Tables     []Table             `json:"tables,omitempty"` // where there are several; Top is of the first
}

// Crosstabs are errors of the tables of every two columns: of counts as they are (Raw), of best guesses, and of independence
// between columns that are known exactly. Off is the mean share of respondents whom a table has in another cell.
type Crosstabs struct {
	Cells          int     `json:"cells"`
	RMSE           float64 `json:"rmse_guess"`
	Off            float64 `json:"off_guess"`
	OffRaw         float64 `json:"off_raw"`
	OffIndependent float64 `json:"off_independent"`
	OffColumns     float64 `json:"off_columns"` // as the same release tells of columns by themselves
	OffCurator     float64 `json:"off_curator"` // of a histogram of each pair, by one whom all trust, with the same promise for all together
	Covered        float64 `json:"covered"`     // share of cells that 95 % intervals of their own have in them
}

// Lift is by how much more an arm has of a metric than the first, as a part of that; nil where that is not clear of zero.
type Lift struct {
	Arm        string   `json:"arm"`
	Metric     string   `json:"metric"`
	Lift       *float64 `json:"lift,omitempty"`
	Low        *float64 `json:"low,omitempty"`
	High       *float64 `json:"high,omitempty"`
	Deviations float64  `json:"deviations"` // from zero
	Found      bool     `json:"found"`
	Truth      *float64 `json:"truth,omitempty"` // none of a later look, whose people are some of all
}

// Table is one attribute in one crowd.
type Table struct {
	Attribute string    `json:"attribute"`
	Crowd     string    `json:"crowd,omitempty"`
	Devices   int       `json:"devices"`
	Cells     int       `json:"cells"`
	RMSE      float64   `json:"rmse"`
	Linf      float64   `json:"linf"`
	Top       []TopCell `json:"top"`
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

const (
	TopCells      = 10
	IntervalLevel = 0.95
)

// Found says what the heavy hitters at a false-discovery rate of 5 % were, in the mean.
type Found struct {
	Cells  float64 `json:"cells"`
	False  float64 `json:"false_share"` // share of them that nobody holds
	Top100 float64 `json:"top_100"`     // of the hundred largest cells in truth
}
