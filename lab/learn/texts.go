package learn

import (
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/texts"
)

// newsWords was chosen on descriptions of things (docs/learning-how.md).
var newsWords = lsa.Words{Common: 0.05, Pairs: true, Singular: true}

const (
	textDimensions = 256
	textReg        = 1
	// Of whitened words, in parts of the mean eigenvalue: about the mean of the 2,048 leading ones
	// of 6,000 words, beyond which directions tell little.
	wordReg = 2.5
)

func loadTexts(s Setting, dir string, tell featuremap.Progress) (*task, error) {
	texts, err := datasets.LoadTexts(dir, s.Dataset)
	if err != nil {
		return nil, err
	}
	t := &task{metric: accuracy, classes: texts.Classes, white: true}
	if t.features, err = textFeatures(s, dir, texts.Public.Texts, tell); err != nil {
		return nil, err
	}
	dimension := t.features.Len()
	apply := func(text string, out []float32) {
		x, err := t.features.OfText(text)
		if err != nil {
			panic(err) // they are of texts
		}
		copy(out, x)
	}
	encode := func(w datasets.Written) records {
		r := records{x: matrix(len(w.Texts), dimension), y: w.Y}
		each(len(w.Texts), func() struct{} { return struct{}{} }, func(_ struct{}, i int) { apply(w.Texts[i], r.row(i)) })
		return r
	}
	t.train, t.test, t.public = encode(texts.Train), encode(texts.Test), encode(texts.Public)
	t.public.y = make([]int, t.public.x.Rows) // as if all were of one class: too much alike
	return t, nil
}

// textFeatures are words of the language by themselves, or latent directions of public texts: all
// of them, made white, or the leading ones.
func textFeatures(s Setting, dir string, public []string, tell featuremap.Progress) (*inputs.Map, error) {
	switch {
	case s.Features == "hashed":
		language, err := datasets.ReadWordCounts(filepath.Join(dir, "heavytail", "en_words_counts.tsv.gz"))
		if err != nil {
			return nil, err
		}
		common, total := map[string]float64{}, float64(language.Respondents())
		for i, w := range language.Names {
			if share := float64(language.Holders[i]) / total; share >= featuremap.Least {
				common[w] = share
			}
		}
		return featuremap.Hashed(common, featuremap.Usual)
	case s.Dataset == "sst2":
		state, err := texts.FitWhite(public, 1, wordReg)
		return &inputs.Map{Text: state}, err
	}
	return featuremap.Texts(seeded.New(s.Seed, 4), public, textDimensions, newsWords, textReg, tell)
}
