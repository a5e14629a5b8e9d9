package issuer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A key signs for one plan, for ever. The issuer does not see what it signs: what a
// respondent asks for under one plan may be a token of another one that names the
// same key, and who is asked by both would have two tokens of one of them. So the
// plan of a key is on disk before the key signs, and stays there when the plan is
// forgotten. A plan that comes back then, after a clock was put right, say, is not
// served again: without its marks everybody would get a second token.
//
// The rounds of a study have the study's keys. Where each respondent answers one of
// them, the study stands for its rounds: whoever has a token has one in all of them,
// and may use it in any. Where everybody may answer all, there is no such thing as one
// token a round, and hops have to know respondents otherwise.

// Tables of main.
const (
	plansTable     keep.Table = 1 // NAME -> the signed plan
	withdrawnTable keep.Table = 3 // NAME -> the statement
	roundsTable    keep.Table = 4 // STUDY/NUMBER -> the plan's name, for good
	keysTable      keep.Table = 5 // digest of a key of tokens -> the scope that it signs for, for good
	scopesTable    keep.Table = 6 // SCOPE/NAME of a plan of it that is here
)

// scope returns what a respondent gets one token of: the plan, or the study.
func scope(signed plan.Signed) [32]byte {
	if signed.Study != nil {
		return signed.Study.Hash()
	}
	return signed.Plan.Hash()
}

// sharing returns the open marks of another served plan of that scope; nil where there is none.
func (s *Service) sharing(hash, scope [32]byte) *marks {
	all, _ := s.plans.All()
	for _, p := range all {
		if p.plan.Hash() != hash && p.scope == scope {
			return p.marks
		}
	}
	return nil
}

func scopeKey(scope [32]byte, name string) string { return fmt.Sprintf("%x/%s", scope, name) }

// claimed calls each with every row that says what a plan claims for good: its keys, and its
// number in its study.
func claimed(signed plan.Signed, each func(t keep.Table, key string, value []byte, taken error)) {
	of := scope(signed)
	for i, hops := range signed.Plan.Route.Ways() {
		for h, party := range hops {
			if party.Tokens != "" {
				each(keysTable, fmt.Sprintf("%x", sha256.Sum256([]byte(party.Tokens))), of[:],
					wire.Problemf(wire.PlanRefused, "the key of the tokens of instance %d, hop %d is another plan's: each plan needs keys of its own", i+1, h+1))
			}
		}
	}
	if r := signed.Plan.Round; r != nil {
		each(roundsTable, fmt.Sprintf("%s/%d", r.Study, r.Number), []byte(signed.Plan.Name()), registry.RoundTaken(*r))
	}
}

// claimable says why a plan cannot have what it claims, as get reads it. marked says whether the
// plan's own marks are here.
func claimable(signed plan.Signed, marked bool, get func(t keep.Table, key string) ([]byte, bool, error)) (err error) {
	claimed(signed, func(t keep.Table, key string, value []byte, taken error) {
		if err != nil {
			return
		}
		is, there, failed := get(t, key)
		switch {
		case failed != nil:
			err = failed
		case there && !bytes.Equal(is, value):
			err = taken
		case there && t == keysTable && !marked:
			err = wire.Problemf(wire.PlanRefused, "the plan was served here before, and whom it gave tokens is not known any more: give it a new name, and new keys")
		}
	})
	return err
}

// write makes a plan last with its signatures and all that it claims, whichever process comes
// first.
func (s *Service) write(ctx context.Context, signed plan.Signed, marked bool) error {
	return explained(s.main.Update(ctx, func(tx keep.Tx) error {
		if err := claimable(signed, marked, tx.Get); err != nil {
			return err
		}
		claimed(signed, func(t keep.Table, key string, value []byte, _ error) { tx.Put(t, key, value) })
		name := signed.Plan.Name()
		tx.Put(plansTable, name, signed.Marshal())
		tx.Put(scopesTable, scopeKey(scope(signed), name), nil)
		return nil
	}))
}

// erase deletes a plan, whose claims stay. last: no other plan of its scope is here.
func (s *Service) erase(ctx context.Context, name string, scope [32]byte) (last bool, err error) {
	err = s.main.Update(ctx, func(tx keep.Tx) error {
		tx.Delete(plansTable, name)
		tx.Delete(scopesTable, scopeKey(scope, name))
		last = true
		return tx.Each(scopesTable, scopeKey(scope, ""), func(string, []byte) error { last = false; return nil })
	})
	return last, explained(err)
}
