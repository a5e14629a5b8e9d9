package analyzerd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/release"
)

// What the service tells of plans is package progress's.
type (
	Status     = progress.Status
	Plan       = progress.Plan
	Withdrawal = progress.Withdrawal
	Budget     = progress.Budget
)

// How far a plan has come.
const (
	Open      = progress.Open
	Closed    = progress.Closed
	Failed    = progress.Failed
	Released  = progress.Released
	Withheld  = progress.Withheld
	Withdrawn = progress.Withdrawn
)

// The formats of a release, as the ends of its files' names.
const (
	formatJSON     = "json"
	formatHTML     = "html"
	formatCounts   = sheets.CountsFile // of histograms
	formatReceipts = relay.ReceiptsFile
	// Of the receipts, and so of all: the analyzer's signature.
	formatSignature = relay.SignatureFile
	formatAudit     = release.AuditFile // where plans are attacked

	// Of all rounds so far, where a study merges them.
	formatStudyJSON = "study.json"
	formatStudyHTML = "study.html"
)

// describe tells a plan, without its title where it cannot be read any more.
func (s *Service) describe(ctx context.Context, p rows.Plan) Plan {
	d := Plan{
		Plan: p.Name, Publisher: p.Spending.Publisher, Status: Open,
		Registered: p.Registered, Closed: p.Closed, Closer: p.Closer, Decided: p.Decided, Reason: p.Reason,
	}
	if o, err := s.outline(ctx, p.Name); err == nil {
		d.Study, d.Round = o.round.Study, o.round.Number
		d.Title, d.Closes, d.Formats = o.title, o.closes, []string{formatHTML, formatJSON, formatReceipts}
		if o.releaser {
			d.Formats = append(d.Formats, formatSignature)
		}
		if o.merged {
			d.Formats = append(d.Formats, formatStudyHTML, formatStudyJSON)
		}
		if o.counts {
			d.Formats = append([]string{formatCounts}, d.Formats...)
		}
	}
	if !p.Released {
		d.Formats = nil
	} else if s.o.Audit != nil {
		if _, _, err := s.o.Store.Release(ctx, p.Name, formatAudit); err == nil {
			d.Formats = append([]string{formatAudit}, d.Formats...)
		}
	}
	if d.Study != "" && !p.Decided.IsZero() {
		if next, err := s.o.Store.Following(ctx, p.Name); err == nil {
			d.Over = next.Reason
		}
	}
	if hash, err := wire.ParsePlanName(p.Name); err == nil {
		if w, is := s.withdrawals.Find(hash); is {
			d.Withdrawal = &Withdrawal{Publisher: w.Publisher, At: w.At, Reason: w.Reason}
		}
	}
	d.Suspended = p.Decided.IsZero() && s.suspended(ctx, p.Name) != nil
	d.Coming = p.Decided.IsZero() && d.Round > 1 && s.coming(ctx, d)
	switch {
	case p.Released:
		d.Status = Released
	case p.Withdrawn:
		d.Status = Withdrawn
	case !p.Decided.IsZero():
		d.Status = Withheld
	case len(s.failed(p.Name)) > 0:
		d.Status = Failed
	case !p.Closed.IsZero():
		d.Status = Closed
	}
	return d
}

// Plans returns every registered plan, without what is only its operators' business.
func (s *Service) Plans(ctx context.Context) ([]Plan, error) {
	stored, err := s.o.Store.Plans(ctx)
	return s.public(ctx, stored), err
}

func (s *Service) public(ctx context.Context, stored []rows.Plan) []Plan {
	all := make([]Plan, len(stored))
	for i, p := range stored {
		all[i] = s.describe(ctx, p)
		all[i].Closer = ""
	}
	return all
}

// ListPlans reads the plans of an analyzer, page after page (progress.Plans).
func ListPlans(ctx context.Context, base string, get func(context.Context, string) ([]byte, error)) ([]Plan, error) {
	return progress.Plans(ctx, base, get)
}

// getPlans answers GET /v1/plans: a page of them.
func (s *Service) getPlans(w http.ResponseWriter, r *http.Request) error {
	asked, err := url.ParseQuery(r.URL.RawQuery)
	after := asked.Get("after")
	if err != nil || len(asked["after"]) > 1 || asked.Has("after") && !isPlanName(after) {
		return wire.Problemf(wire.BadRequest, "after in the query is not the name of one plan, 64 lower-case hex digits: ask for the page behind a plan that the page before has")
	}
	stored, err := s.o.Store.After(r.Context(), after, progress.Page)
	if errors.Is(err, rows.ErrUnknown) {
		return wire.Problemf(wire.NotFound, "no plan of that name is registered here, so that no page is behind it: begin with the first page")
	}
	if err != nil {
		return err
	}
	return serve.WriteJSON(w, s.public(r.Context(), stored))
}

func isPlanName(name string) bool {
	_, err := wire.ParsePlanName(name)
	return err == nil
}

