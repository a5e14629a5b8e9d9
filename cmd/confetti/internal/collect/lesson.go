package collect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// collectLesson are the flags of a classifier that is learned from sums of vectors.
type collectLesson struct {
	Learn bool   `help:"Learn a classifier from single bits in secret rows, the label protected with the rest, in the place of densities."`
	Bits  int    `help:"That a device answers, on average." default:"1024"`
	Map   string `help:"Features of public inputs (confetti-lab features fit); without, records are scaled to unit length." type:"path" placeholder:"FILE"`
	Model string `help:"Write what was learned to this file, for confetti predict; with --map." type:"path" placeholder:"FILE"`
}

// lessonless are flags of densities that a lesson takes too.
var lessonless = []string{"label", "test", "test-label", "test-share", "features", "drop"}

// checkLesson is of the flags by themselves.
func (c collectSimulate) checkLesson(given *kong.Context) error {
	for _, p := range given.Path {
		if p.Flag == nil || slices.Contains(questionless, p.Flag.Name) || slices.Contains(lessonless, p.Flag.Name) {
			continue
		}
		lesson := p.Flag.Group != nil && strings.HasPrefix(p.Flag.Group.Key, "Learning")
		switch {
		case lesson && !c.Learn:
			return terminal.Usagef("--%s is of learning: leave it out, or say --learn", p.Flag.Name)
		case !lesson && c.Learn:
			return terminal.Usagef("--%s is of densities: leave it out, or leave out --learn", p.Flag.Name)
		}
	}
	switch {
	case !c.Learn:
		return nil
	case c.LocalEpsilon != 0:
		return terminal.Usagef("--local-epsilon: barely flipped bits promise nothing where everyone colludes: leave it out")
	case c.Bits < 1 || c.Bits > plan.MaxEnvelopes:
		return terminal.Usagef("--bits is %d: give 1 to %d", c.Bits, plan.MaxEnvelopes)
	case c.Model != "" && c.Map == "":
		return terminal.Usagef("--model: what a row of numbers means is in the features: make them with confetti-lab features fit, and name them with --map")
	}
	return c.Budget.Check()
}

// runLesson collects, learns and says how well.
func (c collectSimulate) runLesson(std terminal.Streams, given *kong.Context) error {
	start := time.Now()
	if err := c.checkDensity(); err != nil {
		return err
	}
	l := collection.Lesson{Title: "What tells classes apart", Bits: c.Bits, Full: c.full(), Seed: c.Seed, Minimum: c.Minimum, Noise: c.Route.Adds("vector"),
		Budget: plan.Budget{Epsilon: c.Epsilon, Delta: c.Delta, Adjacency: string(account.Replacement)}}
	set, notes, err := c.load(std)
	if err != nil {
		return err
	}
	if c.Map != "" {
		if l.Features, err = c.features(set); err != nil {
			return err
		}
	}
	if l.Minimum == 0 {
		l.Minimum = set.Train.Len()
	}
	report, finish := terminal.Progress(std.Err)
	out, err := l.Run(set, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	out.Release.Remarks = append(out.Release.Remarks, notes...)
	if c.Out != "" {
		if err := c.publish(std, given, &out.Release, out.Plan, out.Learned, out.Public); err != nil {
			return err
		}
	}
	if c.Model != "" {
		text, err := out.Model.Marshal()
		if err == nil {
			err = atomicfile.Replace(c.Model, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	central, err := l.Central(out)
	if err != nil {
		return err
	}
	return c.showLesson(std, out, central, time.Since(start))
}

// features returns those of --map, for the columns of the set.
func (c collectSimulate) features(set *dataset.Set) (*inputs.Map, error) {
	features, err := flags.Features(c.Map)
	if err != nil {
		return nil, err
	}
	return features, features.Fit(set.Columns)
}

func (c collectSimulate) showLesson(std terminal.Streams, out collection.Learned, central float64, took time.Duration) error {
	accuracy, exact, ratio := collection.Metric(out.Release, "accuracy"), collection.Metric(out.Release, "accuracy_no_privacy"), collection.Metric(out.Release, "error_ratio")
	bits, epsilon := out.Plan.Question.Vector.Rounds[0].Answered, out.Promise.Epsilon
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Accuracy   float64    `json:"accuracy"`
			Interval   [2]float64 `json:"accuracy_interval"`
			NoPrivacy  float64    `json:"accuracy_no_privacy"`
			Central    float64    `json:"accuracy_central"`
			Epsilon    float64    `json:"epsilon"`
			Delta      float64    `json:"delta"`
			Devices    int        `json:"respondents"`
			Bits       int        `json:"bits_per_device"`
			Envelopes  int        `json:"envelopes_per_device"`
			ErrorRatio float64    `json:"error_ratio"`
			Seconds    float64    `json:"seconds"`
		}{accuracy.Value, [2]float64{accuracy.Low, accuracy.High}, exact.Value, central, epsilon, c.Delta, out.Devices, bits, out.Plan.Envelopes.PerDevice, ratio.Value, took.Seconds()})
	}
	rows := []string{
		fmt.Sprintf("accuracy             %.4f (%.4f to %.4f), on public test records", accuracy.Value, accuracy.Low, accuracy.High),
		fmt.Sprintf("with a curator       %.4f", central),
		fmt.Sprintf("without privacy      %.4f", exact.Value),
	}
	rows = append(rows, verdicts(out.Release)...)
	sent := fmt.Sprintf("%d envelopes", out.Plan.Envelopes.PerDevice)
	if out.Plan.Route.Sum != nil {
		sent = "two shares"
	}
	answers := fmt.Sprintf("a device answers     %d bits in %s", bits, sent)
	if r := out.Plan.Route.Sum; r != nil && r.Circuit.Square > 0 {
		answers = fmt.Sprintf("a device proves      the length of %d numbers in %s", r.Circuit.Length, sent)
	}
	rows = append(rows, answers, fmt.Sprintf("seconds              %.1f", took.Seconds()))
	_, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n"))
	return err
}
