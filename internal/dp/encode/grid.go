package encode

import "math"

// Point is a value of a Grid.
type Point struct{ X, Y float64 }

// Grid is the plane cut along two axes: cell = row*columns + column, columns along x
// and rows along y, both counted from the low end. Points outside are in the nearest
// cell, which is then open on that side; or in a last cell for others, if there is one.
type Grid struct {
	x, y   Axis
	others bool
}

// NewGrid checks the axes.
func NewGrid(x, y Axis, others bool) (*Grid, error) {
	for _, a := range []Axis{x, y} {
		if err := a.validate(); err != nil {
			return nil, err
		}
	}
	if err := checkCells(withOthers(x.Cells*y.Cells, others)); err != nil {
		return nil, err
	}
	return &Grid{x, y, others}, nil
}

// Size returns the number of cells.
func (g *Grid) Size() int { return withOthers(g.x.Cells*g.y.Cells, g.others) }

// Encode returns the cell of a point. One without two numbers (NaN) is another, if there is a
// cell for others.
func (g *Grid) Encode(p Point) ([]uint32, error) {
	column, insideX := g.x.find(p.X)
	row, insideY := g.y.find(p.Y)
	switch {
	case g.others && !(insideX && insideY):
		return []uint32{uint32(g.x.Cells * g.y.Cells)}, nil
	case math.IsNaN(p.X) || math.IsNaN(p.Y):
		return nil, errNoNumber
	}
	return []uint32{uint32(row*g.x.Cells + column)}, nil
}

// Name returns the two intervals of a cell, such as "x 0 to 1, y 2 to 3", or "others".
func (g *Grid) Name(cell int) string {
	mustHave(cell, g.Size())
	if cell == g.x.Cells*g.y.Cells {
		return othersName
	}
	return "x " + g.x.name(cell%g.x.Cells, !g.others) + ", y " + g.y.name(cell/g.x.Cells, !g.others)
}
