package randomize

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
)

// What callers, who have validated their plan, get wrong only by a bug of ours.

func checkEpsilon(epsilon float64) {
	if err := validEpsilon(epsilon); err != nil {
		panic(err.Error())
	}
}

// validEpsilon reports what a plan may get wrong.
func validEpsilon(epsilon float64) error {
	if !(epsilon >= minEpsilon && epsilon <= MaxEpsilon) {
		return fmt.Errorf("randomize: epsilon %v: give a number from %v to %d", epsilon, minEpsilon, MaxEpsilon)
	}
	return nil
}

func checkCell(x, k int) {
	if x < 0 || x >= k {
		panic("randomize: cell outside the domain")
	}
}

// devices returns the number of devices in all cells.
func devices(holders []int, k int) int {
	checkLength("holders", len(holders), k)
	n := 0
	for _, t := range holders {
		checkHolders(t, t)
		n += t
	}
	return n
}

func checkAdjacency(adj account.Adjacency) {
	if adj != account.Removal && adj != account.Replacement {
		panic(fmt.Sprintf("randomize: adjacency %q", adj))
	}
}

func checkHolders(holders, n int) {
	if holders < 0 || holders > n {
		panic(fmt.Sprintf("randomize: %d holders among %d devices", holders, n))
	}
}

func checkLength(what string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("randomize: %d %s where %d are due", got, what, want))
	}
}

func checkTarget(target float64) {
	if !(target > 0 && target < 1) {
		panic(fmt.Sprintf("randomize: overflow probability %v outside (0, 1)", target))
	}
}

// raised is x enlarged by more than the roundings in computing it.
func raised(x float64) float64 { return x * (1 + 0x1p-49) }

// local returns an exact local promise without delta.
func local(epsilon float64, adj account.Adjacency, method, source string) account.Guarantee {
	return account.Guarantee{
		Epsilon: epsilon, Adjacency: adj, Trust: account.Local, Users: 1, Rounds: 1,
		Bound: account.Exact, Method: method, Source: source,
	}
}
