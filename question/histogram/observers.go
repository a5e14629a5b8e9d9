package histogram

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Every observer but the network opens messages, which takes the analyzer's key: it sees
// all that was mixed beside what it has of one respondent, and this release. Statements
// count that.

// Guarantees states what holds though everyone colludes, what one message tells, and
// what was mixed.
func (h *Question) Guarantees(shuffled account.Guarantee) ([]account.Statement, error) {
	if h.noised() {
		return h.noisedObservers(shuffled)
	}
	if err := h.claims(); err != nil {
		return nil, err
	}
	local, err := h.local()
	if err != nil {
		return nil, err
	}
	statements := []account.Statement{{
		Observer: account.EveryoneColludes, Guarantee: local, Note: h.note(), Who: terms.Everyone,
	}}
	if t, ok := h.randomizers[0].(*bits); ok && h.plan.Contributions() > 1 && t.rows > 1 {
		statements = append(statements, account.Statement{
			Observer: account.OneInstanceColludes, Guarantee: h.fragmentsSeen(t.rows, local), Note: h.note(),
			Who: fmt.Sprintf("All hops of one instance of the shuffler and the analyzer together: they hold %d of your %d messages, and see the others among everybody's, and this release.", t.rows, t.tau()),
		})
	}
	one, err := h.oneSeen(local, shuffled)
	if err != nil {
		return nil, err
	}
	statements = append(statements, account.Statement{
		Observer: account.OneFragmentSeen, Guarantee: one, Note: h.note(), Who: terms.OneFragment,
	}, account.Statement{
		Observer: account.ShufflerHonest, Guarantee: shuffled, Note: h.note(), Who: terms.ShufflerHonest(h.plan),
	})
	return statements, nil
}

// whole returns what a device sends at most: all its bits as one table, or its symbols
// one by one, of which one that tells most is sent where one is drawn.
func (h *Question) whole() []randomizer {
	switch {
	case h.ask.Randomizer.OneHot():
		return []randomizer{h.together()}
	case h.ask.Collect == plan.CollectSample:
		return []randomizer{slices.MaxFunc(h.randomizers, func(a, b randomizer) int { return cmp.Compare(a.local().Epsilon, b.local().Epsilon) })}
	}
	return h.randomizers
}

// local returns what holds though all of a device's messages are opened and known to be its.
func (h *Question) local() (account.Guarantee, error) {
	whole := h.whole()
	all := make([]account.Guarantee, len(whole))
	for i, t := range whole {
		all[i] = t.local()
	}
	g, err := account.Compose(all...)
	if h.answers() > 1 {
		g.Method, g.Bound = fmt.Sprintf("%s, %d attributes", all[0].Method, h.answers()), account.Upper
	}
	return g, err
}

// oneSeen returns the guarantee where one fragment is opened: of several report fragments one
// of them, whole, else one message.
//
// One message of a one-hot report is drawn among the device's envelopes, and names a cell
// or is a dummy. Say that of the bits that neighbours change each is asked for with
// probability one in as many as there are envelopes: the message names its cell if the
// bit is set and is a dummy if not; where none is asked for, it does not depend on them.
// That is the law of the message, so who sees it has seen one of these bits at most, and
// the others among everybody's. It takes an envelope for each bit that changes beside the
// messages of the bits that do not: where these are more, which does not depend on the
// value, nothing is said of it, and the probability is charged.
func (h *Question) oneSeen(local, shuffled account.Guarantee) (account.Guarantee, error) {
	t, ok := h.whole()[0].(*bits)
	switch {
	case !ok && h.answers() == 1:
		local.Trust = account.OneFragment // the message is the report, or a part of it
		return local, nil
	case !ok:
		one := h.randomizers[0].local()
		one.Trust, one.Users = shuffled.Trust, shuffled.Users
		g, err := account.Compose(one, shuffled)
		g.Method, g.Trust = "one attribute's report, and the others shuffled: "+shuffled.Method, account.OneFragment
		return g, err
	case t.tau() > 1:
		return h.fragmentsSeen(1, local), nil
	}
	changed := t.items
	if t.adjacency == account.Replacement {
		changed *= 2
	}
	if changed == 1 {
		local.Trust = account.OneFragment
		return local, nil
	}
	others, alone := t.mechanism.Fragment.Event(h.users(h.plan.MinHonest()), t.adjacency).Opened(t.items)
	rest := account.All{Events: others}
	one := t.mechanism.Fragment.LocalSet(1, account.Removal).Epsilon
	crowded := 0.0
	if e := h.plan.MostMessages(); e < t.mechanism.Backstop.K { // or there is an envelope for each bit
		crowded = t.overflow(max(0, e-changed))
	}
	g := h.opened(account.All{Events: append([]account.Event{alone}, others...)}, rest, one, crowded, local)
	if g.Trust = account.OneFragment; g.Delta > 0 {
		g.Method = "one bit seen, and the others that may change shuffled: exact law of each count"
	}
	return g, nil
}

