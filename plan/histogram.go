package plan

import "errors"

// Limits of a histogram. The cells bound what an analyzer counts (8 bytes each);
// what a device does is bounded by its envelopes.
const (
	MaxCells      = 1 << 26 // all cells of all attributes, or of all rows of a sketch
	MaxAttributes = 1 << 8
	MaxItems      = 1 << 12 // of a set
	MaxFragments  = 1 << 12
)

// Histogram asks how many respondents hold each value (ESA).
type Histogram struct {
	Attributes []Attribute `json:"attributes"`
	// Collect says what is done with several attributes: one of them, drawn at
	// random, gets the whole budget ("sample"), or each gets its share ("split").
	Collect    string     `json:"collect,omitempty"`
	Randomizer Randomizer `json:"randomizer"`
	Sketch     *Sketch    `json:"sketch,omitempty"` // nil: the cells themselves
}

// What is done with several attributes.
const (
	CollectSample = "sample"
	CollectSplit  = "split"
)

// Attribute is one thing that is asked, with the cells that an answer falls into.
type Attribute struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`             // "categories", "buckets", "set", "grid"; of a table alone "mean" and "open"
	Values []string `json:"values,omitempty"` // categories, set: the domain
	Size   int      `json:"size,omitempty"`   // categories, set: cells by number instead of by name
	Others bool     `json:"others,omitempty"` // a last cell for what is not in the domain
	Low    float64  `json:"low,omitempty"`    // buckets: of equal width in [low, high]; without others, what is outside falls into the nearest; mean: numbers are clamped to it
	High   float64  `json:"high,omitempty"`
	Cells  int      `json:"cells,omitempty"`
	Most   int      `json:"most,omitempty"` // set: at most so many items
	X      *Axis    `json:"x,omitempty"`    // grid
	Y      *Axis    `json:"y,omitempty"`
	Least  int      `json:"least,omitempty"` // open: the noisy count from which a value that nobody declared is published
	// Of an experiment: the values begin with each outcome of the first arm, then of the next one. Those behind them are in no arm.
	Arms     []string `json:"arms,omitempty"`
	Outcomes []string `json:"outcomes,omitempty"`
}

// Ended refuses a kind of attribute that earlier plans asked, and says what asks it now; nil of any other.
func Ended(kind string) error {
	if kind != "prefixes" {
		return nil
	}
	return errors.New("prefixes ended with plan version 4: use strings, which are found in one round (confetti plan new strings)")
}

// Domain returns the number of cells of an attribute; more than MaxCells for one that
// has too many.
func (a Attribute) Domain() int {
	others := 0
	if a.Others {
		others = 1
	}
	switch a.Kind {
	case "mean":
		return 2 // how far rows are from the low end, and from the high one
	case "categories", "set", "open":
		if len(a.Values) > 0 {
			return len(a.Values) + others
		}
		return max(0, min(MaxCells+1, a.Size)) + others
	case "buckets":
		return max(0, min(MaxCells+1, a.Cells)) + others
	case "grid":
		if a.X == nil || a.Y == nil || a.X.Cells < 1 || a.Y.Cells < 1 {
			return 0
		}
		if a.X.Cells > MaxCells/a.Y.Cells {
			return MaxCells + 1
		}
		return a.X.Cells*a.Y.Cells + others
	}
	return 0
}

// Items returns how many cells of an attribute a respondent holds at most.
func (a Attribute) Items() int {
	if a.Kind == "set" {
		return a.Most
	}
	return 1
}

// Total says that every answer has a cell: without others, what is no number has
// none, nor what is not in the domain, and a set may have more items than it may.
func (a Attribute) Total() bool {
	return a.Kind == "mean" || a.Others && (a.Kind != "set" || a.Most == a.Domain())
}

// AttributeKinds are the kinds of attribute that a plan may name. A plan of a table may also name "mean", of numbers by
// a sum of its own, and "open", of values that nobody declared.
var AttributeKinds = []string{"categories", "buckets", "set", "grid"}

// Axis is one side of a grid: cells of equal width in [low, high].
type Axis struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Cells int     `json:"cells"`
}

// Randomizer names the mechanism that answers with a cell, with its numbers. Only
// the fields of the named mechanism are set.
type Randomizer struct {
	Name       string  `json:"name"`           // "none", "one-hot", "one-hot-asymmetric", "krr", "subset", "local-hash", "hadamard"
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

// RandomizerNone is that of cells as they are: of sums alone, to which noise is added.
const RandomizerNone = "none"

// Randomizers are the randomizers that a plan may name.
var Randomizers = []string{"one-hot", "one-hot-asymmetric", "krr", "subset", "local-hash", "hadamard"}

// can says what a randomizer of that name has; what is not named has nothing.
func (r Randomizer) can() (bits, alike, seed bool) {
	switch r.Name {
	case "one-hot":
		return true, true, false
	case "one-hot-asymmetric":
		return true, false, false
	case "local-hash":
		return false, false, true
	}
	return false, false, false
}

// OneHot says whether the randomizer answers with bits, of which those set travel.
func (r Randomizer) OneHot() bool {
	bits, _, _ := r.can()
	return bits
}

// Alike says whether it answers with bits that are flipped alike, set or not: those of ESA,
// of which fragments are made.
func (r Randomizer) Alike() bool {
	_, alike, _ := r.can()
	return alike
}

// Seeded says whether it draws by a public seed.
func (r Randomizer) Seeded() bool {
	_, _, seed := r.can()
	return seed
}

// Sketch folds the cells of a large domain into rows of fewer (ESA, section VII).
type Sketch struct {
	Name   string `json:"name"` // "count-mean", "count"
	Hashes int    `json:"hashes"`
	Width  int    `json:"width"`
	Seed   string `json:"seed"` // 64 hex digits
}
