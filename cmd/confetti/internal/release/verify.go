package release

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/analyzer"
	"github.com/confetti-dp/confetti/audit"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

type releaseVerify struct {
	From string `arg:"" help:"The folder that release fetch wrote, or the address of the release: https://ANALYZER/v1/releases/PLAN."`
	flags.Trust
	Roots string `help:"PEM file of the analyzer's authorities; the system's without it." type:"path" placeholder:"FILE"`
	Audit bool   `help:"Draw the collections of the release's audit again, which takes some half a minute, and compare."`
	JSON  bool   `help:"Print JSON."`
}

func (releaseVerify) Help() string {
	return `Recomputes the promise from the signed plan's numbers and for those who really
answered, and checks the publisher's signature and the receipts that the hops
signed for the batches that were counted.

` + verified + `

Example:
  confetti release verify release
  confetti release verify https://analyzer.example:8443/v1/releases/b842e62c60808415850e3f02336c80ac9693491445b06280e444feaa0cc6965f`
}

// verified says what is known after a verification.
const verified = `It shows that the publisher signed this plan, or the study that it is a round of, whose
coordinator signed the round; that the promise follows from its numbers; that the public
state is the one that the plan names; and that the hops that the plan names signed for the batches, with so many
respondents in each, that the analyzer says it counted. It cannot show that a hop kept
its permutation to itself, that respondents exist and told the truth, or that the
numbers are those that were in the batches: the analyzer alone has opened them.`

// finding is one thing that was looked at.
type finding struct {
	What  string `json:"what"`
	Holds bool   `json:"holds"`
	Says  string `json:"says"`
}

func (c releaseVerify) Run(std terminal.Streams) error {
	e, err := c.evidence()
	if err != nil {
		return err
	}
	findings, err := c.verify(e)
	if err != nil {
		return fmt.Errorf("%s: %w", c.From, err)
	}
	bad := 0
	for _, f := range findings {
		if !f.Holds {
			bad++
		}
	}
	if c.JSON {
		err = terminal.WriteJSON(std.Out, struct {
			Holds    bool      `json:"holds"`
			Findings []finding `json:"findings"`
		}{bad == 0, findings})
	} else {
		err = tell(std.Out, findings)
	}
	if err == nil && bad > 0 {
		return fmt.Errorf("of %s %d did not hold", serve.Count(len(findings), "check", "checks"), bad)
	}
	return err
}

func tell(out io.Writer, findings []finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		mark := "holds"
		if !f.Holds {
			mark = "DOES NOT"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.What, mark, plain.Text(f.Says))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", verified)
	return err
}

// checks are what was looked at of a release, one after the other.
type checks struct {
	releaseVerify
	evidence
	release  release.Release
	signed   plan.Signed
	protocol *protocol.Protocol
	promise  protocol.Promise
	all      []finding
}

// found adds a finding, and reports whether it holds.
func (c *checks) found(what string, err error, format string, a ...any) bool {
	says := fmt.Sprintf(format, a...)
	if err != nil {
		says = err.Error()
	}
	c.all = append(c.all, finding{what, err == nil, says})
	return err == nil
}

// verify looks at everything. The error is of what cannot be read at all.
func (c releaseVerify) verify(e evidence) ([]finding, error) {
	r, err := release.Read(bytes.NewReader(e.files[page.JSONFile]))
	if err != nil {
		return nil, err
	}
	all := &checks{releaseVerify: c, evidence: e, release: r}
	if !all.plan() {
		return all.all, nil
	}
	if err := all.signature(); err != nil {
		return nil, err
	}
	if all.promised() {
		all.audited()
		all.rounds()
		all.received()
		if err := all.shown(); err != nil {
			return nil, err
		}
	}
	return all.all, nil
}

// plan finds the plan that the release is of.
func (c *checks) plan() bool {
	var err error
	c.signed, err = c.evidence.signed(c.release)
	return c.found("plan", err, "%s %q, of which the release is", plan.Short(c.signed.Plan.Name()), c.release.Title)
}

// signature looks at whose the plan is, and what it was asked with.
func (c *checks) signature() error {
	p, publisher := c.signed.Plan, strings.Join(c.signed.Signers(), " ")
	switch {
	case publisher == "":
		c.found("signature", errors.New(unsigned(c.release)), "")
	case !c.Given():
		c.found("signature", nil, "of %s; whether that is the publisher you expect, --publisher asks", publisher)
	default:
		trusted, err := c.Trusted()
		if err != nil {
			return err
		}
		c.found("signature", c.signed.Verify(trusted), "of %s", publisher)
	}
	if study := c.signed.Study; study != nil { // or it would not have been read
		c.found("round", nil, "%d of at most %d of study %s, of which each respondent answers %s; its coordinator signed it, and could choose number, state and times only", p.Round.Number, study.Rounds, plan.Short(p.Round.Study), study.Takes)
	}
	if p.State != "" {
		c.found("state", c.state(io.Discard, p.State), "%s, the one that the plan names", plan.Short(p.State))
	}
	return nil
}

