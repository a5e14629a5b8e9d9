// Package verify checks a release by what stands beside it: the plan's signatures, the promise that follows from its
// numbers, and the receipts that hops have signed. Used by cmd/confetti/internal/release and
// internal/service/console, and by anybody who doubts.
//
// It knows the kinds of questions that a program links: question/all, or the kinds whose releases it verifies.
package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Evidence is what there is to verify.
type Evidence struct {
	Files map[string][]byte // by Published, SignedFile, PlanFile, relay.WithdrawalFile and, where Columns is set, tables as Parquet
	// Others are names beside these, of files that no release has.
	Others []string
	// Plan is the name of the plan that somebody expects; "": nobody has said.
	Plan string
	// Asked are those who were asked what became of the plan since; none: nobody was.
	Asked []Asked
	// Version is the program's that looks, and Draw draws the page of a release of the plan as it does, by
	// its JSON and the report of an audit, where one is told of; nil: pages are not compared.
	Version string
	Draw    func(signed plan.Signed, json, audit []byte) ([]byte, error)
	// Answers writes up anew what is said of the answer, by the public state (nil: none, or too long), the table of counts
	// and the respondents of each crowd, and the table as it would be written; follows is false where it does not follow
	// from these. Nil: it is not compared.
	Answers func(p plan.Plan, state, counts []byte, respondents []int) (headline []release.Metric, sections []release.Section, again []byte, follows bool, err error)
	// Words writes the words of what a release says of the answer, and refuses a name that no release of the plan has.
	// Nil: names are not looked at.
	Words func(p plan.Plan, q question.Question, r *release.Release) error
	// Columns reports that a Parquet file says something else than the table of that name; nil: none is compared.
	Columns func(name string, table, parquet []byte) error
	// State copies the public state that the plan names, which may be too large to be held.
	State func(to io.Writer, name string) error
	// Trusted are the publishers that somebody expects; nil: it is said who signed, and not
	// asked whether that is the one.
	Trusted *plan.Publishers
	// Again draws the collections of the release's audit again, and says where they say
	// something else; nil: they are not drawn.
	Again func(p plan.Plan, report report.Report) error
}

// checks are what was looked at of a release, one after the other.
type checks struct {
	Evidence
	release  release.Release
	signed   plan.Signed
	protocol *protocol.Protocol
	promise  protocol.Promise
	Report
}

// found adds a finding, and reports whether it holds.
func (c *checks) found(what string, err error, format string, a ...any) bool {
	says := fmt.Sprintf(format, a...)
	if err != nil {
		says = err.Error()
	}
	c.Findings = append(c.Findings, Finding{what, err == nil, says})
	return err == nil
}

// Release looks at everything. The error is of what cannot be read at all.
func Release(e Evidence) (Report, error) {
	r, err := release.Read(bytes.NewReader(e.Files[release.JSONFile]))
	if err != nil {
		return Report{}, err
	}
	all := &checks{Evidence: e, release: r, Report: Report{Shows: shows}}
	if !all.plan() {
		all.left("everything else", "without the plan nothing follows")
		all.conclude("nobody")
		return all.written(), nil
	}
	all.planSignature()
	all.expected()
	table := all.signed.Plan.Route.Table != nil // which nobody signs, withdraws or logs
	if !table {
		all.withdrawn()
	}
	if all.promised() {
		all.audited()
		all.rounds()
		all.received()
		if !table {
			all.shown()
		}
		all.first()
	} else {
		all.left("everything else", "without a promise there is nothing that the release could keep")
	}
	by := strings.Join(all.signed.Signers(), " ")
	if table {
		by, all.Shows = all.signed.Plan.Analyzer.Operator, showsTable
	}
	all.conclude(by)
	return all.written(), nil
}

// left adds what is not looked at.
func (c *checks) left(what, why string) { c.Unchecked = append(c.Unchecked, Unchecked{what, why}) }

// plan finds the plan that the release is of.
func (c *checks) plan() bool {
	var err error
	c.signed, err = c.signedPlan()
	return c.found("plan", err, "%s %q, of which the release is", plan.Short(c.signed.Plan.Name()), c.signed.Plan.Title)
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
	follows, err := c.follows()
	if err == nil {
		err = states(c.release, follows)
	}
	c.found("guarantees", err, "the release states no less than what follows from the plan, and nothing else: %s", recomputed(follows))
	c.found("kind", c.kind(), "what the plan asks, of people, by the parties that it names")
	c.named("names", c.release)
	return true
}

// named asks whether a release has names of its plan alone: labels and sentences follow from these, and none is stored.
func (c *checks) named(what string, r release.Release) {
	if c.Words == nil {
		c.left(what, "that numbers and tables have names of the plan: no program here reads them")
		return
	}
	c.found(what, c.Words(c.signed.Plan, c.protocol.Question, &r), "every number has a name of the plan's, from which its label follows: no label, title or note is stored")
}

// audited looks at the report of the analyzer's own attacks.
func (c *checks) audited() {
	text := c.Files[release.AuditFile]
	if text == nil {
		if c.Again != nil {
			c.found("audit", errors.New("there is none: its analyzer attacks no plans"), "")
		}
		return
	}
	report, err := report.ParseReport(text)
	if err == nil {
		err = report.Check(c.signed.Plan, c.promise.Statements)
	}
	switch holds := c.found("audit", err, "of this plan's claims, none of which it proves false"); {
	case holds && c.Again != nil:
		c.found("audit again", c.Again(c.signed.Plan, report), "the same collections were drawn again, and say the same")
	case holds:
		c.left("audit again", "that the audit's collections give what its report says: they are drawn again where that is asked for (--audit)")
	}
}

