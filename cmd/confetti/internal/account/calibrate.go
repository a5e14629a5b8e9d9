package account

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
)

type accountCalibrate struct {
	Mechanism     string   `help:"rr, one-hot, vector, krr, subset, local-hashing, hadamard, any, fragments, 3nb, pure, poisson; gaussian (central)." enum:"rr,one-hot,vector,krr,subset,local-hashing,hadamard,any,fragments,3nb,pure,poisson,gaussian" required:"" placeholder:"NAME"`
	Users         *int     `help:"Respondents whose noise is relied upon; not for gaussian." placeholder:"N"`
	Rounds        int      `help:"How often it is used on the same respondents." default:"1" placeholder:"K"`
	Epsilon       float64  `help:"Epsilon of all rounds together; may be left out beside --local-epsilon." placeholder:"E"`
	LocalEpsilon  *float64 `help:"Epsilon of all that one device sends, though everyone colludes; with --epsilon both hold. Not for 3nb, pure, poisson and gaussian, which have none." placeholder:"E"`
	Delta         *float64 `help:"Probability that the bound by epsilon may fail by; pure under the paper's accounting has none."`
	Accounting    string   `help:"exact, or the route of the paper (rr, 3nb, pure)." enum:"exact,paper" default:"exact"`
	Adjacency     string   `help:"one-hot, fragments: which data sets are neighbours." enum:"replacement,removal" default:"replacement"`
	Keep          *float64 `name:"keep-probability" help:"one-hot: probability that a set bit is sent, where that is not one less the other (asymmetric: 0.5 errs least)." placeholder:"P"`
	Symbols       *int     `help:"krr, subset, hadamard: number of symbols; local-hashing: of those hashed to." placeholder:"K"`
	SubsetSize    *int     `help:"subset: symbols in a report (those that err least)." placeholder:"W"`
	Tau           *int     `help:"fragments: into how many a bit is torn behind a backstop." placeholder:"T"`
	Coordinates   *int     `help:"vector: bits of a respondent." placeholder:"D"`
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

// check refuses what the mechanism does not have, and what is not in range.
func (c accountCalibrate) check() error {
	if c.Users == nil && c.Mechanism != "gaussian" {
		return terminal.Usagef("--users is missing: --mechanism %s needs the number of respondents whose noise is relied upon", c.Mechanism)
	}
	if c.Users != nil && *c.Users < 1 {
		return terminal.Usagef("--users is %d: give a number above 0", *c.Users)
	}
	if c.Rounds < 1 {
		return terminal.Usagef("--rounds is %d: give a number above 0", c.Rounds)
	}
	if c.Epsilon == 0 && c.LocalEpsilon == nil {
		return terminal.Usagef("--epsilon is 0: give a number above 0, a --local-epsilon, or both")
	}
	if err := positive("epsilon", c.Epsilon); err != nil && c.Epsilon != 0 {
		return err
	}
	if c.LocalEpsilon != nil {
		if slices.Contains([]string{"3nb", "pure", "poisson", "gaussian"}, c.Mechanism) {
			return terminal.Usagef("--local-epsilon: --mechanism %s has none: its devices do not hide what they hold by themselves; give another one", c.Mechanism)
		}
		if !(*c.LocalEpsilon >= 1e-6 && *c.LocalEpsilon <= 1e6) {
			return terminal.Usagef("--local-epsilon is %v: give a number above 0 (from 1e-6 to 1e6)", *c.LocalEpsilon)
		}
	}
	if err := positive("sensitivity", c.Sensitivity); err != nil {
		return err
	}
	if c.Mechanism == "vector" {
		if c.Coordinates == nil || c.SquaredGap == nil {
			return terminal.Usagef("--coordinates or --squared-gap is missing: --mechanism vector needs both")
		}
		if c.Rounds > 1 {
			return terminal.Usagef("--rounds is %d: --mechanism vector is calibrated for one", c.Rounds)
		}
	} else if c.Coordinates != nil || c.SquaredGap != nil {
		return terminal.Usagef("--coordinates and --squared-gap belong to --mechanism vector: leave them out")
	}
	if err := c.checkReports(); err != nil {
		return err
	}
	if c.Keep != nil {
		if c.Mechanism != "one-hot" {
			return terminal.Usagef("--keep-probability belongs to --mechanism one-hot: leave it out")
		}
		if err := probability("keep-probability", *c.Keep); err != nil {
			return err
		}
	}
	if c.ExtraMessages != nil {
		if c.Mechanism != "3nb" || c.Accounting == "paper" {
			return terminal.Usagef("--extra-messages belongs to --mechanism 3nb with --accounting exact: leave it out")
		}
		if err := positive("extra-messages", *c.ExtraMessages); err != nil {
			return err
		}
	}
	pure := c.Mechanism == "pure" && c.Accounting == "paper"
	switch {
	case c.Accounting == "paper" && c.Mechanism != "rr" && c.Mechanism != "3nb" && c.Mechanism != "pure":
		return terminal.Usagef("--accounting paper is for --mechanism rr, 3nb and pure: leave it out")
	case c.Delta == nil && !pure:
		return terminal.Usagef("--delta is missing: give the probability that the bound by epsilon may fail by, such as 1e-6")
	case pure && c.Delta != nil:
		return terminal.Usagef("--delta does not belong to --mechanism pure with --accounting paper, where it is zero: leave it out")
	case c.Delta != nil:
		return probability("delta", *c.Delta)
	}
	return nil
}

func (c accountCalibrate) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	s := &statement{mechanism: c.Mechanism}
	event, err := account.Event(nil), error(nil)
	if c.Epsilon != 0 && c.oneMessage() == nil && c.Mechanism != "fragments" {
		event, err = c.calibrate(s)
	}
	switch {
	case err != nil:
	case c.oneMessage() != nil:
		event, err = c.report(s)
	case c.Mechanism == "fragments":
		event, err = c.fragments(s)
	case c.LocalEpsilon != nil:
		event, err = c.withinLocal(s, event)
	}
	if err == nil && c.Certify && c.Accounting == "exact" {
		err = s.certify(account.Repeat{Event: event, Rounds: c.Rounds}, *c.Delta)
	}
	if err != nil {
		return flags.Refused(err, "users", "rounds", "epsilon", "local-epsilon", "delta", "accounting", "keep-probability", "symbols", "subset-size", "tau", "coordinates", "squared-gap")
	}
	return s.print(std, c.JSON)
}

