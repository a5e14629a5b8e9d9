package learn

import (
	"hash/fnv"
	"path/filepath"

	"github.com/confetti-dp/confetti/dp/encode/lsa"
	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
)

const (
	common         = 0.05 // the share of public texts above which a word tells no topic
	textDimensions = 256
	textReg        = 0.3
	wordReg        = 1 // of whitened words, in parts of the mean eigenvalue
)

func loadTexts(s Setting, dir string) (*task, error) {
	texts, err := dataset.LoadTexts(dir, s.Dataset)
	if err != nil {
		return nil, err
	}
	apply, dimension, err := textFeatures(s, texts.Public.Texts, dir)
	if err != nil {
		return nil, err
	}
	encode := func(w dataset.Written) records {
		r := records{x: matrix(len(w.Texts), dimension), y: w.Y}
		each(len(w.Texts), func() struct{} { return struct{}{} }, func(_ struct{}, i int) { apply(w.Texts[i], r.row(i)) })
		return r
	}
	t := &task{metric: accuracy, classes: len(texts.Classes), white: true, train: encode(texts.Train), test: encode(texts.Test), public: encode(texts.Public)}
	if s.Features == "lsa" && s.Dataset != "sst2" {
		state, err := principal.Fit(t.public.x, dimension, textReg, principal.Full)
		if err != nil {
			return nil, err
		}
		for _, r := range []*records{&t.train, &t.test, &t.public} {
			r.x = whitened(state, r.x)
		}
	}
	t.public.y = make([]int, t.public.x.Rows) // as if all were of one class: too much alike
	return t, nil
}

// textFeatures is a map from texts to vectors of unit length.
func textFeatures(s Setting, public []string, dir string) (apply func(string, []float32), dimension int, err error) {
	var state *lsa.State
	switch {
	case s.Features == "hashed":
		words, err := dataset.ReadWordCounts(filepath.Join(dir, "heavytail", "en_words_counts.tsv.gz"))
		if err != nil {
			return nil, 0, err
		}
		return hashedWords(words), hashedDimension, nil
	case s.Dataset == "sst2":
		state, err = lsa.FitWhite(public, 1, wordReg)
	default:
		state, err = lsa.Fit(replay.New(s.Seed, 4), public, textDimensions, common)
	}
	if err != nil {
		return nil, 0, err
	}
	return func(text string, out []float32) {
		state.Apply(text, out)
		whiten.Normalize(out)
	}, state.Len(), nil
}

const (
	hashedDimension = 1 << 14
	commonWord      = 1e-3 // a word of this frequency weighs half
)

// hashedWords adds a word's weight, by how rare it is in the language, with a sign to one of
// 16,384 places: features that have seen no text at all.
func hashedWords(language *dataset.Population) func(string, []float32) {
	total := float64(language.Respondents())
	frequency := make(map[string]float64, len(language.Names))
	for i, w := range language.Names {
		frequency[w] = float64(language.Holders[i]) / total
	}
	return func(text string, out []float32) {
		clear(out)
		for _, w := range lsa.Split(text) {
			h := fnv.New64a()
			h.Write([]byte(w))
			sum := h.Sum64() * 0x9e3779b97f4a7c15
			sign := float64(1 - 2*int(sum>>63))
			out[sum>>40&(hashedDimension-1)] += float32(sign * commonWord / (commonWord + frequency[w]))
		}
		whiten.Normalize(out)
	}
}
