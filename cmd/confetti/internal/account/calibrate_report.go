package account

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
)

// oneMessage is the mechanism if its report is a single message, nil otherwise.
func (c accountCalibrate) oneMessage() *oneMessage {
	if !slices.Contains([]string{"krr", "subset", "local-hashing", "hadamard", "any"}, c.Mechanism) {
		return nil
	}
	r := oneMessage{mechanism: c.Mechanism, users: *c.Users}
	if c.Symbols != nil {
		r.symbols = *c.Symbols
	}
	if c.SubsetSize != nil {
		r.size = *c.SubsetSize
	}
	return &r
}

// checkReports refuses symbols, subsets and fragments that are missing or out of place.
func (c accountCalibrate) checkReports() error {
	r := c.oneMessage()
	switch symbols := r != nil && c.Mechanism != "any"; {
	case symbols && c.Symbols == nil:
		return terminal.Usagef("--symbols is missing: --mechanism %s needs their number", c.Mechanism)
	case !symbols && c.Symbols != nil:
		return terminal.Usagef("--symbols belongs to --mechanism krr, subset, local-hashing and hadamard: leave it out")
	case c.SubsetSize != nil && c.Mechanism != "subset":
		return terminal.Usagef("--subset-size belongs to --mechanism subset: leave it out")
	case c.SubsetSize != nil && *c.SubsetSize < 1:
		return terminal.Usagef("--subset-size is %d: give at least 1", *c.SubsetSize)
	case c.Mechanism == "fragments" && (c.Tau == nil || *c.Tau < 2):
		return terminal.Usagef("--tau is missing or below 2: say into how many fragments a bit is torn")
	case c.Mechanism != "fragments" && c.Tau != nil:
		return terminal.Usagef("--tau belongs to --mechanism fragments: leave it out")
	}
	if r == nil {
		return nil
	}
	return r.check()
}

// report calibrates a mechanism of one message: the largest local epsilon that keeps both
// promises, and its guarantee.
func (c accountCalibrate) report(s *statement) (account.Event, error) {
	r, local := *c.oneMessage(), math.Inf(1)
	if c.LocalEpsilon != nil {
		if local = *c.LocalEpsilon; c.Rounds > 1 { // whose sum is rounded
			local *= (1 - 0x1p-50) / float64(c.Rounds)
		}
	}
	if c.Epsilon != 0 {
		most, size, err := c.mostLocal(r, local)
		if err != nil {
			return nil, err
		}
		local, r.size = math.Min(local, most), size
	}
	event := r.event(local)
	var err error
	if s.Guarantee, err = account.Epsilon(account.Repeat{Event: event, Rounds: c.Rounds}, *c.Delta); err == nil {
		r.describe(s, local)
	}
	return event, err
}

// mostLocal is the largest local epsilon for the target, with the size of the subsets:
// that of least error depends on the local epsilon, which depends on it.
func (c accountCalibrate) mostLocal(r oneMessage, within float64) (most float64, size int, err error) {
	fixed, next := r, r.size
	if r.mechanism == "subset" {
		next = r.subset(math.Min(within, c.Epsilon)).W
	}
	for range 8 {
		fixed.size = next
		if most, _, err = account.CalibrateLocal(c.target(), fixed.event); err != nil || r.mechanism != "subset" {
			break
		}
		if next = r.subset(math.Min(within, most)).W; next == fixed.size {
			break
		}
	}
	return most, fixed.size, err
}

// fragments calibrates one-hot reports whose bits are torn into fragments behind a
// backstop.
func (c accountCalibrate) fragments(s *statement) (event account.Event, err error) {
	adjacency := account.Adjacency(c.Adjacency)
	changed := c.Rounds // bits
	if adjacency == account.Replacement {
		changed *= 2
	}
	var f account.Fragments
	if c.Epsilon != 0 {
		if f, _, err = account.CalibrateFragments(c.target(), *c.Tau, adjacency); err != nil {
			return nil, err
		}
	}
	if c.LocalEpsilon != nil {
		g, err := account.LocalFragments(*c.Users, *c.Tau, adjacency, *c.LocalEpsilon/float64(changed)*(1-0x1p-50))
		if err != nil {
			return nil, err
		}
		if c.Epsilon == 0 || g.Fragment < f.Fragment {
			f = g
		}
	}
	event = f.OneHot(0)
	if s.Guarantee, err = account.Epsilon(account.Repeat{Event: event, Rounds: c.Rounds}, *c.Delta); err != nil {
		return nil, err
	}
	all, err := f.Exposed(*c.Tau)
	if err != nil {
		return nil, err
	}
	s.add("epsilon_backstop", "backstop epsilon", f.Backstop, "of a bit")
	s.add("epsilon_fragment", "fragment epsilon", f.Fragment, "of a bit in one fragment")
	s.add("local_epsilon", "local epsilon", float64(changed)*all.Epsilon, "of all that one device sends, though everyone colludes")
	return event, nil
}