// withinLocal is the event with at least the flips that keep the local epsilon, and its
// statement; event is nil where no other epsilon is asked for.
func (c accountCalibrate) withinLocal(s *statement, event account.Event) (account.Event, error) {
	at := func(flip float64) account.Event {
		switch c.Mechanism {
		case "rr":
			return account.RandomizedResponse{Users: *c.Users, Flip: flip}
		case "vector":
			return account.VectorResponse{Users: *c.Users, Coordinates: *c.Coordinates, Flip: flip, SquaredGap: *c.SquaredGap}
		}
		e := account.OneHot{Users: *c.Users, Flip: flip, Adjacency: account.Adjacency(c.Adjacency)}
		if c.Keep != nil {
			e.Keep = *c.Keep
		}
		return e
	}
	most := 0.5
	if c.Mechanism == "vector" {
		most -= 1e-9
	} else if c.Keep != nil {
		most = *c.Keep * (1 - 0x1p-30)
	}
	rounds := func(e account.Event) account.Event { return account.Repeat{Event: e, Rounds: c.Rounds} }
	flip, err := account.LocalFlip(*c.LocalEpsilon, most, func(flip float64) account.Event { return rounds(at(flip)) })
	if err != nil {
		return nil, err
	}
	wanted := 0.0
	switch e := event.(type) {
	case account.RandomizedResponse:
		wanted = e.Flip
	case account.OneHot:
		wanted = e.Flip
	case account.VectorResponse:
		wanted = e.Flip
	}
	if flip > wanted {
		event, s.parameters = at(flip), nil
		if s.Guarantee, err = account.Epsilon(rounds(event), *c.Delta); err != nil {
			return nil, err
		}
		c.describe(s, event)
	}
	local, err := account.LocalEpsilon(rounds(event))
	s.add("local_epsilon", "local epsilon", local, "of all that one device sends, though everyone colludes")
	return event, err
}

