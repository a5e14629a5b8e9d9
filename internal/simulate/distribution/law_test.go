package distribution_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// The truth has a number for every cell of every table that was released, and
// none for a crowd that was withheld.
func TestTruth(t *testing.T) {
	h := example.OneHot(example.Drinks(), plan.Attribute{Name: "basket", Kind: "set", Size: 3, Most: 2})
	h.Collect = "split"
	p := example.Histogram(h)
	p.Crowd.Names, p.Crowd.Minimum = []string{"north", "south", "east"}, 1000
	p = example.Design(t, p)
	var values []question.Value
	for i := range 4000 {
		values = append(values, histogram.Answers{Crowd: i % 2, Values: []any{[]string{"coffee", "coffee", "tea", "beer"}[i%4], []int{i % 3, 2}}})
	}
	values = append(values, histogram.Answers{Crowd: 2, Values: []any{"tea", []int{}}})
	proto := example.Runnable(t, p)
	tallies, err := distribution.Draw(proto, distribution.Values(values), func(part ...uint64) *rand.Rand { return seeded.New(3, part...) }, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	m := example.Learned(t, proto, tallies)
	known, err := distribution.Reveal(proto, values)
	if err != nil {
		t.Fatal(err)
	}
	var truth [][]int
	for _, table := range m.Tables {
		truth = append(truth, known.Table(table.Crowd, table.Attribute).Counts)
	}
	want := [][]int{{1000, 1000, 0, 0}, nil, {1000, 0, 0, 1000}, nil} // of even and of odd i
	for i, cells := range truth {
		if want[i] != nil && !slices.Equal(cells, want[i]) {
			t.Errorf("table %d: %v, want %v", i, cells, want[i])
		}
	}
	if len(truth) != 4 || truth[1][2] != 2000 || truth[1][0]+truth[1][1] < 1332 || truth[1][0]+truth[1][1] > 1334 {
		t.Errorf("%d tables; the sets of the first crowd: %v", len(truth), truth[1])
	}
	if _, err := distribution.Reveal(proto, []question.Value{"tea"}); err == nil {
		t.Error("a value of another kind was counted")
	}
}
