package account

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Audit is confetti audit: what an attacker finds, beside what is claimed.
type Audit struct {
	Plan      string  `help:"Attack the whole route of this plan, in TOML or JSON, signed or not: devices, hops, counter." type:"path" placeholder:"FILE"`
	Mechanism string  `help:"Or one mechanism: ${attacked}." placeholder:"NAME"`
	Delta     float64 `help:"Probability that the claim may fail by." default:"1e-6"`
	Canaries  int     `help:"Plans of sums of vectors and of gradients, vector, gaussian, discrete-gaussian: respondents whose records are canaries in one run, beside." placeholder:"N"`
	Sealed    bool    `help:"With --plan: let a collection go the whole way sealed, however many envelopes that takes; without it, up to 50,000."`
	State     string  `help:"With --plan: the public state that it names; without it, the first round's is made." type:"path" placeholder:"FILE"`
	Runs      int     `help:"How many collections are drawn; 0 for some ten seconds' worth."`
	Seed      uint64  `help:"The same seed gives the same audit." default:"1"`
	JSON      bool    `help:"Print JSON."`
	numbers
}

func (Audit) Help() string {
	return `Puts one of two neighbouring records to what ships, many times, guesses which it was from what the observer sees,
and prints the epsilon that the right guesses prove beside the one that is claimed. Fails if the claim is false.

Examples:
  confetti audit --plan plan.toml --rounds 3
  confetti audit --mechanism rr --users 1000 --rounds 4 --flip-probability 0.2 --delta 1e-6
  confetti audit --mechanism gaussian --sigma 10 --sensitivity 1 --rounds 40 --canaries 5000 --delta 1e-6
  confetti audit --mechanism krr --users 500 --symbols 8 --local-epsilon 3 --delta 1e-6 --json`
}

func (c Audit) Run(std terminal.Streams) error {
	if c.Canaries < 0 {
		return terminal.Usagef("--canaries is %d: give how many respondents are canaries, or 0", c.Canaries)
	}
	if c.Runs < 0 {
		return terminal.Usagef("--runs is %d: give how many collections are drawn, or 0", c.Runs)
	}
	switch {
	case c.Plan != "":
		return c.plan(std)
	case c.State != "":
		return terminal.Usagef("--state is of a plan's round: give --plan")
	case c.Mechanism == "":
		return terminal.Usagef("--plan or --mechanism is missing: give a plan's file, or one of %s", strings.Join(named(attacked), ", "))
	}
	p := parameters{c.Mechanism, c.numbers}
	if _, err := choose(c.Mechanism, attacked); err != nil {
		return err
	}
	m, err := p.check()
	if err != nil {
		return err
	}
	if err := flags.Probability("delta", c.Delta); err != nil {
		return err
	}
	if err := m.hides(p, c.Canaries); err != nil { // before the long work
		return err
	}
	claim, err := m.claim(p, c.Delta)
	if err != nil {
		return m.refused(err, "delta")
	}
	start := time.Now()
	report, finish := terminal.Progress(std.Err)
	findings, err := c.attack(m, p, claim, report)
	finish()
	if err != nil {
		return err
	}
	return printed{subject: c.Mechanism, findings: findings, took: time.Since(start)}.print(std, c.JSON)
}

// sealable is how many envelopes are sealed unasked: they take half a minute or so.
const sealable = 50_000

// plan attacks the route of a plan, before each observer of its promise.
func (c Audit) plan(std terminal.Streams) error {
	flags := given(c)
	delete(flags, "rounds")
	if c.Mechanism != "" || len(flags) > 0 {
		return terminal.Usagef("a plan says all of its mechanism: leave out --mechanism and its flags beside --plan, but for --rounds")
	}
	p, _, _, err := plans.ReadAny(c.Plan)
	if err != nil {
		return err
	}
	rounds := audit.Rounds{Count: value(c.Rounds)}
	if c.State != "" {
		if rounds.State, err = atomicfile.Read(c.State); err != nil {
			return err
		}
	}
	start := time.Now()
	report, finish := terminal.Progress(std.Err)
	defer finish()
	route, err := audit.NewRoute(p, rounds, c.Seed)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Plan, err)
	}
	out := printed{subject: c.Plan}
	if out.envelopes, err = route.Envelopes(); err != nil {
		return fmt.Errorf("%s: %w", c.Plan, err)
	}
	if c.Sealed || out.envelopes <= sealable {
		sealed, err := route.Seal(c.Seed, report)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Plan, err)
		}
		out.sealed = &sealed
	}
	var hidden []audit.Finding
	if c.Canaries > 0 { // before the long work
		if hidden, err = route.Canaries(c.Canaries, c.Seed, report); err != nil {
			return terminal.Usagef("%s: %s (set by --canaries)", c.Plan, strings.TrimPrefix(err.Error(), "audit: "))
		}
	}
	if out.constants, err = route.Constants(c.Seed, report); err != nil {
		return fmt.Errorf("%s: %w", c.Plan, err)
	}
	findings, err := route.Attack(c.Runs, c.Seed, report)
	findings = append(findings, hidden...)
	finish()
	if err != nil {
		return fmt.Errorf("%s: %w", c.Plan, err)
	}
	out.findings, out.took = findings, time.Since(start)
	return out.print(std, c.JSON)
}

