package ltn

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/testkit/datatest"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// Sets of loans differ in the public ones alone, which are of the years that they say.
func TestShiftedLoans(t *testing.T) {
	loans := &datasets.Loans{Names: []string{"number", "issue_year"}, X: blas32.General{Cols: 2, Stride: 2}}
	for i := range 14_000 {
		loans.X.Data = append(loans.X.Data, float32(i), float32(i%14/2%5)) // 2007 to 2011, and the first two again
		loans.X.Rows++
		loans.Rate, loans.Lost = append(loans.Rate, 0.1), append(loans.Lost, i%2 == 1)
	}
	year := func(x float32) int { return 2007 + int(x)%14/2%5 }
	var asked, tested []float32
	for _, name := range []string{"loans_2010", "loans_2007_2009"} {
		s, _ := shiftOf(name)
		s.public = 1_000
		if name == "loans_2010" {
			s.public = 900
		}
		set, err := s.loans(loans)
		if err != nil {
			t.Fatal(err)
		}
		if counts := set.Train.Counts(2); counts[0] != counts[1] || set.Columns[1] != "int_rate" || set.Test.Len() != 900 {
			t.Errorf("%s: %v, %v", name, counts, set.Columns)
		}
		var theirs, test []float32
		for i := range set.Train.Len() {
			switch n := set.Train.X.Data[2*i]; {
			case i >= s.public && year(n) != 2011, i < s.public && !s.takes(year(n)), set.Train.X.Data[2*i+1] != 0.1:
				t.Fatalf("%s: record %d is of %d", name, i, year(n))
			case i >= s.public:
				theirs = append(theirs, n)
			}
		}
		for i := range set.Test.Len() {
			test = append(test, set.Test.X.Data[2*i])
		}
		if asked == nil {
			asked, tested = theirs, test
		} else if !slices.Equal(asked, theirs) || !slices.Equal(tested, test) {
			t.Error("the respondents, or the test, are others")
		}
	}
	s, _ := shiftOf("loans_2010")
	if _, err := s.loans(loans); err == nil || !strings.Contains(err.Error(), "2600 public loans") && !strings.Contains(err.Error(), "are needed") {
		t.Errorf("too few loans: %v", err)
	}
}

func TestAgency(t *testing.T) {
	for text, want := range map[string]string{
		"Oil falls (Reuters) Reuters - Oil": "reuters", "AP - The": "ap", "Vote (AP) AFP - The": "ap", "AFP - The": "afp", "Reuters said": "", "WRAP -  up": "",
	} {
		if got := agency(text); got != want {
			t.Errorf("%q is of %q, want %q", text, got, want)
		}
	}
}

// One set of each kind is measured with its own public records, from a collection by symbols alone.
func TestShiftedSets(t *testing.T) {
	if testing.Short() {
		t.Skip("short: fits directions of 2,000 texts")
	}
	datatest.Folder(t, "lending_club")
	dir := datatest.Folder(t, "agnews_csv")
	for name, least := range map[string]float64{"loans_2007_2009": 0.52, "news_ap": 0.4} {
		set, err := Shifted(dir, name, quiet)
		if err != nil {
			t.Fatal(err)
		}
		set.Test.Y = set.Test.Y[:min(len(set.Test.Y), set.Test.X.Rows)]
		res, err := Run(asked(experiments.Collecting, experiments.Symbols, 4), set, quiet)
		s, _ := shiftOf(name)
		if err != nil || res.Public != s.public || res.Respondents != set.Train.Len()-s.public || res.AccuracyClean < least {
			t.Errorf("%s: %s, %v", name, says(res), err)
		}
		if _, err := Run(asked(experiments.Joining, experiments.Symbols, 4), set, quiet); err == nil {
			t.Errorf("%s: joined", name)
		}
	}
	if _, err := Shifted(dir, "loans_1999", quiet); err == nil || !strings.Contains(err.Error(), "choose one of loans_2011") {
		t.Error(err)
	}
}
