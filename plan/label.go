package plan

// Label asks for the label of respondents whose features are public: the promise speaks of the
// label alone (adjacency "label"). Crowds are public clusters of the features, which the state
// finds; or features and label are summed; or each label stands beside its record.
type Label struct {
	Features int      `json:"features"` // public numbers of a respondent; of LabelSums those that the state's map gives, where it has one
	Classes  []string `json:"classes"`  // of which each respondent has one, which is private
	Report   string   `json:"report"`   // LabelClusters, LabelSums or LabelEach; of a table "resampled" too (internal/question/label), and not LabelSums
	// Clusters are those of the state, each a crowd; Records are the public ones, by number.
	Clusters   int          `json:"clusters,omitempty"`
	Records    int          `json:"records,omitempty"`
	Randomizer *Randomizer  `json:"randomizer,omitempty"` // of a label: of LabelClusters on devices, "krr" of LabelEach, and "resampled"
	Seed       string       `json:"seed,omitempty"`       // LabelSums: 64 hex digits, public randomness of the rotation
	Sum        *VectorRound `json:"sum,omitempty"`        // LabelSums: the mechanism
}

// What a device says of its label.
const (
	LabelClusters = "clusters" // the label, in the crowd of its cluster (LDC's clusters, without a curator)
	LabelSums     = "sums"     // features times label, once: all of the gradient that is private
	LabelEach     = "each"     // the label by itself, beside the number of the public record
)

// AdjacencyLabel is the budget's adjacency where features are public.
const AdjacencyLabel = "label"
