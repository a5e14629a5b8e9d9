package client

import (
	"math"

	"github.com/confetti-dp/confetti/account"
)

// stated is the record of a statement, without what the plan alone says: who the observer is,
// and where the number is proved. Where no epsilon is proved it has a negative one, since JSON
// has no infinity.
type stated struct {
	Observer  string            `json:"observer"`
	Epsilon   float64           `json:"epsilon"`
	Delta     float64           `json:"delta"`
	Adjacency account.Adjacency `json:"adjacency"`
	Trust     account.Trust     `json:"trust"`
	Users     int               `json:"users"`
	Rounds    int               `json:"rounds"`
	Bound     account.Bound     `json:"bound"`
	Method    string            `json:"method"`
	Note      string            `json:"note,omitempty"`
}

// recorded returns statements as they are kept.
func recorded(all []account.Statement) []stated {
	kept := make([]stated, len(all))
	for i, s := range all {
		g := s.Guarantee
		kept[i] = stated{s.Observer, g.Epsilon, g.Delta, g.Adjacency, g.Trust, g.Users, g.Rounds, g.Bound, g.Method, s.Note}
		if math.IsInf(g.Epsilon, 1) {
			kept[i].Epsilon = unlimited
		}
	}
	return kept
}

// recalled returns statements that were kept; ok is false where one is none.
func recalled(kept []stated) (all []account.Statement, ok bool) {
	for _, s := range kept {
		g := account.Guarantee{Epsilon: s.Epsilon, Delta: s.Delta, Adjacency: s.Adjacency, Trust: s.Trust, Users: s.Users, Rounds: s.Rounds, Bound: s.Bound, Method: s.Method}
		if g.Epsilon == unlimited {
			g.Epsilon = math.Inf(1)
		}
		if s.Observer == "" || !(g.Epsilon >= 0) || !(g.Delta >= 0 && g.Delta <= 1) {
			return nil, false
		}
		all = append(all, account.Statement{Observer: s.Observer, Guarantee: g, Note: s.Note})
	}
	return all, true
}

// earlier returns the statements of a record that has none, which an earlier version wrote: of
// who opens one message, of who has all, and of who has what was mixed or summed. What that
// version wrote of one aggregator was another observer's, and nothing is stated in its place.
func (s *spending) earlier(summed bool) []stated {
	of := func(observer string, trust account.Trust, epsilon, delta float64) stated {
		return stated{observer, epsilon, delta, account.Replacement, trust, 1, 1, account.Upper, "as an earlier version of this program wrote it down", s.Note}
	}
	if summed {
		return []stated{
			of(account.BothAggregators, account.Local, s.Charge.Local, 0),
			of(account.OneAggregator, account.Shuffled, unlimited, 0),
			of(account.OnlyTheReader, account.Shuffled, s.Charge.Epsilon, s.Charge.Delta),
		}
	}
	return []stated{
		of(account.EveryoneColludes, account.Local, s.Charge.Local, 0),
		of(account.OneFragmentSeen, account.OneFragment, s.OneMessage, s.OneDelta),
		of(account.ShufflerHonest, account.Shuffled, s.Charge.Epsilon, s.Charge.Delta),
	}
}
