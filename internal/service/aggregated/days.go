package aggregated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// Correlated rounds (plan.Correlated): the row of a round tells of those before it too, whose
// rows have left here. What was added up of them is kept for the whole study, beside the row, in one write. Both
// aggregators tell of the same rounds, or nothing leaves: the checksum that the leader shows is of all of them.

// errLate is the error of a round whose row nobody waits for any more: devices have it charged until then.
var errLate = fmt.Errorf("the round has closed more than %v ago, and ledgers of devices do not count what it tells any more", plan.LastRow)

// over returns when what is kept of a plan may begin to be forgotten: of correlated rounds when their study closes,
// for later rows tell of them until then.
func over(signed plan.Signed) time.Time {
	if signed.Plan.Correlated() != nil && signed.Study != nil {
		return signed.Study.Times.Closes
	}
	return signed.Plan.Times.Closes
}

// earlier returns what the row of a crowd tells of beside its own batch, and the checksum of all that it
// tells of.
func (s *Service) earlier(ctx context.Context, c *crowd, own dap.Checksum) (days []aggregator.Day, all dap.Checksum, err error) {
	if !c.Sum.Correlated() {
		return nil, own, nil
	}
	kept, err := s.rows.Begin(ctx, rows.Round{Study: c.of.plan.Round.Study, Number: c.of.plan.Round.Number}, c.number)
	if err != nil {
		return nil, all, err
	}
	all = own
	for _, day := range kept {
		batch, err := parseSum(day.Sum)
		if err != nil {
			return nil, all, err
		}
		for i, b := range batch.Checksum {
			all[i] ^= b
		}
		days = append(days, aggregator.Day{Round: day.Number, Sum: batch.Sum})
	}
	return days, all, nil
}

// late reports whether a row may not be drawn any more.
func (s *Service) late(c *crowd) bool {
	return c.Sum.Correlated() && s.o.Now().After(c.of.plan.Times.Closes.Add(plan.LastRow))
}

// day returns what later rounds tell of a batch too; nil: nothing.
func (c *crowd) day(b aggregator.Batch) ([]byte, error) {
	if !c.Sum.Correlated() {
		return nil, nil
	}
	return b.MarshalBinary()
}

// withheld says why nothing leaves of a crowd, as it was kept.
func (c *crowd) withheld(reason []byte) error {
	switch string(reason) {
	case rows.Late:
		return wire.Problemf(wire.RowLate, "the row came after a later one, or more than %v after the round had closed", plan.LastRow)
	case rows.Failed:
		return wire.Problemf(wire.RowFailed, "the row was given up, and later rounds go on without it")
	}
	return wire.Problemf(wire.Withheld, "fewer valid reports than the plan's minimum of %d", c.Minimum)
}

// passed reports whether a row can never be drawn.
func passed(err error) bool {
	return errors.Is(err, rows.ErrLater) || errors.Is(err, rows.ErrWithdrawn) || errors.Is(err, errLate)
}

// missedFor returns the reason to be kept of a row that can never be drawn.
func missedFor(err error) string {
	if errors.Is(err, rows.ErrWithdrawn) {
		return rows.Failed
	}
	return rows.Late
}
