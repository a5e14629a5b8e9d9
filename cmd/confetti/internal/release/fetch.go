package release

import (
	"fmt"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

type releaseFetch struct {
	services.SignedPlan
	services.Flags
	Out string `help:"Folder for release.json, release.html, counts.csv (and the same as counts.parquet), receipts.json and the plan, with its public state." required:"" type:"path" placeholder:"DIR"`
}

func (releaseFetch) Help() string {
	return "Gets a plan's release from its analyzer, with the signed plan and the receipts by which confetti release verify\nchecks it. It needs no token.\n\nExample:\n  confetti release fetch --dir trial --out release"
}

func (c releaseFetch) Run(std terminal.Streams) error {
	signed, err := c.Read(c.Dir)
	if err == nil {
		err = plans.Addressed(signed.Plan, "analyzer")
	}
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
	files, err := s.Release(ctx, signed)
	if err != nil {
		return err
	}
	if err := releases.Keep(std, c.Out, files); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.Out, "the release is in %s; to see it, and to check it:\n  confetti release show %s\n  confetti release verify %s --publisher %s\n", c.Out, c.Out, c.Out, signed.Publisher)
	return err
}
