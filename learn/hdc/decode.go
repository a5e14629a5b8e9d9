package hdc

import (
	"fmt"
	"slices"
	"sort"

	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/kde"
	"gonum.org/v1/gonum/blas/blas32"
)

// Word is a vocabulary word by its density in a class.
//
// Highest to Lowest is where its true rank may be, given the errors. A word counts
// as surely above another where their intervals at Level do not touch:
// Highest is 1 and the words surely above, Lowest is 1 and the words not surely
// below. Intervals that do not touch differ by at least z times the sum of both
// standard errors, which is no less than z times the standard error of the
// difference however the two errors hang together.
type Word struct {
	Word    string         `json:"word"`
	Score   estimate.Value `json:"score"`
	Rank    int            `json:"rank"` // from 1
	Highest int            `json:"highest"`
	Lowest  int            `json:"lowest"`
}

// Decode names each class by the top words of the vocabulary, row i of x being
// the vector of words[i]. A missing class has none.
func (m *Model) Decode(words []string, x blas32.General, top int) ([][]Word, error) {
	if x.Rows != len(words) || top < 1 {
		return nil, fmt.Errorf("hdc: %d words with %d vectors, of which %d are asked for", len(words), x.Rows, top)
	}
	scores, err := m.scores()
	if err != nil {
		return nil, fmt.Errorf("hdc: %w", err)
	}
	values := make([][]estimate.Value, len(scores))
	for c := range values {
		values[c] = make([]estimate.Value, len(words))
	}
	err = kde.Each(m.features, x, func(i int, g []float32) {
		for c, s := range scores {
			if m.weights[c] != nil {
				values[c][i] = s.At(g)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("hdc: vocabulary: %w", err)
	}
	decoded := make([][]Word, len(scores))
	for c := range decoded {
		if m.weights[c] != nil {
			decoded[c] = rank(words, values[c], top)
		}
	}
	return decoded, nil
}

// rank is the top of the words by score; equals keep their order.
func rank(words []string, scores []estimate.Value, top int) []Word {
	n := len(words)
	order := make([]int, n)
	lows, highs := make([]float64, n), make([]float64, n)
	for i, s := range scores {
		order[i] = i
		lows[i], highs[i] = s.Interval(Level)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a].Mean > scores[b].Mean:
			return -1
		case scores[a].Mean < scores[b].Mean:
			return 1
		}
		return 0
	})
	slices.Sort(lows)
	slices.Sort(highs)
	ranked := make([]Word, min(top, n))
	for r := range ranked {
		i := order[r]
		lo, hi := scores[i].Interval(Level)
		above := n - sort.Search(n, func(k int) bool { return lows[k] > hi })
		below := sort.Search(n, func(k int) bool { return highs[k] >= lo })
		ranked[r] = Word{Word: words[i], Score: scores[i], Rank: r + 1, Highest: 1 + above, Lowest: n - below}
	}
	return ranked
}
