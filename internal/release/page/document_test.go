package page

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/release"
)

func TestDocument(t *testing.T) {
	d := release.Document{
		Title: "Accuracy against epsilon", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Sections: []release.Section{{
			Title:   "One set",
			Tables:  []release.Table{{Title: "Numbers", Columns: []release.Column{{Title: "kernel"}, {Title: "epsilon 1", Unit: release.Share}}, Rows: [][]release.Cell{{release.Text("a<b"), release.Number(0.5, 0.01)}}}},
			Figures: []release.Figure{{Name: "f", Title: "F", Alt: "rises", Kind: release.Lines, Series: []release.Series{{Title: "one", X: []float64{1, 2}, Y: []float64{1, 2}}}}},
		}},
		Provenance: release.Provenance{Software: "confetti test", Randomness: "seed 1"},
	}
	var b bytes.Buffer
	if err := WriteDocument(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>Accuracy against epsilon</h1>", "a&lt;b", "50.0%", "<figcaption>F</figcaption>", "confetti test"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	d.Sections[0].Figures[0].Series[0].Y[1] = math.NaN()
	if err := WriteDocument(&b, d); err == nil || !strings.Contains(err.Error(), "sections[0].figures[0].series[0].y[1] is not a finite number") {
		t.Errorf("a figure with a NaN: %v", err)
	}
}
