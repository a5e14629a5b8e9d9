package sgd

import (
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/train/attack"
)

// attack guesses who was trained on by the loss, among as many respondents as there are test records, and these.
func (s *study) attack(m *nn.Model) {
	n := min(len(s.values), len(s.test))
	respondents := labelled(s.values)
	in := nn.Losses(m, func(i int) ([]float32, int) { return respondents(s.order[i]) }, n)
	out := nn.Losses(m, func(i int) ([]float32, int) { return s.test[i], s.testClasses[i] }, n)
	s.out.Advantage, s.out.Lower = attack.Members(in, out, s.Delta)
}
