package release

import (
	"context"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/plan"
)

type releaseFetch struct {
	Plan string `arg:"" optional:"" help:"A signed plan, with --dir the trial's, or the address of the release: https://ANALYZER/v1/releases/PLAN."`
	services.Flags
	Out string `help:"Folder for release.json, release.html, counts.csv (and the same as counts.parquet), receipts.json and the plan, with its public state." required:"" type:"path" placeholder:"DIR"`
	terminal.Form
}

func (releaseFetch) Help() string {
	return "Gets a plan's release from its analyzer, with the signed plan and the receipts by which confetti release verify\nchecks it. It needs no token.\n\nExample:\n  confetti release fetch --dir trial --out release\n  confetti release fetch https://analyzer.example:8443/v1/releases/b842e62c60808415850e3f02336c80ac9693491445b06280e444feaa0cc6965f --out release"
}

func (c releaseFetch) Run(std terminal.Streams) error {
	var signed plan.Signed
	base, name, err := "", "", error(nil)
	if strings.HasPrefix(c.Plan, "https://") {
		base, name, err = at(c.Plan)
	} else if signed, err = (services.SignedPlan{Plan: c.Plan}).Read(c.Dir); err == nil {
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
	if name != "" {
		if signed, err = published(ctx, s, base, name); err != nil {
			return err
		}
	}
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

// published asks an analyzer for the plan of a release.
func published(ctx context.Context, s *services.Services, base, name string) (plan.Signed, error) {
	text, err := s.Get(ctx, base+"/v1/plans/"+name)
	if err != nil {
		return plan.Signed{}, err
	}
	signed, err := plan.ParseSigned(text)
	if err == nil && (signed.Plan.Name() != name || signed.Plan.Analyzer.URL != base) {
		err = fmt.Errorf("%s answers with the plan %s of %s: ask whoever gave you the address", base, plan.Short(signed.Plan.Name()), signed.Plan.Analyzer.URL)
	}
	return signed, err
}
