package verify

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/release"
)

func unsigned(r release.Release) string {
	if r.Source == release.Simulation {
		return "nobody has signed the plan: this is a simulation"
	}
	return "the plan is here without its publisher's signature"
}

func receiptless(r release.Release) string {
	if r.Source == release.Simulation {
		return "there are none: this is a simulation"
	}
	return "there are none: nobody has signed for the batches that were counted"
}

// lower is how much smaller a number may be that another machine has computed.
const lower = 1 - 1e-6

// merged compares what the release of all rounds so far states with what follows for one. Of a newer
// plan it names its rounds.
func merged(text []byte, newest release.Release, newer bool, follows []account.Statement) error {
	if text == nil {
		return fmt.Errorf("there is none: its study publishes one beside each release, %s", studyFile)
	}
	r, err := release.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if r.Plan != newest.Plan {
		return errors.New("it is of another plan than the release beside it")
	}
	if n := len(r.Rounds); newer && (n == 0 || r.Rounds[n-1].Plan != r.Plan) {
		return errors.New("it does not name the rounds that it is learned from")
	}
	return states(r, follows)
}

// mergedNames refuses a name in the release of all rounds so far that no release of the plan has.
func (c *checks) mergedNames(text []byte) error {
	r, err := release.Read(bytes.NewReader(text))
	if err != nil || c.Words == nil {
		return err
	}
	return c.Words(c.signed.Plan, c.protocol.Question, &r)
}

// follows returns the statements that a release of the plan makes: those of its promise, and of a
// round those of all rounds of its study.
func (c *checks) follows() ([]account.Statement, error) {
	if c.signed.Study == nil {
		return c.promise.Statements, nil
	}
	composed, err := c.protocol.Composed(c.promise, *c.signed.Study)
	return slices.Concat(c.promise.Statements, composed), err
}

// states compares what the release says with what follows from its plan: no statement is missing
// and none is more. An older program may have proved less, and stated a larger epsilon; a smaller
// one is false. The words of a statement are not looked at: they follow from its numbers.
func states(r release.Release, follows []account.Statement) error {
	left, err := stated(r, follows)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the release states a guarantee of %q that does not follow from its plan", left[0].Observer)
	}
	return err
}

// stated reports what is missing of what follows, and returns what the release states beside it.
func stated(r release.Release, follows []account.Statement) ([]account.Statement, error) {
	left := slices.Clone(r.Guarantees)
	for _, want := range follows {
		w := want.Guarantee
		i := slices.IndexFunc(left, func(s account.Statement) bool {
			g := s.Guarantee
			return s.Observer == want.Observer && g.Adjacency == w.Adjacency && g.Trust == w.Trust && math.Abs(g.Delta-w.Delta) <= (1-lower)*w.Delta
		})
		if i < 0 {
			return nil, fmt.Errorf("the release does not say what %q may learn (%s, delta %.3g)", want.Observer, w.Adjacency, w.Delta)
		}
		switch g := left[i].Guarantee; {
		case g.Epsilon < w.Epsilon*lower:
			return nil, fmt.Errorf("for %q the release states epsilon %.6g at delta %.3g, and from the plan follows epsilon %.6g at delta %.3g", want.Observer, g.Epsilon, g.Delta, w.Epsilon, w.Delta)
		case g.Users != w.Users || g.Rounds != w.Rounds:
			return nil, fmt.Errorf("for %q the release states n = %d and %d rounds, and from the plan follow n = %d and %d rounds", want.Observer, g.Users, g.Rounds, w.Users, w.Rounds)
		case g.Bound != account.Upper && g.Bound != w.Bound:
			return nil, fmt.Errorf("for %q the release states a bound that is %s, and from the plan follows one that is %s", want.Observer, g.Bound, w.Bound)
		}
		left = slices.Delete(left, i, i+1)
	}
	return left, nil
}

// recomputed lists the statements that follow, with their numbers of today.
func recomputed(follows []account.Statement) string {
	var all []string
	for _, s := range follows {
		all = append(all, fmt.Sprintf("%s: %s", s.Observer, s.Guarantee.Verdict()))
	}
	return strings.Join(all, "; ")
}

// kind compares what the release says it is with the plan and its parties.
func (c *checks) kind() error {
	r, p, source := c.release, c.signed.Plan, release.Collection
	switch {
	case p.Route.Table != nil:
		source = release.OwnTable
	case c.protocol.OneOperator():
		source = release.Trial
	}
	switch {
	case c.Files[relay.ReceiptsFile] == nil && r.Source == release.Simulation:
		return nil // which the receipts say
	case r.Source != source:
		return fmt.Errorf("the release says that it is a %s, and by the parties of its plan it is a %s", r.Source, source)
	case r.Synthetic || r.Full:
		return errors.New("the release says that nobody was asked, and hops have signed for answers")
	case r.Provenance.Randomness != "fresh randomness" || r.Provenance.Command != "":
		return errors.New("the release says of its randomness, or of a command, what is said of a simulation")
	case !p.Times.Opens.IsZero() && r.Created.Before(p.Times.Opens):
		return fmt.Errorf("the release was made on %s, before its collection opened", r.Created.UTC().Format(time.DateOnly))
	}
	return nil
}

