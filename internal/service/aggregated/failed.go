package aggregated

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// unattainable is the phase of a crowd whose sum can never be had: the two aggregators have not added
// the same reports, or what one of them has is damaged. Asked again they would say the same, so
// that nobody asks before a restart or before the operator closes the plan once more. The remedy
// is a withdrawal.
const unattainable = "failed"

// enough is how many times in a row a sum must fail: what was spoilt on the way is not spoilt
// again and again.
const enough = 3

// errDamaged is the error of an aggregator whose own sum, or a report of it, cannot be read.
var errDamaged = errors.New("what this aggregator has of the crowd is damaged on disk")

// damaged reports whether what an aggregator has of a crowd cannot be read as it was written.
func damaged(err error) bool {
	return errors.Is(err, errDamaged) || errors.Is(err, keep.ErrDamaged)
}

// failure is how often in a row the sum of a crowd could not be had, and why.
type failure struct {
	why    string
	times  int
	unless string // the step from which on the helper may have told of the crowd; "": it may have already
}

// refusals are the helper's that the same request meets again.
var refusals = []wire.Code{wire.BatchRefused, wire.BatchTaken, wire.ReceiptRefused, wire.Withheld, wire.PlanWithdrawn}

// hopeless says why the same will go wrong again; "" where it may not.
func hopeless(c *crowd, err error) string {
	peer, fromPeer := errors.AsType[*peerError](err)
	p, told := errors.AsType[*wire.Problem](err)
	switch {
	case errors.Is(err, errOlder):
		return err.Error()
	case damaged(err):
		return errDamaged.Error()
	case fromPeer && told && slices.Contains(refusals, p.Code):
		return peer.Error()
	case errors.Is(err, aggregator.ErrAnswer):
		return "what " + c.of.plan.Route.Sum.Helper.Operator + " answers does not go with what is here"
	}
	return ""
}

// tried notes how an attempt at the sum of a crowd went.
func (s *Service) tried(c *crowd, err error) {
	why := hopeless(c, err)
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if why == "" {
		c.failure = failure{}
		return
	}
	c.failure = failure{why, c.failure.times + 1, untold(err)}
	if c.failure.times == enough {
		s.o.Log.Error("the sum of a crowd can never be had, and is not tried again before a restart", "plan", c.of.name, "crowd", c.number, "reason", why)
	}
}

// untold returns the step before which an error says that the helper has not drawn its share, and will not; "": it does
// not say so. What is damaged here says nothing of the helper, which may have been asked since the leader drew its own.
func untold(err error) string {
	_, fromPeer := errors.AsType[*peerError](err)
	p, told := errors.AsType[*wire.Problem](err)
	switch {
	case damaged(err):
		return rows.Own
	case fromPeer && told && (p.Code == wire.BatchRefused || p.Code == wire.Withheld):
		return rows.Both
	}
	return ""
}

// missed gives up for good a row of correlated rounds which can never be had and was told to nobody: later rows
// go on without it.
func (s *Service) missed(ctx context.Context, c *crowd) error {
	c.of.mu.Lock()
	f := c.failure
	c.of.mu.Unlock()
	if f.times < enough || f.unless == "" || !c.Sum.Correlated() {
		return nil
	}
	told, err := c.of.kept.GiveUp(ctx, c.number, f.unless)
	if err != nil {
		return shelves.Answer(err)
	}
	if told { // for good
		c.give(f.why)
		return nil
	}
	s.o.Log.Error("a row is given up, and later rounds go on without it", "plan", c.of.name, "crowd", c.number, "reason", f.why)
	c.clear()
	return nil
}

// give gives a crowd's sum up.
func (c *crowd) give(why string) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.failure = failure{why: why, times: enough}
}

// clear forgets what has gone wrong with a crowd's sum.
func (c *crowd) clear() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.failure = failure{}
}

// failed says why the sum of a crowd can never be had; "" where it may.
func (c *crowd) failed() string {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.failure.times < enough {
		return ""
	}
	return c.failure.why
}

// retry has the sums of a plan tried again that were given up.
func (p *served) retry() {
	for _, c := range p.crowds {
		c.clear()
	}
}

// showFailed has a meter tell of how many crowds the sum can never be had.
func (s *Service) showFailed(m *metrics.Set) {
	m.Gauges(func(context.Context) ([]float64, error) {
		n := 0.0
		all, _ := s.plans.All()
		for _, p := range all {
			for _, c := range p.crowds {
				if c.failed() != "" {
					n++
				}
			}
		}
		return []float64{n}, nil
	}, metrics.Gauge{Name: "aggregator_sums_failed", Help: "Crowds whose sum can never be had: their plans are to be withdrawn."})
}

// missing is of each study whose rounds are correlated, and each crowd of it, which rounds have left (true) or were given up.
type missing map[string]map[int]bool

// add notes how the row of a round went.
func (m *missing) add(p *served, st Status) {
	for _, c := range st.Crowds {
		if p.plan.Correlated() == nil || c.Phase != HandedOn && !c.givenUp {
			continue
		}
		if *m == nil {
			*m = missing{}
		}
		key := fmt.Sprintf("study %s, crowd %d", plan.Short(p.plan.Round.Study), c.Crowd+1)
		if (*m)[key] == nil {
			(*m)[key] = map[int]bool{}
		}
		(*m)[key][p.plan.Round.Number] = !c.givenUp
	}
}

// alarms names studies whose last two rows were given up: a single row is missed, but two in a row may say that the
// aggregators tell of different days, and that no later row ever leaves.
func (m missing) alarms() (all []string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		rounds := slices.Sorted(maps.Keys(m[key]))
		if n := len(rounds); n > 1 && !m[key][rounds[n-2]] && !m[key][rounds[n-1]] {
			all = append(all, fmt.Sprintf("%s: the rows of rounds %d and %d were given up: unless a later one leaves, have the study ended and begin another (docs/incidents.md)", key, rounds[n-2], rounds[n-1]))
		}
	}
	return all
}