// describe says what the flips of an event are.
func (c accountCalibrate) describe(s *statement, event account.Event) {
	switch e := event.(type) {
	case account.RandomizedResponse:
		s.randomizedResponse(e, c.Rounds)
	case account.OneHot:
		if c.Keep != nil {
			s.add("flip_probability", "flip probability", e.Flip, "that a coordinate's bit is sent which is not set")
			s.add("rmse", "RMSE", math.Sqrt(float64(e.Users)*e.Flip*(1-e.Flip))/(e.Keep-e.Flip), "of the count of a coordinate that nobody sets, in respondents")
			return
		}
		s.add("flip_probability", "flip probability", e.Flip, "of every coordinate's bit")
		s.add("rmse", "RMSE", account.RandomizedResponse{Users: e.Users, Flip: e.Flip}.RMSE(), "of one coordinate's count, in respondents")
	case account.VectorResponse:
		s.add("flip_probability", "flip probability", e.Flip, "of every bit")
		s.add("rmse", "RMSE", account.RandomizedResponse{Users: e.Users, Flip: e.Flip}.RMSE(), "of one coordinate's count, in respondents")
		s.add("messages_per_device", "messages per device", float64(e.Coordinates), "one bit each")
	}
}

func (c accountCalibrate) target() account.Target {
	t := account.Target{Rounds: c.Rounds, Epsilon: c.Epsilon}
	if c.Users != nil {
		t.Users = *c.Users
	}
	if c.Delta != nil {
		t.Delta = *c.Delta
	}
	return t
}

// calibrate fills in the statement and returns the event of one round.
func (c accountCalibrate) calibrate(s *statement) (event account.Event, err error) {
	t, how := c.target(), account.Accounting(c.Accounting)
	switch c.Mechanism {
	case "rr":
		var e account.RandomizedResponse
		if e, s.Guarantee, err = account.CalibrateRR(t, how); err == nil {
			c.describe(s, e)
		}
		return e, err
	case "one-hot":
		var e account.OneHot
		if c.Keep != nil {
			if e, s.Guarantee, err = account.CalibrateAsymmetricOneHot(t, *c.Keep, account.Adjacency(c.Adjacency)); err == nil {
				c.describe(s, e)
			}
			return e, err
		}
		if e, s.Guarantee, err = account.CalibrateOneHot(t, account.Adjacency(c.Adjacency)); err == nil {
			c.describe(s, e)
		}
		return e, err
	case "vector":
		var e account.VectorResponse
		if e, err = account.VectorFlip(t.Users, *c.Coordinates, *c.SquaredGap, t.Epsilon, t.Delta); err == nil {
			c.describe(s, e)
			s.Guarantee, err = account.Epsilon(e, t.Delta)
		}
		return e, err
	case "3nb":
		var e account.ThreeNB
		extra := 0.0
		if c.ExtraMessages != nil {
			extra = *c.ExtraMessages
		} else if how == account.ExactAccounting {
			if extra, err = account.FloodMessages(t); err != nil {
				return nil, err
			}
		}
		if e, s.Guarantee, err = account.CalibrateThreeNB(t, how, extra); err == nil {
			s.threeNB(e, c.Rounds)
		}
		return e, err
	case "pure":
		var e account.Pure
		if how == account.PaperAccounting {
			if e, err = account.PublishedPure(t.Users, t.Epsilon/float64(t.Rounds), 0.5); err == nil {
				s.Guarantee, err = e.Guarantee(t.Rounds)
			}
		} else {
			e, s.Guarantee, err = account.CalibratePure(t)
		}
		if err == nil {
			s.pure(e, c.Rounds)
		}
		return e, err
	case "poisson":
		var e account.PoissonSum
		if e, err = account.PoissonMean(t.Users, t.Rounds, t.Epsilon, t.Delta); err == nil {
			s.poisson(e, c.Rounds)
			s.Guarantee, err = account.Epsilon(account.Repeat{Event: e, Rounds: t.Rounds}, t.Delta)
		}
		return e, err
	default:
		var e account.Gaussian
		if e, s.Guarantee, err = account.CalibrateGaussian(t, c.Sensitivity); err == nil {
			s.add("sigma", "standard deviation", e.Sigma, "of the noise in each sum")
			s.add("rmse", "RMSE", e.Sigma, "of each coordinate of a sum")
		}
		return e, err
	}
}

func (s *statement) pure(e account.Pure, rounds int) {
	s.add("epsilon_of_a_round", "epsilon of a round", e.Epsilon, "with delta 0")
	s.add("theta", "theta", e.Theta, "the part of it that hides who dropped out")
	s.add("drop_probability", "drop probability", e.Drop, "of an input")
	s.add("size", "size", float64(e.Size), "pairs of messages that every respondent sends")
	s.add("rmse", "RMSE", e.RMSE(e.Users), "of one sum, in respondents, at most")
	s.add("messages_per_device", "messages per device", float64(rounds)*(0.5+e.MessagesPerUser()), "on average, half the bits being ones; dummies come on top")
}