// getReleases answers GET /v1/releases: plans on which there is a verdict.
func (s *Service) getReleases(w http.ResponseWriter, r *http.Request) error {
	all, err := s.Plans(r.Context())
	if err != nil {
		return err
	}
	decided := []Plan{}
	for _, p := range all {
		if !p.Decided.IsZero() {
			decided = append(decided, p)
		}
	}
	return serve.WriteJSON(w, decided)
}

// getPlan answers GET /v1/plans/{plan} with the plan as its publisher signed it.
func (s *Service) getPlan(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	name, kind := nameOf(hash), wire.SignedPlanType
	// Whoever checks a release needs its plan, whatever became of its publishers.
	if p, err := s.o.Store.Plan(r.Context(), name); err != nil || !p.Released {
		if err := s.standing(r.Context(), hash); err != nil {
			return storeProblem(err)
		}
	}
	if o, err := s.outline(r.Context(), name); err == nil {
		kind = wire.PlanType(o.signed)
	}
	t, done, err := s.texts.read(name, func() ([]byte, [32]byte, error) {
		signed, err := s.o.Store.Signed(r.Context(), name)
		return signed, [32]byte{}, err
	})
	if err != nil {
		return storeProblem(err)
	}
	defer done()
	w.Header().Set("Content-Type", kind)
	_, err = w.Write(t.body)
	return err
}

// getStatus answers GET /v1/plans/{plan}/status.
func (s *Service) getStatus(w http.ResponseWriter, r *http.Request) error {
	name, err := planName(r)
	if err != nil {
		return err
	}
	p, err := s.o.Store.Plan(r.Context(), name)
	if err != nil {
		return storeProblem(err)
	}
	o, err := s.outline(r.Context(), name)
	if err != nil {
		return err
	}
	batches, err := s.o.Store.Batches(r.Context(), name)
	if err != nil {
		return err
	}
	out := progress.Progress{Plan: s.describe(r.Context(), p), Crowds: o.crowds, Instances: o.instances, Batches: []progress.Batch{}}
	for _, b := range batches {
		out.Batches = append(out.Batches, progress.Batch{Instance: b.Instance, Crowd: b.Crowd, Respondents: b.Respondents, Whole: b.Smallest, Dropped: b.Dropped, Counted: b.Counted})
	}
	return serve.WriteJSON(w, out)
}

var releaseTypes = map[string]string{
	formatJSON: "application/json", formatHTML: "text/html; charset=utf-8",
	formatCounts: "text/csv; charset=utf-8; header=present", formatReceipts: "application/json",
	formatStudyJSON: "application/json", formatStudyHTML: "text/html; charset=utf-8", formatAudit: "application/json",
	formatEvidence: "text/plain; charset=utf-8", formatSignature: "text/plain; charset=utf-8",
}

// A page of a release has its own style and drawings and needs nothing else.
const releasePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"

// getRelease answers GET /v1/releases/{plan}.FORMAT.
func (s *Service) getRelease(w http.ResponseWriter, r *http.Request) error {
	name, format, _ := strings.Cut(r.PathValue("file"), ".")
	if _, err := wire.ParsePlanName(name); err != nil || releaseTypes[format] == "" {
		return wire.Problemf(wire.NotFound, "a release is PLAN.json, PLAN.html, PLAN.%s, PLAN.%s, PLAN.%s or PLAN.%s, and of a study that is merged PLAN.%s or PLAN.%s", formatCounts, formatReceipts, formatSignature, formatAudit, formatStudyJSON, formatStudyHTML)
	}
	p, err := s.o.Store.Plan(r.Context(), name)
	if err != nil {
		return storeProblem(err)
	}
	switch s.describe(r.Context(), p).Status {
	case Failed:
		return wire.Problemf(wire.SumFailed, "%s", strings.Join(s.failed(name), "; "))
	case Open, Closed:
		return wire.Problemf(wire.NotClosed, "there is no release yet")
	case Withdrawn:
		return wire.Problemf(wire.PlanWithdrawn, "%s", p.Reason)
	case Withheld:
		code := wire.Withheld
		switch p.Missed {
		case question.TooLate:
			code = wire.RowLate
		case question.RowFailed:
			code = wire.RowFailed
		}
		return wire.Problemf(code, "%s", p.Reason)
	}
	load := func() ([]byte, [32]byte, error) { return s.o.Store.Release(r.Context(), name, format) }
	if format == formatEvidence {
		load = func() ([]byte, [32]byte, error) { return s.logged.of(name) }
	}
	t, done, err := s.texts.read(name+"."+format, load)
	if errors.Is(err, rows.ErrUnknown) {
		return wire.Problemf(wire.NotFound, "the release was not written in this format")
	}
	if err != nil {
		return err
	}
	defer done()
	h := w.Header()
	h.Set("Content-Type", releaseTypes[format])
	if format != formatEvidence { // another checkpoint is as good
		h.Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", t.digest)))
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if format == formatHTML || format == formatStudyHTML {
		h.Set("Content-Security-Policy", releasePolicy)
	}
	_, err = w.Write(t.body)
	return err
}
