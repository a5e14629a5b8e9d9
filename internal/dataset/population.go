package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// Respondents is their number: each holds one cell.
func (p *Population) Respondents() int {
	n := 0
	for _, h := range p.Holders {
		n += h
	}
	return n
}

// CellName is what a reader calls the cell.
func (p *Population) CellName(cell int) string {
	switch {
	case len(p.Names) > 0:
		return p.Names[cell]
	case p.Columns > 0:
		return fmt.Sprintf("column %d, row %d", cell%p.Columns+1, cell/p.Columns+1)
	}
	return fmt.Sprintf("cell %d", cell+1)
}

// populations are the files of the data folder that LoadPopulation knows.
var populations = map[string]string{
	"camera":       "images/camera_300.png",
	"coins":        "images/coins_300.png",
	"horse-filled": "images/horse_filled_300.png",
	"horse-sketch": "images/horse_sketch_300.png",
	"en-words":     "heavytail/en_words_counts.tsv.gz",
	"nz-addresses": "location/nz_addresses.csv.gz",
}

// PopulationNames lists the populations of the data folder.
func PopulationNames() []string {
	var names []string
	for name := range populations {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// IsPicture says whether a name is that of a PNG file rather than of the data folder.
func IsPicture(name string) bool { return strings.EqualFold(filepath.Ext(name), ".png") }

// LoadPopulation reads one of PopulationNames from the data folder dir, or, where
// IsPicture, a picture of the caller's own.
func LoadPopulation(dir, name string) (*Population, error) {
	if IsPicture(name) {
		return ReadPicture(name)
	}
	file, ok := populations[name]
	if !ok {
		return nil, fmt.Errorf("population %q is unknown: choose one of %s, or a PNG file", name, strings.Join(PopulationNames(), ", "))
	}
	if dir == "" {
		return nil, fmt.Errorf("no data folder: name it with --data or CONFETTI_DATA")
	}
	path := filepath.Join(dir, filepath.FromSlash(file))
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("population %s is not there: no file %s; name the folder that holds it with --data or CONFETTI_DATA", name, path)
	}
	read := ReadPicture
	switch filepath.Dir(file) {
	case "heavytail":
		read = ReadWordCounts
	case "location":
		read = ReadPoints
	}
	p, err := read(path)
	if err != nil {
		return nil, err
	}
	p.Name = name
	p.Checksum, err = checksum(path)
	return p, err
}
