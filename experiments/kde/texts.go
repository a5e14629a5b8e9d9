package kde

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode/inputs"
	"github.com/confetti-dp/confetti/dp/encode/lsa"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/fit"
)

// written are data sets of texts that have no features of their own in the folder.
var written = []string{"dbpedia14", "sst2_glue"}

const (
	// textDimensions are latent directions of public texts, which nobody who answers wrote.
	textDimensions = 256
	forTexts       = 0x7e7
)

// withTexts loads vectors as they are, and makes those of texts.
func withTexts(d experiments.Data) func(name string) (*dataset.Set, error) {
	return func(name string) (*dataset.Set, error) {
		if !slices.Contains(written, name) {
			return d.Set(name)
		}
		texts, err := d.Texts(name)
		if err != nil {
			return nil, err
		}
		return vectors(name, texts, fit.Progress(d.Progress()))
	}
}

// vectors are texts by latent directions of the public ones, each of length one. A text
// whose words are all unknown is left out.
func vectors(name string, texts *dataset.Texts, tell fit.Progress) (*dataset.Set, error) {
	m, err := fit.Texts(replay.New(forTexts), texts.Public.Texts, textDimensions, lsa.Words{Common: 0.05, Singular: true}, 1, tell)
	if err != nil {
		return nil, err
	}
	set := &dataset.Set{Name: name, Classes: texts.Classes, Checksum: texts.Checksum}
	if set.Train, err = rows(m, texts.Train); err == nil {
		set.Test, err = rows(m, texts.Test)
	}
	return set, err
}

func rows(m *inputs.Map, of dataset.Written) (dataset.Labelled, error) {
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
