package hdc

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/kde"
	"gonum.org/v1/gonum/blas/blas32"
)

// Word is a vocabulary word by its density in a class.
//
// Highest to Lowest is where its true rank may be, given the errors. One word is
// surely above another if the difference of their scores is positive at Level,
// by the error of the difference, which knows what the two errors share. Highest
// is 1 and the words surely above; Lowest is the number of words, less those
// surely below. Each comparison is right with probability Level, all of them
// together are not.
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
	for c, s := range scores {
		if m.weights[c] == nil {
			continue
		}
		order := highest(values[c], top)
		above, below, err := m.compare(s, x, order)
		if err != nil {
			return nil, fmt.Errorf("hdc: vocabulary: %w", err)
		}
		for r, i := range order {
			decoded[c] = append(decoded[c], Word{words[i], values[c][i], r + 1, 1 + above[r], len(words) - below[r]})
		}
	}
	return decoded, nil
}

// highest is the indices of the top scores in falling order; equals keep theirs.
func highest(scores []estimate.Value, top int) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b].Mean, scores[a].Mean) })
	return order[:min(top, len(order))]
}

// compare counts, for each of the chosen rows of x, the rows whose score is
// surely above and surely below.
func (m *Model) compare(score kde.Mixture, x blas32.General, chosen []int) (above, below []int, err error) {
	features := make([][]float32, len(chosen))
	for r, i := range chosen {
		features[r] = make([]float32, m.features.Channels())
		if err := m.features.Query(x.Data[i*x.Stride:i*x.Stride+x.Cols], features[r]); err != nil {
			return nil, nil, err
		}
	}
	above, below = make([]int, len(chosen)), make([]int, len(chosen))
	var mu sync.Mutex
	err = kde.Each(m.features, x, func(i int, g []float32) {
		for r, h := range features {
			if chosen[r] == i {
				continue // a block's features differ from a single value's in the last digit
			}
			lo, hi := score.Rise(g, h).Interval(Level)
			if lo <= 0 && hi >= 0 {
				continue
			}
			mu.Lock()
			if lo > 0 {
				above[r]++
			} else {
				below[r]++
			}
			mu.Unlock()
		}
	})
	return above, below, err
}
