package randomize

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
)

// favour is what KRR, SubsetSelection, LocalHash and Hadamard have in common: all reports
// are equally likely but for a share of them that the value favours, each of which is
// e^epsilon times as likely as the rest.
//
// With Z = 1 + share (e^epsilon - 1), a report has e^epsilon/Z or 1/Z times the
// probability that it has under the uniform law.
type favour struct{ epsilon, share float64 }

// event returns the shuffled report of so many users, any two of whose values favour a share
// of the reports apart; 0 where all that two may favour they may favour apart.
func (f favour) event(users int, apart float64) amplify.FavouredResponse {
	return amplify.FavouredResponse{Users: users, Share: f.share, Apart: math.Min(apart, math.Min(f.share, 1-f.share)), Epsilon: f.epsilon}
}

// third returns that event with the share, of what one of two values favours apart, that a
// third value favours too, if there are three values.
func (f favour) third(users, values int, apart, third float64) amplify.FavouredResponse {
	e := f.event(users, apart)
	if values > 2 {
		third = math.Min(third, math.Min(e.Apart, e.Share/2))
		e.Third = &third
	}
	return e
}

// covering returns an event of so many users that is no smaller than that of any value's favouring
// this share of the reports, or a smaller one: up to a half, who favours a larger share tells
// more (docs/accounting-reports.md, 3).
func (f favour) covering(users int) account.Event {
	if f.share > 0.5 {
		return amplify.AnyRandomizer{Users: users, Epsilon: f.epsilon}
	}
	return f.event(users, 0)
}

// logZ returns ln Z.
func (f favour) logZ() float64 { return math.Log1p(f.share * math.Expm1(f.epsilon)) }

// local returns the promise to a device. Replacement: e^epsilon. Removal, with uniform
// reports for the reference law (ESA, Definition II.4): the larger of e^epsilon/Z and Z.
//
// No reference law does better where every report is favoured by some value and not by
// another: it must be e^-x times the largest probability at least, whose sum over the
// reports is e^epsilon/Z, and at most e^x times the least, whose sum is 1/Z.
func (f favour) local(adj account.Adjacency, method string) account.Guarantee {
	epsilon := f.epsilon
	if checkAdjacency(adj); adj == account.Removal {
		epsilon = raised(math.Max(f.epsilon-f.logZ(), f.logZ()))
	}
	return local(epsilon, adj, method, "ratio of its two probabilities")
}
