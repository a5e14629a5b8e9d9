package dataset

import (
	"path/filepath"
	"strings"
)

// Population is how many respondents hold each cell of a domain: all that a
// histogram is about, and all that the law of its noise depends on.
type Population struct {
	Name      string
	Synthetic bool
	Holders   []int    // by cell
	Names     []string // of the cells; empty: a grid, or cells by number
	Columns   int      // of a grid, whose cells are listed row by row from the top; 0: there is none
	Checksum  string   // of the file that it was read from; empty: of none
	Most      int      // a bound that the public knows for every cell, such as white; 0: there is none
}

// Respondents returns their number: each holds one cell.
func (p *Population) Respondents() int {
	n := 0
	for _, h := range p.Holders {
		n += h
	}
	return n
}

// IsPicture says whether a name is that of a PNG file rather than of the data folder.
func IsPicture(name string) bool { return strings.EqualFold(filepath.Ext(name), ".png") }
