package sgd

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/question/gradient"
)

// attack guesses who was trained on, by a threshold of the loss (Yeom, Giacomelli, Fredrikson, Jha 2018; ESA,
// section VII-C), among as many respondents as there are test records, and these. ESA prints -log(TPR - FPR) for the
// epsilon that this shows; it is -log(1 - (TPR - FPR)) without delta, and here a bound that holds with
// 95 %: the threshold is chosen by every second record, and tried on the others.
func (s *study) attack(m *nn.Model) {
	n := min(len(s.values), len(s.test))
	in := nn.Losses(m, func(i int) ([]float32, int) {
		v := s.values[s.order[i]].(gradient.Labelled)
		return v.Features, v.Class
	}, n)
	out := nn.Losses(m, func(i int) ([]float32, int) { return s.test[i], s.testClasses[i] }, n)
	_, s.out.Advantage = threshold(in, out)
	halves := func(x []float64) (even, odd []float64) {
		for i, v := range x {
			if i%2 == 0 {
				even = append(even, v)
			} else {
				odd = append(odd, v)
			}
		}
		return even, odd
	}
	chosenIn, triedIn := halves(in)
	chosenOut, triedOut := halves(out)
	at, _ := threshold(chosenIn, chosenOut)
	s.out.Lower = lower(below(triedIn, at), len(triedIn), below(triedOut, at), len(triedOut), s.Delta)
}

// threshold is the loss at which the shares of losses up to it differ most.
func threshold(in, out []float64) (at, difference float64) {
	in, out = slices.Sorted(slices.Values(in)), slices.Sorted(slices.Values(out))
	j := 0
	for i, loss := range in {
		for j < len(out) && out[j] <= loss {
			j++
		}
		if d := float64(i+1)/float64(len(in)) - float64(j)/float64(len(out)); d > difference {
			at, difference = loss, d
		}
	}
	return at, difference
}

func below(losses []float64, at float64) (n int) {
	for _, loss := range losses {
		if loss <= at {
			n++
		}
	}
	return n
}

// lower is the epsilon that so many right guesses of members, and wrong ones of others, show with 95 %:
// (epsilon, delta) allows TPR <= e^epsilon FPR + delta, and likewise of those who are not guessed.
func lower(hits, members, wrong, others int, delta float64) float64 {
	const alpha = 0.05 / 4 // two bounds in each of two inequalities
	ratio := func(more, of, fewer, ofOthers int) float64 {
		most := 1 - prob.BinomialLowerBound(ofOthers-fewer, ofOthers, alpha)
		return math.Log((prob.BinomialLowerBound(more, of, alpha) - delta) / most)
	}
	e := math.Max(ratio(hits, members, wrong, others), ratio(others-wrong, others, members-hits, members))
	if !(e > 0) {
		return 0
	}
	return e
}
