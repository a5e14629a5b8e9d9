package analyzerd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Conclude closes a collection and publishes its release, or records why there is
// none. What was concluded before stays as it was.
func (s *Service) Conclude(ctx context.Context, name, closer string) error {
	s.concluding.Lock() // tallies of one plan at a time
	defer s.concluding.Unlock()
	if hash, err := wire.ParsePlanName(name); err != nil {
		return err
	} else if err := s.standing(ctx, hash); err != nil {
		return err
	}
	// Whoever closes it by hand is told that a sum cannot be had. Once its time is over
	// it is written up without.
	if err := s.collect(ctx, name); err != nil && closer != byTime {
		return err
	}
	if o, err := s.outline(ctx, name); err != nil {
		return err
	} else if waits, err := s.rowWaits(ctx, name, o); err != nil || waits {
		return cmp.Or[error](err, wire.Problemf(wire.NotClosed, "the row of this round has not come yet, and later rows tell of it when it does"))
	}
	if _, err := s.o.Store.CloseCollection(ctx, name, closer, s.o.Now()); err != nil {
		return err
	}
	if err := s.o.Failpoint("closed"); err != nil {
		return err
	}
	p, err := s.o.Store.Plan(ctx, name)
	if err != nil || !p.Decided.IsZero() {
		return err
	}
	run, err := s.run(ctx, name)
	if err != nil {
		return err
	}
	if err := s.compare(ctx, name); err != nil {
		return err
	}
	c, err := s.counted(ctx, name, run.protocol)
	if err != nil {
		return err
	}
	if c.sign, err = s.signer(run.signed.Plan); err != nil { // and not withheld: the key may be brought back
		return err
	}
	if c.study = run.signed.Study; c.study != nil && c.study.Merged {
		if c.all, err = s.together(ctx, run); err != nil {
			return err
		}
	}
	if p := run.signed.Plan; s.o.Audit != nil && p.State != "" {
		if c.state, err = s.o.Store.State(ctx, p.State); err != nil {
			return err
		}
	}
	var public results.Public
	if s.o.Public != nil {
		if public, err = s.o.Public(run.signed.Plan); err != nil {
			return err
		}
	}
	v := s.verdict(run.protocol, c, public)
	if err := s.o.Failpoint("written-up"); err != nil {
		return err
	}
	if outcome, err := s.o.Store.Decide(ctx, name, v); err != nil || outcome == rows.Again { // withdrawn meanwhile
		return err
	}
	s.forget(name)
	s.meters.decided(v.Reason == "")
	s.o.Log.Info("collection concluded", "plan", name, "released", v.Reason == "", "reason", v.Reason)
	return nil
}

// counted is what is on disk of a collection.
type counted struct {
	crowds   []tally.Crowd
	batches  []rows.Batch
	dropped  int             // fragments, or reports of a sum, that are in no number
	without  map[int]int     // crowds that are left out, with how many of their batches came
	failed   []string        // which sums are not among them and can never be had, and why
	hopeless []int           // the crowds of these
	missed   string          // of a round that is correlated with others: why its row is not among them, if it is not
	study    *plan.Study     // of which they are a round; nil: of none
	sign     relay.SignKey   // of the release; the zero key where the plan names none
	state    []byte          // that they were asked with; nil: none
	rounds   []release.Round // that all of these are of
	all      *counted        // with the earlier rounds, where the study merges them; nil: it does not
}

// counted adds up what the instances counted of a plan, or of one that differs in its
// round.
func (s *Service) counted(ctx context.Context, name string, p *protocol.Protocol) (counted, error) {
	c := counted{crowds: make([]tally.Crowd, p.Plan.Crowds()), without: map[int]int{}}
	batches, err := s.o.Store.Batches(ctx, name)
	if err != nil {
		return c, err
	}
	c.batches = batches
	came := make([]int, len(c.crowds))
	for _, b := range batches {
		if b.Crowd >= len(c.crowds) {
			return c, fmt.Errorf("analyzer: a batch of crowd %d was counted for a plan of %d: the database is damaged", b.Crowd, len(c.crowds))
		}
		t := p.NewTally()
		kept, err := s.o.Store.Tally(ctx, b)
		if err != nil {
			return c, err
		}
		if err := t.UnmarshalBinary(kept); err != nil {
			return c, fmt.Errorf("analyzer: the tally of instance %d and crowd %d: %w: %w", b.Instance+1, b.Crowd+1, keep.ErrDamaged, err)
		}
		c.dropped += b.Dropped
		came[b.Crowd]++
		if err := c.crowds[b.Crowd].Merge(tally.Crowd{Tally: t, Respondents: b.Respondents, Smallest: b.Smallest}); err != nil {
			return c, err
		}
	}
	if p.Plan.Route.Sum != nil {
		c.failed, c.hopeless = s.failed(name), s.failedCrowds(name)
		if p.Plan.Correlated() != nil {
			c.missed = s.missed(name)
		}
	}
	// Where every device has a part of its report in each instance, a missing batch
	// is a part of everybody's report, and no estimate allows for that.
	if all := p.Plan.Contributions(); all > 1 {
		for crowd, n := range came {
			if n > 0 && n < all {
				c.crowds[crowd] = tally.Crowd{}
				c.without[crowd] = n
			}
		}
	}
	return c, nil
}

// verdict writes up a release, or says why there is none. It depends on nothing
// but its arguments and the clock: what it cannot write up once it never can.
func (s *Service) verdict(p *protocol.Protocol, c counted, public results.Public) rows.Verdict {
	files, err := s.writeUp(p, c, public)
	switch {
	case err == nil:
	case len(c.failed) > 0:
		err = errors.New(strings.Join(c.failed, "; "))
	case c.missed == question.TooLate:
		err = errors.New("its row has not come in time")
	case c.missed == question.RowFailed:
		err = errors.New("its row failed, and was given up")
	}
	if err != nil {
		return rows.Verdict{Reason: err.Error(), At: s.o.Now(), Missed: c.missed}
	}
	return rows.Verdict{Files: files, At: s.o.Now()}
}

// postClose answers POST /v1/plans/{plan}/close with what became of the plan.
func (s *Service) postClose(w http.ResponseWriter, r *http.Request) error {
	name, err := planName(r)
	if err != nil {
		return err
	}
	if err := s.Conclude(r.Context(), name, operator(r)); err != nil {
		return storeProblem(err)
	}
	p, err := s.o.Store.Plan(r.Context(), name)
	if err != nil {
		return storeProblem(err)
	}
	return serve.WriteJSON(w, s.describe(r.Context(), p))
}
