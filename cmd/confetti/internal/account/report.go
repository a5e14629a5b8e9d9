package account

import (
	"math"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/randomize"
)

// oneMessage is a mechanism whose report is a single message, as a function of its local
// epsilon.
type oneMessage struct {
	mechanism      string
	users, symbols int
	size           int // of a subset; 0: that of least error
}

func wholeReport(p mechanismParameters) account.Event { return p.oneMessage().event(*p.LocalEpsilon) }

func (p mechanismParameters) oneMessage() oneMessage {
	r := oneMessage{mechanism: p.Mechanism, users: *p.Users}
	if p.Symbols != nil {
		r.symbols = *p.Symbols
	}
	if p.SubsetSize != nil {
		r.size = *p.SubsetSize
	}
	return r
}

func (r oneMessage) event(local float64) account.Event {
	switch r.mechanism {
	case "krr":
		return account.KaryResponse{Users: r.users, K: r.symbols, Epsilon: local}
	case "subset":
		return r.subset(local).Event(r.users)
	case "local-hashing":
		return randomize.LocalHash{G: r.symbols, Epsilon: local}.Event(r.users)
	case "hadamard":
		return randomize.Hadamard{K: r.symbols, Epsilon: local}.Event(r.users)
	}
	return account.AnyRandomizer{Users: r.users, Epsilon: local}
}

func (r oneMessage) subset(local float64) randomize.SubsetSelection {
	if r.size == 0 {
		r.size = randomize.SubsetSize(r.symbols, local)
	}
	return randomize.SubsetSelection{K: r.symbols, W: r.size, Epsilon: local}
}

// check refuses symbols and subsets that there are not.
func (r oneMessage) check() error {
	switch {
	case r.mechanism != "any" && r.symbols < 2:
		return terminal.Usagef("--symbols is %d: give at least 2", r.symbols)
	case r.mechanism != "krr" && r.symbols >= randomize.MaxCells:
		return terminal.Usagef("--symbols is %d: --mechanism %s takes fewer than %d", r.symbols, r.mechanism, randomize.MaxCells)
	case r.size < 0 || r.size > 0 && r.size >= r.symbols:
		return terminal.Usagef("--subset-size is %d: give at least 1 of the %d --symbols, and not all", r.size, r.symbols)
	}
	return nil
}

// validate refuses what its randomizer does not take, at a local epsilon.
func (r oneMessage) validate(local float64) error {
	var err error
	switch r.mechanism {
	case "krr":
		err = randomize.KRR{K: r.symbols, Epsilon: local}.Validate()
	case "subset":
		err = r.subset(local).Validate()
	case "local-hashing":
		err = randomize.LocalHash{K: 2, G: r.symbols, Functions: 1, Epsilon: local}.Validate()
	case "hadamard":
		err = randomize.Hadamard{K: r.symbols, Epsilon: local}.Validate()
	}
	if err != nil {
		return terminal.Usagef("%s (set by --symbols, --subset-size and --local-epsilon)", strings.TrimPrefix(err.Error(), "randomize: "))
	}
	return nil
}

// describe says what is sent at a local epsilon.
func (r oneMessage) describe(s *statement, local float64) {
	variance := math.NaN()
	switch r.mechanism {
	case "krr":
		if r.symbols <= randomize.MaxCells {
			variance = randomize.KRR{K: r.symbols, Epsilon: local}.Variance(0, r.users)
		}
	case "subset":
		m := r.subset(local)
		s.add("subset_size", "subset size", float64(m.W), "symbols in every report")
		variance = m.Variance(0, r.users)
	case "hadamard":
		variance = randomize.Hadamard{K: r.symbols, Epsilon: local}.Variance(0, r.users)
	}
	s.add("local_epsilon", "local epsilon", local, "of one report by itself, though everyone colludes")
	s.add("rmse", "RMSE", math.Sqrt(variance), "of the count of a symbol that nobody holds, in respondents")
}
