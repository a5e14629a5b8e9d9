// Package release implements confetti release: fetching, showing and verifying releases. Used by cmd/confetti, for
// analysts and reviewers.
package release

import (
	"fmt"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/textpage"
)

type Command struct {
	Show  releaseShow  `cmd:"" help:"Show a release in the terminal."`
	Fetch releaseFetch `cmd:"" help:"Get a release from its analyzer."`

	Make   releaseMake   `cmd:"" help:"Publish counts of a table that you hold, with noise."`
	Ledger releaseLedger `cmd:"" help:"Show what your releases of tables have spent."`

	Join   joined        `cmd:"" help:"Put what another party's records told with noise beside your columns of them."`
	Verify releaseVerify `cmd:"" help:"Recompute a release's promise, and check signatures and receipts."`
}

type releaseShow struct {
	File string `arg:"" help:"The folder of a release, or the release.json in it. Its plan stands beside it." type:"path"`
	JSON bool   `help:"Print its numbers as JSON, checked."`
}

func (releaseShow) Help() string { return "Example:\n  confetti release show confetti-demo" }

func (c releaseShow) Run(std terminal.Streams) error {
	r, err := releases.Open(c.File)
	if err != nil {
		return err
	}
	if c.JSON {
		return r.WriteJSON(std.Out)
	}
	if err := textpage.Write(std.Out, r); err != nil {
		return fmt.Errorf("show %s: %w", c.File, err)
	}
	return nil
}
