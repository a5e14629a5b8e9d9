package ldc

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
)

// iteration is gradient descent with normal noise in every step, of which a trusted curator
// shows the last parameters alone, for a record whose label is exchanged. The loss of each
// batch is convex and smooth, and no step is longer than two over its smoothness, so that steps
// bring no two parameters farther apart. Passes go over the same Steps batches in one order,
// each record in one batch, the one at Position.
type iteration struct {
	// Distance is how far a record moves the gradient of its step, over the noise's deviation in
	// each direction.
	Distance float64 `json:"distance"`
	Steps    int     `json:"steps"`    // of a pass
	Position int     `json:"position"` // of the record's step, 1 to Steps
	Passes   int     `json:"passes"`
}

func (e iteration) Terms() (account.Guarantee, error) {
	if !(e.Distance >= 1e-9 && e.Distance <= 100) || e.Steps < 1 || e.Position < 1 || e.Position > e.Steps || e.Passes < 1 || e.Passes > 1<<20 {
		return account.Guarantee{}, fmt.Errorf("account: iteration at distance %v, step %d of %d, %d passes: need 1e-9 to 100, a step of those, and passes", e.Distance, e.Position, e.Steps, e.Passes)
	}
	return account.Guarantee{
		Adjacency: account.Label, Trust: account.Central, Rounds: 1, Bound: account.Upper,
		Method: "amplification by iteration", Source: "Feldman, Mironov, Talwar, Thakurta 2018, Theorem 34",
	}, nil
}

// Renyi is order/2 times the squared distance, over the steps after which it is spread: those of
// a whole pass for each pass but the last, and those to the end for that.
func (e iteration) Renyi(order float64) float64 {
	spread := float64(e.Passes-1)/float64(e.Steps) + 1/float64(e.Steps+1-e.Position)
	return order / 2 * e.Distance * e.Distance * spread * (1 + 0x1p-40)
}
