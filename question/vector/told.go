package vector

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Tell returns how many signs of a rotated record were said (question.Describer).
func (q *Question) Tell(bodies [][]byte) string {
	if q.whole != nil {
		return terms.Nothing
	}
	signs := 0
	for _, body := range bodies {
		if row, _, err := tally.ParseMessage(body); err == nil && int(row) < q.spec().Rows {
			signs++
		}
	}
	if signs == 0 {
		return terms.Nothing
	}
	return fmt.Sprintf("%s of your record, all its numbers mixed; at least %s", terms.Count(signs, "sign"), terms.Coin(q.spec().Flip, "sign"))
}
