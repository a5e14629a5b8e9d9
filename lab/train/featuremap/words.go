package featuremap

import "github.com/confetti-dp/confetti/internal/dp/encode/lsa"

// Usual numbers: of places, and the share at which a word weighs half.
const (
	Usual = 1 << 14
	Half  = 1e-3
)

// Least is the share from which a word is listed as common: a rarer one loses a hundredth of its
// weight at most.
const Least = Half / 100

// Counted returns the common words among public texts, with their shares of all words there.
func Counted(texts []string) (common map[string]float64) {
	common, all := map[string]float64{}, 0.0
	for _, text := range texts {
		for _, w := range lsa.Split(text) {
			common[w]++
			all++
		}
	}
	for w, n := range common {
		if common[w] = n / all; common[w] < Least {
			delete(common, w)
		}
	}
	return common
}
