package figures

import (
	"bytes"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/release"
)

func chartOf(labels ...string) Chart {
	f := Chart{Figure: release.Figure{Name: "chart", Title: "Accuracy of everything against epsilon", Alt: "Lines.", Kind: release.Lines, X: release.Axis{Title: "epsilon", Log: true}, Y: release.Axis{Title: "accuracy"}}}
	for i, l := range labels {
		f.Series = append(f.Series, release.Series{Title: l, X: []float64{0.5, 1, 2}, Y: []float64{0.1, 0.2, 0.3 + float64(i)/10}, Low: []float64{0.05, 0.1, 0.2}, High: []float64{0.2, 0.3, 0.5 + float64(i)/10}})
		f.Looks = append(f.Looks, Look{Colour: Colour(i % 8), Mark: Mark(i % 8), Dashed: i%2 == 1, Alone: i == 3})
	}
	return f
}

// A series is drawn in its own colour wherever it stands, and every name is there.
func TestAChartsLooks(t *testing.T) {
	first, alone := chartOf("ours", "theirs", "a curator", "printed"), chartOf("theirs")
	alone.Looks[0] = first.Looks[1]
	var a, b bytes.Buffer
	if err := Write(&a, first); err != nil {
		t.Fatal(err)
	}
	if err := Write(&b, alone); err != nil {
		t.Fatal(err)
	}
	for _, l := range append([]string{"#D55E00", "Accuracy of everything"}, "ours", "theirs", "a curator", "printed") {
		if !strings.Contains(a.String(), l) {
			t.Errorf("the chart has no %s", l)
		}
	}
	if !strings.Contains(b.String(), "#D55E00") || strings.Contains(b.String(), "#0072B2") {
		t.Error("a series has another colour where it stands alone")
	}
}

// The same charts give the same PDF, with a page for each.
func TestChartsAsPDF(t *testing.T) {
	var a, b bytes.Buffer
	charts := []Chart{chartOf("ours"), chartOf("theirs", "ours")}
	if err := WritePDF(&a, charts); err != nil {
		t.Fatal(err)
	}
	if err := WritePDF(&b, charts); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) || !bytes.HasPrefix(a.Bytes(), []byte("%PDF-")) || !bytes.Contains(a.Bytes(), []byte("/Count 2")) {
		t.Errorf("%d and %d bytes, %q", a.Len(), b.Len(), a.Bytes()[:20])
	}
}

// What would be cut is refused, not drawn: titles, labels, and legends in any number of columns.
func TestNothingOfAChartIsCut(t *testing.T) {
	long := strings.Repeat("a long name ", 9)
	for name, spoil := range map[string]func(c *Chart){
		"title": func(c *Chart) { c.Title = long }, "title of x": func(c *Chart) { c.X.Title = long }, "title of y": func(c *Chart) { c.Y.Title = long + long }, "legend": func(c *Chart) { c.Series[1].Title = long + long },
	} {
		c := chartOf("ours", "theirs")
		spoil(&c)
		if err := Write(&bytes.Buffer{}, c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a %s that is too long: %v", name, err)
		}
	}
	var names []string
	for range 12 {
		names = append(names, "a curator's noise on the same sums")
	}
	if err := Write(&bytes.Buffer{}, chartOf(names...)); err != nil {
		t.Error(err)
	}
}

// A chart without a look for each line is refused.
func TestBadCharts(t *testing.T) {
	bad := chartOf("ours", "theirs")
	bad.Looks = bad.Looks[:1]
	if Write(&bytes.Buffer{}, bad) == nil || WritePDF(&bytes.Buffer{}, []Chart{bad}) == nil {
		t.Error("a chart of two lines and one look was drawn")
	}
}

// Up to four lines have bands; where more have deviations, each has bars in its own colour, and none is left out.
func TestManyLinesHaveBars(t *testing.T) {
	draw := func(n int) string {
		var b bytes.Buffer
		c := chartOf([]string{"a", "b", "c", "d", "e"}[:n]...)
		for i := range c.Looks {
			c.Looks[i].Alone = false
		}
		if err := Write(&b, c); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	bands := func(svg string) int { return strings.Count(svg, "fill-opacity") }
	if got := bands(draw(4)); got < 4 {
		t.Errorf("four lines have %d bands", got)
	}
	if got := bands(draw(5)); got != 0 {
		t.Errorf("five lines have %d bands", got)
	}
	one := chartOf("a")
	for _, of := range []*[]float64{&one.Series[0].X, &one.Series[0].Y, &one.Series[0].Low, &one.Series[0].High} {
		*of = (*of)[:1]
	}
	var single bytes.Buffer
	if err := Write(&single, one); err != nil || bands(single.String()) != 0 || strings.Count(single.String(), "stroke:#0072B2") < 3 {
		t.Errorf("a point by itself has no bar (%v)", err)
	}
	strokes := func(svg, colour string) int { return strings.Count(svg, "stroke:"+colour) }
	if four, five := strokes(draw(4), "#0072B2"), strokes(draw(5), "#0072B2"); five < four+3 {
		t.Errorf("the first line has %d strokes with bars, %d with a band", five, four)
	}
}

// Marks of the axis stand where they are asked for.
func TestAChartsPlaces(t *testing.T) {
	c := chartOf("ours")
	c.At = []float64{0.7, 1.7}
	var b bytes.Buffer
	if err := Write(&b, c); err != nil || !strings.Contains(b.String(), ">0.7<") || !strings.Contains(b.String(), ">1.7<") {
		t.Errorf("%v %s", err, b.String())
	}
}
