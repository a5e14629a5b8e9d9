package collection_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/kde/exact"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/plan"
)

// The table of densities has a row for each class of each public point, whose interval
// holds the density of the records as often as it says, and from which the accuracy of the
// release follows.
func TestTheTableOfDensities(t *testing.T) {
	set := generated(t)
	c := asked()
	c.Repetitions, c.Budget.LabelEpsilon = 512, plan.Unprotected
	out, err := c.Run(set, quiet)
	if err != nil {
		t.Fatal(err)
	}
	all, note, err := out.Model.Densities(out.Public)
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	var text bytes.Buffer
	if err := sheets.WriteDensities(&text, all); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	classes, tests := len(set.Classes), set.Test.Len()
	if err != nil || len(rows) != 1+classes*(tests+len(set.Words)) || len(rows[0]) != 9 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	plain := make([][]float64, classes)
	for class := range plain {
		own := blas32.General{Cols: set.Train.X.Cols, Stride: set.Train.X.Cols}
		for i, y := range set.Train.Y {
			if y == class {
				own.Data = append(own.Data, set.Train.X.Data[i*set.Train.X.Stride:i*set.Train.X.Stride+own.Cols]...)
				own.Rows++
			}
		}
		plain[class] = exact.Gaussian(own, set.Test.X, c.Kernel.Bandwidth)
	}
	right, held, together, bounded := 0, 0, 0, false
	for i := range tests {
		best, of := -math.MaxFloat64, 0
		for class, row := range rows[1+i*classes : 1+(i+1)*classes] {
			if row[0] != strconv.Itoa(i+1) || row[1] != set.Classes[set.Test.Y[i]] || row[2] != set.Classes[class] {
				t.Fatalf("row %v", row)
			}
			if x := number(row[3]); x > best {
				best, of = x, class
			}
			if x := plain[class][i]; number(row[5]) <= x && x <= number(row[6]) {
				held++
			}
			if x := plain[class][i]; number(row[7]) <= x && x <= number(row[8]) {
				together++
			}
		}
		if of == set.Test.Y[i] {
			right++
		}
	}
	if accuracy := float64(right) / float64(tests); math.Abs(accuracy-out.Release.Headline[0].Value) > 1e-12 {
		t.Errorf("by the table accuracy is %v, by the release %v", accuracy, out.Release.Headline[0].Value)
	}
	if share := float64(held) / float64(tests*classes); share < 0.9 || share > 0.99 { // the errors of one class are correlated
		t.Errorf("95 %% intervals hold %.3f of the densities", share)
	}
	if together != tests*classes {
		t.Errorf("of %d intervals that are to hold at once %d do", tests*classes, together)
	}
	for _, section := range out.Release.Sections {
		if section.Title != "How far a density may be off" {
			continue
		}
		square := 0.0
		for i := range tests {
			for class, row := range rows[1+i*classes : 1+(i+1)*classes] {
				square += math.Pow(number(row[3])-plain[class][i], 2) / float64(tests*classes)
			}
		}
		for _, row := range section.Tables[0].Rows {
			if bound := *row[1].Value; !(math.Sqrt(square) < bound && bound < 5*math.Sqrt(square)) {
				t.Errorf("densities are off by %v, and %v is said of the class %s", math.Sqrt(square), bound, row[0].Text)
			}
		}
		bounded = true
	}
	if !bounded {
		t.Error("the release does not say how far a density may be off")
	}
	if last := rows[len(rows)-1]; last[0] != set.Words[len(set.Words)-1] || last[1] != "" || last[2] != set.Classes[classes-1] {
		t.Errorf("last row %v", last)
	}
}
