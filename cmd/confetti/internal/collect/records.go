package collect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
)

// collectRecords are the flags of records that are private as a whole.
type collectRecords struct {
	Clusters    string  `help:"Public clusters of records (confetti-lab clusters fit): each respondent says its cluster and its class jointly, at --local-epsilon though everyone colludes." type:"path" placeholder:"FILE"`
	Encoder     string  `help:"A public encoder (confetti-lab encoder) in the place of clusters: each respondent says its vector and its class, with noise." type:"path" placeholder:"FILE"`
	Vector      string  `help:"How a vector is told: laplace or gaussian, noise on a grid, or cap, a direction." enum:"laplace,gaussian,cap" default:"laplace"`
	VectorShare float64 `help:"Of the local epsilon, that of a vector: the class has the rest." default:"0.7"`
	Numbers     string  `help:"Without --label: a column with the public number of each record, from 0 on. Each report stands beside its number, so that others join their columns of the same records (confetti learn latent --join)." placeholder:"NAME"`
}

// runRecords collects symbols of a public cluster and a class, or vectors beside a class.
func (c collectSimulate) runRecords(std terminal.Streams, given *kong.Context) error {
	start := time.Now()
	file, flag := cmp.Or(c.Encoder, c.Clusters), "--clusters"
	if c.Encoder != "" {
		flag = "--encoder"
	}
	switch {
	case c.Encoder != "" && c.Clusters != "":
		return terminal.Usagef("--encoder beside --clusters: the one or the other")
	case c.Learn:
		return terminal.Usagef("%s beside --learn: the one or the other", flag)
	case c.LocalEpsilon == 0:
		return terminal.Usagef("%s: nobody is trusted: give the --local-epsilon of all that a respondent says", flag)
	case c.Noise != "":
		return terminal.Usagef("--noise: what a respondent says of its record is no sum: leave it out")
	case !(c.VectorShare > 0 && c.VectorShare < 1):
		return terminal.Usagef("--vector-share is %v: give a number between 0 and 1", c.VectorShare)
	}
	if err := (flags.Budget{Epsilon: 1, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta}).Check(); err != nil {
		return err
	}
	if err := c.checkDensity(); err != nil {
		return err
	}
	state, err := atomicfile.Read(file)
	if err != nil {
		return err
	}
	set, numbers, notes, err := c.records(std)
	if err != nil {
		return err
	}
	r := collection.Records{Numbers: numbers, Title: "Which class goes with which record", State: state, Full: c.full(), Seed: c.Seed, Minimum: c.Minimum,
		Budget: plan.Budget{LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: string(account.Replacement)}}
	said := "the likeliest class of the cluster"
	if c.Encoder != "" {
		r.Vector, said = &plan.Latents{Mechanism: c.Vector, Epsilon: c.VectorShare * c.LocalEpsilon}, "a classifier that learned from the reports"
	}
	if r.Minimum == 0 {
		r.Minimum = set.Train.Len()
	}
	report, finish := terminal.Progress(std.Err)
	out, err := r.Run(set, report)
	finish()
	if err != nil {
		return flags.InDomain(fmt.Errorf("%s: %w", file, err))
	}
	out.Release.Remarks = append(out.Release.Remarks, notes...)
	if c.Out != "" {
		if err := c.publish(std, given, &out.Release, out.Plan, out.Learned, out.Public); err != nil {
			return err
		}
		if err := releases.SaveState(c.Out, state); err != nil {
			return err
		}
	}
	accuracy, b := collection.Metric(out.Release, "accuracy"), out.Plan.Budget
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Accuracy     float64    `json:"accuracy"`
			Interval     [2]float64 `json:"accuracy_interval"`
			EpsilonLocal float64    `json:"epsilon_local"`
			Epsilon      float64    `json:"epsilon"`
			Delta        float64    `json:"delta"`
			Devices      int        `json:"respondents"`
			Seconds      float64    `json:"seconds"`
		}{accuracy.Value, [2]float64{accuracy.Low, accuracy.High}, b.LocalEpsilon, min(b.Epsilon, b.LocalEpsilon), b.Delta, out.Devices, time.Since(start).Seconds()})
	}
	rows := []string{}
	if accuracy.Name != "" {
		rows = append(rows, fmt.Sprintf("accuracy             %.4f (%.4f to %.4f), of %s, on public test records", accuracy.Value, accuracy.Low, accuracy.High, said))
	}
	rows = append(rows, verdicts(out.Release)...)
	_, err = fmt.Fprintln(std.Out, strings.Join(append(rows, fmt.Sprintf("respondents          %d", out.Devices)), "\n"))
	return err
}

// records reads what respondents hold, with the public numbers of their records where these have such. Of numbered ones
// everybody answers, and no class is told.
func (c collectSimulate) records(std terminal.Streams) (set *dataset.Set, numbers []int, notes []string, err error) {
	if c.Numbers == "" {
		set, notes, err = c.load(std)
		return set, nil, notes, err
	}
	if c.Label != "" || c.Test != "" {
		return nil, nil, nil, terminal.Usagef("--numbers beside --label or --test: a numbered record has no class here: leave out the one or the other")
	}
	column, err := table.ReadRecords(c.File, table.Choice{Features: []string{c.Numbers}})
	if err != nil {
		return nil, nil, nil, err
	}
	if numbers, err = column.Numbers(plan.MaxRecords); err != nil {
		return nil, nil, nil, fmt.Errorf("%s: column %s: %w", c.File, c.Numbers, err)
	}
	held, err := table.ReadRecords(c.File, table.Choice{Features: c.Features, Drop: append(slices.Clone(c.Drop), c.Numbers)})
	if err != nil {
		return nil, nil, nil, err
	}
	return &dataset.Set{Name: filepath.Base(c.File), Columns: held.Columns, Train: dataset.Labelled{X: held.X, Y: make([]int, held.X.Rows)}}, numbers, held.Notes, nil
}
