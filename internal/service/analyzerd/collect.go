package analyzerd

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// Of a plan whose answers are summed nothing is handed over: the analyzer fetches the two
// shares of each crowd from the leader, once they are there.

// sums is what it takes to open the sums of a plan.
type sums struct {
	tasks []*task.Task // by crowd
	key   envelope.PrivateKey
}

// collect fetches the sums that a plan lacks. It is no error that the leader has not made
// them yet, or withholds a crowd.
func (s *Service) collect(ctx context.Context, name string) error {
	run, err := s.run(ctx, name)
	if err != nil || run.sums == nil {
		return err
	}
	var errs []error
	for _, t := range run.sums.tasks {
		if err := s.collectCrowd(ctx, name, run, t); err != nil {
			errs = append(errs, fmt.Errorf("the sum of crowd %d: %w", t.Crowd+1, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Service) collectCrowd(ctx context.Context, name string, run *running, t *task.Task) error {
	if _, there, err := s.o.Store.Digest(ctx, name, 0, int(t.Crowd)); err != nil || there || s.givenUp(name, t.Crowd) {
		return err
	}
	for try := 1; ; try++ {
		err := s.fetch(ctx, name, run, t)
		problem, told := errors.AsType[*wire.Problem](err)
		_, wrong := errors.AsType[unsound](err)
		switch {
		case told && (problem.Code == wire.Withheld || problem.Code == wire.RowLate || problem.Code == wire.RowFailed):
			s.giveUp(name, t.Crowd, "") // it never will be there
			s.mu.Lock()
			s.unheard[name] = problem.Code
			s.mu.Unlock()
			return nil
		case told && problem.Code == wire.SumFailed:
			s.giveUp(name, t.Crowd, run.signed.Plan.Route.Sum.Leader.Operator+" says: "+problem.Detail)
			return nil
		case wrong && try == enough:
			s.giveUp(name, t.Crowd, err.Error())
			return nil
		case !wrong:
			return err
		}
	}
}

// rowWaits reports whether the row of a round that is correlated with others may come yet. When it does, later rows tell of
// it too: a round that was written up without it would have them read wrongly.
func (s *Service) rowWaits(ctx context.Context, name string, o outline) (bool, error) {
	if !o.hangs || !s.o.Now().Before(o.closes.Add(plan.LastRow+s.o.Grace)) {
		return false, nil
	}
	s.mu.Lock()
	_, never := s.unheard[name]
	s.mu.Unlock()
	if never {
		return false, nil
	}
	batches, err := s.o.Store.Batches(ctx, name)
	return len(batches) == 0, err
}

// fetch asks the leader for the sum of a crowd, and counts it where it is there.
func (s *Service) fetch(ctx context.Context, name string, run *running, t *task.Task) error {
	body, receipts, err := s.askLeader(ctx, run.signed.Plan, t)
	if err != nil || body == nil {
		return err
	}
	if err := s.o.Failpoint("batch-arrived"); err != nil {
		return err
	}
	mark, crowd, err := open(run, t, body, receipts)
	if err != nil {
		return unsound{err}
	}
	counted, err := crowd.Tally.MarshalBinary()
	if err != nil {
		return err
	}
	if err := s.o.Failpoint("batch-opened"); err != nil {
		return err
	}
	mark.Plan, mark.Counted = name, s.o.Now()
	if _, err = s.o.Store.Count(ctx, mark, counted); err == nil {
		s.o.Log.Info("sum counted", "plan", name, "crowd", t.Crowd)
	}
	return err
}

// open opens what a leader gave of a crowd, which it checks against the keys of both aggregators.
func open(run *running, t *task.Task, body, receipts []byte) (mark rows.Batch, crowd tally.Crowd, err error) {
	c, err := dap.ParseCollected(body)
	if err != nil {
		return mark, crowd, err
	}
	if err := handover.CheckShares(receipts, run.receipts[0], t.Plan, t.Crowd, dap.MarshalShare(c.Leader), dap.MarshalShare(c.Helper)); err != nil {
		return mark, crowd, err
	}
	leader, err := relay.ParseReceipt(receipts[:relay.ReceiptSize])
	if err == nil && uint64(leader.Respondents) != c.Reports {
		err = errors.New("analyzer: the leader's receipt states another number of reports")
	}
	if err != nil {
		return mark, crowd, err
	}
	last, err := relay.ParseReceipt(receipts[relay.ReceiptSize:])
	if err != nil {
		return mark, crowd, err
	}
	opened, err := t.Open(run.sums.key, c)
	if err != nil {
		return mark, crowd, err
	}
	crowd, err = run.protocol.Sums(opened, int(leader.Respondents))
	return rows.Batch{
		Crowd: int(t.Crowd), SHA256: last.BatchOut, Receipts: receipts,
		Respondents: crowd.Respondents, Smallest: crowd.Smallest, Dropped: int(leader.Dropped),
	}, crowd, err
}

// askLeader fetches what the leader has of a crowd; nil: nothing yet.
func (s *Service) askLeader(ctx context.Context, p plan.Plan, t *task.Task) (body, receipts []byte, err error) {
	if s.o.Client == nil {
		return nil, nil, errors.New("analyzer: without a client nobody can be asked for sums")
	}
	leader := p.Route.Sum.Leader
	ctx, cancel := context.WithTimeout(ctx, collectFor)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(leader.URL, "/")+dap.CollectionPath(t.ID), bytes.NewReader(dap.CollectionReq{}.Marshal()))
	if err != nil {
		return nil, nil, fmt.Errorf("analyzer: %w", err)
	}
	r.Header.Set("Content-Type", dap.CollectionType)
	s.o.Collector.Show(r)
	res, err := s.o.Client.Do(r)
	if err != nil {
		return nil, nil, fmt.Errorf("analyzer: %s: %w", leader.Operator, err)
	}
	defer res.Body.Close()
	if problem := web.ReadProblem(res); problem != nil {
		if problem.Code == wire.UnknownPlan {
			return nil, nil, nil // not before the leader has the plan
		}
		return nil, nil, fmt.Errorf("analyzer: %s: %w", leader.Operator, problem)
	}
	most := int64(2*16*t.VDAF.Length() + 8<<10)
	if body, err = io.ReadAll(io.LimitReader(res.Body, most)); err != nil {
		return nil, nil, fmt.Errorf("analyzer: %s: %w", leader.Operator, err)
	}
	switch {
	case res.StatusCode == http.StatusAccepted && len(body) == 0:
		return nil, nil, nil
	case res.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("analyzer: %s answers with status %d", leader.Operator, res.StatusCode)
	}
	receipts, err = base64.RawURLEncoding.Strict().DecodeString(res.Header.Get(handover.ReceiptHeader))
	return body, receipts, err
}
