package plan

// Strings asks for the frequent ones of strings that nobody listed, in one round (docs/strings.md). Of a string's
// vector, rotated, a device answers few coordinates (rows), which it draws in secret, with a flipped bit each; or two
// aggregators add vectors up.
type Strings struct {
	Alphabet string `json:"alphabet,omitempty"` // the characters of strings; empty: any text, read as bytes of UTF-8
	Longest  int    `json:"longest"`            // characters of a string, or bytes of any text
	Seed     string `json:"seed"`               // 64 hex digits: public randomness of the code and of the rotation

	// The code: cells of a position, positions of a symbol and of the whole string, and buckets.
	Cells   int `json:"cells"`
	Hashes  int `json:"hashes"`
	Tail    int `json:"tail"`
	Buckets int `json:"buckets"`
	// Pairs is the share of a vector's squared length that tells which symbols follow each other.
	Pairs float64 `json:"pairs,omitempty"`

	// Of answers that are mixed. Of sums nothing: a vector goes as it is, with ones in the place of its entries.
	Answered int     `json:"answered,omitempty"`         // rows that a device answers, on average
	Rows     int     `json:"rows,omitempty"`             // a power of two, at least the length of a vector
	Clip     float64 `json:"clip,omitempty"`             // at which rotated coordinates are cut, in deviations of one
	Flip     float64 `json:"flip_probability,omitempty"` // of an answer, in (0, 1/2)
	Rare     float64 `json:"rare,omitempty"`             // chance, charged to delta, that rows are more crowded than accounted for
}
