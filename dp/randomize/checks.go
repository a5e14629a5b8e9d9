package randomize

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/account"
)

// What callers, who have validated their plan, get wrong only by a bug of ours.

func checkEpsilon(epsilon float64) {
	if !(epsilon >= MinEpsilon && epsilon <= MaxEpsilon) {
		panic(fmt.Sprintf("randomize: epsilon %v outside [%v, %d]", epsilon, MinEpsilon, MaxEpsilon))
	}
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

// local is a local promise that holds without delta, rounded up by more than the
// roundings in computing it.
func local(epsilon float64, adj account.Adjacency, method, source string) account.Guarantee {
	return account.Guarantee{
		Epsilon: epsilon * (1 + 0x1p-49), Adjacency: adj, Trust: account.Local, Users: 1, Rounds: 1,
		Bound: account.Exact, Method: method, Source: source,
	}
}
