package account

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/confetti-dp/confetti/audit"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/vector"
)

// Audit is confetti audit: what an attacker finds, beside what is claimed.
type Audit struct {
	Mechanism string  `help:"${attacked}." placeholder:"NAME"`
	Delta     float64 `help:"Probability that the claim may fail by." default:"1e-6"`
	Canaries  int     `help:"vector, gaussian, discrete-gaussian: respondents whose vectors are canaries in one run, beside." placeholder:"N"`
	Runs      int     `help:"How many collections are drawn; 0 for some ten seconds' worth."`
	Seed      uint64  `help:"The same seed gives the same audit." default:"1"`
	JSON      bool    `help:"Print JSON."`
	numbers
}

func (Audit) Help() string {
	return `Puts one of two neighbouring records to what ships, many times, guesses which it was from what the observer sees,
and prints the epsilon that the right guesses prove beside the one that is claimed. Fails if the claim is false.

Examples:
  confetti audit --mechanism rr --users 1000 --rounds 4 --flip-probability 0.2 --delta 1e-6
  confetti audit --mechanism gaussian --sigma 10 --sensitivity 1 --rounds 40 --canaries 5000 --delta 1e-6
  confetti audit --mechanism krr --users 500 --symbols 8 --local-epsilon 3 --delta 1e-6 --json`
}

