package train

import (
	"fmt"
	"text/tabwriter"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/lab/train/attack"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
)

// Audit is confetti-lab audit: what an attacker finds of training with noise, beside what is claimed.
type Audit struct {
	Sampling        float64 `help:"Probability that a record takes part in a step." required:"" placeholder:"Q"`
	NoiseMultiplier float64 `help:"Standard deviation over the clipping norm." required:"" placeholder:"S"`
	Steps           int     `help:"Number of steps." required:"" placeholder:"T"`
	Delta           float64 `help:"Probability that the claim may fail by." default:"1e-6"`
	Canaries        int     `help:"Records that are canaries in one training, beside; 0: none." placeholder:"N"`
	Seed            uint64  `help:"The same seed gives the same audit." default:"1"`
	JSON            bool    `help:"Print JSON."`
}

func (Audit) Help() string {
	return "Models are trained by DP-SGD, and encoders by DP-Adam, with one record and without, and whoever has them guesses which it was.\nFails if the claim is false.\n\nExample:\n  confetti-lab audit --sampling 0.1 --noise-multiplier 2 --steps 100 --canaries 1000 --delta 1e-6"
}

// examples are made-up ones, on some of which models are trained.
const examples = 120

func (c Audit) Run(std terminal.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	t := dpsgd.Training{Sampling: c.Sampling, NoiseMultiplier: c.NoiseMultiplier, Steps: c.Steps, Clip: 1, Expected: 1, Rate: 1}
	claim, err := account.Epsilon(t.Event(), c.Delta)
	if err != nil {
		return terminal.Usage(err)
	}
	report, finish := terminal.Progress(std.Err)
	findings, err := c.attack(t, claim, report)
	finish()
	if err != nil {
		return err
	}
	best := audit.Best(findings)
	if err := c.print(std, findings, best); err != nil {
		return err
	}
	for _, f := range findings {
		if f.False() {
			return fmt.Errorf("training: %s", f.Verdict())
		}
	}
	return nil
}

func (c Audit) check() error {
	switch {
	case !(c.Sampling > 0 && c.Sampling <= 1) || !(c.NoiseMultiplier > 0 && c.NoiseMultiplier <= 1e6):
		return terminal.Usagef("--sampling is %v, --noise-multiplier %v: give a probability above 0, and a number above 0, at most 1e6", c.Sampling, c.NoiseMultiplier)
	case c.Steps < 1 || c.Steps > 1_000_000:
		return terminal.Usagef("--steps is %d: give 1 to 1000000", c.Steps)
	case !(c.Delta > 0 && c.Delta < 1):
		return terminal.Usagef("--delta is %v: give a number between 0 and 1", c.Delta)
	case c.Canaries < 0 || c.Canaries > 0 && audit.EnoughCanaries(c.Canaries) != nil:
		return terminal.Usagef("--canaries is %d: give at least 4, or 0", c.Canaries)
	}
	return nil
}

// attack guesses which examples a model was trained on, attacks by rows of extremes and, where canaries are asked for,
// looks at every step of a training with them.
func (c Audit) attack(t dpsgd.Training, claim account.Guarantee, report func(stage string, done, of int)) ([]audit.Finding, error) {
	findings, err := attack.Trained(t, examples, c.Seed).Attack(claim, c.Seed, func(done, of int) { report("models", done, of) })
	if err != nil {
		return nil, err
	}
	extreme, err := attack.Extremes(t, claim, c.Seed, func(done, of int) { report("rows of extremes", done, of) })
	findings = append(findings, extreme...)
	if err != nil || c.Canaries == 0 {
		return findings, err
	}
	more, err := attack.Steps(t, c.Canaries, claim, c.Seed, func(done, of int) { report("steps", done, of) })
	return append(findings, more...), err
}

// print writes the best finding, then all.
func (c Audit) print(std terminal.Streams, findings []audit.Finding, best audit.Finding) error {
	if c.JSON {
		out := struct {
			audit.Written
			Findings []audit.Written `json:"findings"`
		}{Written: best.Written()}
		for _, f := range findings {
			out.Findings = append(out.Findings, f.Written())
		}
		return terminal.WriteJSON(std.Out, out)
	}
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "claimed\t%s\nmeans\t%s\n", best.Claimed, best.Verdict())
	for _, f := range findings {
		fmt.Fprintf(w, "evidence\t%s\n", f)
	}
	return w.Flush()
}
