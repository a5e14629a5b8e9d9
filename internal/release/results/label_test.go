package results

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// A label that led after one cluster, and of which the next has an estimate below zero, is not
// the likeliest of all.
func TestTheLikeliestOfAllLabels(t *testing.T) {
	m := &label.Model{Asked: plan.Label{Classes: []string{"a", "b"}, Clusters: 3}, Counts: &histogram.Model{}}
	for crowd, means := range [][2]float64{{3, 5}, {0, -4}} {
		m.Counts.Tables = append(m.Counts.Tables, &histogram.Table{Crowd: crowd, Values: []estimate.Value{{Mean: means[0]}, {Mean: means[1]}}})
	}
	if c := newClustered(m); c.common != 0 || c.likeliest[0] != 1 || c.likeliest[1] != 0 || c.likeliest[2] != -1 {
		t.Errorf("likeliest of all %d, of each %v", c.common, c.likeliest)
	}
}
