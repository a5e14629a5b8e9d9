// Command draw writes docs/learning-mnist.svg, -epsilon.svg and -bits.svg from docs/learning.jsonl, which has a line
// for each run of confetti-lab learn --json. Used by those who add a run, from the lab's root: go run ./learn/draw
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/lab/learn"
	"github.com/confetti-dp/confetti/release"
)

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile("../docs/learning.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	all, err := parse(text)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range []release.Figure{images(all), loans(all, "epsilon", "epsilon (delta 1e-5)", epsilon), loans(all, "bits", "bits of a device", bits)} {
		var svg bytes.Buffer
		if err := page.WriteSVG(&svg, f); err != nil {
			log.Fatal(err)
		}
		if err := os.WriteFile("../docs/"+f.Name+".svg", svg.Bytes(), 0o644); err != nil {
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

// published is the accuracy of DP-SGD on MNIST by a curator, of a linear model on scattering
// features at delta 1e-5 (Tramer and Boneh 2021; the table of github.com/ftramer/Handcrafted-DP).
var published = release.Series{Title: "DP-SGD, a curator (Tramer, Boneh 2021)", X: []float64{3}, Y: []float64{0.987}}

func images(all []learn.Result) release.Figure {
	few := func(r learn.Result) bool {
		return r.Dataset == "mnist" && r.Features == "gradients" && r.Bits == 1024 && r.Rounds == 1
	}
	many := func(r learn.Result) bool {
		return r.Dataset == "mnist" && r.Features == "gradients" && r.Bits == 8192 && r.Rounds == 5
	}
	f := release.Figure{Name: "learning-mnist", Kind: release.Points, Title: "MNIST, accuracy against epsilon",
		Alt: "Accuracy on MNIST against epsilon: one round of 1,024 bits a device, five rounds of 8,192, a curator's noise on the same sums, and published DP-SGD.",
		X:   release.Axis{Title: "epsilon (delta 1e-5)"}, Y: release.Axis{Title: "accuracy"}}
	f.Series = append(curves(all, few, epsilon, "one round, 1,024 bits"), curves(all, many, epsilon, "five rounds, 8,192 bits")...)
	f.Series = append(f.Series, published)
	return f
}

// loans are against something, and all but that is of one round, 4,096 bits and epsilon 1.
func loans(all []learn.Result, name, label string, x func(learn.Result) float64) release.Figure {
	of := func(r learn.Result) bool {
		return r.Dataset == "lending_club" && r.Noise == "" && r.Features == "columns" && (r.Bits == 4096 || name == "bits") && (r.Setting.Epsilon == 1 || name == "epsilon")
	}
	return release.Figure{Name: "learning-" + name, Kind: release.Lines, Title: "Rates of loans in one round, against " + name,
		Alt: "The share of the variance of interest rates that is explained, against " + name + ", with a curator's noise on the same sums, and without noise.",
		X:   release.Axis{Title: label, Log: true}, Y: release.Axis{Title: "share of variance explained"},
		Series: curves(all, of, x, "every bit drawn")}
}

func epsilon(r learn.Result) float64 { return r.Setting.Epsilon }

func bits(r learn.Result) float64 { return float64(r.Bits) }

// curves are means over seeds of what was learned, of what a curator's noise gives, and of no
// noise.
func curves(all []learn.Result, of func(learn.Result) bool, x func(learn.Result) float64, label string) []release.Series {
	at, places := map[float64][]learn.Result{}, []float64{}
	for _, r := range all {
		if of(r) {
			if at[x(r)] == nil {
				places = append(places, x(r))
			}
			at[x(r)] = append(at[x(r)], r)
		}
	}
	slices.Sort(places)
	out := []release.Series{{Title: label}, {Title: label + ": a curator"}, {Title: label + ": no noise"}}
	for _, p := range places {
		var sums [3]float64
		for _, r := range at[p] {
			for i, v := range measured(r) {
				sums[i] += v / float64(len(at[p]))
			}
		}
		for i := range out {
			out[i].X, out[i].Y = append(out[i].X, p), append(out[i].Y, sums[i])
		}
	}
	return out
}

// measured by every bit, by a curator, and without noise.
func measured(r learn.Result) [3]float64 {
	if f := r.Fits; f != nil {
		return [3]float64{f.R2, f.Central, f.NoPrivacy}
	}
	if a := r.Accuracies; a != nil {
		return [3]float64{a.Accuracy, a.Central, a.NoPrivacy}
	}
	return [3]float64{}
}
