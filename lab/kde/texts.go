package kde

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

// written are data sets of texts that have no features of their own in the folder; those that end in averaged are
// means of their words' vectors.
var written = []string{"dbpedia14", "sst2_glue", "agnews" + averaged, "dbpedia14" + averaged, "sst2_glue" + averaged}

// encoded ends the name of texts by the paper's sentence encoder, which sentences.py writes: not every folder has them.
const encoded = "_mpnet"

// sentences are those sets.
var sentences = []string{"dbpedia14" + encoded, "agnews" + encoded, "sst2_glue" + encoded}

// Encoded says whether a data set's features are those of the paper's sentence encoder.
func Encoded(set string) bool { return slices.Contains(sentences, base(set)) }

// averaged ends the name of texts by means of word vectors.
const averaged = "_glove"

const (
	// textDimensions are latent directions of public texts, which nobody who answers wrote.
	textDimensions = 256
	forTexts       = 0x7e7
)

// withTexts loads vectors as they are, and makes those of texts.
func withTexts(d experiments.Data) func(name string) (*dataset.Set, error) {
	return func(name string) (*dataset.Set, error) {
		if !slices.Contains(written, name) {
			set, err := d.Set(name)
			if Encoded(name) && errors.Is(err, fs.ErrNotExist) {
				err = &refused{fmt.Errorf("no %s in the folder of data sets: lab/kde/sentences.py writes it", name)}
			}
			return set, err
		}
		of, isAveraged := strings.CutSuffix(name, averaged)
		if of == "agnews" {
			of = "agnews_lsa256" // the larger of the two sets of news
		}
		texts, err := d.Texts(of)
		if err != nil {
			return nil, err
		}
		if isAveraged {
			words, err := d.Words()
			if err != nil {
				return nil, err
			}
			return means(name, texts, words), nil
		}
		return vectors(name, texts, featuremap.Progress(d.Progress()))
	}
}

// vectors are texts by latent directions of the public ones, each of length one. A text
// whose words are all unknown is left out.
func vectors(name string, texts *datasets.Texts, tell featuremap.Progress) (*dataset.Set, error) {
	m, err := featuremap.Texts(seeded.New(forTexts), texts.Public.Texts, textDimensions, lsa.Words{Common: 0.05, Singular: true}, 1, tell)
	if err != nil {
		return nil, err
	}
	set := &dataset.Set{Name: name, Classes: texts.Classes, Checksum: texts.Checksum}
	if set.Train, err = rows(m, texts.Train); err == nil {
		set.Test, err = rows(m, texts.Test)
	}
	return set, err
}

func rows(m *inputs.Map, of datasets.Written) (dataset.Labelled, error) {
	l := dataset.Labelled{X: blas32.General{Cols: m.Len(), Stride: m.Len()}}
	for i, text := range of.Texts {
		x, err := m.OfText(text)
		if err != nil {
			return l, err
		}
		squares := 0.0
		for _, v := range x {
			squares += float64(v) * float64(v)
		}
		if squares < 1e-12 {
			continue
		}
		for _, v := range x {
			l.X.Data = append(l.X.Data, float32(float64(v)/math.Sqrt(squares)))
		}
		l.Y = append(l.Y, of.Y[i])
	}
	l.X.Rows = len(l.Y)
	return l, nil
}

// means are texts by the mean of their words' vectors, less that of the vocabulary, each of length one; the words
// themselves likewise. The checksum is that of the texts. Word vectors have a large part in common, which says nothing and would be most of an inner
// product. A text of unknown words is left out.
func means(name string, texts *datasets.Texts, words *datasets.WordVectors) *dataset.Set {
	d := words.X.Cols
	common, at := make([]float64, d), map[string]int{}
	for i, word := range words.Words {
		at[word] = i
		for j, v := range row(words.X, i) {
			common[j] += float64(v) / float64(len(words.Words))
		}
	}
	set := &dataset.Set{Name: name, Classes: texts.Classes, Checksum: texts.Checksum}
	set.WordX = blas32.General{Cols: d, Stride: d}
	add := func(to *blas32.General, of []string) bool {
		sum, squares := make([]float64, d), 0.0
		for _, word := range of {
			if i, ok := at[word]; ok {
				for j, v := range row(words.X, i) {
					sum[j] += float64(v) - common[j]
				}
			}
		}
		for _, v := range sum {
			squares += v * v
		}
		if squares < 1e-12 {
			return false
		}
		for _, v := range sum {
			to.Data = append(to.Data, float32(v/math.Sqrt(squares)))
		}
		to.Rows++
		return true
	}
	for _, word := range words.Words {
		if add(&set.WordX, []string{word}) {
			set.Words = append(set.Words, word)
		}
	}
	part := func(of datasets.Written) dataset.Labelled {
		l := dataset.Labelled{X: blas32.General{Cols: d, Stride: d}}
		for i, text := range of.Texts {
			if add(&l.X, strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })) {
				l.Y = append(l.Y, of.Y[i])
			}
		}
		return l
	}
	set.Train, set.Test = part(texts.Train), part(texts.Test)
	return set
}
