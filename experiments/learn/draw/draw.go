// Command draw writes docs/learning-epsilon.svg and docs/learning-bits.svg from
// docs/learning.jsonl, which has a line for each run of confetti experiment learn --json. It is
// run from the root of the module: go run ./experiments/learn/draw
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/confetti-dp/confetti/experiments/learn"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile("docs/learning.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	all, err := parse(text)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range []release.Figure{byEpsilon(all), byBits(all)} {
		var svg bytes.Buffer
		if err := page.WriteSVG(&svg, f); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile("docs/"+f.Name+".svg", svg.Bytes(), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

func parse(text []byte) (all []learn.Result, err error) {
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var r learn.Result
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("docs/learning.jsonl: line %d: %w", i+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// published are accuracies of DP-SGD on MNIST by a curator, on scattering features (Tramer and
// Boneh 2021).
var published = release.Series{Label: "DP-SGD, a curator (Tramer and Boneh 2021)", X: []float64{1.2, 2.93}, Y: []float64{0.981, 0.987}}

func byEpsilon(all []learn.Result) release.Figure {
	x := func(r learn.Result) float64 { return r.Setting.Epsilon }
	few := func(r learn.Result) bool { return r.Dataset == "mnist" && r.Bits == 1024 && r.Rounds == 1 }
	many := func(r learn.Result) bool { return r.Dataset == "mnist" && r.Bits == 8192 && r.Rounds == 5 }
	f := release.Figure{Name: "learning-epsilon", Kind: release.Lines, Title: "MNIST, accuracy against epsilon",
		Alt: "Accuracy on MNIST against epsilon: one round of 1,024 bits a device, five rounds of 8,192, a curator's noise on the same sums, and published DP-SGD.",
		X:   release.Axis{Label: "epsilon (delta 1e-5)"}, Y: release.Axis{Label: "accuracy"}}
	f.Series = append(curves(all, few, x, "one round, 1,024 bits"), curves(all, many, x, "five rounds, 8,192 bits")...)
	f.Series = append(f.Series, published)
	return f
}

func byBits(all []learn.Result) release.Figure {
	one := func(r learn.Result) bool { return r.Dataset == "mnist" && r.Rounds == 1 && r.Setting.Epsilon == 1 }
	return release.Figure{Name: "learning-bits", Kind: release.Lines, Title: "MNIST in one round at epsilon 1, accuracy against bits",
		Alt: "Accuracy on MNIST in one round at epsilon 1 against the bits of a device, with a curator's noise on the same sums.",
		X:   release.Axis{Label: "bits of a device", Log: true}, Y: release.Axis{Label: "accuracy"},
		Series: curves(all, one, func(r learn.Result) float64 { return float64(r.Bits) }, "every bit drawn")}
}

// curves are the means over seeds of what was learned, and of what a curator's noise gives.
func curves(all []learn.Result, of func(learn.Result) bool, x func(learn.Result) float64, label string) []release.Series {
	type sum struct{ n, drawn, central float64 }
	at := map[float64]sum{}
	for _, r := range all {
		if r.Accuracies != nil && of(r) {
			s := at[x(r)]
			at[x(r)] = sum{s.n + 1, s.drawn + r.Accuracy, s.central + r.Accuracies.Central}
		}
	}
	drawn, central := release.Series{Label: label}, release.Series{Label: label + ", a curator"}
	var places []float64
	for p := range at {
		places = append(places, p)
	}
	slices.Sort(places)
	for _, p := range places {
		s := at[p]
		drawn.X, drawn.Y = append(drawn.X, p), append(drawn.Y, s.drawn/s.n)
		central.X, central.Y = append(central.X, p), append(central.Y, s.central/s.n)
	}
	if len(places) == 0 {
		return nil
	}
	return []release.Series{drawn, central}
}
