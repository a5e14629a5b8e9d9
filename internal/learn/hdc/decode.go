package hdc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"gonum.org/v1/gonum/blas/blas32"
)

// Word is a vocabulary word by its score in a class.
//
// Highest to Lowest is where its true rank may be, given the errors. One word is
// surely above another if the difference of their scores is positive by the error of
// the difference, which knows what the two errors share. Highest is 1 and the words
// surely above; Lowest is the number of words, less those surely below. All
// comparisons of two words in a class are right at once with probability Level, so
// that the ranks hold though the words were chosen by their scores.
type Word struct {
	Word    string         `json:"word"`
	Score   estimate.Value `json:"score"`
	Rank    int            `json:"rank"` // from 1
	Highest int            `json:"highest"`
	Lowest  int            `json:"lowest"`
}

// Decode names each class by the top words of the vocabulary in its density, row
// i of x being the vector of words[i]. A missing class has none.
func (m *Model) Decode(words []string, x blas32.General, top int) ([][]Word, error) {
	scores, err := m.scores()
	if err != nil {
		return nil, fmt.Errorf("hdc: %w", err)
	}
	return m.decode(scores, words, x, top)
}

// Distinguish names each class by the words whose density in it exceeds that in
// the mean of the other classes by most. What all classes share drops out: common
// words, and most of the error of random features, which is the same for all.
// With fewer than two scored classes there is nothing to distinguish.
func (m *Model) Distinguish(words []string, x blas32.General, top int) ([][]Word, error) {
	k := len(m.classes)
	others := k - len(m.Missing()) - 1
	if others < 1 {
		return nil, errors.New("hdc: one class alone cannot be distinguished")
	}
	scores := make([]kde.Mixture, k)
	for c, own := range m.weights {
		if own == nil {
			continue
		}
		w := slices.Clone(own)
		for o, other := range m.weights {
			for j := range other {
				if o != c {
					w[j] -= other[j] / float64(others)
				}
			}
		}
		var err error
		if scores[c], err = kde.Mix(w, m.densities); err != nil {
			return nil, fmt.Errorf("hdc: %w", err)
		}
	}
	return m.decode(scores, words, x, top)
}

func (m *Model) decode(scores []kde.Mixture, words []string, x blas32.General, top int) ([][]Word, error) {
	if x.Rows != len(words) || top < 1 {
		return nil, fmt.Errorf("hdc: %d words with %d vectors, of which %d are asked for", len(words), x.Rows, top)
	}
	values := make([][]estimate.Value, len(scores))
	for c := range values {
		values[c] = make([]estimate.Value, len(words))
	}
	err := kde.Each(m.features, x, func(i int, g []float32) {
		for c, s := range scores {
			if m.weights[c] != nil {
				values[c][i] = s.At(g)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("hdc: vocabulary: %w", err)
	}
	var chosen []choice
	for c := range scores {
		if m.weights[c] == nil {
			continue
		}
		for _, i := range highest(values[c], top) {
			chosen = append(chosen, choice{class: c, word: i})
		}
	}
	if err := m.compare(scores, x, chosen); err != nil {
		return nil, fmt.Errorf("hdc: vocabulary: %w", err)
	}
	decoded := make([][]Word, len(scores))
	for _, w := range chosen {
		decoded[w.class] = append(decoded[w.class], Word{
			Word: words[w.word], Score: values[w.class][w.word], Rank: len(decoded[w.class]) + 1,
			Highest: 1 + w.above, Lowest: len(words) - w.below,
		})
	}
	return decoded, nil
}

// highest returns the indices of the top scores in falling order; equals keep theirs.
func highest(scores []estimate.Value, top int) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b].Mean, scores[a].Mean) })
	return order[:min(top, len(order))]
}

// choice is a word chosen for a class, and how many words are surely above and below.
type choice struct {
	class, word  int
	above, below int
}

// compare counts, for each choice, the rows of x that score surely more and less.
func (m *Model) compare(scores []kde.Mixture, x blas32.General, chosen []choice) error {
	features := make([][]float32, len(chosen))
	for r, w := range chosen {
		features[r] = make([]float32, m.features.Channels())
		if err := m.features.Query(x.Data[w.word*x.Stride:w.word*x.Stride+x.Cols], features[r]); err != nil {
			return err
		}
	}
	level := estimate.Joint(Level, max(1, x.Rows*(x.Rows-1)/2))
	var mu sync.Mutex
	return kde.Each(m.features, x, func(i int, g []float32) {
		for r := range chosen {
			w := &chosen[r]
			if w.word == i {
				continue // a block's features differ from a single value's in the last digit
			}
			lo, hi := scores[w.class].Rise(g, features[r]).Interval(level)
			if lo <= 0 && hi >= 0 {
				continue
			}
			mu.Lock()
			if lo > 0 {
				w.above++
			} else {
				w.below++
			}
			mu.Unlock()
		}
	})
}
