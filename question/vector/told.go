package vector

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Tell returns how many signs of a rotated record were said (question.Describer).
func (q *Question) Tell(bodies [][]byte) string {
	if q.whole != nil {
		return terms.Nothing
	}
	signs := terms.Signs(bodies, q.spec().Rows)
	if signs == 0 {
		return terms.Nothing
	}
	return fmt.Sprintf("%s of your record, all its numbers mixed; at least %s", terms.Count(signs, "sign"), terms.Coin(q.spec().Flip, "sign"))
}
