package curator

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// both joins the values of two columns that are counted together.
const both = " / "

// Joint returns the attribute of two columns of names counted together: a cell for each pair.
func Joint(a, b plan.Attribute) plan.Attribute {
	out := plan.Attribute{Name: a.Name + " and " + b.Name, Kind: "categories"}
	for _, one := range a.Values {
		for _, other := range b.Values {
			out.Values = append(out.Values, one+both+other)
		}
	}
	return out
}

// Read reads the rows of a table: for each attribute its columns. With a column of people the first row
// of each counts, and the others do not: which one that is depends on nobody else's. An answer is told
// from none by its form alone, and nothing says which rows have none. Where how many rows there are is private, no row
// is no error.
func Read(path string, attributes []plan.Attribute, columns [][]string, person string, hidden bool) ([]Row, error) {
	var read []table.Column
	for _, names := range columns {
		for _, name := range names {
			read = append(read, table.Column{Name: name, MayBeEmpty: true, MayBeLong: true})
		}
	}
	if person != "" {
		read = append(read, table.Column{Name: person, MayBeLong: true})
	}
	t, err := table.ReadColumns(path, table.Missing{}, read...)
	if hidden && errors.Is(err, table.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var rows []Row
	seen := map[string]bool{}
	for i := range t.Lines {
		if person != "" {
			who := t.Values[len(read)-1][i]
			if seen[who] {
				continue
			}
			seen[who] = true
		}
		var row Row
		at := 0
		for k, a := range attributes {
			var cells []string
			for range columns[k] {
				cells, at = append(cells, t.Values[at][i]), at+1
			}
			row = append(row, answer(a, cells))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// answer returns what the cells of a row answer; nil where they are no answer.
func answer(a plan.Attribute, cells []string) any {
	switch a.Kind {
	case "buckets", "mean":
		if x := number(cells[0], a.Low, a.High); !math.IsNaN(x) {
			return x
		}
		return nil
	case "grid":
		p := encode.Point{X: number(cells[0], a.X.Low, a.X.High), Y: number(cells[1], a.Y.Low, a.Y.High)}
		if math.IsNaN(p.X) || math.IsNaN(p.Y) {
			return nil
		}
		return p
	case "set":
		items := []string{}
		for item := range strings.SplitSeq(cells[0], ";") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return items
	}
	if a.Kind == "open" && !publishable(cells[0]) {
		return nil
	}
	return strings.Join(cells, both)
}

// longest bounds the bytes of a value that nobody declared: what is longer is text, and no category.
const longest = 200

// publishable says that a value could stand on a page. One that could not is no answer, in silence: a release that
// failed would tell of it.
func publishable(value string) bool {
	return value != "" && len(value) <= longest && value == sanitize.Text(value)
}

// number returns that of a cell within its bounds, and NaN for what is none.
func number(cell string, low, high float64) float64 {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil && !math.IsInf(x, 0) || math.IsNaN(x) {
		return math.NaN()
	}
	return max(low, min(high, x))
}
