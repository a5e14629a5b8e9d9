package esa

import (
	"slices"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// printedRMSE are the errors that ESA prints in Tables IV to IX, a row for each
// way with a column for each of budgets. It gives no errors in Table I.
var printedRMSE = map[string]map[experiments.Histogram][]float64{
	"esa-table4": printedRows(experiments.OneHot, []float64{51.09, 10.72, 5.40, 3.67, 2.78}, [][]float64{
		{118.40, 45.01, 23.79, 16.46, 12.96}, {128.05, 63.01, 33.60, 23.22, 17.92}, {132.46, 63.67, 33.59, 23.20, 18.01}, {139.47, 82.12, 36.27, 24.17, 18.39},
	}),
	"esa-table5": printedRows(experiments.CountMean, nil, [][]float64{
		{118.57, 45.47, 24.11, 17.05, 13.25}, {128.34, 62.82, 33.62, 23.60, 18.32}, {132.52, 63.70, 33.78, 23.40, 18.43}, {139.47, 81.91, 36.66, 24.48, 18.74},
	}),
	"esa-table6": printedRepeats(experiments.OneHot, [][]float64{
		{118.40, 45.01, 23.79, 16.46, 12.96}, {157.76, 127.07, 107.85, 96.02, 88.49}, {166.50, 154.87, 148.45, 145.09, 141.44},
	}),
	"esa-table7": printedRepeats(experiments.CountMean, [][]float64{
		{118.57, 45.47, 24.11, 17.05, 13.25}, {129.86, 105.85, 89.41, 78.79, 71.53}, {135.17, 126.16, 122.00, 118.56, 117.06},
	}),
	"esa-table8": printedRows(experiments.OneHot, []float64{62.08, 14.80, 7.83, 5.39, 4.13}, [][]float64{
		{150.54, 83.01, 67.31, 63.00, 61.31}, {160.02, 97.15, 73.74, 66.79, 63.80}, {160.19, 97.24, 73.76, 66.79, 63.85}, {161.85, 97.28, 73.75, 66.80, 63.83},
	}),
	"esa-table9": printedRows(experiments.OneHot, []float64{70.68, 17.06, 8.68, 5.84, 4.40}, [][]float64{
		{121.81, 63.84, 36.56, 25.83, 20.13}, {127.40, 80.65, 49.72, 35.67, 28.03}, {127.50, 80.46, 49.69, 35.81, 28.07}, {131.22, 81.27, 49.80, 35.77, 28.17},
	}),
}

func printedRows(encoding string, central []float64, rows [][]float64) map[experiments.Histogram][]float64 {
	out := map[experiments.Histogram][]float64{}
	if central != nil {
		out[curator] = central
	}
	for i, h := range fragmented(encoding, calibrate.Paper) {
		out[h] = rows[i]
	}
	return out
}

func printedRepeats(encoding string, rows [][]float64) map[experiments.Histogram][]float64 {
	out := map[experiments.Histogram][]float64{}
	for i, h := range repeated(encoding, calibrate.Paper) {
		out[h] = rows[i]
	}
	return out
}

// printedFour are the rows of Table III by population: local epsilon 2, central
// epsilon 0.05 and 1, and the sketch with the flips of the last.
var printedFour = map[string][4]float64{
	mapLike:      {182.17, 150.54, 61.31, 79.73},
	horseLike:    {129.13, 118.40, 12.96, 13.25},
	childLike:    {138.06, 121.81, 20.13, 34.54},
	heavyHitters: {3565.88, 234.28, 15.82, 2583.13},
}

// printedSketch is the last row of Table V: the sketch without privacy.
const printedSketch = 4.12

// Printed returns the error that ESA prints in the table that a measurement is named by, for a population's cell.
func Printed(spec, set string, h experiments.Histogram) (float64, bool) {
	budget := slices.Index(budgets, h.Epsilon)
	way := experiments.Histogram{Encoding: h.Encoding, Accounting: h.Accounting, Fragments: h.Fragments, Repeats: h.Repeats, Hashes: h.Hashes, Width: h.Width}
	switch {
	case spec == "esa-table5" && h.LocalEpsilon == noNoise:
		return printedSketch, true
	case spec != "esa-table3":
		row, ok := printedRMSE[spec][way]
		if !ok || budget < 0 {
			return 0, false
		}
		return row[budget], true
	case h.Accounting != calibrate.Paper:
		return 0, false
	}
	four, ok := printedFour[set]
	switch {
	case h.LocalEpsilon > 0:
		return four[0], ok
	case h.Encoding == experiments.CountMean:
		return four[3], ok
	case h.Epsilon == 1:
		return four[2], ok
	}
	return four[1], ok
}
