package learn

import (
	"hash/fnv"
	"path/filepath"

	"github.com/confetti-dp/confetti/dp/encode/lsa"
	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/fit"
	"github.com/confetti-dp/confetti/learn/model"
)

const (
	common         = 0.05 // the share of public texts above which a word tells no topic
	textDimensions = 256
	textReg        = 1
	// Of whitened words, in parts of the mean eigenvalue: about the mean of the 2,048 leading ones
	// of 6,000 words, beyond which directions tell little.
	wordReg = 2.5
)

func loadTexts(s Setting, dir string, tell fit.Progress) (*task, error) {
	texts, err := dataset.LoadTexts(dir, s.Dataset)
	if err != nil {
		return nil, err
	}
	t := &task{metric: accuracy, classes: texts.Classes, white: true}
	apply, dimension := func(string, []float32) {}, hashedDimension
	if s.Features == "hashed" {
		words, err := dataset.ReadWordCounts(filepath.Join(dir, "heavytail", "en_words_counts.tsv.gz"))
		if err != nil {
			return nil, err
		}
		apply = hashedWords(words)
	} else {
		if t.features, err = latent(s, texts.Public.Texts, tell); err != nil {
			return nil, err
		}
		dimension = t.features.Len()
		apply = func(text string, out []float32) {
			x, err := t.features.OfText(text)
			if err != nil {
				panic(err) // they are of texts
			}
			copy(out, x)
		}
	}
	encode := func(w dataset.Written) records {
		r := records{x: matrix(len(w.Texts), dimension), y: w.Y}
		each(len(w.Texts), func() struct{} { return struct{}{} }, func(_ struct{}, i int) { apply(w.Texts[i], r.row(i)) })
		return r
	}
	t.train, t.test, t.public = encode(texts.Train), encode(texts.Test), encode(texts.Public)
	t.public.y = make([]int, t.public.x.Rows) // as if all were of one class: too much alike
	return t, nil
}

// latent are directions of public texts: all of them, made white, or the leading ones.
func latent(s Setting, public []string, tell fit.Progress) (*model.Features, error) {
	if s.Dataset == "sst2" {
		state, err := lsa.FitWhite(public, 1, wordReg)
		return &model.Features{Text: state}, err
	}
	return fit.Texts(replay.New(s.Seed, 4), public, textDimensions, common, textReg, tell)
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
