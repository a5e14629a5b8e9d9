package issuer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// served is a plan with the keys that sign for it and what they have signed.
type served struct {
	plan  plan.Plan
	keys  map[hop]token.PrivateKey
	scope [32]byte // what a respondent gets one token of
	marks *marks   // of the scope
}

type hop struct {
	instance uint16
	hop      uint8
}

// takeUp serves the plans of an earlier process, or that another one has taken since, and ends
// those that another one has withdrawn.
func (s *Service) takeUp(ctx context.Context) error {
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	restore := func(name string, text []byte) error { return s.withdrawals.Restore(name, bytes.Clone(text)) }
	if err := s.main.Each(ctx, withdrawnTable, "", restore); err != nil {
		return explained(err)
	}
	known := map[string][]byte{}
	for _, signed := range s.plans.Known() {
		known[signed.Plan.Name()] = signed.Marshal()
		if _, err := s.stays(ctx, signed); err != nil {
			return err
		}
	}
	var texts [][]byte
	err := s.main.Each(ctx, plansTable, "", func(name string, text []byte) error {
		if !bytes.Equal(known[name], text) {
			texts = append(texts, bytes.Clone(text))
		}
		return nil
	})
	if err != nil {
		return explained(err)
	}
	var errs []error // of one plan, which keeps no other out
	for _, text := range texts {
		errs = append(errs, s.takeOne(ctx, text))
	}
	return errors.Join(errs...)
}

func (s *Service) takeOne(ctx context.Context, text []byte) error {
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return fmt.Errorf("issuer: a plan that was served before: %w", err)
	}
	if stays, err := s.stays(ctx, signed); !stays {
		return err
	}
	if p, here := s.plans.Find(signed.Plan.Hash()); here { // it goes on under other signatures
		s.plans.Add(signed, p)
		return nil
	}
	err = s.add(ctx, signed, true, func(bool) error { return nil })
	switch {
	case errors.Is(err, errNoKey):
		// A key that was taken away stops its plans, not the others.
		s.plans.Idle(signed, web.AsProblem(err).Detail)
		return nil
	case errors.Is(err, keep.ErrDamaged): // nor does what is lost of one
		s.o.Log.Error("a plan is not served: who has its tokens is damaged", "plan", signed.Plan.Name(), "error", err.Error())
		s.plans.Idle(signed, err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("issuer: the plan %s, which was served before: %w", signed.Plan.Name(), err)
	}
	return nil
}

// stays reports whether a plan is not withdrawn. One that is, is ended.
func (s *Service) stays(ctx context.Context, signed plan.Signed) (bool, error) {
	hash := signed.Plan.Hash()
	err := s.withdrawals.Admit(ctx, hash, signed.Signers())
	if _, withdrawn := s.withdrawals.Find(hash); !withdrawn {
		return err == nil, err
	}
	return false, s.end(ctx, hash, scope(signed), func(p *served) { p.marks.end(s.withdrawals.Err(hash)) })
}

// abreast takes up what other processes have taken, before this one decides on a plan.
func (s *Service) abreast(ctx context.Context) error {
	if s.o.Store == nil {
		return nil
	}
	return s.takeUp(ctx)
}

// Load serves a plan from now on, restarts included. Loading it again is no
// error; with other signatures it goes on under those, if under the earlier ones it
// may not. A *wire.Problem says what is wrong with the plan.
func (s *Service) Load(signed plan.Signed) error {
	ctx := context.Background()
	if err := s.abreast(ctx); err != nil {
		return err
	}
	write := func(marked bool) error { return s.write(ctx, signed, marked) } // last: a plan that is on disk can be served
	_, before := s.plans.Signed(signed.Plan.Hash())
	return s.plans.Load(ctx, signed, func() error { return write(true) }, func() error { return s.add(ctx, signed, before, write) })
}

// add finds the plan's keys, opens its marks, which are here if the plan was served before,
// and serves the plan once it lasts.
func (s *Service) add(ctx context.Context, signed plan.Signed, before bool, last func(marked bool) error) error {
	keys, err := serve.TokenKeys(s.o.Keys)
	if err != nil {
		return err
	}
	p := &served{plan: signed.Plan, keys: map[hop]token.PrivateKey{}, scope: scope(signed)}
	for i, hops := range signed.Plan.Route.Ways() {
		for h, party := range hops {
			if party.Tokens == "" {
				continue
			}
			key, ours := keys[party.Tokens]
			if !ours {
				return wire.Problemf(wire.PlanRefused, "the private key of the tokens of instance %d, hop %d %w", i+1, h+1, errNoKey)
			}
			p.keys[hop{uint16(i), uint8(h)}] = key
		}
	}
	if len(p.keys) == 0 {
		return wire.Problemf(wire.PlanRefused, "no hop of it demands tokens")
	}
	if err := s.o.Relayed(*signed.Plan.Route.Issuer()); err != nil {
		return errors.Join(err, errNoKey)
	}
	if s.o.Identity != nil && slices.ContainsFunc(signed.Plan.Route.Ways(), func(hops []plan.Party) bool { return hops[0].Tokens == "" }) {
		return wire.Problemf(wire.PlanRefused, "a device shows an entry that demands no token what it shows this issuer, which is who people are: have every entry demand tokens")
	}
	if signed.Study != nil && signed.Study.Takes == plan.TakesAll {
		return wire.Problemf(wire.PlanRefused, "a study of which everybody answers all rounds has the same keys in each, and a respondent could use the tokens of all in one: have its hops demand no tokens")
	}
	if p.marks = s.sharing(signed.Plan.Hash(), p.scope); p.marks != nil { // an earlier round claimed the keys
		if err := last(true); err != nil {
			return err
		}
		s.plans.Add(signed, p)
		return nil
	}
	here, err := s.store.List(ctx)
	if err != nil {
		return explained(err)
	}
	marked := slices.Contains(here, shelfName(p.scope))
	if !marked && before {
		return fmt.Errorf("issuer: the shelf %s is missing: %s", shelfName(p.scope), lostMarks)
	}
	get := func(t keep.Table, key string) ([]byte, bool, error) { return s.main.Get(ctx, t, key) }
	if err := claimable(signed, marked, get); err != nil {
		return explained(err)
	}
	// The shelf first: a plan whose keys are claimed has had one.
	made := false
	p.marks, made, err = openMarks(ctx, s.store, p.scope, !marked)
	if errors.Is(err, keep.ErrDropped) {
		return wire.Problemf(wire.PlanRefused, "the plan was served here before, and whom it gave tokens is forgotten: give it a new name, and new keys")
	}
	if err != nil {
		return explained(err)
	}
	if err := last(!made); err != nil {
		return err
	}
	s.plans.Add(signed, p)
	return nil
}

// sorted returns the plans that are served, by when they close.
func (s *Service) sorted() []*served {
	all, _ := s.plans.All()
	slices.SortStableFunc(all, func(a, b *served) int { return a.plan.Times.Closes.Compare(b.plan.Times.Closes) })
	return all
}
