package results

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/release"
)

// inClusters gives records the likeliest class of their public cluster.
type inClusters struct {
	classes   []string
	features  int                                           // numbers of a record
	likeliest []int                                         // by cluster; -1 of one of which nothing is known
	common    int                                           // the class of records that lie in such a one
	counts    [][]estimate.Value                            // by cluster and class; none of one that was withheld
	decay     float64                                       // of the noise in counts, if the likeliest are the largest ones and this is known
	find      func(record []float32) (cluster int, ok bool) // nil: clusters are not known
}

// agreement returns the share of all who have the likeliest class of their cluster.
func (c inClusters) agreement() release.Metric {
	var own, others []estimate.Value
	for cluster, likeliest := range c.likeliest {
		one, rest := unflattered(c.counts[cluster], likeliest, c.decay)
		own, others = append(own, one...), append(others, rest...)
	}
	share, low, high := estimate.Share(estimate.Sum(own), estimate.Sum(others), 0, level)
	return release.Metric{Name: "agreement", Value: share.Mean, Low: low, High: high, Level: level}
}

// judged puts the accuracy on public records first, and adds which class is taken for which; it
// leaves a page as it is where there are none, or no clusters.
func (c inClusters) judged(headline []release.Metric, section *release.Section, test Records) ([]release.Metric, error) {
	if len(test.Y) == 0 || c.find == nil {
		return headline, nil
	}
	if test.X.Cols != c.features {
		return nil, fmt.Errorf("results: test records of %d numbers, and the plan has %d", test.X.Cols, c.features)
	}
	predictions := make([]int, len(test.Y))
	for i := range predictions {
		cluster, ok := c.find(rowOf(test.X, i))
		if !ok {
			return nil, fmt.Errorf("results: test record %d lies in no cluster", i+1)
		}
		if predictions[i] = c.likeliest[cluster]; predictions[i] < 0 {
			predictions[i] = c.common
		}
	}
	e, err := hdc.Judge(predictions, test.Y, len(c.classes))
	if err != nil {
		return nil, err
	}
	section.Tables = append(section.Tables, confusion(c.classes, e))
	return append([]release.Metric{accuracy("accuracy", e)}, headline...), nil
}
