package statement_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	_ "github.com/confetti-dp/confetti/question/all"
)

func TestReleaseSaysWhatFewerLeave(t *testing.T) {
	p := example.Design(t, example.Density("rr"))
	proto := example.Runnable(t, p)
	tallies := example.Crowds(proto)
	tallies[0].Respondents, tallies[0].Smallest = 1500, 640 // two batches
	tallies[1].Respondents, tallies[1].Smallest = 700, 700
	r, err := example.Stated(t, proto, tallies, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Protection[0]
	if !strings.Contains(s.Text, "640 respondents") {
		t.Errorf("%q does not name the smallest batch", s.Text)
	}
	// The plan's share of 10 % is among the stated ones, and written once.
	rows := s.Tables[0].Rows
	if len(rows) != 4 {
		t.Fatalf("%d rows, want those of 0, 10, 25 and 50 %%", len(rows))
	}
	for i, left := range []int{640, 576, 480, 320} {
		g, err := proto.GuaranteeWith(left)
		if err != nil {
			t.Fatal(err)
		}
		for cell, want := range map[int]float64{1: float64(left), 2: g.Epsilon, 3: g.Epsilon + 3} {
			if got := rows[i][cell].Value; got == nil || *got != want {
				t.Errorf("row %d, cell %d: %v, want %v", i, cell, rows[i][cell], want)
			}
		}
	}
	models := s.Tables[1]
	shuffled := r.Guarantees[2].Guarantee.Epsilon
	for i, want := range []float64{shuffled, shuffled - 3} { // communication, model
		got, claimed := models.Rows[i][2].Value, models.Rows[i][3].Value
		if got == nil || math.Abs(*got-want) > 1e-9 || claimed == nil || math.Abs(*claimed-shuffled) > 1e-9 {
			t.Errorf("threat model %d: %v, %v; want %v and claimed %v", i, models.Rows[i][2], models.Rows[i][3], want, shuffled)
		}
	}
	if !strings.Contains(models.Note, "Class counts are published") {
		t.Errorf("note %q", models.Note)
	}
}

// A batch of a size that nobody counted has at least the plan's minimum, and
// where the noise left hides nobody, the release says that and no number.
func TestReleaseSaysWhereNothingIsLeft(t *testing.T) {
	p := example.Density("pure")
	p.Budget.LabelEpsilon = plan.Unprotected
	p.Budget.DishonestShare = 0.2
	p = example.Design(t, p)
	proto := example.Runnable(t, p)
	tallies := []tally.Crowd{{Tally: proto.NewTally(), Respondents: 800}, {}}
	r, err := example.Stated(t, proto, tallies, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := r.Protection[0].Tables[0].Rows
	if len(rows) != 5 || len(rows[0]) != 3 { // no column for a class that is not protected
		t.Fatalf("rows %v", rows)
	}
	for i, row := range rows {
		said := strings.Contains(row[2].Text, "no bound is proved")
		if enough := *row[1].Value >= 400; said == enough {
			t.Errorf("row %d, %v left: %+v", i, *row[1].Value, row[2])
		}
	}
	if claimed := r.Protection[0].Tables[1].Rows[1][3]; claimed.Value != nil {
		t.Errorf("claimed %v for an unprotected class", *claimed.Value)
	}
	r, err = example.Stated(t, proto, make([]tally.Crowd, 2), nil)
	if err != nil || len(r.Protection[0].Tables) != 1 {
		t.Errorf("of a release of nobody: %v, %+v", err, r.Protection)
	}
}

// The tables say whose neighbours their epsilons speak of, and beside that of a removal
// stands that of the replacement which it amounts to.
func TestEpsilonsInTablesNameTheirNeighbours(t *testing.T) {
	removals := 0
	for name, p := range example.Histograms() {
		p = example.Design(t, p)
		proto := example.Runnable(t, p)
		tallies := example.Crowds(proto)
		for c := range tallies {
			tallies[c].Respondents, tallies[c].Smallest = p.Crowd.Minimum, p.Crowd.Minimum
		}
		r, err := example.Stated(t, proto, tallies, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range r.Protection[0].Tables {
			for i, c := range table.Columns {
				switch {
				case !strings.HasPrefix(c.Title, "epsilon"):
				case !strings.Contains(c.Title, "("+p.Budget.Adjacency+")"):
					t.Errorf("%s: the column %q under %s", name, c.Title, p.Budget.Adjacency)
				case p.Budget.Adjacency == "removal":
					removals++
					for _, row := range table.Rows {
						if a, b := row[i].Value, row[i+1].Value; a != nil && b != nil && *b != 2**a || !strings.Contains(table.Columns[i+1].Title, "(replacement)") {
							t.Errorf("%s: %v under removal, and %v beside it", name, row[i], row[i+1])
						}
					}
				}
			}
		}
	}
	if removals < 5 {
		t.Errorf("%d columns under removal", removals)
	}
}
