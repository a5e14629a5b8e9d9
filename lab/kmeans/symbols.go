package kmeans

import (
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

const (
	fewestSymbols = 20 // clusters of records alone
	fewestOfClass = 2  // and of records with classes, for each class: fewer tell them badly apart
	mostSymbols   = 500
	clearSymbol   = 6 // standard errors of a typical symbol's count
)

// ForSymbols returns the number of clusters for so many respondents who say their cluster and one of
// so many classes (1: records have none) by subset selection at a local epsilon: the largest, up to
// 500, at which a typical cell, n/J of them, is six standard errors of its estimate above nothing,
// and never below two for each class, or 20 where there are none. All of it is public.
func ForSymbols(respondents, classes int, epsilon float64) int {
	fewest := fewestSymbols
	if classes > 1 {
		fewest = min(fewestOfClass*classes, mostSymbols)
	}
	for j := min(mostSymbols, cluster.Most); j > fewest; j-- {
		k := j * classes
		m := randomize.SubsetSelection{K: k, W: randomize.SubsetSize(k, epsilon), Epsilon: epsilon}
		typical := float64(respondents) / float64(j)
		if typical*typical >= clearSymbol*clearSymbol*m.Variance(0, respondents) {
			return j
		}
	}
	return fewest
}
