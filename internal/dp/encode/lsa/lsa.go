// Package lsa turns texts into vectors by latent semantic analysis of public texts. Used by
// internal/dp/encode/inputs and internal/dp/encode/hashedwords.
package lsa

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// State is what a device needs, and what a plan names by its hash.
type State struct {
	Words      []string    `json:"words"`              // sorted; two with a space between them that follow each other count as one more
	Weights    []float32   `json:"weights"`            // of each word: ln((1+n)/(1+df)) + 1 in n public texts of which df have it
	Directions [][]float32 `json:"directions"`         // a row for each word
	Singular   bool        `json:"singular,omitempty"` // English words lose the s of a plural
	places     map[string]int
	count      Words
}

// longestWord is where a word ends, in bytes; it bounds what a text can make a device do.
const longestWord = 64

// Split returns the words of a text: letters and digits that stand together, at least two, in
// lower case.
func Split(text string) (words []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) >= 2 && len(w) <= longestWord {
			words = append(words, w)
		}
	}
	return words
}

// Len returns the number of features.
func (s *State) Len() int { return len(s.Directions[0]) }

// Prepare indexes a state that was read or fitted; it must be called before Apply.
func (s *State) Prepare() error {
	if len(s.Words) == 0 || len(s.Weights) != len(s.Words) || len(s.Directions) != len(s.Words) {
		return fmt.Errorf("lsa: %d words, %d weights, %d directions: want the same number of each", len(s.Words), len(s.Weights), len(s.Directions))
	}
	for i, w := range s.Words {
		if i > 0 && w <= s.Words[i-1] {
			return errors.New("lsa: words must be sorted, each once")
		}
		if len(s.Directions[i]) != s.Len() || s.Len() == 0 {
			return fmt.Errorf("lsa: word %d has %d coordinates, the first one %d", i+1, len(s.Directions[i]), s.Len())
		}
		for _, x := range append(s.Directions[i][:s.Len():s.Len()], s.Weights[i]) {
			if x-x != 0 {
				return fmt.Errorf("lsa: a number of word %d is not finite", i+1)
			}
		}
	}
	s.Index()
	return nil
}

// Index finds the places of the words; Prepare does, too.
func (s *State) Index() {
	s.places, s.count = make(map[string]int, len(s.Words)), Words{Singular: s.Singular}
	for i, w := range s.Words {
		s.places[w] = i
		s.count.Pairs = s.count.Pairs || strings.Contains(w, Pairing)
	}
}

// Apply writes the features of a text to out, of length Len: with tf the number of times a
// word is in it, the sum of (1 + ln tf) weight direction over its words, of which these
// factors have length one. Words that no public text had do not count; a text of such words
// alone gives zero.
func (s *State) Apply(text string, out []float32) {
	clear(out)
	for _, t := range s.Row(s.count.Of(text)) {
		for k, v := range s.Directions[t.Word] {
			out[k] += t.Weight * v
		}
	}
}

// Term is a word of a text.
type Term struct {
	Word   int // its place
	Weight float32
}

// Row returns a text as weights of words, of length one, by rising place of the word.
func (s *State) Row(words []string) []Term {
	times := map[int]int{}
	for _, w := range words {
		if i, ok := s.places[w]; ok {
			times[i]++
		}
	}
	row, squares := make([]Term, 0, len(times)), 0.0
	for _, i := range slices.Sorted(maps.Keys(times)) {
		x := (1 + math.Log(float64(times[i]))) * float64(s.Weights[i])
		row = append(row, Term{i, float32(x)})
		squares += x * x
	}
	for i := range row {
		row[i].Weight /= float32(math.Sqrt(squares))
	}
	return row
}
