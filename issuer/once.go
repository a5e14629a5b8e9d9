package issuer

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// A key signs for one plan, for ever. The issuer does not see what it signs: what a
// respondent asks for under one plan may be a token of another one that names the
// same key, and who is asked by both would have two tokens of one of them. So the
// plan of a key is on disk before the key signs, and stays there when the plan is
// forgotten. A plan that comes back then, after a clock was put right, say, is not
// served again: without its marks everybody would get a second token.

// unclaimed is the files of those of the plan's keys that have no plan yet. marked
// says whether the plan's own marks are here.
func (s *Service) unclaimed(p plan.Plan, marked bool) (paths []string, err error) {
	for i, in := range p.Route.Mix.Instances {
		for h, party := range in.Hops {
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
			case !bytes.Equal(text, owner(p)):
				return nil, wire.Problemf(wire.PlanRefused, "the key of the tokens of instance %d, hop %d is another plan's: each plan needs keys of its own", i+1, h+1)
			case !marked:
				return nil, wire.Problemf(wire.PlanRefused, "the plan was served here before, and whom it gave tokens is not known any more: give it a new name, and new keys")
			}
		}
	}
	return paths, nil
}

func claim(paths []string, p plan.Plan) error {
	for _, path := range paths {
		if err := durable.Create(path, owner(p), 0o600); err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
	}
	return nil
}

func owner(p plan.Plan) []byte { return []byte(p.Name() + "\n") }
