package esa

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/lab/experiments"
)

// panelColumns is how wide a picture is on a sheet, at most.
const panelColumns = 200

// sheets are, by file name, the pictures that a table's cells made, for each
// population that is one: a row for each budget, the truth first and then every way
// in the order of the table.
func sheets(s experiments.Spec, dir string, cells []experiments.Measured) (map[string]experiments.Picture, error) {
	out := map[string]experiments.Picture{}
	sets, of := experiments.Split(cells, experiments.ByDataset)
	for _, set := range sets {
		read := func(name string) (picture, error) {
			p, err := readPicture(filepath.Join(dir, PictureFolder, name+".png"))
			return p.small(panelColumns), err
		}
		truth, err := read(truthOf(set))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is no picture
		}
		if err != nil {
			return nil, err
		}
		var rows [][]picture
		budgets, at := experiments.Split(of[set], func(m experiments.Measured) string { return budgetOf(m.Cell.Histogram) })
		for _, budget := range budgets {
			row := []picture{truth}
			for _, m := range at[budget] {
				if m.Result == nil {
					continue
				}
				p, err := read(m.Cell.Key())
				if err != nil {
					return nil, err
				}
				row = append(row, p)
			}
			rows = append(rows, row)
		}
		out[sheetName(s, set)] = sheet(rows)
	}
	return out, nil
}

// sheetName returns the file of a population's sheet, lower-case as those of figures.
func sheetName(s experiments.Spec, set string) string {
	return s.Name + "-" + stem(set) + "-pictures.png"
}

// waysOf returns the reports that cells are about, in their order.
func waysOf(cells []experiments.Measured) []string {
	var names []string
	for _, m := range cells {
		if w := m.Cell.Histogram.Way(); m.Result != nil && !slices.Contains(names, w) {
			names = append(names, w)
		}
	}
	return names
}
