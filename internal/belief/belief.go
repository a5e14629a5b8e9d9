// Package belief says how sure somebody can become of something about a person, and how strong a promise is. Used by
// internal/release/page, internal/client and internal/studio.
package belief

import (
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/account"
)

// after returns what seeing something of a given epsilon (replacement) can make of a
// belief: who held anything about the respondent's answer to be true with
// probability prior holds it so with a probability from low to high afterwards.
// A negative epsilon is none at all, and leaves nothing out.
//
// For A a set of answers and m what is seen, P(m | A) and P(m | not A) are
// averages of likelihoods of which none is more than e^epsilon times another; so
// is their ratio, and Bayes' rule gives the rest.
func after(prior, epsilon float64) (low, high float64) {
	if epsilon < 0 {
		return 0, 1
	}
	// The odds times e^-epsilon and e^epsilon, without an overflow.
	other := (1 - prior) / prior
	return 1 / (1 + other*math.Exp(epsilon)), 1 / (1 + other*math.Exp(-epsilon))
}

// Believed returns between which bounds somebody who believed a statement with probability prior believes it after seeing
// what a guarantee speaks of, but for a chance of its delta.
func Believed(g account.Guarantee, prior float64) (low, high float64) {
	if r, err := g.Under(account.Replacement); err == nil {
		g = r
	}
	if g.Delta >= 1 || math.IsInf(g.Epsilon, 1) {
		return after(prior, -1)
	}
	return after(prior, g.Epsilon)
}

// Between says what can be believed, as Belief returns it: "between 11\u00a0% and 89\u00a0%",
// in tenths of a percent and no narrower than it is.
func Between(low, high float64) string {
	return fmt.Sprintf("between %.4g\u00a0%% and %.4g\u00a0%%", math.Floor(1000*low)/10, math.Ceil(1000*high)/10)
}

// Who says in a few words who an observer of the person's answer is.
func Who(observer string) string {
	switch observer {
	case account.EveryoneColludes:
		return "Everybody on the way together"
	case account.OneInstanceColludes:
		return "Everybody on one of the ways together"
	case account.OneFragmentSeen:
		return "Somebody who opens one of your messages"
	case account.ShufflerHonest, account.OnlyTheReader:
		return "Whoever reads the result"
	case account.BothAggregators:
		return "Both aggregators together"
	case account.OneAggregator:
		return "One aggregator, with whoever reads the result"
	case account.CrowdSizesSeen:
		return "Whoever reads how large crowds are"
	case account.AllRoundsSeen:
		return "Whoever reads the results of all rounds"
	case account.AllSizesSeen:
		return "Whoever reads how large crowds are in all rounds"
	case account.AllRoundsOfOne:
		return "One aggregator, with whoever reads the results of all rounds"
	}
	first, size := utf8.DecodeRuneInString(observer)
	return string(unicode.ToUpper(first)) + observer[size:]
}
