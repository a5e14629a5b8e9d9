package issuer

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
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

// alone reports that no other plan of the scope is here, served or not.
func (s *Service) alone(hash, of [32]byte) bool {
	return !slices.ContainsFunc(s.plans.Known(), func(p plan.Signed) bool { return p.Plan.Hash() != hash && scope(p) == of })
}

// unclaimed returns the files of those of the plan's keys that have no plan yet. marked
// says whether the plan's own marks are here.
func (s *Service) unclaimed(p plan.Plan, scope [32]byte, marked bool) (paths []string, err error) {
	for i, hops := range p.Route.Ways() {
		for h, party := range hops {
			if party.Tokens == "" {
				continue
			}
			path := filepath.Join(s.o.Folder, fmt.Sprintf("%x.key", sha256.Sum256([]byte(party.Tokens))))
			text, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				paths = append(paths, path)
			case err != nil:
				return nil, fmt.Errorf("issuer: %w", err)
			case !bytes.Equal(text, owner(scope)):
				return nil, wire.Problemf(wire.PlanRefused, "the key of the tokens of instance %d, hop %d is another plan's: each plan needs keys of its own", i+1, h+1)
			case !marked:
				return nil, wire.Problemf(wire.PlanRefused, "the plan was served here before, and whom it gave tokens is not known any more: give it a new name, and new keys")
			}
		}
	}
	return paths, nil
}

func claim(paths []string, scope [32]byte) error {
	for _, path := range paths {
		if err := atomicfile.Create(path, owner(scope), 0o600); err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
	}
	return nil
}

func owner(scope [32]byte) []byte { return fmt.Appendf(nil, "%x\n", scope) }

// claimed claims the number of a round that an earlier process took. Where a build that took
// several versions left some, they go on.
func (s *Service) claimed(p plan.Plan) error {
	err := registry.ClaimRound(s.o.Folder, p)
	if _, taken := errors.AsType[*wire.Problem](err); taken {
		s.o.Log.Warn("several versions of a round are served: have their publisher withdraw all but one", "plan", p.Name())
		return nil
	}
	return err
}
