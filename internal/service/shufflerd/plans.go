package shufflerd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// served are the posts that this operator has in a plan.
type served struct {
	hash  [32]byte
	posts []*post
}

// takeUp serves the plans of an earlier process, or that another one has taken since, under the
// signatures that they have now, and ends those that another one has withdrawn.
func (s *Service) takeUp(ctx context.Context) error {
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	if err := s.rows.Each(ctx, rows.Withdrawn, "", s.withdrawals.Restore); err != nil {
		return err
	}
	known := map[string][]byte{}
	for _, signed := range s.plans.Known() {
		known[planKey(signed.Plan.Hash())] = signed.Marshal()
		if _, err := s.stays(ctx, signed); err != nil {
			return err
		}
	}
	var texts [][]byte
	err := s.rows.Each(ctx, rows.Plans, "", func(key string, text []byte) error {
		if !bytes.Equal(known[key], text) {
			texts = append(texts, text)
		}
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
		if stays, err := s.stays(ctx, signed); err != nil {
			return err
		} else if !stays {
			continue
		}
		if p, here := s.plans.Find(signed.Plan.Hash()); here { // it goes on under other signatures
			s.plans.Add(signed, p)
			continue
		}
		if err := s.claimed(ctx, signed); err != nil {
			return err
		}
		err = s.add(ctx, signed)
		if p, ok := errors.AsType[*wire.Problem](err); ok {
			// A key that was taken away stops its plans, not the others.
			s.plans.Idle(signed, p.Detail)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stays reports whether a plan that is on disk goes on. One that was withdrawn, early and by another
// process too, or is gone, is destroyed: by its posts where it has some.
func (s *Service) stays(ctx context.Context, signed plan.Signed) (bool, error) {
	hash := signed.Plan.Hash()
	err := s.withdrawals.Admit(ctx, hash, signed.Signers())
	_, ended := s.withdrawals.Find(hash)
	if err != nil && !ended {
		return false, err
	}
	if _, served := s.plans.Find(hash); served {
		return !ended, nil
	}
	if !ended { // a crash came between
		if _, ended, err = s.rows.Get(ctx, rows.Gone, planKey(hash)); err != nil || !ended {
			return err == nil, err
		}
	}
	return false, s.destroyIdle(ctx, signed.Plan)
}

// abreast takes up what other processes have taken, before this one decides on a plan.
func (s *Service) abreast(ctx context.Context) error {
	if s.worker == nil {
		return nil
	}
	return inbox.Storage(s.takeUp(ctx))
}

// Load serves a plan from now on, restarts included. Loading it again is no
// error; with other signatures it goes on under those, if under the earlier ones it
// may not. A *wire.Problem says what is wrong with the plan; one in which none of
// the operator's keys has a part is among those refused.
func (s *Service) Load(ctx context.Context, signed plan.Signed) error {
	if err := s.abreast(ctx); err != nil {
		return err
	}
	resign := func() error { return inbox.Storage(s.write(ctx, signed)) }
	return s.plans.Load(ctx, signed, resign, func() error {
		if _, gone, err := s.rows.Get(ctx, rows.Gone, planKey(signed.Plan.Hash())); err != nil || gone {
			return cmp.Or(err, registry.Refused("the plan was served here before, and what left then is not known any more: give it a new name"))
		}
		mine, err := s.claim(ctx, signed)
		if err != nil {
			return err
		}
		if err := s.add(ctx, signed); err != nil {
			if errors.Is(err, errOlder) {
				err = registry.Refused(err.Error())
			}
			if _, refused := errors.AsType[*wire.Problem](err); refused && mine { // another version may be served
				err = errors.Join(err, s.rows.Delete(ctx, rows.Rounds, roundKey(*signed.Plan.Round)))
			}
			return err
		}
		// Last: a plan that is on disk can be served.
		return s.write(ctx, signed)
	})
}

// claim takes a round's number in its study for this plan, for good; mine says that nobody had
// it before. Another plan of that number is refused, whichever process took it.
func (s *Service) claim(ctx context.Context, signed plan.Signed) (mine bool, err error) {
	round, hash := signed.Plan.Round, signed.Plan.Hash()
	if round == nil {
		return false, nil
	}
	key := roundKey(*round)
	err = s.rows.Set(ctx, rows.Rounds, key, hash[:], nil)
	if errors.Is(err, rows.ErrChanged) {
		return false, registry.RoundTaken(*round)
	}
	return err == nil, inbox.Storage(err)
}

// claimed claims the number of a round that an earlier process took. Where a build that took
// several versions left some, they go on: what they have is kept.
func (s *Service) claimed(ctx context.Context, signed plan.Signed) error {
	_, err := s.claim(ctx, signed)
	if p, ok := errors.AsType[*wire.Problem](err); ok && p.Code == wire.PlanRefused {
		s.o.Log.Warn("several versions of a round are served: have their publisher withdraw all but one", "plan", signed.Plan.Name())
		return nil
	}
	return err
}

// roundKey is of the plan that a round of a study is here. The record stays, as that of a plan
// that is gone does.
func roundKey(r plan.Round) string { return fmt.Sprintf("%s/%d", r.Study, r.Number) }

// write makes a plan last with its signatures.
func (s *Service) write(ctx context.Context, signed plan.Signed) error {
	key := planKey(signed.Plan.Hash())
	was, there, err := s.rows.Get(ctx, rows.Plans, key)
	if !there {
		was = nil
	}
	if err == nil {
		err = s.rows.Set(ctx, rows.Plans, key, signed.Marshal(), was)
	}
	return err
}

func planKey(hash [32]byte) string { return fmt.Sprintf("%x", hash) }

// add makes the plan's posts.
func (s *Service) add(ctx context.Context, signed plan.Signed) error {
	keys, err := readKeys(s.o.Keys)
	if err != nil {
		return err
	}
	p := &served{hash: signed.Plan.Hash()}
	for i, in := range signed.Plan.Route.Instances() {
		for h, hop := range in.Hops {
			key, ours := keys.open[hop.Key]
			if !ours {
				continue
			}
			if err := s.o.Relayed(hop); err != nil {
				return err
			}
			post, err := s.newPost(ctx, signed.Plan, i, h, key, keys)
			if err != nil {
				return err
			}
			p.posts = append(p.posts, post)
		}
	}
	if len(p.posts) == 0 {
		return registry.Refused("none of the private keys here has a part in it")
	}
	s.plans.Add(signed, p)
	return nil
}

// keys are an operator's private ones, by their public ones.
type keys struct {
	open map[string]envelope.PrivateKey
	sign map[string]relay.SignKey
}

func readKeys(folder string) (keys, error) {
	open, errOpen := serve.OpeningKeys(folder)
	sign, errSign := serve.SigningKeys(folder)
	if errOpen != nil {
		errSign = nil // which would say the same again
	}
	return keys{open, sign}, errors.Join(errOpen, errSign)
}

// forget removes a plan whose retention is over, after all its posts are erased.
func (s *Service) forget(ctx context.Context, hash [32]byte) error {
	p, ok := s.plans.Find(hash)
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

// end marks a plan as one that was here, before anything of it is erased, for good: the clock may
// be wrong now or have been then, and with its marks gone a crowd could be mixed twice.
func (s *Service) end(ctx context.Context, hash [32]byte) error {
	return s.rows.Set(ctx, rows.Gone, planKey(hash), nil, nil)
}

// remove takes a plan of which nothing is left off the disk, but for the mark that it
// was here.
func (s *Service) remove(ctx context.Context, hash [32]byte) error {
	if err := s.end(ctx, hash); err != nil {
		return err
	}
	if err := s.rows.Delete(ctx, rows.Plans, planKey(hash)); err != nil {
		return err
	}
	s.plans.Remove(hash)
	return nil
}
