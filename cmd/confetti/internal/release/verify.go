package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/analyzer"
	"github.com/confetti-dp/confetti/audit"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/services"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/plan/author"
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

// evidence is what there is to verify: files by the names that release fetch gives, and
// the state that a plan names, which may be too large to be held.
type evidence struct {
	files map[string][]byte
	state func(to io.Writer, name string) error
}

// evidence finds it in a folder, or where it is published.
func (c releaseVerify) evidence() (evidence, error) {
	if strings.HasPrefix(c.From, "https://") {
		return c.fetch()
	}
	files := map[string][]byte{}
	for _, name := range append(releases.Published, releases.SignedFile, releases.PlanFile) {
		text, err := os.ReadFile(filepath.Join(c.From, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return evidence{}, err
		}
		files[name] = text
	}
	if files[page.JSONFile] == nil {
		return evidence{}, fmt.Errorf("there is no %s in %s: name the folder that confetti release fetch wrote, or the release's address", page.JSONFile, c.From)
	}
	return evidence{files, c.keptState}, nil
}

// keptState reads the state in the folder of a release.
func (c releaseVerify) keptState(to io.Writer, name string) error {
	f, err := os.Open(filepath.Join(c.From, releases.StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the plan names a public state, which is not here: get the release with confetti release fetch")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return plan.CopyState(to, f, name)
}

func (c releaseVerify) fetch() (evidence, error) {
	base, name, found := strings.Cut(c.From, "/v1/releases/")
	name, _, _ = strings.Cut(name, ".")
	if _, err := wire.ParsePlanName(name); !found || err != nil {
		return evidence{}, terminal.Usagef("%s is no release's address, which ends with /v1/releases/PLAN", c.From)
	}
	s, ctx, done, err := services.Flags{Roots: c.Roots}.Reach()
	if err != nil {
		return evidence{}, err
	}
	defer done()
	files, err := fetched(ctx, s, base, name)
	return evidence{files, func(to io.Writer, state string) error {
		s, ctx, done, err := services.Flags{Roots: c.Roots}.Reach()
		if err != nil {
			return err
		}
		defer done()
		return s.State(ctx, base, state, to)
	}}, err
}

// fetched gets a release and its plan from an analyzer by the plan's name.
func fetched(ctx context.Context, s *services.Services, base, name string) (map[string][]byte, error) {
	signed, err := s.Get(ctx, base+"/v1/plans/"+name)
	if err != nil {
		return nil, err
	}
	files, err := s.Published(ctx, base, name)
	if err == nil {
		files[releases.SignedFile] = signed
	}
	return files, err
}

// verify looks at everything. The error is of a release that cannot be read at all.
func (c releaseVerify) verify(e evidence) ([]finding, error) {
	files := e.files
	r, err := release.Read(bytes.NewReader(files[page.JSONFile]))
	if err != nil {
		return nil, err
	}
	var findings []finding
	found := func(what string, err error, format string, a ...any) bool {
		says := fmt.Sprintf(format, a...)
		if err != nil {
			says = err.Error()
		}
		findings = append(findings, finding{what, err == nil, says})
		return err == nil
	}
	signed, err := c.signed(files, r)
	p, publisher := signed.Plan, strings.Join(signed.Signers(), " ")
	if !found("plan", err, "%s %q, of which the release is", plan.Short(p.Name()), r.Title) {
		return findings, nil
	}
	switch {
	case publisher == "":
		found("signature", errors.New(unsigned(r)), "")
	case !c.Given():
		found("signature", nil, "of %s; whether that is the publisher you expect, --publisher asks", publisher)
	default:
		trusted, err := c.Trusted()
		if err != nil {
			return nil, err
		}
		found("signature", trusted.Stands(signed), "of %s", publisher)
	}
	if study := signed.Study; study != nil { // or it would not have been read
		found("round", nil, "%d of at most %d of study %s, of which each respondent answers %s; its coordinator signed it, and could choose number, state and times only", p.Round.Number, study.Rounds, plan.Short(p.Round.Study), study.Takes)
	}
	if p.State != "" {
		found("state", e.state(io.Discard, p.State), "%s, the one that the plan names", plan.Short(p.State))
	}
	proto, err := protocol.New(p)
	if err != nil {
		found("promise", err, "")
		return findings, nil
	}
	promise, err := proto.Promise()
	if !found("promise", err, "%s, of the %g promised", promise.Shuffled.Verdict(), p.Budget.Epsilon) {
		return findings, nil
	}
	found("guarantees", states(r, promise.Statements), "the release states no less than what follows from the plan")
	if text := files[release.AuditFile]; text != nil {
		report, err := audit.ParseReport(text)
		if err == nil {
			err = report.Check(p, promise.Statements, r)
		}
		if found("audit", err, "of this plan's claims, none of which it proves false, and what the release says of it") && c.Audit {
			found("audit again", c.again(p, e, report), "the same collections were drawn again, and say the same")
		}
	} else if c.Audit {
		found("audit", errors.New("there is none: its analyzer attacks no plans"), "")
	}
	if text := files[releases.StudyFile]; text != nil || signed.Study != nil && signed.Study.Merged {
		found("all rounds", merged(text, r, promise), "the release of all rounds so far states no less, since each respondent answers one")
	}
	if signed.Study != nil {
		found("study", inStudy(r, proto, promise, *signed.Study), "the release says which round it is of, and no less than what follows for all rounds together")
	}
	if files[wire.ReceiptsFile] == nil {
		found("receipts", errors.New(receiptless(r)), "")
		return findings, nil
	}
	receipts, err := wire.ParseReceipts(files[wire.ReceiptsFile])
	if err != nil {
		found("receipts", err, "")
		return findings, nil
	}
	for _, name := range releases.Published {
		if text, there := files[name]; there && name != wire.ReceiptsFile {
			var err error
			if receipts.Files[releases.Format(name)] != wire.FileDigest(text) {
				err = errors.New("the receipts are of other bytes: the file was changed, or belongs to another release")
			}
			found(name, err, "byte for byte what the receipts are of")
		}
	}
	batches, err := receipts.Check(p)
	if !found("receipts", err, "%s", vouched(batches)) {
		return findings, nil
	}
	smallest, respondents := 0, 0
	for i, b := range batches {
		if i == 0 || b.Whole < smallest {
			smallest = b.Whole
		}
		respondents += b.Respondents
	}
	found("kept", analyzer.KeptBy(proto, smallest), "the promise holds for the smallest batch, of which %s opened", serve.Count(smallest, "whole contribution", "whole contributions"))
	found("respondents", claimed(r, respondents/p.Contributions()), "the release counts no more than the %d that the hops have signed for", respondents/p.Contributions())
	return findings, nil
}

// again draws the collections of an audit again.
func (c releaseVerify) again(p plan.Plan, e evidence, report audit.Report) error {
	var state []byte
	if p.State != "" {
		var b bytes.Buffer
		if err := e.state(&b, p.State); err != nil {
			return err
		}
		state = b.Bytes()
	}
	return report.Same(audit.Of(p, state, func(string, int, int) {}))
}

// signed is the plan and who has signed it; nobody where there is only a plan.
func (c releaseVerify) signed(files map[string][]byte, r release.Release) (s plan.Signed, err error) {
	switch {
	case files[releases.SignedFile] != nil:
		if s, err = plan.ParseSigned(files[releases.SignedFile]); err == nil {
			err = s.Verify(plan.Trust(s.Signers()...))
		}
	case files[releases.PlanFile] != nil:
		if s.Plan, err = author.Parse(files[releases.PlanFile]); err == nil {
			err = protocol.Validate(s.Plan)
		}
	default:
		err = errors.New("the plan is not here, without which nothing can be recomputed: get the release with confetti release fetch")
	}
	if err == nil && s.Plan.Name() != r.Plan {
		err = errors.New("the release is of another plan")
	}
	return s, err
}

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

// merged compares what the release of all rounds so far states with what follows for one.
func merged(text []byte, newest release.Release, promise protocol.Promise) error {
	if text == nil {
		return fmt.Errorf("there is none: its study publishes one beside each release, %s", releases.StudyFile)
	}
	r, err := release.Read(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if r.Plan != newest.Plan {
		return errors.New("it is of another plan than the release beside it")
	}
	return states(r, promise.Statements)
}

// inStudy compares what the release says of its study with what follows from that.
func inStudy(r release.Release, p *protocol.Protocol, promise protocol.Promise, s plan.Study) error {
	if !slices.Contains(r.Notes, p.InStudy(s)) {
		return errors.New("the release does not say which round of which study it is of")
	}
	composed, err := p.Composed(promise, s)
	return errors.Join(err, states(r, composed))
}

// states compares what the release says with what follows from its plan. An older
// program may have proved less; less than what follows is false.
func states(r release.Release, follows []account.Statement) error {
	for _, want := range follows {
		stated := false
		for _, s := range r.Guarantees {
			g := s.Guarantee
			if s.Observer == want.Observer && g.Adjacency == want.Guarantee.Adjacency && g.Trust == want.Guarantee.Trust {
				stated = true
				if g.Epsilon < want.Guarantee.Epsilon*lower || g.Delta < want.Guarantee.Delta*lower {
					return fmt.Errorf("for %q the release states epsilon %.6g at delta %.3g, and from the plan follows epsilon %.6g at delta %.3g", s.Observer, g.Epsilon, g.Delta, want.Guarantee.Epsilon, want.Guarantee.Delta)
				}
			}
		}
		if !stated {
			return fmt.Errorf("the release does not say what %q may learn", want.Observer)
		}
	}
	return nil
}

// vouched says what hops have signed for.
func vouched(batches []wire.Vouched) string {
	lost, unsigned, hops := 0, 0, 0
	for _, b := range batches {
		lost += b.Lost
		unsigned += b.Unsigned
		hops += b.Hops
	}
	text := fmt.Sprintf("%s by %s of hops, each following the one before it", serve.Count(len(batches), "batch, signed for", "batches, signed for"), serve.Count(hops-unsigned, "receipt", "receipts"))
	if unsigned > 0 {
		text += fmt.Sprintf("; %s not signed, since the plan names no key", serve.Count(unsigned, "other is", "others are"))
	}
	if lost > 0 {
		text += fmt.Sprintf("; %s on the way or did not open", serve.Count(lost, "envelope was dropped", "envelopes were dropped"))
	}
	return text
}

// claimed compares the number of respondents in the headline, if there is one.
func claimed(r release.Release, most int) error {
	for _, m := range r.Headline {
		if m.Name == "respondents" && m.Value > float64(most) {
			return fmt.Errorf("the release counts %.0f respondents, and the hops have signed for %d", m.Value, most)
		}
	}
	return nil
}