// fragmentsSeen returns the guarantee where so many of a device's report fragments are opened,
// and the others come among everybody's.
func (h *Question) fragmentsSeen(seen int, local account.Guarantee) account.Guarantee {
	if seen == h.together().tau() {
		return local
	}
	event := h.composed(h.plan.MinHonest(), func(t randomizer, users int) account.Event { return t.(*bits).through(users, seen) })
	rest := h.composed(h.plan.MinHonest(), func(t randomizer, users int) account.Event {
		b := t.(*bits)
		return b.repeated(b.mechanism.Fragment, users, b.tau()-seen)
	})
	g := h.opened(event, rest, h.together().exposed(seen).Epsilon, 0, local)
	if g.Trust = shuffle.SomeFragments; seen == 1 {
		g.Trust = account.OneFragment
	}
	return g
}

// opened returns the guarantee at the plan's delta against who sees an event in which part of
// what a device sends is outright, with a loss of at most so much, and the rest, given
// that part, is no more than another event tells; but for a probability of failing, which
// is the same in both worlds. What everybody together learns bounds it.
//
// Reports outgrow their envelopes with probability P each. Let d and r be a delta and an
// epsilon of the rest. Given the part s that is outright, of law A in one world and B in
// the other, what is left is asked for its hockey stick at l B(s)/A(s). Up to e^r overflow
// adds P(overflow | s) (1 + l B(s)/A(s)) to it; beyond, it is at most what it is at e^r:
// d + P(overflow | s)(1 + e^r). Over all s, others' overflow costs (1 + e^r) P each, and
// the device's own at most (1 + e^(r + outright)) P, since A(s) <= e^outright B(s).
func (h *Question) opened(event, rest account.Event, outright, failing float64, local account.Guarantee) account.Guarantee {
	n := h.plan.MinHonest()
	delta := h.plan.Budget.Delta - h.slack() - failing
	if one := h.overflow(h.plan.MostMessages()); one > 0 {
		spare := delta / 1000
		r, err := account.Epsilon(rest, spare)
		if err != nil { // so little noise that nothing is proved of it
			return local
		}
		delta -= spare + one*(float64(n)+float64(n-1)*math.Exp(r.Epsilon)+math.Exp(r.Epsilon+outright))
	}
	if !(delta > 0) {
		return local
	}
	g, err := account.Epsilon(event, delta)
	if err != nil || g.Epsilon >= local.Epsilon {
		return local
	}
	g.Delta, g.Adjacency, g.Users, g.Bound = h.plan.Budget.Delta, local.Adjacency, h.users(n), account.Upper
	return g
}

func (h *Question) note() string { return terms.CrowdSent("Speaks of the answers", h.plan) }

// Opened returns the guarantee where so many of a device's report fragments are opened and
// known to be its, and the others come among everybody's.
func (h *Question) Opened(fragments int) account.Guarantee {
	local, err := h.local()
	if err != nil {
		local.Epsilon = math.Inf(1)
	}
	return h.fragmentsSeen(fragments, local)
}
