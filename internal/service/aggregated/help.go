package aggregated

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/aggregator"
)

// fromLeader finds the task of a request of the leader, and reads its body.
func (s *Service) fromLeader(w http.ResponseWriter, r *http.Request, mediaType string, limit func(*crowd) int) (*crowd, []byte, error) {
	c, err := s.pathTask(r, mediaType)
	if err != nil {
		return nil, nil, err
	}
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	shown, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || subtle.ConstantTimeCompare(shown, s.o.Pair.Bearer(c.ID)) != 1 {
		return nil, nil, wire.Problemf(wire.Unauthenticated, "this path is for the plan's leader, who has the secret of the two aggregators")
	}
	if err := serve.Enter(r, serve.Respondent{}); err != nil {
		return nil, nil, err
	}
	body, err := serve.ReadBody(w, r, int64(limit(c)))
	return c, body, err
}

// putJob answers POST /tasks/{task}/aggregation_jobs: what is valid is in the sum, on disk,
// when it does. The same job again has the same answer.
func (s *Service) putJob(w http.ResponseWriter, r *http.Request) error {
	// A report's part of the verification is shorter than its proof.
	c, body, err := s.fromLeader(w, r, dap.AggregationType, func(c *crowd) int { return 256 + aggregator.MostReports*(c.ReportSize()+64) })
	if err != nil {
		return err
	}
	answer, err := s.verify(context.WithoutCancel(r.Context()), c, body)
	if damaged(err) {
		err = c.spoilt()
	}
	if err != nil {
		return err
	}
	asked := sha256.Sum256(body)
	w.Header().Set("Content-Type", dap.AggregationRespType)
	w.Header().Set("Location", fmt.Sprintf("%s/%s", dap.AggregationPath(c.ID), base64.RawURLEncoding.EncodeToString(asked[:16])))
	_, err = w.Write(answer)
	return err
}

func (s *Service) verify(ctx context.Context, c *crowd, body []byte) ([]byte, error) {
	asked := sha256.Sum256(body)
	if answer, err := c.of.kept.Answer(ctx, asked[:]); err != nil || answer != nil {
		return answer, err
	}
	q, err := dap.ParseAggregation(body, aggregator.MostReports)
	if err != nil {
		return nil, wire.Problemf(wire.BatchRefused, "%w", err)
	}
	if q.Batch != c.batch() {
		return nil, wire.Problemf(wire.BatchRefused, "a task has one batch, and this is another")
	}
	all := c.helper.Verify(q)
	if err := s.o.Failpoint("helper-verified"); err != nil {
		return nil, err
	}
	said, counted, err := c.count(ctx, asked[:], all)
	if err != nil {
		return nil, shelves.Answer(err)
	}
	answer, err := c.of.kept.AddAnswered(ctx, c.number, asked[:], func(sum []byte, left bool) (next rows.Added, answer []byte, err error) {
		batch, err := parseSum(sum)
		if err != nil {
			return next, nil, err
		}
		said, counted := said, counted
		if left {
			said, counted = refused(said)
		}
		if err := batch.Merge(counted); err != nil {
			return next, nil, err
		}
		answer = dap.MarshalAggregationResp(said)
		next.Sum, err = batch.MarshalBinary()
		next.Reports, next.Refused = batch.Reports, batch.Refused
		return next, answer, err
	})
	if err != nil {
		return nil, shelves.Answer(err)
	}
	return answer, s.o.Failpoint("helper-added")
}

// count adds up those reports of a job that are valid and whose name and token were not there before. It spends the name
// of every report: a leader that could have one verified again, each time with another part of its own, could learn what
// the report says.
func (c *crowd) count(ctx context.Context, asked []byte, all []aggregator.Verified) (said []dap.VerifyResp, counted aggregator.Batch, err error) {
	names := make([]string, len(all), 2*len(all))
	tokens := map[int]int{} // by report, where its token is among names
	for i, v := range all {
		names[i] = string(v.ID[:])
		if v.Message != nil && v.Token != nil {
			tokens[i] = len(names)
			names = append(names, string(v.Token))
		}
	}
	fresh, err := c.of.kept.Spend(ctx, asked, names)
	if err != nil {
		return nil, counted, err
	}
	said = make([]dap.VerifyResp, len(all))
	for i, v := range all {
		at, demanded := tokens[i]
		said[i] = v.VerifyResp
		if !fresh[i] || demanded && !fresh[at] {
			said[i] = dap.VerifyResp{ID: v.ID, Error: dap.ReportReplayed}
		}
		if said[i].Message == nil {
			counted.Refused++
		} else if err := counted.Add(v.ID, v.Share); err != nil {
			return nil, counted, err
		}
	}
	return said, counted, nil
}

// refused returns the answer to a job that comes after its crowd's share has left, and counts none of its reports.
func refused(said []dap.VerifyResp) ([]dap.VerifyResp, aggregator.Batch) {
	said = slices.Clone(said)
	for i, v := range said {
		if v.Message != nil {
			said[i] = dap.VerifyResp{ID: v.ID, Error: dap.BatchCollected}
		}
	}
	return said, aggregator.Batch{Refused: uint64(len(said))}
}

