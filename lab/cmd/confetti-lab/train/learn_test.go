package train

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/release"
)

// A model has the promise against whoever sees what it was learned from: labels one by one are seen
// with whose they are, and what a shuffler hides does not count. Without that promise there is no
// model, rather than one with an epsilon of zero.
func TestPromise(t *testing.T) {
	everyone := account.Statement{Observer: account.EveryoneColludes, Guarantee: account.Guarantee{Epsilon: 4, Trust: account.Local}}
	counted, alone := &labelSheet{Likely: [][]float64{{1, 0}}}, &labelSheet{}
	for observer, trust := range map[string]account.Trust{account.ShufflerHonest: account.Shuffled, account.OneAggregator: account.AggregatorHonest} {
		hidden := account.Statement{Observer: observer, Guarantee: account.Guarantee{Epsilon: 1, Trust: trust}}
		both := release.Release{Guarantees: []account.Statement{everyone, hidden}}
		for epsilon, of := range map[float64]*labelSheet{1: counted, 4: alone} {
			if p, err := (labelled{labelSheet: of, release: both, trust: trust}).promise(); err != nil || p.Epsilon != epsilon {
				t.Errorf("%+v, %v: want epsilon %v", p, err, epsilon)
			}
		}
		for only, of := range map[account.Statement]*labelSheet{everyone: counted, hidden: alone} {
			if p, err := (labelled{labelSheet: of, release: release.Release{Guarantees: []account.Statement{only}}, trust: trust}).promise(); err == nil {
				t.Errorf("only %s is promised something, and the model says %+v", only.Observer, p)
			}
		}
	}
}
