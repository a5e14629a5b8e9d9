package results

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Group regroups cells of an attribute, after the collection: reports are private
// already, so asking anew what they carry costs nothing more.
type Group struct {
	Attribute string   // its name
	Name      string   // of the group
	Cells     []string // by name, as releases print them
}

// groups returns the tables of what is asked of an attribute: each crowd's, and all
// crowds together, whose errors are independent.
func (m *answers) groups(asked []Group) ([]release.Section, error) {
	var sections []release.Section
	for i, a := range m.Attributes {
		of := slices.DeleteFunc(slices.Clone(asked), func(g Group) bool { return g.Attribute != a.Name })
		if len(of) == 0 {
			continue
		}
		var tables []*tabulated
		for _, t := range m.tables {
			if t.Attribute == i {
				tables = append(tables, t)
			}
		}
		if len(tables) == 0 {
			continue // every crowd was withheld
		}
		cells, err := byName(tables[0], of)
		if err != nil {
			return nil, err
		}
		section, err := m.regrouped(tables, of, cells)
		if err != nil {
			return nil, err
		}
		sections = append(sections, section)
	}
	for _, g := range asked {
		if !slices.ContainsFunc(m.Attributes, func(a plan.Attribute) bool { return a.Name == g.Attribute }) {
			return nil, fmt.Errorf("results: group %q: the plan asks for no attribute named %q", g.Name, g.Attribute)
		}
	}
	return sections, nil
}

// byName finds the cells of each group.
func byName(t *tabulated, groups []Group) ([][]int, error) {
	at := map[string]int{}
	for cell := range t.Values {
		at[t.Name(cell)] = cell
	}
	cells := make([][]int, len(groups))
	for i, g := range groups {
		for _, name := range g.Cells {
			cell, ok := at[name]
			if !ok {
				return nil, fmt.Errorf("results: group %q: attribute %q has no cell named %q", g.Name, g.Attribute, name)
			}
			if slices.Contains(cells[i], cell) {
				return nil, fmt.Errorf("results: group %q names the cell %q twice", g.Name, name)
			}
			cells[i] = append(cells[i], cell)
		}
	}
	return cells, nil
}

// regrouped returns the tables of an attribute's groups.
func (m *answers) regrouped(tables []*tabulated, groups []Group, cells [][]int) (release.Section, error) {
	s := release.Section{Name: place{attributes: len(m.Attributes), attribute: tables[0].Attribute}.key("groups", "-")}
	known := make([]float64, len(groups))
	all := make([]estimate.Value, len(groups))
	for _, t := range tables {
		out := release.Table{Name: "crowd"}
		if len(m.Respondents) > 1 {
			out.Key = m.Crowds[t.Crowd]
		}
		for i, g := range groups {
			count, share, low, high, ok := t.Group(cells[i], level)
			if !ok {
				return s, fmt.Errorf("results: group %q: the errors of %s are correlated, so that the error of a sum is not known: only one-hot answers can be regrouped", g.Name, t.Asked.Name)
			}
			all[i] = estimate.Value{Mean: all[i].Mean + count.Mean, StdErr: math.Hypot(all[i].StdErr, count.StdErr)}
			row := []release.Cell{release.Named(g.Name), release.Number(float64(len(cells[i])), 0),
				release.Number(count.Mean, count.StdErr), release.Number(share.Mean, share.StdErr), release.Interval(low, high)}
			if n := t.truth.count(cells[i]...); n != nil {
				known[i] += *n
				row = append(row, release.Number(*n, 0))
			}
			out.Rows = append(out.Rows, row)
		}
		s.Tables = append(s.Tables, out)
	}
	if len(tables) > 1 {
		out := release.Table{Name: "all"}
		for i, g := range groups {
			row := []release.Cell{release.Named(g.Name), release.Number(float64(len(cells[i])), 0), release.Number(all[i].Mean, all[i].StdErr)}
			if tables[0].truth != nil {
				row = append(row, release.Number(known[i], 0))
			}
			out.Rows = append(out.Rows, row)
		}
		s.Tables = append(s.Tables, out)
	}
	return s, nil
}
