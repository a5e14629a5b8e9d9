package plan

// Histogram asks how many respondents hold each value (ESA).
type Histogram struct {
	Attributes []Attribute `json:"attributes"`
	// Collect says what is done with several attributes: one of them, drawn at
	// random, gets the whole budget ("sample"), or each gets its share ("split").
	Collect    string     `json:"collect,omitempty"`
	Randomizer Randomizer `json:"randomizer"`
	Sketch     *Sketch    `json:"sketch,omitempty"` // nil: the cells themselves
}

// Attribute is one thing that is asked, with the cells that an answer falls into.
type Attribute struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`             // "categories", "buckets", "set", "grid", "prefixes"
	Values []string `json:"values,omitempty"` // categories, set: the domain; prefixes: the candidates
	Size   int      `json:"size,omitempty"`   // categories, set: cells by number instead of by name; of a search: most candidates of a round
	Others bool     `json:"others,omitempty"` // a last cell for what is not in the domain; prefixes always have it
	Low    float64  `json:"low,omitempty"`    // buckets: of equal width in [low, high]; without others, what is outside falls into the nearest
	High   float64  `json:"high,omitempty"`
	Cells  int      `json:"cells,omitempty"`
	Most   int      `json:"most,omitempty"` // set: at most so many items
	X      *Axis    `json:"x,omitempty"`    // grid
	Y      *Axis    `json:"y,omitempty"`
	// Search finds strings that nobody has declared: candidates are the state of each round.
	Search *Search `json:"search,omitempty"`
}

// Search is how the candidates of a round follow from the release of the one before:
// what survives grows by some characters.
type Search struct {
	Alphabet string  `json:"alphabet"`        // the characters that strings are made of
	Ahead    int     `json:"ahead"`           // characters that a round goes on by
	Least    float64 `json:"least,omitempty"` // beginnings that no more respondents of a round hold are not looked for
	Rate     float64 `json:"rate"`            // share of those kept, in expectation, that no more hold
}

// Total says that every answer has a cell: without others, what is no number has
// none, nor what is not in the domain, and a set may have more items than it may.
func (a Attribute) Total() bool { return a.Others && (a.Kind != "set" || a.Most == a.Domain()) }

// Axis is one side of a grid: cells of equal width in [low, high].
type Axis struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Cells int     `json:"cells"`
}

// Randomizer names the mechanism that answers with a cell, with its numbers. Only
// the fields of the named mechanism are set.
type Randomizer struct {
	Name       string  `json:"name"`           // "one-hot", "one-hot-asymmetric", "krr", "subset", "local-hash", "hadamard"
	Accounting string  `json:"accounting"`     // "exact", "paper": where the noise comes from
	Epsilon    float64 `json:"epsilon"`        // local, of one report; with fragments, of one of them
	Keep       float64 `json:"keep,omitempty"` // one-hot: P(bit is sent | set)
	Flip       float64 `json:"flip,omitempty"` // one-hot: P(bit is sent | not set)

	Fragments    int     `json:"fragments,omitempty"` // tau: report fragments behind a backstop (ESA, Algorithm 2)
	Backstop     float64 `json:"backstop,omitempty"`  // epsilon of the backstop
	BackstopKeep float64 `json:"backstop_keep,omitempty"`
	BackstopFlip float64 `json:"backstop_flip,omitempty"`

	Subset    int    `json:"subset,omitempty"`    // subset: symbols in an answer
	Range     int    `json:"range,omitempty"`     // local-hash: values of a hash function
	Functions int    `json:"functions,omitempty"` // local-hash: public hash functions
	Seed      string `json:"seed,omitempty"`      // local-hash: 64 hex digits
}

// Sketch folds the cells of a large domain into rows of fewer (ESA, section VII).
type Sketch struct {
	Name   string `json:"name"` // "count-mean", "count"
	Hashes int    `json:"hashes"`
	Width  int    `json:"width"`
	Seed   string `json:"seed"` // 64 hex digits
}
