package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
)

const (
	newsRespondents  = 40_000 // whose noise is added, in proportion
	firstWords       = 9      // of a text: as hard as news
	groups           = 4
	latentDirections = 256
	draws            = 4
)

// groupOf are the classes of dbpedia14 in four groups: organizations and their houses, people, nature
// and places, works and things.
var groupOf = []int{0, 0, 1, 1, 1, 3, 0, 2, 2, 2, 2, 3, 3, 3}

// settleTexts tries which words count, in five rounds of gradients at epsilon 1 with 8,192 bits.
func settleTexts(dir string, seed uint64) error {
	set, err := datasets.LoadTexts(dir, "dbpedia14")
	if err != nil {
		return err
	}
	public, asked := begin(set.Public), begin(set.Train)
	all := begin(set.Test)
	all = datasets.Written{Texts: append(asked.Texts, all.Texts...), Y: append(asked.Y, all.Y...)}
	for _, singular := range []bool{false, true} {
		for _, pairs := range []bool{false, true} {
			words := lsa.Words{Common: 0.05, Pairs: pairs, Singular: singular}
			m, err := featuremap.Texts(seeded.New(seed, 4), public.Texts, latentDirections, words, 1, func(string, int, int) {})
			if err != nil {
				return err
			}
			p := people{of(m, all.Texts), all.Y, len(asked.Texts)}
			exact, err := p.gradients(nil)
			if err != nil {
				return err
			}
			sum := 0.0
			for draw := range uint64(draws) {
				a, err := p.gradients(rand.New(rand.NewPCG(seed, draw)))
				if err != nil {
					return err
				}
				sum += a / draws
			}
			fmt.Printf("singular %-5v pairs %-5v words %5d  exact sums %.4f  five rounds %.4f\n", singular, pairs, len(m.Text.Words), exact, sum)
		}
	}
	return nil
}

// begin returns the first words of texts, with their group.
func begin(w datasets.Written) (out datasets.Written) {
	for i, text := range w.Texts {
		words := lsa.Split(text)
		out.Texts = append(out.Texts, strings.Join(words[:min(firstWords, len(words))], " "))
		out.Y = append(out.Y, groupOf[w.Y[i]])
	}
	return out
}

// of are features of texts.
func of(m *inputs.Map, texts []string) blas32.General {
	d := m.Len()
	x := blas32.General{Rows: len(texts), Cols: d, Stride: d, Data: make([]float32, len(texts)*d)}
	each(len(texts), func(_, i int) {
		v, err := m.OfText(texts[i])
		if err != nil {
			panic(err) // they are texts
		}
		copy(row(x, i), v)
	})
	return x
}

// gradients learns in five rounds, with the noise of r; nil: none.
func (p people) gradients(r *rand.Rand) (float64, error) {
	const rounds = gradients + 1
	s := features.Shape{Dimension: p.x.Cols, Classes: groups}
	need := vector.Need{Respondents: newsRespondents, Honest: newsRespondents, Dimension: s.GradientLen(), Bits: bits / rounds, SquaredDistance: features.GradientDistance}
	needs, shares := make([]vector.Need, rounds), make([]float64, rounds)
	for i := range needs {
		needs[i], shares[i] = need, 1./rounds
	}
	specs, err := vector.Rounds(needs, shares, epsilon, delta)
	if err != nil {
		return 0, err
	}
	d := moments.NewGradients(s)
	for _, spec := range specs {
		sum := p.total(s.GradientLen(), d.Message)
		for i := range sum {
			if r != nil {
				sum[i] += spec.Noise(newsRespondents) * float64(p.asked) / newsRespondents * r.NormFloat64()
			}
		}
		if err := d.Step(sum, p.asked); err != nil {
			return 0, err
		}
	}
	return p.accuracy(d.Classifier().Class), nil
}
