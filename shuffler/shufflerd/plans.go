package shufflerd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/queue"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// served is a plan with the posts that this operator has in it.
type served struct {
	signed plan.Signed
	text   []byte
	posts  []*post
}

// idle is a plan that was served and cannot be now. What was collected is left alone.
type idle struct {
	signed plan.Signed
	why    string
}

// takeUp serves the plans of an earlier process.
func (s *Service) takeUp(ctx context.Context) error {
	err := s.records.Each(ctx, "withdrawn", func(key string, text []byte, _ uint64) error {
		return s.withdrawals.Restore(strings.TrimPrefix(key, "withdrawn."), text)
	})
	if err != nil {
		return err
	}
	var texts [][]byte
	err = s.records.Each(ctx, "plan", func(_ string, text []byte, _ uint64) error {
		texts = append(texts, text)
		return nil
	})
	if err != nil {
		return err
	}
	for _, text := range texts {
		signed, err := plan.ParseSigned(text)
		if err != nil {
			return fmt.Errorf("shuffler: a plan that was served before: %w", err)
		}
		hash := signed.Plan.Hash()
		if _, withdrawn := s.withdrawals.Find(hash); withdrawn { // a crash came between
			if err := s.destroyIdle(ctx, signed.Plan); err != nil {
				return err
			}
			continue
		}
		err = s.add(ctx, signed)
		if p, ok := errors.AsType[*wire.Problem](err); ok {
			// A key that was taken away stops its plans, not the others.
			s.idle[hash] = idle{signed, p.Detail}
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refused says why a plan is not served.
func refused(why string) error { return wire.Problemf(wire.PlanRefused, "%s", why) }

// Load serves a plan from now on, restarts included. Loading it again is no
// error; with other signatures it goes on under those, if under the earlier ones it
// may not. A *wire.Problem says what is wrong with the plan; one in which none of
// the operator's keys has a part is among those refused.
func (s *Service) Load(ctx context.Context, signed plan.Signed) error {
	publishers, p, hash := s.o.Publishers.Now(), signed.Plan, signed.Plan.Hash()
	if err := signed.Verify(publishers); err != nil {
		return refused(err.Error())
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	if err := s.withdrawals.Admit(ctx, hash, signed.Signers()); err != nil {
		return err
	}
	s.mu.Lock()
	there, served := s.plans[hash]
	_, idle := s.idle[hash]
	full := len(s.plans) >= s.o.Limits.Plans
	s.mu.Unlock()
	if served {
		if publishers.Stands(there.signed) == nil {
			return nil
		}
		return s.resign(ctx, there, signed)
	}
	if !idle {
		if err := publishers.Admit(signed, s.o.Now()); err != nil {
			return refused(err.Error())
		}
	}
	if full {
		return refused(fmt.Sprintf("%d plans are served already, the limit", s.o.Limits.Plans))
	}
	if p.Times.Closes.IsZero() {
		return refused("a plan that is served needs times.closes: its end is the end of the epoch")
	}
	if s.over(p) {
		// Its marks are gone: a batch that was mixed then could be mixed again.
		return refused("the plan has closed too long ago")
	}
	if _, gone, err := s.records.Get(ctx, goneKey(hash)); err != nil || gone != 0 {
		return cmp.Or(err, refused("the plan was served here before, and what left then is not known any more: give it a new name"))
	}
	if err := s.add(ctx, signed); errors.Is(err, errOlder) {
		return refused(err.Error())
	} else if err != nil {
		return err
	}
	// Last: a plan that is on disk can be served.
	return s.write(ctx, signed)
}

// write makes a plan last with its signatures.
func (s *Service) write(ctx context.Context, signed plan.Signed) error {
	hash := signed.Plan.Hash()
	_, revision, err := s.records.Get(ctx, planKey(hash))
	if err == nil {
		_, err = s.records.Set(ctx, planKey(hash), signed.Marshal(), revision)
	}
	return err
}

func planKey(hash [32]byte) string { return fmt.Sprintf("plan.%x", hash) }

// goneKey is of a plan that was forgotten. The record stays: the clock may be wrong
// now or have been then, and with its marks gone a crowd could be mixed twice.
func goneKey(hash [32]byte) string { return fmt.Sprintf("gone.%x", hash) }

// over reports whether everything about a plan is due to be deleted.
func (s *Service) over(p plan.Plan) bool { return !s.o.Now().Before(p.Times.Closes.Add(s.o.Retention)) }

// add makes the plan's posts.
func (s *Service) add(ctx context.Context, signed plan.Signed) error {
	keys, err := readKeys(s.o.Keys)
	if err != nil {
		return err
	}
	p := &served{signed: signed, text: signed.Marshal()}
	for i, in := range signed.Plan.Route.Instances() {
		for h, hop := range in.Hops {
			key, ours := keys.open[hop.Key]
			if !ours {
				continue
			}
			post, err := s.newPost(ctx, signed.Plan, i, h, key, keys)
			if err != nil {
				return err
			}
			p.posts = append(p.posts, post)
		}
	}
	if len(p.posts) == 0 {
		return refused("none of the private keys here has a part in it")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.idle, signed.Plan.Hash())
	s.plans[signed.Plan.Hash()] = p
	close(s.wake)
	s.wake = make(chan struct{})
	return nil
}

// keys are an operator's private ones, by their public ones.
type keys struct {
	open map[string]envelope.PrivateKey
	sign map[string]wire.SignKey
}

func readKeys(folder string) (keys, error) {
	open, errOpen := serve.OpeningKeys(folder)
	sign, errSign := serve.ReceiptKeys(folder)
	if errOpen != nil {
		errSign = nil // which would say the same again
	}
	return keys{open, sign}, errors.Join(errOpen, errSign)
}

// plan finds a plan that is served, whether or not its publishers are still trusted.
func (s *Service) plan(hash [32]byte) (*served, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.plans[hash]
	return p, ok
}

// standing finds a plan whom its publishers stand for, or the problem to answer with.
func (s *Service) standing(hash [32]byte) (*served, error) {
	if err := s.withdrawals.Err(hash); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p, here := s.plans[hash]
	_, idle := s.idle[hash]
	s.mu.Unlock()
	switch {
	case idle, here && s.suspended(p) != nil:
		return nil, serve.Suspended()
	case !here:
		return nil, wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", hash[:4])
	}
	return p, nil
}

// suspended says why nothing is done for a plan now: its publishers are not trusted any
// more. It goes on once they are, or the plan has the signature of others.
func (s *Service) suspended(p *served) error {
	s.mu.Lock()
	signed := p.signed
	s.mu.Unlock()
	return s.o.Publishers.Now().Stands(signed)
}

// forget removes a plan whose retention is over, after all its posts are erased.
func (s *Service) forget(ctx context.Context, hash [32]byte) error {
	p, ok := s.plan(hash)
	if !ok {
		return nil
	}
	for _, post := range p.posts {
		post.mu.Lock()
		erased := post.erased
		post.mu.Unlock()
		if !erased {
			return nil
		}
	}
	return s.remove(ctx, hash)
}

// remove takes a plan of which nothing is left off the disk, but for the mark that it
// was here.
func (s *Service) remove(ctx context.Context, hash [32]byte) error {
	if _, err := s.records.Set(ctx, goneKey(hash), nil, 0); err != nil && !errors.Is(err, queue.ErrChanged) {
		return err
	}
	if err := s.records.Delete(ctx, planKey(hash)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.plans, hash)
	delete(s.idle, hash)
	return nil
}
