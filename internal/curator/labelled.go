package curator

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/confetti-dp/confetti/internal/table"
)

// LabelledTable holds public columns, with the private label of each row.
type LabelledTable struct {
	path, label string
	names       []string // of the public columns
	cells       [][]string
	lines       []int
	drop        []string
	Labels      []string
}

// ReadLabelled reads a table with the column of labels. Columns that are dropped may still make clusters. A label may be
// anything, and nothing says which rows have none.
func ReadLabelled(path, label string, drop []string) (*LabelledTable, error) {
	f, err := table.Open(path)
	if err != nil {
		return nil, err
	}
	in, err := table.NewCSV(f)
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range append([]string{label}, drop...) {
		if !slices.Contains(in.Names, name) {
			return nil, absent(path, name)
		}
	}
	var columns []table.Column
	for _, name := range in.Names {
		columns = append(columns, table.Column{Name: name, MayBeEmpty: true, MayBeLong: true})
	}
	read, err := table.ReadColumns(path, table.Missing{}, columns...)
	if err != nil {
		return nil, err
	}
	t := &LabelledTable{path: path, label: label, lines: read.Lines, drop: drop}
	for i, name := range in.Names {
		if name == label {
			t.Labels = read.Values[i]
			continue
		}
		t.names, t.cells = append(t.names, name), append(t.cells, read.Values[i])
	}
	return t, nil
}

// absent returns the error of a column that is not there, with the name that was meant.
func absent(path, name string) error {
	_, err := table.ReadColumns(path, table.Missing{}, table.Column{Name: name})
	return err
}

// ReadClusters reads a table of one column, which names the cluster of each row of another table.
func ReadClusters(path string, rows, smallest int) (c Clusters, err error) {
	f, err := table.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	text := bufio.NewReader(f)
	if first, _ := text.Peek(1); string(first) == "{" {
		return c, fmt.Errorf("%s is JSON, as clusters for devices are: give a CSV file of one column, a name and then a line for each row with its cluster; or leave this out and name public columns with --clusters-by", path)
	}
	in, err := table.NewCSV(text)
	if err == nil && len(in.Names) != 1 {
		err = fmt.Errorf("has %d columns: give one, with the cluster of each row", len(in.Names))
	}
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	one, err := table.ReadColumns(path, table.Missing{}, table.Column{Name: in.Names[0]})
	if err != nil {
		return c, err
	}
	if n := len(one.Lines); n != rows {
		return c, fmt.Errorf("%s names the clusters of %d rows, and the table has %d: give one line for each row, in the same order", path, n, rows)
	}
	return merged(one.Values[0], smallest)
}

// column returns a public column.
func (t *LabelledTable) column(name string) ([]string, error) {
	at := slices.Index(t.names, name)
	switch {
	case name == t.label:
		return nil, fmt.Errorf("column %q makes no clusters: it has the labels, which are private", name)
	case at < 0:
		return nil, absent(t.path, name)
	}
	var faults table.Faults
	numbers, numeric := numbered(t.cells[at])
	for i, cell := range t.cells[at] {
		switch {
		case cell == "":
			faults.Add(t.lines[i], name, "is empty")
		case numeric && (math.IsNaN(numbers[i]) || math.IsInf(numbers[i], 0)):
			faults.Add(t.lines[i], name, "is no finite number")
		}
	}
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("%w: mend these cells, or make clusters by other columns", err)
	}
	return t.cells[at], nil
}

// numbered returns the cells as numbers, if all that are not empty are.
func numbered(cells []string) (numbers []float64, all bool) {
	numbers = make([]float64, len(cells))
	for i, cell := range cells {
		var err error
		if numbers[i], err = strconv.ParseFloat(cell, 64); err != nil && cell != "" && !math.IsInf(numbers[i], 0) {
			return nil, false
		}
	}
	return numbers, true
}

