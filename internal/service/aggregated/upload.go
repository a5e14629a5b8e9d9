package aggregated

import (
	"context"
	"errors"
	"net/http"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// putReport answers POST /tasks/{task}/reports: 200 when the report is on disk. A
// respondent sends one, alone: its credential is for one. Who may send, and when, is decided
// as at an entry, in package serve; the rules of package admission are of envelopes, of which a
// report has none.
func (s *Service) putReport(w http.ResponseWriter, r *http.Request) error {
	c, err := s.pathTask(r, dap.UploadType)
	if err != nil {
		return err
	}
	p := c.of
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if err := s.o.IsOpen(p.plan.Times, closed); err != nil {
		return err
	}
	respondent, err := p.auth.Respondent(r)
	if err != nil {
		return err
	}
	if err := s.rates.Allow(respondent); err != nil {
		return err
	}
	if err := serve.Enter(r, respondent); err != nil {
		return err
	}
	size := c.ReportSize()
	body, err := serve.ReadBodyInto(w, r, int64(size), s.buffer())
	if err != nil {
		return err
	}
	if len(body) != size {
		return wire.Problemf(wire.ContributionRefused, "the body has %d bytes: the plan wants %d from everybody", len(body), size)
	}
	all, err := dap.ParseUpload(body, 1)
	if err != nil {
		return wire.Problemf(wire.ContributionRefused, "%w", err)
	}
	if now := task.Unit(s.o.Now()); all[0].Time > now+1 || all[0].Time+1 < task.Unit(p.plan.Times.Opens) {
		return wire.Problemf(wire.ContributionRefused, "the report's time is not one of the collection")
	}
	if err := s.keep(r.Context(), p, rows.Report{Respondent: respondent, Name: all[0].ID, Crowd: c.number, Body: body}); err != nil {
		return err
	}
	s.buffers.Put(&body) // nobody has it any more
	w.WriteHeader(http.StatusOK)
	return nil
}

// buffer is memory for the body of a report, perhaps of one that is kept.
func (s *Service) buffer() []byte {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return *b
	}
	return nil
}

// pathTask finds the task of a request whose body is of a type.
func (s *Service) pathTask(r *http.Request, mediaType string) (*crowd, error) {
	id, err := dap.PathTask(r)
	if err != nil {
		return nil, wire.Problemf(wire.BadRequest, "%w", err)
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), mediaType); err != nil {
		return nil, err
	}
	return s.task(id)
}

// keep returns once a report is on disk, or why it never will be. Those who come together share
// one write.
func (s *Service) keep(ctx context.Context, p *served, r rows.Report) error {
	switch err := p.kept.Take(ctx, r); {
	case errors.Is(err, keep.ErrTaken):
		return wire.Problemf(wire.AlreadyContributed, "another report of this respondent is here")
	case errors.Is(err, keep.ErrSealed), errors.Is(err, keep.ErrDropped):
		return wire.Problemf(wire.EpochOver, "the plan has closed")
	case err != nil:
		return shelves.Answer(err)
	}
	return s.o.Failpoint("reports-kept")
}
