package label

import (
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Tell returns the label that was said, or what the other kind's question says of it (question.Describer).
func (q *Question) Tell(bodies [][]byte) string {
	if inner, ok := q.report.(question.Describer); ok {
		return inner.Tell(bodies)
	}
	e := q.report.(*each)
	for _, body := range bodies {
		if channel, _, err := tally.ParseMessage(body); err == nil && int(channel) < e.records*e.K {
			return terms.List(q.ask.Classes[int(channel)%e.K]) + "; " + terms.Coin(1-e.KRR.Prob(0, 0), "word")
		}
	}
	return terms.Nothing
}
