package esa

import (
	"errors"
	"io/fs"
	"os"
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
		if _, err := os.Stat(partOf(dir, truthOf(set))); errors.Is(err, fs.ErrNotExist) {
			continue // it is no picture
		}
		p, err := sheetOf(dir, set, of[set], panelColumns)
		if err != nil {
			return nil, err
		}
		out[sheetName(s, set)] = p
	}
	return out, nil
}

// partOf returns the file of what a cell made of a picture, or of the picture itself.
func partOf(dir, name string) string { return filepath.Join(dir, PictureFolder, name+".png") }

// sheetOf returns that of a population, with panels of at most so many columns.
func sheetOf(dir, set string, cells []experiments.Measured, columns int) (picture, error) {
	read := func(name string) (picture, error) {
		p, err := readPicture(partOf(dir, name))
		return p.small(columns), err
	}
	truth, err := read(truthOf(set))
	if err != nil {
		return picture{}, err
	}
	var rows [][]picture
	budgets, at := experiments.Split(cells, func(m experiments.Measured) string { return budgetOf(m.Cell.Histogram) })
	for _, budget := range budgets {
		row := []picture{truth}
		for _, m := range at[budget] {
			if m.Result == nil {
				continue
			}
			p, err := read(m.Cell.Key())
			if err != nil {
				return picture{}, err
			}
			row = append(row, p)
		}
		rows = append(rows, row)
	}
	return sheet(rows), nil
}

// MapSheet names the file of the paper's Figure 1.
const MapSheet = "esa-table8-pictures.png"

// DrawMap writes MapSheet to the folder of the data: a row for each of two budgets of Table VIII, which are sheets of half as
// wide panels in 16 greys. What a cell made of the map is drawn again where it is in no file, unless the sheet is there.
func DrawMap(d experiments.Data) error {
	path, b := filepath.Join(d.Out, MapSheet), &bench{data: d}
	_, drawn := os.Stat(path)
	all := Specs()
	spec := all[slices.IndexFunc(all, func(s experiments.Spec) bool { return s.Name == "esa-table8" })]
	var shown []experiments.Measured
	for _, c := range spec.Cells(experiments.Options{Seed: 1}) {
		if slices.Contains([]float64{0.05, 0.5}, c.Histogram.Epsilon) {
			shown = append(shown, experiments.Measured{Cell: c, Result: &experiments.Result{}})
		}
	}
	for i, m := range shown {
		if _, err := os.Stat(partOf(d.Out, m.Cell.Key())); err == nil {
			continue
		}
		if drawn == nil {
			return nil
		}
		d.Progress()(m.Cell.String(), i, len(shown))
		if _, err := b.Measure(m.Cell); err != nil {
			return err
		}
	}
	p, err := sheetOf(d.Out, mapLike, shown, panelColumns/2)
	if err != nil {
		return err
	}
	return experiments.WriteWhole(path, p.writeGreys)
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
