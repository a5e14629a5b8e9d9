package release

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

func TestDocument(t *testing.T) {
	d := Document{
		Title: "Accuracy against epsilon", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Sections: []Section{{
			Title:   "One set",
			Tables:  []Table{{Title: "Numbers", Columns: []Column{{Label: "kernel"}, {Label: "epsilon 1", Unit: Share}}, Rows: [][]Cell{{Text("a<b"), Number(0.5, 0.01)}}}},
			Figures: []Figure{{Name: "f", Title: "F", Alt: "rises", Kind: Lines, Series: []Series{{Label: "one", X: []float64{1, 2}, Y: []float64{1, 2}}}}},
		}},
		Provenance: Provenance{Software: "confetti test", Randomness: "seed 1"},
	}
	var b bytes.Buffer
	if err := d.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>Accuracy against epsilon</h1>", "a&lt;b", "50.0%", "<figcaption>F</figcaption>", "confetti test"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	d.Sections[0].Figures[0].Series[0].Y[1] = math.NaN()
	if err := d.WriteHTML(&b); err == nil || !strings.Contains(err.Error(), "sections[0].figures[0].series[0].y[1] is not a finite number") {
		t.Errorf("a figure with a NaN: %v", err)
	}
}
