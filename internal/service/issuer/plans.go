package issuer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
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

// takeUp serves the plans that are in the folder.
func (s *Service) takeUp() error {
	if err := s.restoreWithdrawals(); err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(s.o.Folder, "*.plan"))
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
		signed, err := plan.ParseSigned(text)
		if err == nil {
			// They did when it came: has the disk changed it?
			err = signed.Verify(plan.Trust(signed.Signers()...))
		}
		if err == nil && path != s.path(signed.Plan.Hash(), "plan") {
			err = errors.New("it is another plan than its name says")
		}
		if err != nil {
			return fmt.Errorf("issuer: %s is damaged: put it back as it was, or remove it and register the plan again: %w", path, err)
		}
		hash := signed.Plan.Hash()
		if _, withdrawn := s.withdrawals.Find(hash); withdrawn { // a crash came between
			if err := s.remove(hash, scope(signed)); err != nil {
				return err
			}
			continue
		}
		err = s.add(signed, true, func() error { return s.claimed(signed.Plan) })
		if errors.Is(err, errNoKey) {
			// A key that was taken away stops its plans, not the others.
			s.plans.Idle(signed, web.AsProblem(err).Detail)
			continue
		}
		if err != nil {
			return fmt.Errorf("issuer: %s, which was served before: %w", path, err)
		}
	}
	for _, name := range s.orphans() {
		s.o.Log.Warn(orphaned, "shelf", name)
	}
	return nil
}

// Load serves a plan from now on, restarts included. Loading it again is no
// error; with other signatures it goes on under those, if under the earlier ones it
// may not. A *wire.Problem says what is wrong with the plan.
func (s *Service) Load(signed plan.Signed) error {
	write := func() error { return s.write(signed) } // last: a plan that is on disk can be served
	_, before := s.plans.Signed(signed.Plan.Hash())
	return s.plans.Load(context.Background(), signed, write, func() error { return s.add(signed, before, write) })
}

// write makes a plan last with its signatures. A round's number is claimed first.
func (s *Service) write(signed plan.Signed) error {
	if err := registry.ClaimRound(s.o.Folder, signed.Plan); err != nil {
		return err
	}
	if err := atomicfile.Replace(s.path(signed.Plan.Hash(), "plan"), signed.Marshal(), 0o600); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	return nil
}

func (s *Service) path(hash [32]byte, kind string) string {
	return filepath.Join(s.o.Folder, fmt.Sprintf("%x.%s", hash, kind))
}

// add finds the plan's keys, opens its marks, which are here if the plan was served before,
// and serves the plan once it lasts.
func (s *Service) add(signed plan.Signed, before bool, last func() error) error {
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
		if err := last(); err != nil {
			return err
		}
		s.plans.Add(signed, p)
		return nil
	}
	ctx := context.Background()
	here, err := s.store.List(ctx)
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	marked := slices.Contains(here, shelfName(p.scope))
	if !marked && before {
		return fmt.Errorf("issuer: the shelf %s is missing: %s", shelfName(p.scope), lostMarks)
	}
	free, err := s.unclaimed(signed.Plan, p.scope, marked)
	if err != nil {
		return err
	}
	// The shelf first: a plan whose keys are claimed has had one.
	p.marks, err = openMarks(ctx, s.store, p.scope, !marked, s.auth.Secret)
	if errors.Is(err, keep.ErrDropped) {
		return wire.Problemf(wire.PlanRefused, "the plan was served here before, and whom it gave tokens is forgotten: give it a new name, and new keys")
	}
	if err != nil {
		return err
	}
	if err = claim(free, p.scope); err == nil {
		err = last()
	}
	if err != nil {
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
