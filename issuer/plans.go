package issuer

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/chain"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// idle is a plan that was served and cannot be now. Who has tokens is left alone.
type idle struct {
	signed plan.Signed
	why    string
}

// served is a plan with the keys that sign for it and what they have signed.
type served struct {
	signed plan.Signed
	text   []byte
	keys   map[hop]token.PrivateKey
	scope  [32]byte // what a respondent gets one token of
	log    *markLog // of the scope
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
		err = s.add(signed, true)
		if errors.Is(err, errNoKey) {
			// A key that was taken away stops its plans, not the others.
			s.idle[hash] = idle{signed, wire.AsProblem(err).Detail}
			continue
		}
		if err != nil {
			return fmt.Errorf("issuer: %s, which was served before: %w", path, err)
		}
	}
	for _, path := range s.orphans() {
		s.o.Log.Warn(orphaned, "file", path)
	}
	return nil
}

// orphans are the logs of plans that are not served.
func (s *Service) orphans() (paths []string) {
	all, _ := filepath.Glob(filepath.Join(s.o.Folder, "*.log"))
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(all, func(path string) bool {
		hash, err := hex.DecodeString(strings.TrimSuffix(filepath.Base(path), ".log"))
		return err != nil || len(hash) != 32 || s.plans[[32]byte(hash)] != nil || s.idle[[32]byte(hash)].why != "" || s.sharing([32]byte{}, [32]byte(hash)) != nil
	})
}

// Load serves a plan from now on, restarts included. Loading it again is no
// error; with other signatures it goes on under those, if under the earlier ones it
// may not. A *wire.Problem says what is wrong with the plan.
func (s *Service) Load(signed plan.Signed) error {
	refused := func(format string, a ...any) error { return wire.Problemf(wire.PlanRefused, format, a...) }
	publishers := s.o.Publishers.Now()
	if err := signed.Verify(publishers); err != nil {
		return refused("%w", err)
	}
	hash := signed.Plan.Hash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.withdrawals.Admit(context.Background(), hash, signed.Signers()); err != nil {
		return err
	}
	if there := s.plans[hash]; there != nil {
		if publishers.Stands(there.signed) == nil {
			return nil
		}
		if err := s.write(signed); err != nil {
			return err
		}
		again := *there // whoever has the earlier one goes on reading it
		again.signed, again.text = signed, signed.Marshal()
		s.plans[hash] = &again
		return nil
	}
	_, before := s.idle[hash]
	switch {
	case len(s.plans) >= s.o.Limits.Plans:
		return refused("%d plans are served already, the limit", s.o.Limits.Plans)
	case signed.Plan.Times.Closes.IsZero():
		return refused("a plan that is served needs times.closes: after it nothing is issued")
	case s.over(signed):
		return refused("the plan has closed too long ago")
	}
	if !before {
		if err := publishers.Admit(signed, s.o.Now()); err != nil {
			return refused("%w", err)
		}
	}
	if err := s.add(signed, before); err != nil {
		return err
	}
	// Last: a plan that is on disk can be served.
	if err := s.write(signed); err != nil {
		if s.sharing(hash, s.plans[hash].scope) == nil {
			s.plans[hash].log.close()
		}
		delete(s.plans, hash)
		return err
	}
	delete(s.idle, hash)
	return nil
}

// write makes a plan last with its signatures.
func (s *Service) write(signed plan.Signed) error {
	if err := durable.Replace(s.path(signed.Plan.Hash(), "plan"), signed.Marshal(), 0o600); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	return nil
}

func (s *Service) path(hash [32]byte, kind string) string {
	return filepath.Join(s.o.Folder, fmt.Sprintf("%x.%s", hash, kind))
}

// add finds the plan's keys and opens its log, which is here if the plan was served
// before.
func (s *Service) add(signed plan.Signed, before bool) error {
	keys, err := serve.TokenKeys(s.o.Keys)
	if err != nil {
		return err
	}
	p := &served{signed: signed, text: signed.Marshal(), keys: map[hop]token.PrivateKey{}, scope: scope(signed)}
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
	if signed.Study != nil && signed.Study.Takes == plan.TakesAll {
		return wire.Problemf(wire.PlanRefused, "a study of which everybody answers all rounds has the same keys in each, and a respondent could use the tokens of all in one: have its hops demand no tokens")
	}
	hash := signed.Plan.Hash()
	if p.log = s.sharing(hash, p.scope); p.log != nil { // an earlier round claimed the keys
		s.plans[hash] = p
		return nil
	}
	marks := s.path(p.scope, "log")
	_, missing := os.Stat(marks)
	if missing != nil && before {
		return fmt.Errorf("issuer: %s is missing: %s", marks, lostMarks)
	}
	free, err := s.unclaimed(signed.Plan, p.scope, missing == nil)
	if err != nil {
		return err
	}
	title := logTitle(fmt.Sprintf("%x", p.scope), s.auth.Secret)
	// The log first: a plan whose keys are claimed has had one.
	if missing != nil {
		if err := chain.Create(marks, title); err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
	}
	p.log, err = openLog(marks, s.path(p.scope, "end"), title, s.o.Log)
	if errors.Is(err, chain.ErrDamaged) || errors.Is(err, chain.ErrShort) {
		err = fmt.Errorf("%w; without it respondents could be given a second token: %s", err, lostMarks)
	}
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	if err := claim(free, p.scope); err != nil {
		return errors.Join(err, p.log.close())
	}
	s.plans[hash] = p
	return nil
}

// plan finds a plan whom its publishers stand for, or the problem to answer with.
func (s *Service) plan(hash [32]byte) (*served, error) {
	if err := s.withdrawals.Err(hash); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p, left := s.plans[hash], s.idle[hash]
	s.mu.Unlock()
	switch {
	case left.why != "", p != nil && s.o.Publishers.Now().Stands(p.signed) != nil:
		return nil, serve.Suspended()
	case p == nil:
		return nil, wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", hash[:4])
	}
	return p, nil
}

// sorted is the plans that are served, by when they close.
func (s *Service) sorted() []*served {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*served
	for _, p := range s.plans {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *served) int {
		return cmp.Or(a.signed.Plan.Times.Closes.Compare(b.signed.Plan.Times.Closes), strings.Compare(a.signed.Plan.Name(), b.signed.Plan.Name()))
	})
	return all
}
