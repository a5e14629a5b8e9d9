package console

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
)

// The price of an answer is what the surest of its observers gets, rounded against the respondent; where all of them
// together have the answer, that is said.
func TestThePriceIsTheSurestObservers(t *testing.T) {
	of := func(observer string, epsilon float64) account.Statement {
		return account.Statement{Observer: observer, Guarantee: account.Guarantee{Epsilon: epsilon, Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 1}}
	}
	for _, c := range []struct {
		promised         []account.Statement
		result, together string
	}{
		{[]account.Statement{of(account.EveryoneColludes, 3), of(account.ShufflerHonest, 1)}, "at most 74\u00a0% sure", "at most 96\u00a0% sure"},
		{[]account.Statement{of(account.EveryoneColludes, 2), of(account.ShufflerHonest, 2)}, "at most 89\u00a0% sure", "at most 89\u00a0% sure"},
		{[]account.Statement{of(account.OnlyTheReader, 1), of(account.BothAggregators, 50)}, "at most 74\u00a0% sure", "no limit to how sure"},
	} {
		if result, together := price(c.promised); result != c.result || together != c.together {
			t.Errorf("%q and %q, want %q and %q", result, together, c.result, c.together)
		}
	}
}
