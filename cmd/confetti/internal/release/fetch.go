package release

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/services"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan/author"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/page"
)

// Names of files beside a release: of the signed plan, and of the public state that it names.
const (
	signedFile = "plan.signed.json"
	stateFile  = "state"
)

type releaseFetch struct {
	services.SignedPlan
	services.Flags
	Out string `help:"Folder for release.json, release.html, counts.csv, receipts.json and the plan, with its public state." required:"" type:"path" placeholder:"DIR"`
}

func (releaseFetch) Help() string {
	return "Gets a plan's release from its analyzer, with the signed plan and the receipts by which confetti release verify\nchecks it. It needs no token.\n\nExample:\n  confetti release fetch --dir trial --out release"
}

func (c releaseFetch) Run(std terminal.Streams) error {
	signed, err := c.Read(c.Dir)
	if err != nil {
		return err
	}
	if err := terminal.Writable(c.Out); err != nil {
		return err
	}
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	files, err := published(ctx, s, signed.Plan.Analyzer.URL, signed.Plan.Name())
	if err != nil {
		return err
	}
	files[signedFile], files["plan.toml"] = append(signed.Marshal(), '\n'), author.TOML(signed.Plan)
	if before, err := os.ReadFile(filepath.Join(c.Out, page.JSONFile)); err == nil && !bytes.Equal(before, files[page.JSONFile]) {
		releases.AnnounceReplaced(std.Err, c.Out)
	}
	if p := signed.Plan; p.State != "" {
		var state bytes.Buffer
		if err := s.State(ctx, p.Analyzer.URL, p.State, &state); err != nil {
			return err
		}
		files[stateFile] = state.Bytes()
	}
	return terminal.Uninterrupted(func() error {
		errs := []error{os.MkdirAll(c.Out, 0o755)}
		for _, name := range append(releaseFiles, signedFile, "plan.toml", stateFile) {
			if text, there := files[name]; there {
				errs = append(errs, durable.Replace(filepath.Join(c.Out, name), text, 0o644))
			} else if err := os.Remove(filepath.Join(c.Out, name)); err != nil && !errors.Is(err, os.ErrNotExist) { // of another release
				errs = append(errs, err)
			}
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		_, err := fmt.Fprintf(std.Out, "the release is in %s; to see it, and to check it:\n  confetti release show %s\n  confetti release verify %s --publisher %s\n", c.Out, c.Out, c.Out, signed.Publisher)
		return err
	})
}

// releaseFiles are what an analyzer publishes of a plan, by name; counts only of
// questions that count.
var releaseFiles = []string{page.JSONFile, page.PageFile, release.CountsFile, wire.ReceiptsFile}

// formatOf is the end of a file's name at the analyzer.
func formatOf(file string) string {
	switch file {
	case page.JSONFile:
		return "json"
	case page.PageFile:
		return "html"
	}
	return file
}

// published gets what there is of the release of a plan, by name, from its analyzer.
func published(ctx context.Context, s *services.Services, base, name string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, file := range releaseFiles {
		text, err := s.Get(ctx, fmt.Sprintf("%s/v1/releases/%s.%s", base, name, formatOf(file)))
		var problem *wire.Problem
		if errors.As(err, &problem) && problem.Code == wire.NotFound && file != page.JSONFile {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[file] = text
	}
	return files, nil
}
