package account

import (
	"errors"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

type accountCalibrate struct {
	Mechanism     string   `help:"${calibrated}." required:"" placeholder:"NAME"`
	Users         *int     `help:"Respondents whose noise is relied upon; not for gaussian." placeholder:"N"`
	Rounds        int      `help:"How often it is used on the same respondents." default:"1" placeholder:"K"`
	Epsilon       float64  `help:"Epsilon of all rounds together; may be left out beside --local-epsilon." placeholder:"E"`
	LocalEpsilon  *float64 `help:"Epsilon of all that one device sends, though everyone colludes; with --epsilon both hold. Not for 3nb, pure, poisson and gaussian, which have none." placeholder:"E"`
	Delta         *float64 `help:"Probability that the bound by epsilon may fail by; pure under the paper's accounting has none."`
	Accounting    string   `help:"exact, or the route of the paper (rr, 3nb, pure)." enum:"exact,paper" default:"exact"`
	Adjacency     string   `help:"one-hot, fragments: which data sets are neighbours." enum:"replacement,removal" default:"replacement"`
	Keep          *float64 `name:"keep-probability" help:"one-hot: probability that a set bit is sent, where that is not one less the other (asymmetric: 0.5 errs least)." placeholder:"P"`
	Symbols       *int     `help:"krr, subset, hadamard: number of symbols; local-hash: of those hashed to." placeholder:"K"`
	SubsetSize    *int     `help:"subset: symbols in a report (those that err least)." placeholder:"W"`
	Tau           *int     `help:"fragments: into how many a bit is torn behind a backstop." placeholder:"T"`
	Coordinates   *int     `help:"vector: bits of a respondent; direction, cap: numbers of a vector." placeholder:"D"`
	SquaredGap    *float64 `help:"vector: how far one record moves the probabilities of its bits before the flips, sum of squares." placeholder:"G"`
	Sensitivity   float64  `help:"gaussian: how far one record moves the sum, in the two-norm." default:"1" placeholder:"L2"`
	ExtraMessages *float64 `help:"3nb: mean messages per user and round beyond the input's; more of them make less error." placeholder:"M"`
	Certify       bool     `help:"Afterwards go through every data set, which may take seconds, and print a lower bound beside."`
	JSON          bool     `help:"Print JSON."`
}

func (accountCalibrate) Help() string {
	return `Examples:
  confetti account calibrate --mechanism rr --users 40000 --rounds 768 --epsilon 1 --delta 1e-6
  confetti account calibrate --mechanism 3nb --users 40000 --rounds 4 --epsilon 1 --delta 1e-6
  confetti account calibrate --mechanism krr --users 10000 --symbols 1000 --local-epsilon 4 --delta 1e-6 --certify`
}

// check finds the mechanism, and refuses what it does not have, and what is not in range.
func (c accountCalibrate) check() (mechanism, error) {
	m, err := choose(c.Mechanism, calibrates)
	if err != nil {
		return m, err
	}
	if c.LocalEpsilon != nil && !slices.Contains(m.calibrate.takes, "local-epsilon") {
		return m, terminal.Usagef("--local-epsilon: --mechanism %s has none: its devices do not hide what they hold by themselves; give another one", m.name)
	}
	if err := m.belong(given(c), m.calibrate.needs, append([]string{"delta"}, m.calibrate.takes...)); err != nil {
		return m, err
	}
	if err := checkSymbols(m, c.Symbols, c.SubsetSize); err != nil {
		return m, err
	}
	switch {
	case c.Tau != nil && *c.Tau < 2:
		return m, terminal.Usagef("--tau is %d: give at least 2", *c.Tau)
	case c.Keep != nil && *c.Keep >= 1:
		return m, flags.Probability("keep-probability", *c.Keep)
	case m.once && c.Rounds > 1:
		return m, terminal.Usagef("--rounds is %d: --mechanism %s is calibrated for one", c.Rounds, m.name)
	}
	return m, c.checkTarget(m)
}

// checkTarget refuses a target that is missing or not in range.
func (c accountCalibrate) checkTarget(m mechanism) error {
	paper := c.Accounting == "paper"
	pure := paper && m.pure
	switch {
	case c.Rounds < 1:
		return terminal.Usagef("--rounds is %d: give a number above 0", c.Rounds)
	case c.Epsilon == 0 && c.LocalEpsilon == nil:
		return terminal.Usagef("--epsilon is 0: give a number above 0, a --local-epsilon, or both")
	case c.LocalEpsilon != nil && !(*c.LocalEpsilon >= 1e-6 && *c.LocalEpsilon <= 1e6):
		return terminal.Usagef("--local-epsilon is %v: give a number above 0 (from 1e-6 to 1e6)", *c.LocalEpsilon)
	case paper && !m.calibrate.paper:
		return terminal.Usagef("--accounting paper is for --mechanism %s: leave it out", strings.Join(named(func(m mechanism) bool { return calibrates(m) && m.calibrate.paper }), ", "))
	case paper && c.ExtraMessages != nil:
		return terminal.Usagef("--extra-messages belongs to --accounting exact: leave it out")
	case c.Delta == nil && !pure:
		return terminal.Usagef("--delta is missing: give the probability that the bound by epsilon may fail by, such as 1e-6")
	case c.Delta != nil && pure:
		return terminal.Usagef("--delta does not belong to --mechanism %s with --accounting paper, where it is zero: leave it out", m.name)
	}
	var errs []error
	if c.Epsilon != 0 {
		errs = append(errs, flags.Positive("epsilon", c.Epsilon))
	}
	if c.Delta != nil {
		errs = append(errs, flags.Probability("delta", *c.Delta))
	}
	return errors.Join(append(errs, flags.Positive("sensitivity", c.Sensitivity))...)
}

func (c accountCalibrate) Run(std terminal.Streams) error {
	m, err := c.check()
	if err != nil {
		return err
	}
	s := &statement{mechanism: m.name}
	event, err := m.calibrate.find(c, s)
	if err == nil && c.Certify && c.Accounting == "exact" {
		err = s.certify(std, c.repeated(event), *c.Delta)
	}
	if err != nil {
		return flags.Refused(err, "users", "rounds", "epsilon", "local-epsilon", "delta", "accounting", "keep-probability", "symbols", "subset-size", "tau", "coordinates", "squared-gap")
	}
	return s.print(std, c.JSON)
}

// repeated returns the event of all rounds.
func (c accountCalibrate) repeated(e account.Event) account.Event {
	return account.Repeat{Event: e, Rounds: c.Rounds}
}

func (c accountCalibrate) target() calibrate.Target {
	return calibrate.Target{Users: value(c.Users), Rounds: c.Rounds, Epsilon: c.Epsilon, Delta: value(c.Delta)}
}
