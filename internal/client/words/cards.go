package words

import "github.com/confetti-dp/confetti/account"

// Card is one observer, and what it can learn of a person.
type Card struct {
	Observer string         `json:"observer"`
	Who      string         `json:"who"`
	Verdict  string         `json:"verdict"` // an epsilon with its adjacency, or that there is none
	Meaning  string         `json:"meaning"`
	Note     string         `json:"note,omitempty"` // a restriction that nobody may miss
	Facts    []account.Fact `json:"-"`
	Kept     bool           `json:"kept"` // the promise says something
	Weak     bool           `json:"weak"` // it is kept, and says little
	// Low and High are what somebody who gave a statement about a person an even chance can
	// believe afterwards, and Belief is the same in words; "" where there is no limit.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Belief string  `json:"belief,omitempty"`
}

// Width returns that of the belief's bar, in [0, 1].
func (c Card) Width() float64 { return c.High - c.Low }

// weakFrom is the belief above which a promise says little.
const weakFrom = 0.95

// Cards returns those of statements, in their order. Beliefs are under replacement; of a guarantee
// of the label alone, about the label.
func Cards(all []account.Statement) []Card {
	out := make([]Card, len(all))
	for i, s := range all {
		g := s.Guarantee
		c := Card{Observer: s.Observer, Who: s.Who, Verdict: g.Verdict(), Meaning: g.Meaning(), Note: s.Note, Facts: g.Facts(), Kept: g.Meaningful(), High: 1}
		r, err := g.Under(account.Replacement)
		if c.Kept && (err == nil && r.Meaningful() || g.Adjacency == account.Label) {
			c.Low, c.High = Believed(g, 0.5)
			c.Belief, c.Weak = "From 50\u00a0% to "+Between(c.Low, c.High), c.High > weakFrom
		}
		out[i] = c
	}
	return out
}