// rounds looks at what is said of the study, and of all its rounds so far.
func (c *checks) rounds() {
	if text := c.Files[studyFile]; text != nil || c.signed.Study != nil && c.signed.Study.Merged {
		follows, err := c.follows()
		if err == nil {
			err = merged(text, c.release, c.signed.Plan.Version >= 3, follows)
		}
		if err == nil && text != nil {
			err = c.mergedNames(text)
		}
		c.found("all rounds", err, "the release of all rounds so far states no less, since each respondent answers one; that its numbers are those of its rounds is seen only where all of them are at hand")
	}
	if c.signed.Study != nil {
		composed, err := c.protocol.Composed(c.promise, *c.signed.Study)
		if err == nil {
			_, err = stated(c.release, composed)
		}
		c.found("study", err, "the release says no less than what follows for all rounds together")
	}
}

// shown looks at whether everybody is shown the same release, where the file of publishers
// names a log.
func (c *checks) shown() {
	if c.Trusted == nil || c.Trusted.Log.Key == "" {
		if text := c.Files[relay.EvidenceFile]; text != nil {
			if _, err := plan.ParseEvidence(text); err != nil {
				c.found("log", err, "")
			}
		}
		c.left("log", "that everybody is shown this plan and this release: a file of publishers that names a public log asks for it (--publishers)")
		return
	}
	var e *plan.Evidence
	var err error
	if text := c.Files[relay.EvidenceFile]; text != nil {
		e, err = plan.ParseEvidence(text)
	}
	if err == nil {
		of := relay.ReleaseOf(c.signed.Plan.Hash(), c.Files[relay.ReceiptsFile])
		err = c.Trusted.Log.Verify(of.Marshal(), e)
	}
	c.found("log", err, "its receipts stand in the public log, where everybody sees whether there is another release")
}

// signers names who signs for batches on a route.
func signers(r plan.Route) string {
	if r.Sum != nil {
		return "aggregators"
	}
	return "hops"
}

// received looks at what the hops have signed for, and at what the receipts are of.
func (c *checks) received() {
	if c.signed.Plan.Route.Table != nil {
		c.left("receipts", "there are none: no device answered, and the holder alone knows the rows")
		c.page(release.PageFile)
		c.columns()
		c.answers([]int{c.release.Crowds[0].Smallest})
		return
	}
	if c.Files[relay.ReceiptsFile] == nil {
		c.found("receipts", errors.New(receiptless(c.release)), "")
		return
	}
	receipts, err := relay.ParseReceipts(c.Files[relay.ReceiptsFile])
	if err != nil {
		c.found("receipts", err, "")
		return
	}
	c.found("missing", c.missing(receipts), "every file that the analyzer signed for is here")
	c.found("surplus", c.surplus(), "no file is here that nobody signed for")
	c.found("numbers", c.releaseSignature(), "signed by the analyzer that the plan names, %s", c.signed.Plan.Analyzer.Releases)
	for _, name := range Published {
		if text, there := c.Files[name]; there && !slices.Contains([]string{relay.ReceiptsFile, relay.SignatureFile, relay.EvidenceFile}, name) {
			var err error
			if receipts.Files[Format(name)] != relay.FileDigest(text) {
				err = errors.New("the receipts are of other bytes: the file was changed, or belongs to another release")
			}
			c.found(name, err, "byte for byte what the receipts are of")
		}
	}
	c.page(release.PageFile)
	c.page(studyPage)
	c.columns()
	by := signers(c.signed.Plan.Route)
	batches, err := receipts.Check(c.signed.Plan)
	if err == nil && len(batches) == 0 {
		err = errors.New("they are of no batch, and a release rests on some")
	}
	if !c.found("receipts", err, "%s", vouched(batches, by)) {
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
	c.found("kept", c.protocol.CheckBatch(smallest), "the promise holds for the smallest batch, of which %s opened", numerals.Count(smallest, "whole contribution", "whole contributions"))
	c.found("crowds", c.crowds(batches, receipts.Batches), "the release has the smallest batch of each crowd, and what was dropped, as the receipts have them")
	counted := make([]int, c.signed.Plan.Crowds())
	for _, b := range batches {
		if b.Crowd < len(c.release.Crowds) && c.release.Crowds[b.Crowd].Smallest > 0 {
			counted[b.Crowd] += b.Respondents
		}
	}
	for i := range counted {
		counted[i] /= c.signed.Plan.Contributions()
	}
	c.answers(counted)
	c.found("respondents", claimed(c.release, respondents, by), "the release counts no more than the %d that the %s have signed for", respondents, by)
}

// signedPlan returns the plan and who has signed it; nobody where there is only a plan.
func (c *checks) signedPlan() (s plan.Signed, err error) {
	files := c.Files
	switch {
	case files[SignedFile] != nil:
		if s, err = plan.ParseSigned(files[SignedFile]); err == nil {
			err = s.Verify(plan.Trust(s.Signers()...))
		}
	case files[PlanFile] != nil:
		if s.Plan, err = author.Parse(files[PlanFile]); err == nil {
			err = protocol.Validate(s.Plan)
		}
	default:
		err = errors.New("the plan is not here, without which nothing can be recomputed: get the release with confetti release fetch")
	}
	if err == nil && s.Plan.Name() != c.release.Plan {
		err = errors.New("the release is of another plan")
	}
	if text := files[PlanFile]; err == nil && text != nil {
		if p, other := author.Parse(text); other != nil || p.Name() != s.Plan.Name() {
			err = fmt.Errorf("%s says something else than %s, which is signed", PlanFile, SignedFile)
		}
	}
	return s, err
}
