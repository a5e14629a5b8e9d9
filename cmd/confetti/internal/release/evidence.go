package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/services"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/plan/author"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

// evidence is what there is to verify: files by the names that release fetch gives, and
// the state that a plan names, which may be too large to be held.
type evidence struct {
	files map[string][]byte
	state func(to io.Writer, name string) error
}

// evidence finds it in a folder, or where it is published.
func (c releaseVerify) evidence() (evidence, error) {
	if strings.HasPrefix(c.From, "https://") {
		return c.fetch()
	}
	files := map[string][]byte{}
	for _, name := range append(releases.Published, releases.SignedFile, releases.PlanFile) {
		text, err := os.ReadFile(filepath.Join(c.From, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return evidence{}, err
		}
		files[name] = text
	}
	if files[page.JSONFile] == nil {
		return evidence{}, fmt.Errorf("there is no %s in %s: name the folder that confetti release fetch wrote, or the release's address", page.JSONFile, c.From)
	}
	return evidence{files, c.keptState}, nil
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

func (c releaseVerify) fetch() (evidence, error) {
	base, name, found := strings.Cut(c.From, "/v1/releases/")
	name, _, _ = strings.Cut(name, ".")
	if _, err := wire.ParsePlanName(name); !found || err != nil {
		return evidence{}, terminal.Usagef("%s is no release's address, which ends with /v1/releases/PLAN", c.From)
	}
	s, ctx, done, err := services.Flags{Roots: c.Roots}.Reach()
	if err != nil {
		return evidence{}, err
	}
	defer done()
	files, err := fetched(ctx, s, base, name)
	return evidence{files, func(to io.Writer, state string) error {
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
		files[releases.SignedFile] = signed
	}
	return files, err
}

// signed is the plan and who has signed it; nobody where there is only a plan.
func (e evidence) signed(r release.Release) (s plan.Signed, err error) {
	files := e.files
	switch {
	case files[releases.SignedFile] != nil:
		if s, err = plan.ParseSigned(files[releases.SignedFile]); err == nil {
			err = s.Verify(plan.Trust(s.Signers()...))
		}
	case files[releases.PlanFile] != nil:
		if s.Plan, err = author.Parse(files[releases.PlanFile]); err == nil {
			err = protocol.Validate(s.Plan)
		}
	default:
		err = errors.New("the plan is not here, without which nothing can be recomputed: get the release with confetti release fetch")
	}
	if err == nil && s.Plan.Name() != r.Plan {
		err = errors.New("the release is of another plan")
	}
	return s, err
}