// missing reports a file that the analyzer signed for and that is not here.
func (c *checks) missing(receipts relay.Receipts) error {
	due := []string{release.JSONFile, release.PageFile}
	for _, name := range Published {
		if _, signed := receipts.Files[Format(name)]; signed && !slices.Contains(due, name) {
			due = append(due, name)
		}
	}
	for _, name := range due {
		if c.Files[name] == nil {
			return fmt.Errorf("%s is not here", name)
		}
		if _, signed := receipts.Files[Format(name)]; !signed {
			return fmt.Errorf("the receipts are not of %s, which every release has", name)
		}
	}
	for format := range receipts.Files {
		if !slices.ContainsFunc(Published, func(name string) bool { return Format(name) == format }) {
			return errors.New("the receipts are of a file that no release has")
		}
	}
	return nil
}

// surplus reports a file that nobody signed for.
func (c *checks) surplus() error {
	others := slices.DeleteFunc(slices.Clone(c.Others), func(name string) bool { return name == StateFile && c.signed.Plan.State != "" })
	for name := range c.Files {
		table, parquet := strings.CutSuffix(name, columns)
		ours := slices.Contains(Published, name) || name == SignedFile || name == PlanFile || name == relay.WithdrawalFile ||
			parquet && c.Columns != nil && c.Files[table+".csv"] != nil
		if !ours {
			others = append(others, name)
		}
	}
	if slices.Sort(others); len(others) > 0 {
		return fmt.Errorf("nobody signed for %s, which no release has", strings.Join(others, ", "))
	}
	return nil
}

// columns ends the names of tables as Parquet.
const columns = ".parquet"

// columns compares tables as Parquet with those that were signed for, by their values.
func (c *checks) columns() {
	for _, name := range Published {
		table, ok := strings.CutSuffix(name, ".csv")
		if file := c.Files[table+columns]; ok && file != nil && c.Columns != nil && c.Files[name] != nil {
			c.found(table+columns, c.Columns(name, c.Files[name], file), "the same values as %s", name)
		}
	}
}

// crowds compares what the release says of its crowds with the batches that hops signed for. A crowd of
// which a part of the batches came is left out: each of them has a part of everybody's report.
func (c *checks) crowds(batches []relay.Vouched, signed []relay.BatchReceipts) error {
	p := c.signed.Plan
	if n := len(c.release.Crowds); n != p.Crowds() {
		return fmt.Errorf("the release is of %d crowds, and its plan has %d", n, p.Crowds())
	}
	came, smallest, dropped := make([]int, p.Crowds()), make([]int, p.Crowds()), 0
	for i, b := range batches {
		if came[b.Crowd]++; came[b.Crowd] == 1 || b.Whole < smallest[b.Crowd] {
			smallest[b.Crowd] = b.Whole
		}
		dropped += signed[i].Dropped
	}
	for i, r := range c.release.Crowds {
		left := 0
		if came[i] < p.Contributions() && p.Contributions() > 1 {
			smallest[i], left = 0, came[i]
		}
		if r.Smallest != smallest[i] || r.Batches != left {
			return fmt.Errorf("the release says that the smallest batch of crowd %d has %d contributions and that %d batches of it are left out, and by the receipts it is %d and %d", i+1, r.Smallest, r.Batches, smallest[i], left)
		}
	}
	if p.Route.Sum == nil && c.release.Dropped != dropped {
		return fmt.Errorf("the release says that %d fragments are in no number, and by the receipts these are %d", c.release.Dropped, dropped)
	}
	return nil
}

// vouched says what hops have signed for.
func vouched(batches []relay.Vouched, by string) string {
	lost, unsigned, hops := 0, 0, 0
	for _, b := range batches {
		lost += b.Lost
		unsigned += b.Unsigned
		hops += b.Hops
	}
	text := fmt.Sprintf("%s by %s of %s, each following the one before it", numerals.Count(len(batches), "batch, signed for", "batches, signed for"), numerals.Count(hops-unsigned, "receipt", "receipts"), by)
	if unsigned > 0 {
		text += fmt.Sprintf("; %s not signed, since the plan names no key", numerals.Count(unsigned, "other is", "others are"))
	}
	if lost > 0 {
		text += fmt.Sprintf("; %s on the way or did not open", numerals.Count(lost, "envelope was dropped", "envelopes were dropped"))
	}
	return text
}

// claimed compares the number of respondents in the headline, if there is one.
func claimed(r release.Release, most int, by string) error {
	for _, m := range r.Headline {
		if m.Name == "respondents" && m.Value > float64(most) {
			return fmt.Errorf("the release counts %.0f respondents, and the %s have signed for %d", m.Value, by, most)
		}
	}
	return nil
}
