package papers

import (
	"fmt"

	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/lab/ltn"
	"github.com/confetti-dp/confetti/release"
)

// The drawings of LTN's Appendix F: corners of classes in two directions, what is as near to two of them, and how often a
// corner with noise is told.

var (
	corners  = protocol{"corners of classes", figures.Look{Colour: figures.Blue, Mark: figures.Circle, Alone: true}}
	boundary = protocol{"as near to two", figures.Look{Colour: figures.Ink, Mark: figures.Plus}}
	edge     = protocol{"edge of what is as near to both", figures.Look{Colour: figures.Ink, Mark: figures.Plus, Dashed: true}}
)

// plane returns a drawing of corners, and of lines each of which is a list of points.
func plane(name, title string, at [][2]float64, lines map[string][][2]float64) figures.Chart {
	f := newChart(name, title, title+".", release.Axis{Title: "first number of a code"}, release.Axis{Title: "second number"})
	for _, p := range at {
		f.add(corners, p[0], p[1], 0)
	}
	for _, of := range []protocol{boundary, edge} {
		for _, suffix := range []string{"", ", the other line"} {
			for _, p := range lines[of.words+suffix] {
				f.add(protocol{of.words + suffix, of.look}, p[0], p[1], 0)
			}
		}
	}
	drawn, _ := f.done()
	return drawn
}

// fourCorners returns Figure 5, and how often its corners are told.
func fourCorners() ([]release.Table, []figures.Chart) {
	t := release.Table{Columns: columns("local epsilon", "told, of four classes (equation 10)", "by chance")}
	for _, e := range []float64{1, 2, 4, 6, 8, 10} {
		t.Rows = append(t.Rows, row(fmt.Sprint(e), percent(ltn.LaplaceBound(4, e), 0), percent(0.25, 0)))
	}
	return []release.Table{t}, []figures.Chart{plane("figure5", "Four classes on the corners of a ball", [][2]float64{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}, map[string][][2]float64{
		"as near to two": {{-1.5, -1.5}, {1.5, 1.5}}, "as near to two, the other line": {{-1.5, 1.5}, {1.5, -1.5}},
	})}
}

// twoCorners returns Figure 6, and how often the corners of either function are told.
func twoCorners() ([]release.Table, []figures.Chart) {
	t := release.Table{Columns: columns("local epsilon", "opposite corners (a)", "adjacent corners (b)")}
	for _, e := range []float64{1, 2, 4, 6, 8, 10} {
		t.Rows = append(t.Rows, row(fmt.Sprint(e), percent(ltn.LaplaceBound(2, e), 0), percent(ltn.AdjacentCorners(e), 0)))
	}
	return []release.Table{t}, []figures.Chart{
		plane("figure6a", "Two classes on opposite corners", [][2]float64{{1, 0}, {-1, 0}}, map[string][][2]float64{"as near to two": {{0, -1.5}, {0, 1.5}}}),
		plane("figure6b", "Two classes on adjacent corners", [][2]float64{{1, 0}, {0, 1}}, map[string][][2]float64{
			"as near to two": {{0, 0}, {1, 1}}, "edge of what is as near to both": {{-1.5, 0}, {0, 0}, {0, -1.5}}, "edge of what is as near to both, the other line": {{1.5, 1}, {1, 1}, {1, 1.5}},
		}),
	}
}
