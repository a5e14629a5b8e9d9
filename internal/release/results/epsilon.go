package results

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/release"
)

// A removal's epsilon in a table has that of the replacement which it amounts to beside it
// (account.Guarantee.Under).
var (
	ReplacementColumn = release.Column{Title: "that is epsilon (replacement)"}
	ReplacementNote   = " A replacement is two removals: twice the epsilon, and 1 + e^epsilon times the delta."
)

// EpsilonCell prints an epsilon that says something.
func EpsilonCell(epsilon float64) release.Cell {
	switch {
	case math.IsInf(epsilon, 1):
		return release.Text("no bound is proved for so little noise")
	case epsilon > account.Meaningless:
		return release.Text(fmt.Sprintf("no meaningful protection (%.3g)", epsilon))
	}
	return release.Number(epsilon, 0)
}