// attack looks at many collections and, where canaries are asked for, at one with them.
func (c Audit) attack(m mechanism, p parameters, claim account.Guarantee, report func(stage string, done, of int)) ([]audit.Finding, error) {
	observed, err := m.observed(p)
	if err != nil {
		return nil, m.refused(err)
	}
	observed = observed.Repeated(m.looks(p))
	runs := cmp.Or(c.Runs, observed.Runs())
	findings := []audit.Finding{observed.Attack(claim, runs, c.Seed, func(done, of int) { report("collections", done, of) })}
	if c.Canaries == 0 {
		return findings, nil
	}
	more, err := m.hide(p, c.Canaries, claim, c.Seed, func(done, of int) { report("reports", done, of) })
	return append(findings, more...), err
}

// observed returns what the mechanism's observer meets in one round.
func (m mechanism) observed(p parameters) (audit.Observed, error) {
	if m.noisy == nil {
		return m.attack(p)
	}
	s := m.noisy(p)
	return s.Observed(), s.Noise.Validate()
}

// hides refuses canaries that the mechanism has no room for.
func (m mechanism) hides(p parameters, canaries int) error {
	switch {
	case canaries == 0:
		return nil
	case !m.canaries():
		return terminal.Usagef("--mechanism %s has no room for canaries: leave --canaries out", m.name)
	}
	by, err := "--canaries", audit.EnoughCanaries(canaries)
	if m.sums != nil {
		var s audit.Sums
		s, err = m.sums(p)
		if s.Canaries = canaries; err == nil {
			err = s.Validate()
		}
		by = "--canaries, --users, --coordinates"
	}
	if err != nil {
		return terminal.Usagef("%s (set by %s)", strings.TrimPrefix(err.Error(), "audit: "), by)
	}
	return nil
}

// hide attacks one run in which so many respondents are canaries.
func (m mechanism) hide(p parameters, canaries int, claim account.Guarantee, seed uint64, report func(done, of int)) ([]audit.Finding, error) {
	if m.sums == nil {
		return m.noisy(p).Canaries(p.rounds(), canaries, claim, seed)
	}
	s, err := m.sums(p)
	if err != nil {
		return nil, err
	}
	s.Canaries = canaries
	return s.Attack(claim, seed, report)
}

// canaries says whether one run has room for many respondents that hardly disturb each
// other: sums of vectors, with Gaussian noise.
func (m mechanism) canaries() bool { return m.sums != nil || strings.HasSuffix(m.name, "gaussian") }

// sums returns those of the vectors that the parameters describe, of which two are at most two apart:
// everybody answers in every coordinate.
func (p parameters) sums() (audit.Sums, error) {
	d := *p.Coordinates
	spec := vector.Spec{
		Dimension: d, Rows: d, Answered: d, Envelopes: d, Flip: *p.FlipProbability, SquaredDistance: 4,
		Clip: math.Sqrt(float64(d) / *p.SquaredGap),
	}
	return audit.Sums{Rounds: slices.Repeat([]vector.Spec{spec}, p.rounds()), Users: *p.Users}, spec.Validate()
}

// claim returns what is promised of all rounds.
func (m mechanism) claim(p parameters, delta float64) (account.Guarantee, error) {
	if m.event == nil {
		return p.fragments().Central(delta)
	}
	return account.Epsilon(m.repeated(p), delta)
}

// looks returns how often the attack looks: fragments are rounds of one view.
func (m mechanism) looks(p parameters) int {
	if m.event == nil {
		return 1
	}
	return p.rounds()
}
