package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/storage/durable"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/verify"
)

// evidence finds it in a folder, or where it is published.
func (c releaseVerify) evidence() (verify.Evidence, error) {
	if strings.HasPrefix(c.From, "https://") {
		return c.fetch()
	}
	if c.Roots != "" {
		return verify.Evidence{}, terminal.Usagef("--roots is of an analyzer's address: leave it out for a folder")
	}
	files := map[string][]byte{}
	for _, name := range append(slices.Clone(verify.Published), verify.SignedFile, verify.PlanFile) {
		text, err := durable.Read(filepath.Join(c.From, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return verify.Evidence{}, err
		}
		files[name] = text
	}
	if files[release.JSONFile] == nil {
		return verify.Evidence{}, fmt.Errorf("there is no %s in %s: name the folder that confetti release fetch wrote, or the release's address", release.JSONFile, c.From)
	}
	return verify.Evidence{Files: files, State: c.keptState}, nil
}

// keptState reads the state in the folder of a release.
func (c releaseVerify) keptState(to io.Writer, name string) error {
	f, err := os.Open(filepath.Join(c.From, releases.StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the plan names a public state, which is not here: get the release with confetti release fetch")
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return plan.CopyState(to, f, name)
}

func (c releaseVerify) fetch() (verify.Evidence, error) {
	base, name, found := strings.Cut(c.From, "/v1/releases/")
	name, _, _ = strings.Cut(name, ".")
	if _, err := wire.ParsePlanName(name); !found || err != nil {
		return verify.Evidence{}, terminal.Usagef("%s is no release's address, which ends with /v1/releases/PLAN", c.From)
	}
	s, ctx, done, err := services.Flags{Roots: c.Roots}.Reach()
	if err != nil {
		return verify.Evidence{}, err
	}
	defer done()
	files, err := fetched(ctx, s, base, name)
	return verify.Evidence{Files: files, State: func(to io.Writer, state string) error {
		s, ctx, done, err := services.Flags{Roots: c.Roots}.Reach()
		if err != nil {
			return err
		}
		defer done()
		return s.State(ctx, base, state, to)
	}}, err
}

// fetched gets a release and its plan from an analyzer by the plan's name.
func fetched(ctx context.Context, s *services.Services, base, name string) (map[string][]byte, error) {
	signed, err := s.Get(ctx, base+"/v1/plans/"+name)
	if err != nil {
		return nil, err
	}
	files, err := s.Published(ctx, base, name)
	if err == nil {
		files[verify.SignedFile] = signed
	}
	return files, err
}
