package analyzerd

import (
	"context"
	"time"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// outline is what lists and batches need of a registered plan. It is read once for
// a plan and process, because a plan may have megabytes and anybody may ask for a
// list or send the beginning of a batch.
type outline struct {
	title     string
	closes    time.Time // zero: when told
	counts    bool      // it asks how many hold each value
	crowds    int
	instances int
	summed    bool                // answers are summed, not mixed
	hangs     bool                // together with other rounds, whose rows tell of it too
	receipts  [][]relay.VerifyKey // see relay.ReceiptKeys
	round     plan.Round          // of a study; the zero value: none
	merged    bool                // the study's rounds add up
	releaser  bool                // the plan names who signs its releases
	signed    plan.Signed         // who has signed it, and what plan.Publishers.Stands asks of the plan
	err       error               // the plan cannot be read any more
}

// outline finds the outline of a registered plan.
func (s *Service) outline(ctx context.Context, name string) (outline, error) {
	find := func() (outline, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		o, there := s.outlines[name]
		return o, there
	}
	o, there := find()
	if !there {
		s.outlining.Lock() // one plan at a time, and none twice
		defer s.outlining.Unlock()
		if o, there = find(); !there {
			text, err := s.o.Store.Signed(ctx, name)
			if err != nil {
				return outline{}, err
			}
			o = outlineOf(name, text)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.outlines[name] = o
		}
	}
	return o, o.err
}

func outlineOf(name string, text []byte) outline {
	signed, err := registered(name, text)
	if err != nil {
		return outline{err: err}
	}
	p := signed.Plan
	keys, err := relay.ReceiptKeys(p)
	var round plan.Round
	if p.Round != nil {
		round = *p.Round
	}
	return outline{p.Title, p.Times.Closes, results.Counted(p.Question), p.Crowds(), len(p.Route.Ways()), p.Route.Sum != nil, p.Correlated() != nil, keys, round, signed.Study != nil && signed.Study.Merged, p.Analyzer.Releases != "", standing(signed), err}
}

// standing returns what plan.Publishers.Stands asks of a signed plan, without the rest.
func standing(s plan.Signed) plan.Signed {
	s.Plan = plan.Plan{Times: s.Plan.Times, Signatures: s.Plan.Signatures}
	if s.Study != nil {
		s.Study = &plan.Study{Times: s.Study.Times}
	}
	return s
}
