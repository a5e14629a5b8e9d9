package experiments

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
)

// panelColumns is how wide a picture is on a sheet, at most.
const panelColumns = 200

// sheets are, by file name, the pictures that a table's cells made, for each
// population that is one: a row for each budget, the truth first and then every way
// in the order of the table.
func (s Spec) sheets(dir string, cells []Measured) (map[string]picture, error) {
	out := map[string]picture{}
	sets, of := split(cells, byDataset)
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
		budgets, at := split(of[set], func(m Measured) string { return budgetOf(m.Cell.Histogram) })
		for _, budget := range budgets {
			row := []picture{truth}
			for _, m := range at[budget] {
				if m.Histogram == nil {
					continue
				}
				p, err := read(m.Cell.key())
				if err != nil {
					return nil, err
				}
				row = append(row, p)
			}
			rows = append(rows, row)
		}
		out[s.sheetName(set)] = sheet(rows)
	}
	return out, nil
}

// sheetName is the file of a population's sheet, lower-case as those of figures.
func (s Spec) sheetName(set string) string {
	return s.Name + "-" + stem(set) + "-pictures.png"
}

// waysOf are the reports that cells are about, in their order.
func waysOf(cells []Measured) []string {
	var names []string
	for _, m := range cells {
		if w := m.Cell.Histogram.way(); m.Histogram != nil && !slices.Contains(names, w) {
			names = append(names, w)
		}
	}
	return names
}
