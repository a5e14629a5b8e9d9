package aggregated

import (
	"context"
	"errors"
	"net/http"
	"runtime"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/store"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// together is how many reports share one write at most.
const together = 256

// upload is a report on its way to the disk.
type upload struct {
	store.Upload
	kept chan error
}

// putReport answers POST /tasks/{task}/reports: 200 when the report is on disk. A
// respondent sends one, alone: its credential is for one. Who may send, and when, is decided
// as at an entry, in package serve; the rules of package intake are of envelopes, of which a
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
	if err := s.keep(r.Context(), store.Upload{Plan: p.name, Respondent: respondent, ID: all[0].ID, Crowd: c.number, Body: body}); err != nil {
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

// keep returns once a report is on disk, or why it never will be.
func (s *Service) keep(ctx context.Context, u store.Upload) error {
	one := upload{u, make(chan error, 1)}
	select {
	case s.uploads <- one:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-one.kept:
		switch {
		case errors.Is(err, store.ErrTaken):
			return wire.Problemf(wire.AlreadyContributed, "another report of this respondent is here")
		case errors.Is(err, store.ErrClosed):
			return wire.Problemf(wire.EpochOver, "the plan has closed")
		case err != nil:
			return storage(err)
		}
		return s.o.Failpoint("reports-kept")
	case <-ctx.Done(): // it may be kept all the same
		return ctx.Err()
	}
}

// keepUploads writes reports, those who come together in one step, until the context ends.
func (s *Service) keepUploads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-s.uploads:
			all := []upload{first}
			// The first wakes this goroutine at once. As long as somebody sends one when others
			// are let run, it waits: a write of many costs hardly more than one of a single one.
			for before := 0; len(all) < together && before < len(all); {
				before = len(all)
				runtime.Gosched()
				for n := min(len(s.uploads), together-len(all)); n > 0; n-- {
					all = append(all, <-s.uploads)
				}
			}
			s.keepAll(ctx, all)
		}
	}
}

func (s *Service) keepAll(ctx context.Context, all []upload) {
	rows := make([]store.Upload, len(all))
	for i, u := range all {
		rows[i] = u.Upload
	}
	wrong, err := s.o.Store.Take(ctx, rows)
	for i, u := range all {
		if err != nil {
			u.kept <- err
			continue
		}
		u.kept <- wrong[i]
	}
}
