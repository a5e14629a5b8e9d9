package encode

import (
	"flag"
	"strconv"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// update writes the vectors anew, which changes what devices say.
var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

// cellSample is one value of one domain.
type cellSample struct {
	Kind    string   `json:"kind"`
	Names   []string `json:"names,omitempty"` // categories, or items
	Numbers int      `json:"numbers,omitempty"`
	Axes    []Axis   `json:"axes,omitempty"` // x, then y
	Most    int      `json:"most,omitempty"`
	Others  bool     `json:"others"`
	Text    []string `json:"text,omitempty"`  // the value: a string, or the items of a set
	Point   []string `json:"point,omitempty"` // the value: numbers, in decimal as JSON has no infinity
	Refused bool     `json:"refused"`         // no value of this question: an error, not cells
	Cells   []uint32 `json:"cells,omitempty"`
}

type cellVectors struct {
	Comment string       `json:"comment"`
	Source  string       `json:"source"`
	Cases   []cellSample `json:"cases"`
}

func TestGoldenCells(t *testing.T) {
	got := cellVectors{
		Comment: "The cells that values are in.",
		Source:  "confetti, go test ./dp/encode -run TestGoldenCells -update",
	}
	words := []string{"red", "green", "blue"}
	ages, tenths := Axis{0, 100, 7}, Axis{-0.1, 0.2, 3}
	for _, text := range []string{"red", "blue", "Blue", ""} {
		got.Cases = append(got.Cases, cellSample{Kind: "categories", Names: words, Text: []string{text}}, cellSample{Kind: "categories", Names: words, Others: true, Text: []string{text}})
	}
	for _, text := range []string{"0", "8", "9", "08", "-1"} {
		got.Cases = append(got.Cases, cellSample{Kind: "categories", Numbers: 9, Others: true, Text: []string{text}})
	}
	for _, text := range [][]string{nil, {"blue", "red", "blue"}, {"blue", "red", "green"}, {"x", "y", "red"}} {
		got.Cases = append(got.Cases, cellSample{Kind: "set", Names: words, Most: 2, Others: true, Text: text})
	}
	for _, x := range []string{"0", "14.285714285714285", "14.285714285714286", "28.571428571428573", "28.57142857142857", "99.99999999999999", "100", "100.00000000000001", "-1e-300", "NaN", "-Inf"} {
		got.Cases = append(got.Cases, cellSample{Kind: "buckets", Axes: []Axis{ages}, Point: []string{x}}, cellSample{Kind: "buckets", Axes: []Axis{ages}, Others: true, Point: []string{x}})
	}
	for _, x := range []string{"-0.1", "0", "-1e-17", "0.1", "0.09999999999999999", "0.2"} {
		got.Cases = append(got.Cases, cellSample{Kind: "buckets", Axes: []Axis{tenths}, Point: []string{x}})
	}
	for _, p := range [][]string{{"0", "0"}, {"99", "-0.05"}, {"50", "7"}, {"50", "+Inf"}} {
		got.Cases = append(got.Cases, cellSample{Kind: "grid", Axes: []Axis{ages, tenths}, Point: p}, cellSample{Kind: "grid", Axes: []Axis{ages, tenths}, Others: true, Point: p})
	}
	for i := range got.Cases {
		c := &got.Cases[i]
		cells, err := c.encode(t)
		c.Refused = err != nil
		if len(cells) > 0 { // no cell is written as none
			c.Cells = cells
		}
	}
	var want cellVectors
	if golden := crosscheck.Golden(t, *update, "testdata/vectors/v1/cells.json", &want, got, 0); golden && len(want.Cases) == 0 {
		t.Fatal("no vectors")
	}
}

func (c cellSample) encode(t *testing.T) ([]uint32, error) {
	var p Point
	for i, text := range c.Point {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		*[]*float64{&p.X, &p.Y}[i] = x
	}
	domain := func() *Categories {
		if c.Numbers > 0 {
			return must[*Categories](t)(NumberedCategories(c.Numbers, c.Others))
		}
		return must[*Categories](t)(NewCategories(c.Names, c.Others))
	}
	switch c.Kind {
	case "categories":
		return domain().Encode(c.Text[0])
	case "set":
		return must[*Set](t)(NewSet(domain(), c.Most)).Encode(c.Text)
	case "buckets":
		return must[*Buckets](t)(NewBuckets(c.Axes[0], c.Others)).Encode(p.X)
	case "grid":
		return must[*Grid](t)(NewGrid(c.Axes[0], c.Axes[1], c.Others)).Encode(p)
	}
	t.Fatalf("a case of the kind %q", c.Kind)
	return nil, nil
}
