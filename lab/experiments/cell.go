// Package experiments measures plans on populations: a Cell is one point, a Spec the cells of a figure or a table,
// and a Runner measures them. Used by lab/esa, lab/kde, lab/ldc, lab/ltn and lab/sgd, one for each paper.
//
// The Runner goes on where it was stopped. The same seed gives the same numbers on every machine.
package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Cell is one point: a question with its budget, put to a data set. One of Density,
// Histogram, Labels, Gradient and Records is set. Cells that are equal are measured once.
type Cell struct {
	Dataset   string    `json:"dataset"`
	Seed      uint64    `json:"seed"`
	Runs      int       `json:"runs"`
	Density   Density   `json:"density,omitzero"`
	Histogram Histogram `json:"histogram,omitzero"`
	Labels    Labels    `json:"labels,omitzero"`
	Gradient  Gradient  `json:"gradient,omitzero"`
	Records   Records   `json:"records,omitzero"`
}

// Key names the cell: a digest of all that determines its result.
func (c Cell) Key() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic("experiments: a cell that is no JSON: " + err.Error())
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:12])
}

// Validate lists everything that is wrong with the cell.
func (c Cell) Validate() error {
	f := &faults{}
	switch {
	case c.Labels != (Labels{}):
		c.Labels.validate(f)
	case c.Histogram != (Histogram{}):
		c.Histogram.validate(f)
	case c.Gradient != (Gradient{}):
		c.Gradient.validate(f)
	case c.Records != (Records{}):
		c.Records.validate(f)
	default:
		c.Density.validate(f)
	}
	f.check(c.Runs >= 1 && c.Runs <= 10000, "runs %d: must be 1 to 10000", c.Runs)
	return f.join()
}

func (c Cell) String() string {
	switch {
	case c.Labels != (Labels{}):
		return fmt.Sprintf("%s, %s", c.Dataset, c.Labels)
	case c.Histogram != (Histogram{}):
		return fmt.Sprintf("%s, %s", c.Dataset, c.Histogram)
	case c.Gradient != (Gradient{}):
		return fmt.Sprintf("%s, %s", c.Dataset, c.Gradient)
	case c.Records != (Records{}):
		return fmt.Sprintf("%s, %s", c.Dataset, c.Records)
	}
	return fmt.Sprintf("%s, %s", c.Dataset, c.Density)
}
