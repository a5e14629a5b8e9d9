package plan

// Latent asks what the records of respondents look like, and which class goes with them, where
// both are a secret and nobody is trusted (LTN): all that a device says of its record keeps the
// budget's local epsilon. Crowds, where there are any, are groups that everybody knows who is in.
type Latent struct {
	Features int      `json:"features"`          // numbers of a record, as the state takes them: of an image its pixels
	Classes  []string `json:"classes,omitempty"` // of which each record has one, as private as the record; none: the record alone
	Report   string   `json:"report"`            // LatentSymbols, LatentRight or LatentVector
	// Records, where it is given, is how many public records there are: each respondent says beside its report which
	// of them it is of, so that other parties' columns can be joined to it. Of symbols and vectors.
	Records int `json:"records,omitempty"`
	// Clusters are those of the state, or the classes of a model; the randomizer is of the symbols: a cluster and
	// a class each, or no and yes.
	Clusters   int         `json:"clusters,omitempty"`
	Randomizer *Randomizer `json:"randomizer,omitempty"`
	Vector     *Latents    `json:"vector,omitempty"` // LatentVector: how a vector and a class are told
}

// What a device says of its record.
const (
	LatentSymbols = "symbols" // a public cluster and a class, jointly, at the whole epsilon
	LatentRight   = "right"   // whether the class is the one that the state, a published model, gives the record
	LatentVector  = "vector"  // the vector that a public encoder makes of the record, and beside it the class (LTN)
)

// Latents are the mechanisms that tell of a vector and of a class, which share the local epsilon.
type Latents struct {
	Mechanism    string  `json:"mechanism"`               // laplace, gaussian or cap
	Dim          int     `json:"dim"`                     // numbers that the state's encoder gives
	Length       float64 `json:"length,omitempty"`        // of the ball: laplace, in the sum of magnitudes, the encoder's; gaussian, in the two-norm
	Points       int     `json:"points,omitempty"`        // laplace and gaussian: steps of the grid from the centre to the ball's surface
	Share        float64 `json:"share,omitempty"`         // cap: of all directions
	Sigma        float64 `json:"sigma,omitempty"`         // gaussian: of the noise in each number, in steps; with the class it keeps the budget's local epsilon at its delta
	Epsilon      float64 `json:"epsilon"`                 // local, of the vector; of a gaussian that is designed 0
	ClassEpsilon float64 `json:"class_epsilon,omitempty"` // local, of the class
}

// MaxRecords is how many public records a plan may number.
const MaxRecords = 1 << 24