// By makes a cluster of the rows that have the same in some public columns. A column of many numbers is cut into parts of as
// many rows each. Clusters of fewer rows than the smallest are put together.
func (t *LabelledTable) By(columns []string, parts, smallest int) (c Clusters, err error) {
	keys := make([]string, len(t.Labels))
	for i, name := range columns {
		cells, err := t.column(name)
		if err != nil {
			return c, err
		}
		if numbers, numeric := numbered(cells); numeric {
			cells = cut(numbers, parts)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(cells)))) < 2 {
			return c, fmt.Errorf("column %q makes no clusters: all rows have the same there: leave it out of --clusters-by", name)
		}
		for row := range keys {
			if i > 0 {
				keys[row] += ", "
			}
			keys[row] += name + " " + cells[row]
		}
	}
	return merged(keys, smallest)
}

// cut names the part that each number is in, of so many of as many rows each; a number is what it is where few differ. Where one number
// is most of a column parts are fewer, and still at least two.
func cut(numbers []float64, parts int) []string {
	sorted := slices.Sorted(slices.Values(numbers))
	out := make([]string, len(numbers))
	different := slices.Compact(slices.Clone(sorted))
	if len(different) <= parts {
		for i, x := range numbers {
			out[i] = fmt.Sprint(x)
		}
		return out
	}
	var edges []float64 // where parts end, but the last: nothing is below the first number
	for k := 1; k < parts; k++ {
		edges = append(edges, max(different[1], sorted[len(sorted)*k/parts]))
	}
	edges = slices.Compact(edges)
	for i, x := range numbers {
		part := 0
		for part < len(edges) && x >= edges[part] {
			part++
		}
		switch {
		case part == 0:
			out[i] = fmt.Sprintf("below %g", edges[0])
		case part == len(edges):
			out[i] = fmt.Sprintf("from %g", edges[part-1])
		default:
			out[i] = fmt.Sprintf("%g to %g", edges[part-1], edges[part])
		}
	}
	return out
}

// rest names the cluster of all that are in small ones.
const rest = "all others"

// merged returns the clusters of rows, each of which is in one by a name, in the order of these. Those of fewer rows
// than the smallest are put together, and if they are still too few, with the smallest of the others. How many rows a
// cluster has is public, as names are.
func merged(named []string, smallest int) (c Clusters, err error) {
	sizes := map[string]int{}
	for _, name := range named {
		sizes[name]++
	}
	small := 0
	for name, n := range sizes {
		if n < smallest || name == rest {
			small += n
			delete(sizes, name)
		}
	}
	for small > 0 && small < smallest && len(sizes) > 0 {
		least := ""
		for name, n := range sizes {
			if least == "" || cmp.Or(cmp.Compare(n, sizes[least]), cmp.Compare(name, least)) < 0 {
				least = name
			}
		}
		small += sizes[least]
		delete(sizes, least)
	}
	for name := range sizes {
		c.Names = append(c.Names, name)
	}
	slices.Sort(c.Names)
	if small > 0 {
		c.Names = append(c.Names, rest)
	}
	if len(c.Names) < 2 {
		return c, fmt.Errorf("of %d rows no two clusters hold %d each, so that noise would hide what tells them apart: name fewer and larger clusters, a larger epsilon, or --smallest; or take labels one by one", len(named), smallest)
	}
	at := map[string]int{}
	for i, name := range c.Names {
		at[name] = i
	}
	for _, name := range named {
		i, kept := at[name]
		if !kept {
			i = len(c.Names) - 1
		}
		c.Of = append(c.Of, i)
	}
	c.shorten()
	return c, nil
}

// Clusters groups rows.
type Clusters struct {
	Names []string
	Meant []string // what the rows of each have in common, where names are too long to say it
	Of    []int    // by row
}

// longestName bounds the bytes of a cluster's name.
const longestName = 32

// shorten gives clusters numbers for names, where these are long.
func (c *Clusters) shorten() {
	if !slices.ContainsFunc(c.Names, func(name string) bool { return len(name) > longestName }) {
		return
	}
	digits := len(strconv.Itoa(len(c.Names)))
	c.Meant = c.Names
	c.Names = make([]string, len(c.Meant))
	for i := range c.Names {
		if c.Names[i] = fmt.Sprintf("cluster %0*d", digits, i+1); c.Meant[i] == rest {
			c.Names[i] = rest
		}
	}
}
