package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/fetched"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/study/counts"
	"github.com/confetti-dp/confetti/cmd/internal/plans"
	"github.com/confetti-dp/confetti/cmd/internal/services"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release/verify"
)

// ask names a study, and says how its analyzer is reached.
type ask struct {
	Round string `arg:"" optional:"" help:"Any round of the study; with --dir the trial's newest." type:"path"`
	services.Flags
}

// open finds the study, and the rounds that its analyzer has, in their order.
func (a ask) open(ctx context.Context, s *services.Services) (signed plan.Signed, rounds []progress.Plan, err error) {
	if signed, err = (services.SignedPlan{Plan: a.Round}).Read(a.Dir); err != nil {
		return signed, nil, err
	}
	if signed.Study == nil {
		return signed, nil, fmt.Errorf("plan %s is by itself, and no round of a study", plan.Short(signed.Plan.Name()))
	}
	if err := plans.Addressed(signed.Plan, "analyzer"); err != nil {
		return signed, nil, err
	}
	base := signed.Plan.Analyzer.URL
	if rounds, err = progress.Plans(ctx, base, s.Get); err != nil {
		return signed, nil, err
	}
	rounds = slices.DeleteFunc(rounds, func(p progress.Plan) bool { return p.Study != signed.Plan.Round.Study })
	slices.SortFunc(rounds, func(a, b progress.Plan) int { return cmp.Compare(a.Round, b.Round) })
	return signed, rounds, nil
}

type studyShow struct {
	ask
	JSON bool `help:"Print JSON: what the analyzer says of each round."`
}

func (studyShow) Help() string {
	return "Asks the analyzer; it needs no token.\n\nExample:\n  confetti study show study.signed.json\n  confetti study show --dir trial"
}

func (c studyShow) Run(std terminal.Streams) error {
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	signed, rounds, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, rounds)
	}
	study := signed.Study
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "study\t%s, at most %d %s until %s; a device answers %s\n", signed.Plan.Round.Study, study.Rounds, map[bool]string{true: "round", false: "rounds"}[study.Rounds == 1], study.Times.Closes.UTC().Format(time.RFC3339), study.Takes)
	for _, r := range rounds {
		fmt.Fprintf(w, "round %d\t%s\n", r.Round, sanitize.Text(stands(r)))
		if r.Over != "" {
			fmt.Fprintf(w, "over\t%s\n", sanitize.Text(r.Over))
		}
	}
	return w.Flush()
}

// stands says how far a round has come.
func stands(r progress.Plan) string {
	says := fmt.Sprintf("%s, plan %s", r.Standing(), plan.Short(r.Plan))
	if w := r.Withdrawal; w != nil {
		return fmt.Sprintf("%s: withdrawn by its publisher at %s: %s", says, w.At.UTC().Format(time.RFC3339), w.Reason)
	}
	if r.Status == progress.Open {
		return says + ", closes at " + r.Closes.UTC().Format(time.RFC3339)
	}
	if r.Reason != "" {
		says += ": " + r.Reason
	}
	return says
}

type studyFetch struct {
	ask
	Out string `help:"Folder for the newest round, and a folder below it for the release of each." required:"" type:"path" placeholder:"DIR"`
	terminal.Form
}

func (studyFetch) Help() string {
	return "Gets from the analyzer what confetti release fetch gets, of each round that was released, and the newest round,\nsigned. It needs no token. What is there already is not fetched again, so that it may be called time and again.\n\nExample:\n  confetti study fetch study.signed.json --out study"
}

func (c studyFetch) Run(std terminal.Streams) error {
	if err := terminal.Writable(c.Out); err != nil {
		return err
	}
	s, ctx, done, err := c.Reach()
	if err != nil {
		return err
	}
	defer done()
	signed, rounds, err := c.open(ctx, s)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		if r.Status != progress.Released {
			fmt.Fprintf(c.Words(std), "round %d is %s\n", r.Round, sanitize.Text(stands(r)))
			continue
		}
		if err := c.fetch(ctx, std, s, signed, r); err != nil {
			return err
		}
	}
	if err := errors.Join(c.saveRounds(rounds), fetched.SaveProgress(c.Out, rounds)); err != nil {
		return err
	}
	newest, err := s.NextRound(ctx, signed)
	if err != nil {
		return err
	}
	if newest == nil {
		newest = &signed
	}
	if err := errors.Join(os.MkdirAll(c.Out, 0o755), atomicfile.Replace(filepath.Join(c.Out, verify.SignedFile), append(newest.Marshal(), '\n'), 0o644)); err != nil {
		return err
	}
	return c.Print(std, map[string]any{"rounds": rounds}, "")
}

// saveRounds writes the table of a study that counts events, from the newest release, which tells of all rounds.
func (c studyFetch) saveRounds(rounds []progress.Plan) error {
	for _, r := range slices.Backward(rounds) {
		if r.Status != progress.Released {
			continue
		}
		newest, err := releases.Open(filepath.Join(c.Out, fmt.Sprintf("round-%d", r.Round)))
		if err != nil {
			return err
		}
		return counts.SaveRounds(c.Out, newest)
	}
	return nil
}

// fetch gets the release of one round, where it is not here.
func (c studyFetch) fetch(ctx context.Context, std terminal.Streams, s *services.Services, signed plan.Signed, r progress.Plan) error {
	dir := filepath.Join(c.Out, fmt.Sprintf("round-%d", r.Round))
	if kept, err := plan.ReadSigned(filepath.Join(dir, verify.SignedFile)); err == nil && kept.Plan.Name() == r.Plan {
		fmt.Fprintf(c.Words(std), "round %d is in %s\n", r.Round, dir)
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	round, err := s.RoundNamed(ctx, signed, r.Plan)
	if err != nil {
		return err
	}
	files, err := s.Release(ctx, round)
	if err == nil {
		err = releases.Keep(std, dir, files)
	}
	if err == nil {
		_, err = fmt.Fprintf(c.Words(std), "the release of round %d is in %s: confetti release verify %s\n", r.Round, dir, dir)
	}
	return err
}
