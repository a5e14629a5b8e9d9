package randomize

import (
	"github.com/confetti-dp/confetti/account"
)

// Asymmetric returns the one-hot mechanism of the given local epsilon that counts the cells
// that few devices hold with the least variance, n Flip (1-Flip)/(Keep-Flip)^2.
//
// Replacement constrains only the product Keep (1-Flip) / ((1-Keep) Flip) <= e^epsilon.
// The least variance, 4 e^epsilon/(e^epsilon-1)^2 a device, is at Keep = 1/2 and Flip =
// 1/(e^epsilon+1) (optimized unary encoding; Wang, Blocki, Li, Jha 2017).
//
// Removal constrains both Keep/Flip and (1-Flip)/(1-Keep) to e^epsilon. Where the first
// binds the variance (1-Flip)/Flip/(e^epsilon-1)^2 falls in Flip, where the second
// binds Flip/(1-Flip)/(1-e^-epsilon)^2 rises: the least is where both do, and that is
// Symmetric.
func Asymmetric(k int, epsilon float64, adj account.Adjacency) OneHot {
	if checkAdjacency(adj); adj == account.Removal {
		return Symmetric(k, epsilon, adj)
	}
	checkEpsilon(epsilon)
	m := OneHot{K: k, Keep: 0.5, Flip: flipped(epsilon)}
	m.must()
	return m
}
