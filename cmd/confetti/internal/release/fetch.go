package release

import (
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

type releaseFetch struct {
	services.SignedPlan
	services.Flags
	Out string `help:"Folder for release.json, release.html, counts.csv (and the same as counts.parquet), receipts.json and the plan, with its public state." required:"" type:"path" placeholder:"DIR"`
	terminal.Form
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
	return c.Print(std, struct {
		Folder    string `json:"folder"`
		Plan      string `json:"plan"`
		Publisher string `json:"publisher"` // who is expected to have signed it
	}{c.Out, signed.Plan.Name(), signed.Publisher}, "the release is in %s; to see it, and to check it:\n  confetti release show %s\n  confetti release verify %s --publisher %s\n", c.Out, c.Out, c.Out, signed.Publisher)
}
