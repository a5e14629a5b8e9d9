package aggregated

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/party/aggregator"
)

// jobMemory bounds the bytes of reports that a leader has in memory for a job.
const jobMemory = 64 << 20

// lead carries the leader's side of a plan as far as it goes.
func (s *Service) lead(ctx context.Context, p *served) error {
	if done, err := s.end(ctx, p); !done || err != nil {
		return err
	}
	p.mu.Lock()
	forgotten := p.forgotten
	p.mu.Unlock()
	if forgotten {
		return nil
	}
	if s.worker == nil {
		return s.handOn(ctx, p)
	}
	led, err := s.worker.steps.Lead(ctx, p.name, func(ctx context.Context) error { return s.handOn(ctx, p) })
	if !led {
		return shelves.Answer(err)
	}
	// Whoever tries next finds for itself what never succeeds, and can say so.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), poll)
	defer cancel()
	if err := s.worker.steps.Resign(end, p.name); err != nil {
		s.o.Log.Warn("another process goes on when a lease is over", "plan", p.name, "error", err.Error())
	}
	return err
}

// handOn adds up what came of a closed plan, and forgets the reports when both shares are there.
func (s *Service) handOn(ctx context.Context, p *served) error {
	var errs []error
	all := true
	for _, c := range p.crowds {
		if s.plans.Suspended(p.hash) != nil {
			return nil
		}
		if c.failed() == "" {
			done, err := s.leadCrowd(ctx, c)
			if done || err != nil { // else workers say how it goes
				s.tried(c, err)
			}
			all = all && done
			errs = append(errs, err)
		}
		errs = append(errs, s.missed(ctx, c))
		all = all && c.failed() == ""
	}
	if err := errors.Join(errs...); err != nil || !all {
		return err
	}
	if err := p.kept.Forget(ctx); err != nil {
		return shelves.Answer(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgotten = true
	return nil
}

// end takes no more reports once the plan's time is over; done: it takes none.
func (s *Service) end(ctx context.Context, p *served) (done bool, err error) {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if !closed && s.worker != nil { // another process may have closed it
		if closed, err = p.kept.Closed(ctx); err != nil {
			return false, shelves.Answer(err)
		}
		p.mu.Lock()
		p.closed = closed
		p.mu.Unlock()
	}
	if closed {
		return true, nil
	}
	if s.o.Now().Before(p.plan.Times.Closes) {
		return false, nil
	}
	if err := s.settled(ctx, p); err != nil {
		return false, err
	}
	return true, s.close(ctx, p)
}

func (s *Service) close(ctx context.Context, p *served) error {
	if err := p.kept.Close(ctx); err != nil {
		return shelves.Answer(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}

// leadCrowd adds what came of a crowd and makes both shares of its sum, or finds that it
// is too small; done: it has come to its end.
func (s *Service) leadCrowd(ctx context.Context, c *crowd) (done bool, err error) {
	for _, step := range []string{rows.Withheld, rows.Both} {
		if kept, err := c.of.kept.Share(ctx, c.number, step); err != nil || kept != nil {
			return err == nil, err
		}
	}
	batch, done, err := s.added(ctx, c)
	if err != nil || !done {
		return false, err
	}
	if batch.Reports < uint64(c.Minimum) {
		err = s.withhold(ctx, c, rows.Few, "fewer valid reports than the plan's minimum")
	} else if err = s.share(ctx, c, batch); passed(err) {
		err = s.withhold(ctx, c, missedFor(err), err.Error())
	}
	return err == nil, err
}

// added adds what is left to be added of a crowd, and returns its sum. Where others have the store too, workers add,
// and done says whether they have. Of a round whose row is drawn that is kept beside the row: what has become of the
// reports since, and of their sum, matters no more.
func (s *Service) added(ctx context.Context, c *crowd) (b aggregator.Batch, done bool, err error) {
	day, err := c.of.kept.Day(ctx, c.number)
	if err != nil {
		return b, false, err
	}
	if day != nil {
		b, err = parseSum(day)
		return b, err == nil, err
	}
	left, err := c.of.kept.Shards(ctx, c.number, rows.Cut{Crowds: len(c.of.crowds), Job: max(1, min(s.most, jobMemory/c.ReportSize())), Shard: s.shard})
	if err != nil {
		return b, false, shelves.Answer(err)
	}
	if s.worker != nil && len(left) > 0 {
		return b, false, s.worker.deal(ctx, c, left)
	}
	for _, shard := range left {
		if one := s.addShard(ctx, c, shard); one != nil && !errors.Is(one, errWaits) {
			return b, false, one
		} else if one != nil { // the others can be asked for meanwhile
			err = one
		}
	}
	if err != nil {
		return b, false, err
	}
	b, err = s.sum(ctx, c)
	return b, err == nil, err
}

// withhold writes that nothing leaves of a crowd, for one of the reasons of package rows.
func (s *Service) withhold(ctx context.Context, c *crowd, reason, why string) error {
	s.o.Log.Info("crowd withheld: "+why, "plan", c.of.name, "crowd", c.number)
	_, err := c.of.kept.Keep(ctx, c.number, rows.Withheld, func([]byte, *rows.Crowd) ([]byte, error) { return []byte(reason), nil })
	return shelves.Answer(err)
}

// sum returns what is added up of a crowd, of all its shards.
func (s *Service) sum(ctx context.Context, c *crowd) (b aggregator.Batch, err error) {
	err = c.of.kept.Sums(ctx, c.number, func(text []byte) error {
		one, err := parseSum(text)
		if err == nil {
			err = b.Merge(one)
		}
		return err
	})
	return b, err
}

func parseSum(text []byte) (b aggregator.Batch, err error) {
	if err := b.UnmarshalBinary(text); err != nil {
		return b, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return b, nil
}

// addShard adds what is left to be added of a shard. Behind a job whose answer is still to come it only asks.
func (s *Service) addShard(ctx context.Context, c *crowd, shard int) (waits error) {
	after := 0
	for {
		more, err := s.addJob(ctx, c, shard, after)
		if errors.Is(err, errWaits) {
			waits = err
			after++
		} else if err != nil || !more {
			return errors.Join(waits, err)
		}
	}
}

// addJob has one job's reports verified and adds those that are valid; more: there may be
// others. It does the same again from the same bytes. A job after the next is not added.
func (s *Service) addJob(ctx context.Context, c *crowd, shard, after int) (more bool, err error) {
	number, bodies, err := c.of.kept.Job(ctx, c.number, shard, after)
	if err != nil || len(bodies) == 0 {
		return false, shelves.Answer(err)
	}
	reports := make([]dap.Report, len(bodies))
	for i, body := range bodies {
		one, err := dap.ParseUpload(body, 1)
		if err != nil {
			return false, fmt.Errorf("%w: a report: %w", errDamaged, err)
		}
		reports[i] = one[0]
	}
	text, err := c.of.kept.Sum(ctx, c.number, shard)
	if err != nil {
		return false, shelves.Answer(err)
	}
	batch, err := parseSum(text)
	if err != nil {
		return false, err
	}
	job := c.leader.Begin(c.batch(), reports)
	var answer []byte
	if len(job.Request.Reports) > 0 {
		if answer, _, err = s.ask(ctx, c, dap.AggregationPath(c.ID), dap.AggregationType, job.Request.Marshal(), ""); err != nil {
			return false, err
		}
	}
	if after > 0 {
		return false, errWaits
	}
	if err := s.o.Failpoint("job-verified"); err != nil {
		return false, err
	}
	if err := c.leader.Finish(job, answer, &batch); err != nil {
		return false, err
	}
	sum, err := batch.MarshalBinary()
	if err != nil {
		return false, err
	}
	return true, shelves.Answer(c.of.kept.Add(ctx, c.number, shard, number, sum))
}

// share draws the leader's share, once, and fetches the helper's.
func (s *Service) share(ctx context.Context, c *crowd, batch aggregator.Batch) error {
	if err := s.drawable(ctx, c); err != nil {
		return err
	}
	kept, err := c.of.kept.Share(ctx, c.number, rows.Own)
	if err != nil {
		return shelves.Answer(err)
	}
	if kept == nil && s.late(c) {
		return errLate
	}
	days, checksum, err := s.earlier(ctx, c, batch.Checksum)
	if err != nil {
		return shelves.Answer(err)
	}
	own, err := c.of.kept.Keep(ctx, c.number, rows.Own, func(_ []byte, now *rows.Crowd) ([]byte, error) {
		now.Reports, now.Refused = batch.Reports, batch.Refused
		sealed, err := c.leader.Share(rng.New(), batch, days...)
		if err == nil {
			now.Day, err = c.day(batch)
		}
		if err != nil {
			return nil, err
		}
		share := dap.MarshalShare(sealed)
		receipt := relay.Receipt{
			Plan: c.of.hash, Crowd: uint32(c.number), Respondents: uint64(batch.Reports), Tokens: counted(c.of, batch),
			In: uint64(batch.Reports + batch.Refused), Out: uint64(batch.Reports), Dropped: uint64(batch.Refused), BatchOut: sha256.Sum256(share),
		}
		return append(receipt.Sign(c.of.sign).Bytes(), share...), nil
	})
	if err != nil {
		return shelves.Answer(err)
	}
	if err := s.o.Failpoint("share-drawn"); err != nil {
		return err
	}
	receipt, share := own[:relay.ReceiptSize], own[relay.ReceiptSize:]
	ask := dap.ShareReq{Batch: c.batch(), Reports: batch.Reports, Checksum: checksum}
	answer, second, err := s.ask(ctx, c, dap.SharesPath(c.ID), dap.ShareReqType, ask.Marshal(), encodeReceipts(receipt))
	if err != nil {
		return err
	}
	if _, err := dap.ParseShare(answer); err != nil {
		return errors.Join(aggregator.ErrAnswer, err)
	}
	receipts := append(bytes.Clone(receipt), second...)
	if err := handover.CheckShares(receipts, c.of.receipts, c.of.hash, uint32(c.number), share, answer); err != nil {
		return errors.Join(aggregator.ErrAnswer, err)
	}
	if err := s.o.Failpoint("helper-shared"); err != nil {
		return err
	}
	_, err = c.of.kept.Keep(ctx, c.number, rows.Both, func([]byte, *rows.Crowd) ([]byte, error) { return append(receipts, answer...), nil })
	if err != nil {
		return shelves.Answer(err)
	}
	return s.o.Failpoint("sum-ready")
}

// collected returns the receipts and shares of a crowd that its analyzer is given; nil: they are not there yet.
func (c *crowd) collected(ctx context.Context) (receipts, body []byte, err error) {
	both, err := c.of.kept.Share(ctx, c.number, rows.Both)
	if err != nil || both == nil {
		return nil, nil, err
	}
	own, err := c.of.kept.Share(ctx, c.number, rows.Own)
	if err != nil {
		return nil, nil, err
	}
	receipts = both[:2*relay.ReceiptSize]
	all := dap.Collected{Start: task.Unit(c.of.plan.Times.Opens), Duration: 1}
	receipt, err := relay.ParseReceipt(receipts[:relay.ReceiptSize])
	if err == nil {
		all.Leader, err = dap.ParseShare(own[relay.ReceiptSize:])
	}
	if err == nil {
		all.Helper, err = dap.ParseShare(both[2*relay.ReceiptSize:])
	}
	if err != nil {
		return nil, nil, fmt.Errorf("aggregator: what was kept for the analyzer: %w", err)
	}
	all.Reports = uint64(receipt.Respondents)
	return receipts, all.Marshal(), nil
}

// counted returns how many tokens a receipt states: one for each report, where they are
// demanded.
func counted(p *served, b aggregator.Batch) uint64 {
	if p.auth.Tokens == nil {
		return 0
	}
	return uint64(b.Reports)
}

func encodeReceipts(all []byte) string { return base64.RawURLEncoding.EncodeToString(all) }

// decodeReceipts reads so many receipts.
func decodeReceipts(text string, n int) ([]byte, error) {
	all, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(all) != n*relay.ReceiptSize {
		return nil, errors.New("aggregator: the receipts beside a share are missing or damaged")
	}
	return all, nil
}

// peerError is what went wrong at the other aggregator.
type peerError struct {
	operator string
	cause    error
}

// Error names the operator, and what it answered where it did.
func (e *peerError) Error() string {
	if p, ok := errors.AsType[*wire.Problem](e.cause); ok {
		return fmt.Sprintf("%s answers %s", e.operator, p.Code)
	}
	return e.operator + " cannot be reached"
}

// Unwrap returns the cause.
func (e *peerError) Unwrap() error { return e.cause }

// send has a request travel to the helper and returns the answer.
func (s *Service) send(c *crowd, r *http.Request) (*http.Response, error) {
	if s.o.Files != "" {
		return s.byFile(c, r)
	}
	return s.o.Client.Do(r)
}

// ask makes a request of the helper and returns its answer, and the receipt beside it where
// one was sent.
func (s *Service) ask(ctx context.Context, c *crowd, path, mediaType string, body []byte, receipts string) (answer, receipt []byte, err error) {
	party := c.of.plan.Route.Sum.Helper
	wrong := func(err error) ([]byte, []byte, error) { return nil, nil, &peerError{party.Operator, err} }
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(party.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return wrong(err)
	}
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("Authorization", "Bearer "+base64.RawURLEncoding.EncodeToString(s.o.Pair.Bearer(c.ID)))
	if receipts != "" {
		r.Header.Set(handover.ReceiptHeader, receipts)
	}
	res, err := s.send(c, r)
	if errors.Is(err, errWaits) {
		return nil, nil, err
	}
	if err != nil {
		return wrong(err)
	}
	defer res.Body.Close()
	if p := web.ReadProblem(res); p != nil {
		return wrong(p)
	}
	// A share has 16 bytes for each number, an answer a hundred for each report.
	most := int64(aggregator.MostReports<<10 + 16*c.VDAF.Length() + 4<<10)
	if answer, err = io.ReadAll(io.LimitReader(res.Body, most)); err != nil || res.StatusCode/100 != 2 {
		return wrong(errors.Join(err, fmt.Errorf("status %d", res.StatusCode)))
	}
	if receipts != "" {
		if receipt, err = decodeReceipts(res.Header.Get(handover.ReceiptHeader), 1); err != nil {
			return wrong(err)
		}
	}
	return answer, receipt, nil
}
