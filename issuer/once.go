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
// forgotten.
func (s *Service) claim(p plan.Plan) error {
	owner := []byte(p.Name() + "\n")
	var free []string
	for i, in := range p.Route.Mix.Instances {
		for h, party := range in.Hops {
			if party.Tokens == "" {
				continue
			}
			path := filepath.Join(s.o.Folder, fmt.Sprintf("%x.key", sha256.Sum256([]byte(party.Tokens))))
			text, err := os.ReadFile(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				free = append(free, path)
			case err != nil:
				return fmt.Errorf("issuer: %w", err)
			case !bytes.Equal(text, owner):
				return wire.Problemf(wire.PlanRefused, "the key of the tokens of instance %d, hop %d is another plan's: each plan needs keys of its own", i, h)
			}
		}
	}
	for _, path := range free { // all or, but for a crash, none
		if err := durable.Create(path, owner, 0o600); err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
	}
	return nil
}
