package account

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// randomizer gives a report that is a single message.
type randomizer interface {
	Validate() error
	Event(users int) account.Event
}

// whichever is any randomizer at all of a local epsilon.
type whichever float64

func (whichever) Validate() error { return nil }

func (e whichever) Event(users int) account.Event {
	return amplify.AnyRandomizer{Users: users, Epsilon: float64(e)}
}

// report is a mechanism whose report is a single message, as a function of its local
// epsilon.
type report struct {
	users, symbols int // or coordinates, of vectors
	size           int // of a subset; 0: that of least error
	at             func(symbols, size int, local float64) randomizer
}

// oneMessage returns the row of such a mechanism; needs and takes are what it has beside
// respondents, rounds and epsilons.
func oneMessage(name string, needs, takes []string, at func(symbols, size int, local float64) randomizer) mechanism {
	needs = append([]string{"users"}, needs...)
	of := func(p parameters) report {
		return report{*p.Users, cmp.Or(value(p.Symbols), value(p.Coordinates)), value(p.SubsetSize), at}
	}
	return mechanism{
		name: name, needs: append(slices.Clone(needs), "local-epsilon"), takes: append([]string{"rounds"}, takes...), of: of,
		event:  func(p parameters) account.Event { return of(p).event(*p.LocalEpsilon) },
		says:   func(s *statement, p parameters) { of(p).describe(s, *p.LocalEpsilon) },
		attack: func(p parameters) (audit.Observed, error) { return of(p).attack(*p.LocalEpsilon), nil },
		calibrate: &calibration{needs, append([]string{"local-epsilon"}, takes...), false, func(c accountCalibrate, s *statement) (account.Event, error) {
			return c.report(s, report{*c.Users, cmp.Or(value(c.Symbols), value(c.Coordinates)), value(c.SubsetSize), at})
		}},
	}
}

func (r report) randomizer(local float64) randomizer { return r.at(r.symbols, r.size, local) }

func (r report) event(local float64) account.Event { return r.randomizer(local).Event(r.users) }

// attack returns that on the reports of the randomizer, or of one of those that "any" stands for.
func (r report) attack(local float64) audit.Observed {
	switch m := r.randomizer(local).(type) {
	case randomize.SubsetSelection:
		return audit.Subsets(m, r.users)
	case randomize.LocalHash:
		return audit.Hashes(m, r.users)
	case randomize.Hadamard:
		return audit.Columns(m, r.users)
	case randomize.KRR:
		return audit.Response(m, r.users)
	case direction.Sign:
		return audit.Directions(m, m.Dim, m.Clip, r.users)
	case direction.Cap:
		return audit.Directions(m, m.Dim, m.Clip, r.users)
	}
	return audit.Response(randomize.KRR{K: 2, Epsilon: local}, r.users)
}

// ofAnySymbols is such a mechanism that takes more symbols than are counted one by one.
func ofAnySymbols(m mechanism) mechanism {
	m.anySymbols = true
	return m
}

// checkSymbols refuses symbols and subsets that there are not, and what the mechanism's
// randomizer does not take.
func checkSymbols(m mechanism, symbols, size *int) error {
	switch {
	case symbols == nil:
		return nil
	case *symbols < 2:
		return terminal.Usagef("--symbols is %d: give at least 2", *symbols)
	case !m.anySymbols && *symbols >= randomize.MaxCells:
		return terminal.Usagef("--symbols is %d: --mechanism %s takes fewer than %d", *symbols, m.name, randomize.MaxCells)
	case size != nil && (*size < 1 || *size >= *symbols):
		return terminal.Usagef("--subset-size is %d: give at least 1 of the %d --symbols, and not all", *size, *symbols)
	}
	return nil
}

// validate refuses what the randomizer does not take, at a local epsilon.
func (r report) validate(local float64) error {
	if err := r.randomizer(local).Validate(); err != nil {
		rule, says, _ := strings.Cut(err.Error(), ": ")
		flags := "--symbols, --subset-size"
		if rule == "direction" {
			flags = "--coordinates"
		}
		return terminal.Usagef("%s (set by %s and --local-epsilon)", says, flags)
	}
	return nil
}

// describe says what is sent at a local epsilon.
func (r report) describe(s *statement, local float64) {
	m := r.randomizer(local)
	if subset, ok := m.(randomize.SubsetSelection); ok {
		s.add("subset_size", "subset size", float64(subset.W), "symbols in every report")
	}
	s.add("local_epsilon", "local epsilon", local, "of one report by itself, though everyone colludes")
	if v, ok := m.(interface{ Variance(holders, n int) float64 }); ok && r.symbols <= randomize.MaxCells {
		s.add("rmse", "RMSE", math.Sqrt(v.Variance(0, r.users)), "of the count of a symbol that nobody holds, in respondents")
	}
}

// subset returns the size of the subsets at a local epsilon; 0 of a report that is none.
func (r report) subset(local float64) int {
	if subset, ok := r.randomizer(local).(randomize.SubsetSelection); ok {
		return subset.W
	}
	return 0
}
