package plan

// Latent asks what the records of respondents look like, and which class goes with them, where
// both are a secret and nobody is trusted (LTN): all that a device says of its record keeps the
// budget's local epsilon. Crowds, where there are any, are groups that everybody knows who is in.
type Latent struct {
	Features int      `json:"features"`          // numbers of a record, as the state's clusters take them: of an image its pixels
	Classes  []string `json:"classes,omitempty"` // of which each record has one, as private as the record; none: the record alone
	Report   string   `json:"report"`            // LatentSymbols
	// Clusters are those of the state; the randomizer is of the symbols, a cluster and a class each.
	Clusters   int         `json:"clusters,omitempty"`
	Randomizer *Randomizer `json:"randomizer,omitempty"`
}

// LatentSymbols is one symbol of a public cluster and a class, jointly, at the whole epsilon.
const LatentSymbols = "symbols"

// LatentReports are the reports that a plan may name.
var LatentReports = []string{LatentSymbols}