func (c Audit) Run(std terminal.Streams) error {
	if c.Mechanism == "" {
		return terminal.Usagef("--mechanism is missing: give one of %s", strings.Join(named(attacked), ", "))
	}
	if c.Canaries < 0 {
		return terminal.Usagef("--canaries is %d: give how many respondents are canaries, or 0", c.Canaries)
	}
	if c.Runs < 0 {
		return terminal.Usagef("--runs is %d: give how many collections are drawn, or 0", c.Runs)
	}
	p := parameters{c.Mechanism, c.numbers}
	if _, err := choose(c.Mechanism, attacked); err != nil {
		return err
	}
	m, err := p.check()
	if err != nil {
		return err
	}
	if err := probability("delta", c.Delta); err != nil {
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
	return printAudit(std, c.JSON, c.Mechanism, findings, time.Since(start))
}

// attack looks at many collections and, where canaries are asked for, at one with them.
func (c Audit) attack(m mechanism, p parameters, claim account.Guarantee, report func(stage string, done, of int)) ([]audit.Finding, error) {
	observed, err := m.observed(p)
	if err != nil {
		return nil, m.refused(err)
	}
	observed = observed.Repeated(m.looks(p))
	runs := cmp.Or(c.Runs, observed.Runs())
	if c.Canaries != 0 && !m.canaries() { // before the long work
		return nil, terminal.Usagef("--mechanism %s has no room for canaries: leave --canaries out", m.name)
	}
	findings := []audit.Finding{observed.Attack(claim, runs, c.Seed, func(done, of int) { report("collections", done, of) })}
	if c.Canaries == 0 {
		return findings, nil
	}
	more, err := m.hide(p, c.Canaries, claim, c.Seed, func(done, of int) { report("reports", done, of) })
	if err != nil {
		return nil, terminal.Usagef("%s (set by --canaries, --users, --coordinates)", strings.TrimPrefix(err.Error(), "audit: "))
	}
	return append(findings, more...), nil
}

// observed is what the mechanism's observer meets in one round.
func (m mechanism) observed(p parameters) (audit.Observed, error) {
	if m.noisy == nil {
		return m.attack(p)
	}
	s := m.noisy(p)
	return s.Observed(), s.Noise.Validate()
}

// hide attacks one run in which so many respondents are canaries.
func (m mechanism) hide(p parameters, canaries int, claim account.Guarantee, seed uint64, report func(done, of int)) ([]audit.Finding, error) {
	if m.sums == nil {
		return m.noisy(p).Canaries(p.rounds(), canaries, claim, seed)
	}
	s, err := p.sums()
	if err != nil {
		return nil, err
	}
	s.Canaries = canaries
	return s.Attack(claim, seed, report)
}

// canaries says whether one run has room for many respondents that hardly disturb each
// other: sums of vectors, with Gaussian noise.
func (m mechanism) canaries() bool { return m.sums != nil || strings.HasSuffix(m.name, "gaussian") }

// sums are those of the vectors that the parameters describe, of which two are at most two apart:
// everybody answers in every coordinate.
func (p parameters) sums() (audit.Sums, error) {
	d := *p.Coordinates
	spec := vector.Spec{
		Dimension: d, Rows: d, Answered: d, Envelopes: d, Flip: *p.FlipProbability, SquaredDistance: 4,
		Clip: math.Sqrt(float64(d) / *p.SquaredGap),
	}
	return audit.Sums{Rounds: slices.Repeat([]vector.Spec{spec}, p.rounds()), Users: *p.Users}, spec.Validate()
}

// claim is what is promised of all rounds.
func (m mechanism) claim(p parameters, delta float64) (account.Guarantee, error) {
	if m.event == nil {
		return p.fragments().Central(delta)
	}
	return account.Epsilon(m.repeated(p), delta)
}

// looks is how often the attack looks: fragments are rounds of one view.
func (m mechanism) looks(p parameters) int {
	if m.event == nil {
		return 1
	}
	return p.rounds()
}

// finding is one in JSON.
type finding struct {
	Lower      float64           `json:"epsilon_lower"`
	Claimed    float64           `json:"epsilon_claimed"`
	Delta      float64           `json:"delta"`
	Adjacency  account.Adjacency `json:"adjacency"`
	Trust      account.Trust     `json:"trust"`
	Confidence float64           `json:"confidence"`
	Attack     string            `json:"attack"`
	Assumes    audit.Assumption  `json:"assumes"`
	Runs       int               `json:"runs"`
	Guesses    int               `json:"guesses"`
	Verdict    string            `json:"verdict"`
}

func document(f audit.Finding) finding {
	g := f.Claimed
	return finding{f.Lower, g.Epsilon, g.Delta, g.Adjacency, g.Trust, audit.Confidence, f.Attack, f.Assumes, f.Runs, f.Guesses, f.Verdict()}
}

// printAudit prints the answer, then the evidence; a false claim is a failure.
func printAudit(std terminal.Streams, asJSON bool, subject string, findings []audit.Finding, took time.Duration) error {
	best := audit.Best(findings)
	var err error
	if asJSON {
		out := struct {
			Subject string `json:"subject"`
			finding
			Findings []finding `json:"findings"`
			Seconds  float64   `json:"seconds"`
		}{Subject: subject, finding: document(best), Seconds: took.Seconds()}
		for _, f := range findings {
			out.Findings = append(out.Findings, document(f))
		}
		err = terminal.WriteJSON(std.Out, out)
	} else {
		err = writeAudit(std, best, findings, took)
	}
	if err == nil && best.False() {
		return fmt.Errorf("%s: %s", subject, best.Verdict())
	}
	return err
}

func writeAudit(std terminal.Streams, best audit.Finding, findings []audit.Finding, took time.Duration) error {
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "claimed\t%s\n", best.Claimed)
	fmt.Fprintf(w, "found\tepsilon above %.4g, with confidence %s (%s)\n", best.Lower, account.Percent(audit.Confidence), best.Assumes)
	fmt.Fprintf(w, "means\t%s\n", best.Verdict())
	if !best.Doubtful() {
		fmt.Fprintf(w, "\tthe loss of privacy lies between the two: %.4g is proved to be lost, and no more than %.4g can be\n", best.Lower, best.Claimed.Epsilon)
	}
	for _, f := range findings {
		fmt.Fprintf(w, "evidence\t%s: %s; epsilon above %.4g from %s guesses in %s collections\n", f.Attack, f.Assumes, f.Lower, thousands(f.Guesses), thousands(f.Runs))
	}
	fmt.Fprintf(w, "seconds\t%.1f\n", took.Seconds())
	return w.Flush()
}
