package gradient

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Told returns the gradient in a symbol.
func Told(s question.Symbol) []float64 { return s.(symbol) }

// Along returns the symbol of a gradient of any length, for simulations of liars.
func Along(g []float64) question.Symbol { return symbol(g) }

// Prob returns the probability of a direction when a device holds the symbol, up to a factor; 0 of
// a report that is no direction.
func (q *Question) Prob(body []byte, s question.Symbol) float64 {
	d, ok := q.report.(directions)
	if !ok {
		return 0
	}
	return d.mechanism.Prob(body, s.(symbol))
}

// Mean returns that of the gradients that a crowd's reports tell of.
func (q *Question) Mean(c tally.Crowd) ([]float64, error) {
	mean, _, err := q.report.mean(c.Tally, c.Respondents)
	return mean, err
}

// Ones gives the probability, by row, that an answer to it is a one when a device holds the symbol; nil
// where reports are no bits of rows.
func (q *Question) Ones(s question.Symbol) []float64 {
	v, ok := q.report.(vectors)
	if !ok {
		return nil
	}
	unit, ones := make([]float32, v.mechanism.Spec().Dimension), make([]float64, v.mechanism.Spec().Rows)
	scale(s.(symbol), v.clip, unit)
	v.mechanism.Ones(unit, ones)
	return ones
}

// Tell returns that it is a step (question.Describer): what a direction or its bits mean takes the model.
func (q *Question) Tell(bodies [][]byte) string {
	if len(bodies) == 0 {
		return terms.Nothing
	}
	return "one step of a model, " + q.report.tell(len(bodies))
}

// tell: on the wrong side of a direction lie at least as many as a local epsilon asks for.
func (d directions) tell(int) string {
	return "as a direction near it; at least " + terms.Coin(1/(1+math.Exp(d.local().Epsilon)), "direction")
}

func (proved) tell(int) string { return terms.Nothing }

func (v vectors) tell(messages int) string {
	return "as " + terms.Count(messages, "sign") + " of its numbers mixed; at least " + terms.Coin(v.mechanism.Spec().Flip, "sign")
}