// promised computes the promise anew, and compares what the release states.
func (c *checks) promised() bool {
	var err error
	if c.protocol, err = protocol.New(c.signed.Plan); err == nil {
		c.promise, err = c.protocol.Promise()
	}
	if !c.found("promise", err, "%s, of the %g promised", c.promise.Shuffled.Verdict(), c.signed.Plan.Budget.Epsilon) {
		return false
	}
	c.found("guarantees", states(c.release, c.promise.Statements), "the release states no less than what follows from the plan")
	return true
}

// audited looks at the report of the analyzer's own attacks.
func (c *checks) audited() {
	text := c.files[release.AuditFile]
	if text == nil {
		switch {
		case audit.Told(c.release):
			c.found("audit", fmt.Errorf("the release tells of one, and its report is missing (%s)", release.AuditFile), "")
		case c.Audit:
			c.found("audit", errors.New("there is none: its analyzer attacks no plans"), "")
		}
		return
	}
	report, err := audit.ParseReport(text)
	if err == nil {
		err = report.Check(c.signed.Plan, c.promise.Statements, c.release)
	}
	if c.found("audit", err, "of this plan's claims, none of which it proves false, and what the release says of it") && c.Audit {
		c.found("audit again", c.again(report), "the same collections were drawn again, and say the same")
	}
}

// again draws the collections of an audit again.
func (c *checks) again(report audit.Report) error {
	var state []byte
	if name := c.signed.Plan.State; name != "" {
		var b bytes.Buffer
		if err := c.state(&b, name); err != nil {
			return err
		}
		state = b.Bytes()
	}
	return report.Same(audit.Of(c.signed.Plan, state, func(string, int, int) {}))
}

// rounds looks at what is said of the study, and of all its rounds so far.
func (c *checks) rounds() {
	if text := c.files[releases.StudyFile]; text != nil || c.signed.Study != nil && c.signed.Study.Merged {
		c.found("all rounds", merged(text, c.release, c.promise), "the release of all rounds so far states no less, since each respondent answers one")
	}
	if c.signed.Study != nil {
		c.found("study", inStudy(c.release, c.protocol, c.promise, *c.signed.Study), "the release says which round it is of, and no less than what follows for all rounds together")
	}
}

// shown looks at whether everybody is shown the same release, where the file of publishers
// names a log.
func (c *checks) shown() error {
	trusted, err := c.Trusted()
	if err != nil || trusted.Log.Key == "" {
		return err
	}
	var e *plan.Evidence
	if text := c.files[wire.EvidenceFile]; text != nil {
		e, err = plan.ParseEvidence(text)
	}
	if err == nil {
		of := plan.Entry{Release: true, Plan: c.signed.Plan.Hash(), Digest: sha256.Sum256(c.files[wire.ReceiptsFile])}
		err = trusted.Log.Verify(of.Marshal(), e)
	}
	c.found("log", err, "its receipts stand in the public log, where everybody sees whether there is another release")
	return nil
}

// received looks at what the hops have signed for, and at what the receipts are of.
func (c *checks) received() {
	if c.files[wire.ReceiptsFile] == nil {
		c.found("receipts", errors.New(receiptless(c.release)), "")
		return
	}
	receipts, err := wire.ParseReceipts(c.files[wire.ReceiptsFile])
	if err != nil {
		c.found("receipts", err, "")
		return
	}
	for _, name := range releases.Published {
		if text, there := c.files[name]; there && name != wire.ReceiptsFile && name != wire.EvidenceFile {
			var err error
			if receipts.Files[releases.Format(name)] != wire.FileDigest(text) {
				err = errors.New("the receipts are of other bytes: the file was changed, or belongs to another release")
			}
			c.found(name, err, "byte for byte what the receipts are of")
		}
	}
	batches, err := receipts.Check(c.signed.Plan)
	if !c.found("receipts", err, "%s", vouched(batches)) {
		return
	}
	smallest, respondents := 0, 0
	for i, b := range batches {
		if i == 0 || b.Whole < smallest {
			smallest = b.Whole
		}
		respondents += b.Respondents
	}
	respondents /= c.signed.Plan.Contributions()
	c.found("kept", analyzer.KeptBy(c.protocol, smallest), "the promise holds for the smallest batch, of which %s opened", serve.Count(smallest, "whole contribution", "whole contributions"))
	c.found("respondents", claimed(c.release, respondents), "the release counts no more than the %d that the hops have signed for", respondents)
}