// putShare answers POST /tasks/{task}/aggregate_shares with the helper's share of the batch
// that both have: drawn once, on disk before it is shown.
func (s *Service) putShare(w http.ResponseWriter, r *http.Request) error {
	receipts := r.Header.Get(handover.ReceiptHeader)
	c, body, err := s.fromLeader(w, r, dap.ShareReqType, func(*crowd) int { return 1 << 10 })
	if err != nil {
		return err
	}
	q, err := dap.ParseShareReq(body)
	if err != nil {
		return wire.Problemf(wire.BatchRefused, "%w", err)
	}
	kept, err := s.shareOf(context.WithoutCancel(r.Context()), c, q, receipts)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", dap.ShareType)
	w.Header().Set("Location", fmt.Sprintf("%s/%s", dap.SharesPath(c.ID), dap.TaskID(c.batch())))
	w.Header().Set(handover.ReceiptHeader, encodeReceipts(kept[:relay.ReceiptSize]))
	_, err = w.Write(kept[relay.ReceiptSize:])
	return err
}

func (s *Service) shareOf(ctx context.Context, c *crowd, q dap.ShareReq, receipts string) ([]byte, error) {
	raw, err := decodeReceipts(receipts, 1)
	if err != nil {
		return nil, wire.Problemf(wire.ReceiptRefused, "%w", err)
	}
	leader, err := relay.ParseReceipt(raw)
	if err == nil {
		err = leader.Verify(c.of.receipts[0])
	}
	if err != nil || leader.Plan != c.of.hash || leader.Crowd != uint32(c.number) || leader.Hop != 0 || leader.Instance != 0 {
		return nil, wire.Problemf(wire.ReceiptRefused, "it is not the leader's, of this plan and crowd")
	}
	if err := s.drawable(ctx, c); errors.Is(err, errOlder) {
		c.give(err.Error())
		return nil, wire.Problemf(wire.BatchRefused, "the helper's operator finds in the status why nothing leaves")
	} else if err != nil {
		return nil, err
	}
	days, others, err := s.begins(ctx, c)
	if damaged(err) {
		return nil, c.spoilt()
	}
	if err != nil {
		return nil, err
	}
	kept, err := c.of.kept.Keep(ctx, c.number, rows.Own, func(sum []byte, now *rows.Crowd) ([]byte, error) {
		batch, err := parseSum(sum)
		if err != nil {
			return nil, err
		}
		checksum := batch.Checksum
		for i, b := range others {
			checksum[i] ^= b
		}
		if q.Batch != c.batch() || q.Reports != batch.Reports || q.Checksum != checksum || uint64(leader.Respondents) != batch.Reports || leader.Out != leader.Respondents {
			return nil, wire.Problemf(wire.BatchRefused, "the aggregators have not added the same reports")
		}
		if batch.Reports < uint64(c.Minimum) {
			return nil, wire.Problemf(wire.Withheld, "fewer valid reports than the plan's minimum of %d", c.Minimum)
		}
		if now.Day, err = c.day(batch); err != nil {
			return nil, err
		}
		return c.drawn(batch, leader, days)
	})
	if err != nil {
		if errors.Is(err, rows.ErrGivenUp) {
			err = wire.Problemf(wire.Withheld, "%w", err)
		} else if p, ok := errors.AsType[*wire.Problem](err); ok {
			c.give("the leader " + c.of.plan.Route.Sum.Leader.Operator + " asks for another sum than is here: " + p.Detail)
		} else if damaged(err) {
			err = c.spoilt()
		}
		return nil, shelves.Answer(err)
	}
	if second, err := relay.ParseReceipt(kept[:relay.ReceiptSize]); err != nil || second.Previous != leader.Hash() {
		c.give("the leader " + c.of.plan.Route.Sum.Leader.Operator + " has drawn its share anew: its database is an older copy")
		return nil, wire.Problemf(wire.BatchTaken, "this batch was handed on with another share of the leader")
	}
	c.clear()
	return kept, s.o.Failpoint("share-drawn")
}

// spoilt gives a crowd of the helper's up that cannot be read, and returns the answer.
func (c *crowd) spoilt() error {
	c.give(errDamaged.Error())
	return wire.Problemf(wire.BatchRefused, "what the helper has added is damaged on disk")
}

// begins returns what the helper's row of a crowd tells of beside its own batch, and the checksum of that. A crowd that
// has too few reports, or whose time is over, does not begin: its row is left out of all.
func (s *Service) begins(ctx context.Context, c *crowd) (days []aggregator.Day, others dap.Checksum, err error) {
	if !c.Sum.Correlated() {
		return nil, others, nil
	}
	kept, err := c.of.kept.Share(ctx, c.number, rows.Own)
	if err != nil {
		return nil, others, shelves.Answer(err)
	}
	if kept == nil {
		batch, err := s.sum(ctx, c)
		if err != nil {
			return nil, others, err
		}
		if batch.Reports < uint64(c.Minimum) || s.late(c) {
			return nil, others, wire.Problemf(wire.Withheld, "fewer valid reports than the plan's minimum of %d, or the round closed long ago", c.Minimum)
		}
	}
	days, others, err = s.earlier(ctx, c, others)
	switch {
	case passed(err):
		err = wire.Problemf(wire.Withheld, "%w", err)
	case err != nil:
		err = shelves.Answer(err)
	}
	return days, others, err
}

// drawn returns the helper's sealed share, with its receipt before it.
func (c *crowd) drawn(batch aggregator.Batch, leader relay.SignedReceipt, days []aggregator.Day) ([]byte, error) {
	sealed, err := c.helper.Share(rng.New(), batch, days...)
	if err != nil {
		return nil, err
	}
	share, n := dap.MarshalShare(sealed), uint64(batch.Reports)
	receipt := relay.Receipt{
		Plan: c.of.hash, Hop: 1, Crowd: uint32(c.number), Respondents: n, Tokens: counted(c.of, batch),
		In: n, Out: n, BatchIn: leader.BatchOut, BatchOut: handover.SharesDigest(leader.BatchOut, share), Previous: leader.Hash(),
	}
	return append(receipt.Sign(c.of.sign).Bytes(), share...), nil
}
