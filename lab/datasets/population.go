package datasets

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dataset"
)

// CellName returns what a reader calls a cell of a population.
func CellName(p *dataset.Population, cell int) string {
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

// LoadPopulation reads one of PopulationNames from the data folder dir, or, where
// dataset.IsPicture, a picture of the caller's own.
func LoadPopulation(dir, name string) (*dataset.Population, error) {
	if dataset.IsPicture(name) {
		return dataset.ReadPicture(name)
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
	read := dataset.ReadPicture
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
	p.Checksum, err = dataset.Checksum(path)
	return p, err
}
