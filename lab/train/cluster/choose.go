package cluster

import "github.com/confetti-dp/confetti/internal/dp/encode/cluster"

const (
	// Clear is how many standard errors of a count of labels a typical cluster holds: below,
	// the largest of ten counts is often that of another label. It was chosen on drawn images
	// (lab/labels/settle).
	Clear = 6
	// Fewest is what a typical cluster holds whatever the noise: of fewer, small clusters are
	// left with nobody to hide among.
	Fewest = 100
)

// Choose returns the number of clusters for so many respondents whose labels are counted in each:
// the largest with which a typical cluster holds six standard errors of such a count. More
// clusters are purer, and the noise of each is felt more. All of it is public: stdErr is that
// of a count among so many respondents.
func Choose(respondents int, stdErr func(respondents float64) float64) int {
	low, high := 1, max(1, min(cluster.Most, respondents/Fewest)) // the answer lies in [low, high]
	for low < high {
		middle := (low + high + 1) / 2
		each := float64(respondents) / float64(middle)
		if each >= Clear*stdErr(each) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}
