// Package collect implements confetti collect, demo and sample: simulated collections. Used by cmd/confetti, for
// analysts.
package collect

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

type Command struct {
	Simulate collectSimulate `cmd:"" help:"Simulate a collection from your own data: a histogram of columns (--csv), or a density of labelled vectors."`
}

// collectSimulate takes the flags of both questions.
type collectSimulate struct {
	File      string   `arg:"" help:"Densities: training records (.npy, .csv, .parquet), one row a respondent." type:"path" optional:""`
	Label     string   `help:"Column that names the class; for .npy, the path of a second .npy with integers." placeholder:"NAME"`
	Test      string   `help:"Public test records, in the same form." type:"path" placeholder:"FILE"`
	TestLabel string   `help:"For a .npy of test records: the path of their labels." type:"path" placeholder:"FILE"`
	TestShare float64  `help:"Without --test: share of the records set aside as the test set." default:"0.2"`
	Normalize bool     `help:"Scale every record to unit length."`
	Features  []string `help:"Columns that are features, by name or pattern (likes_*); without, all but the label." placeholder:"NAME"`
	Drop      []string `help:"Columns that are none, likewise." placeholder:"NAME"`
	flags.Mechanism
	flags.KernelChoice
	Classifier       string `help:"Whose accuracy is the headline: highest-density, or nearest-mean for inner products; both are reported." default:"highest-density"`
	Seed             uint64 `help:"The same seed gives the same experiment." default:"1"`
	JSON             bool   `help:"Print one JSON object."`
	collectLesson    `group:"Learning:"`
	collectRecords   `group:"Private records:"`
	collectHistogram `group:"Histograms of columns:"`

	Missing     string `help:"What an empty cell is: refuse, a fault of the file; skip, its row is left out; value=TEXT, that value. An empty cell of a set is the empty set." default:"refuse" placeholder:"WHAT" group:"Collection:"`
	Minimum     int    `help:"Smallest class or crowd that may be released; 0 for the smallest there is." placeholder:"N" group:"Collection:"`
	Out         string `help:"Collect through the whole flow, and save the release here." type:"path" placeholder:"DIR" group:"Collection:"`
	flags.Route `group:"Collection:"`
	Audit       bool   `help:"Attack the plan's devices too, and let the release say what was found." group:"Collection:"`
	Fidelity    string `help:"law: counts drawn from their exact law; full: every message sealed, mixed and opened." enum:"law,full" default:"law" group:"Collection:"`
	Full        bool   `help:"Short for --fidelity full." group:"Collection:"`
}

func (collectSimulate) Help() string {
	return "Without --kernel or a parameter of one, a density takes the cheap kernel that does best on records set aside, and says so.\n\nExamples:\n  confetti collect simulate --csv people.csv --column drink --epsilon 1 --out page --json\n  confetti collect simulate --csv words.csv --column word --kind strings --alphabet a-z --longest 8 --epsilon 1 --json\n  confetti collect simulate --csv people.csv --columns columns.toml --epsilon 1 --out tables\n  confetti collect simulate --csv people.csv --column drink --epsilon 1 --full --work work --out page\n  confetti collect simulate --csv people.csv --column arm --kind experiment --arms control,new --metric minutes --before minutes_before --like others.csv --epsilon 1 --out page\n  confetti collect simulate people.csv --label class --epsilon 2 --normalize --out page --json\n  confetti collect simulate people.csv --label class --features 'likes_*' --learn --epsilon 2 --out page\n  confetti collect simulate people.csv --label class --clusters clusters.json --local-epsilon 4 --out page\n  confetti collect simulate people.csv --label class --encoder encoder.json --local-epsilon 10 --out page"
}

func (c collectSimulate) full() bool { return c.Full || c.Fidelity == "full" }

func (c collectSimulate) Run(std terminal.Streams, given *kong.Context) error {
	if err := c.oneQuestion(given); err != nil {
		return err
	}
	if err := c.Route.Check(); err != nil {
		return err
	}
	if c.Audit && c.Route.Route == plan.RouteSum {
		return terminal.Usagef("--audit attacks envelopes that are mixed: leave it out of a sum")
	}
	if c.Audit && c.Out == "" {
		return terminal.Usagef("--audit is of the plan of a release: name its folder with --out")
	}
	switch {
	case c.Tabulated.Columns != "":
		return c.runCrosstab(std, given)
	case c.finds(given):
		return c.runStrings(std, given)
	case c.compares():
		return c.runExperiment(std, given)
	case c.CSV != "":
		return c.runHistogram(std, given)
	case c.Clusters != "" || c.Encoder != "":
		return c.runRecords(std, given)
	case c.Learn:
		return c.runLesson(std, given)
	}
	return c.runDensity(std, given)
}

// questionless are the flags of every simulated collection.
var questionless = []string{"epsilon", "local-epsilon", "delta", "accounting", "missing", "minimum", "out", "fidelity", "full", "audit", "seed", "json", "route", "noise"}

// oneQuestion refuses flags of the one kind of question beside those of the other,
// which would say nothing.
func (c collectSimulate) oneQuestion(given *kong.Context) error {
	switch {
	case c.CSV == "" && c.File == "":
		return terminal.Usagef("name a table: --csv FILE --column NAME for a histogram, or FILE --label NAME for a density")
	case c.CSV != "" && c.File != "":
		return terminal.Usagef("%s beside --csv: a histogram is of one table", c.File)
	case c.CSV == "" && len(c.Column) > 0:
		return terminal.Usagef("--column is of histograms, whose table is named with --csv: confetti collect simulate --csv %s --column %s; for a density name its class with --label instead", c.File, strings.Join(c.Column, " --column "))
	case c.CSV == "" && c.Label == "" && (c.Numbers == "" || c.Encoder+c.Clusters == ""):
		return terminal.Usagef("missing flags: --label=NAME, which names the class of each record")
	}
	for _, p := range given.Path {
		if p.Flag == nil || slices.Contains(questionless, p.Flag.Name) {
			continue
		}
		histogram := p.Flag.Group != nil && strings.HasPrefix(p.Flag.Group.Key, "Histograms")
		switch {
		case slices.Contains(ofExperiments, p.Flag.Name) && !c.compares():
			return terminal.Usagef("--%s is of experiments: leave it out, or add --kind %s", p.Flag.Name, kindExperiment)
		case histogram && c.CSV == "":
			return terminal.Usagef("--%s is of histograms: leave it out, or name a table with --csv", p.Flag.Name)
		case !histogram && c.CSV != "":
			return terminal.Usagef("--%s is of densities: leave it out, or name labelled vectors instead of --csv", p.Flag.Name)
		}
	}
	if c.CSV != "" {
		return nil
	}
	return c.checkLesson(given)
}

// kernelChosen reports whether the command line says anything of the kernel.
func kernelChosen(given *kong.Context) bool {
	for _, p := range given.Path {
		if p.Flag != nil && slices.Contains([]string{"kernel", "bandwidth", "clip", "radius", "kernel-buckets", "projection", "repetitions"}, p.Flag.Name) {
			return true
		}
	}
	return false
}

func (c collectSimulate) runDensity(std terminal.Streams, given *kong.Context) error {
	start := time.Now()
	if err := errors.Join(c.checkChoices(), c.checkDensity()); err != nil {
		return err
	}
	set, notes, err := c.load(std)
	if err != nil {
		return err
	}
	counts := set.Train.Counts(len(set.Classes))
	// Classes are counted, not named: of a column that was named by mistake they
	// are what people said.
	switch n := slices.Min(counts); {
	case n == 0:
		return fmt.Errorf("of %d classes some have no training record left after setting test records aside: lower --test-share, name test records with --test, or leave small classes out", len(counts))
	case n < c.Minimum:
		return fmt.Errorf("the smallest of %d classes has %d training records, fewer than --minimum %d: nothing of it would leave the shuffler; lower --minimum or leave small classes out", len(counts), n, c.Minimum)
	}
	col, err := c.asked(set)
	if err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	choice := ""
	if !kernelChosen(given) {
		// Where none of them can be run, the default says why.
		if best, why, err := col.Choose(set, report); err == nil && why != "" {
			choice, notes = why, append(notes, why)
			c.Kernel, c.Bandwidth = best.Name, cmp.Or(best.Bandwidth, c.Bandwidth)
			col.Kernel, col.Repetitions = c.KernelChoice.Choose(set.Dimension())
		}
	}
	exact, how, _ := measure.Best(set, report)
	finish()
	if choice != "" {
		fmt.Fprintln(std.Err, "note: "+choice)
	}
	out, res, err := c.collect(std, col, set)
	if err != nil {
		return flags.InDomain(err)
	}
	if c.Out != "" {
		out.Release.Remarks = append(out.Release.Remarks, notes...)
		if how != "" {
			if err := out.Add("accuracy_exact", exact); err != nil {
				return err
			}
			out.Release.Remarks = append(out.Release.Remarks, "The best accuracy without any privacy is that of "+how+".")
		}
		if err := c.publish(std, given, &out.Release, out.Plan, out.Learned, out.Public); err != nil {
			return err
		}
	}
	noiseless, err := measure.Noiseless(out.Plan, set)
	if err != nil {
		return err
	}
	res.Seed, res.Seconds = c.Seed, time.Since(start).Seconds()
	res.AccuracyExact, res.ExactClassifier, res.Choice = exact, how, choice
	for _, doubt := range []string{design.LooseDelta(c.Delta, slices.Min(counts)), guessing(noiseless, set.Test.Counts(len(set.Classes)))} {
		if doubt != "" {
			fmt.Fprintln(std.Err, "note: "+doubt)
		}
	}
	return c.show(std, set, res)
}

// checkChoices refuses choices of a density's mechanism that no collection has.
func (c collectSimulate) checkChoices() error {
	_, label := flags.ParseLabelEpsilon(c.LabelEpsilon)
	errs := []error{c.Budget.Check(), c.KernelChoice.Check(), label, flags.Word("bitsum", c.Bitsum, plan.Bitsums),
		flags.Word("classifier", c.Classifier, []string{measure.HighestDensity, measure.NearestMean})}
	if c.Classifier == measure.NearestMean && !strings.HasPrefix(c.Kernel, "ip-") {
		errs = append(errs, terminal.Usagef("--classifier %s needs a kernel of inner products: name one with --kernel ip-...", c.Classifier))
	}
	return errors.Join(errs...)
}

// guessing returns a warning where a kernel's features, noise left aside, do no better than naming the
// largest class each time; "" where they do. counts are the test records of each class.
func guessing(accuracy float64, counts []int) string {
	records := 0
	for _, n := range counts {
		records += n
	}
	if records == 0 {
		return ""
	}
	chance := float64(slices.Max(counts)) / float64(records)
	if accuracy > chance+2*math.Sqrt(chance*(1-chance)/float64(records)) {
		return ""
	}
	return fmt.Sprintf("The features of this kernel guess: without noise they are right of %.3f of the test records, and naming the largest class each time of %.3f. Give more --repetitions or another --bandwidth, or leave --kernel out and have one chosen.", accuracy, chance)
}

// checkDensity is of the flags by themselves, before anything is read.
func (c collectSimulate) checkDensity() error {
	switch {
	case c.Test == "" && c.TestLabel != "":
		return terminal.Usagef("--test-label names labels of --test, which is missing")
	case c.Test == "" && !(c.TestShare > 0 && c.TestShare < 1):
		return terminal.Usagef("--test-share is %v: give a number between 0 and 1, or name a file with --test", c.TestShare)
	case c.Minimum < 0:
		return terminal.Usagef("--minimum is %d: give a number of respondents above 0, or 0 for the smallest class there is", c.Minimum)
	case c.Out == "" && c.full():
		return terminal.Usagef("--full says how to collect the release: name its folder with --out")
	case c.Out != "":
		return terminal.Writable(c.Out)
	}
	return nil
}

// load reads the records, and says what a reader must know of how they were read.
func (c collectSimulate) load(std terminal.Streams) (set *dataset.Set, notes []string, err error) {
	choice := table.Choice{Label: c.Label, Features: c.Features, Drop: c.Drop}
	if choice.Missing, err = c.missing(); err != nil {
		return nil, nil, err
	}
	train, err := table.ReadRecords(c.File, choice)
	if err != nil {
		return nil, nil, err
	}
	notes = append(train.Notes, train.Doubts()...)
	test := train // until some are set aside
	if c.Test != "" {
		if c.TestLabel != "" {
			choice.Label = c.TestLabel
		}
		if test, err = table.ReadRecords(c.Test, choice); err != nil {
			return nil, nil, err
		}
		for _, note := range test.Notes {
			notes = append(notes, "Test records: "+note)
		}
	}
	if set, err = dataset.NewSet(filepath.Base(c.File), train, test); err != nil {
		return nil, nil, err
	}
	if c.Normalize { // before records are dealt, so that an error names a row of the file
		if err := set.Train.Normalize(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.File, err)
		}
		if c.Test != "" {
			if err := set.Test.Normalize(); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", c.Test, err)
			}
		}
	}
	if c.Test == "" {
		set.Test, set.Train = set.Train.Split(seeded.New(c.Seed), c.TestShare)
	}
	for _, note := range notes {
		fmt.Fprintln(std.Err, "note: "+note)
	}
	return set, notes, nil
}

// missing returns what an empty cell means.
func (c collectSimulate) missing() (table.Missing, error) {
	m, err := table.ParseMissing(c.Missing)
	if err != nil {
		return m, terminal.Usagef("--missing is %q: %w", c.Missing, err)
	}
	return m, nil
}

// asked returns the collection that the flags ask for.
func (c collectSimulate) asked(set *dataset.Set) (collection.Collection, error) {
	label, err := flags.ParseLabelEpsilon(c.LabelEpsilon)
	minimum := c.Minimum
	if minimum == 0 {
		minimum = collection.Reported(slices.Min(set.Train.Counts(len(set.Classes))), label)
	}
	kernel, repetitions := c.KernelChoice.Choose(set.Dimension())
	return collection.Collection{
		Title: "A density for each class of " + set.Name, Kernel: kernel, Repetitions: repetitions, Normalize: c.Normalize,
		Bitsum: c.Bitsum, Accounting: c.Accounting,
		Budget:  plan.Budget{Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: "replacement", LabelEpsilon: label},
		Minimum: minimum, Instances: 1, Hops: 2, Suite: "x25519", Full: c.full(), Seed: c.Seed, Noise: c.Route.Adds("density"),
	}, err
}

// collect runs the whole flow, and returns what the analyzer would publish with its numbers.
func (c collectSimulate) collect(std terminal.Streams, col collection.Collection, set *dataset.Set) (out collection.Collected, res measure.Result, err error) {
	report, finish := terminal.Progress(std.Err)
	defer finish()
	if out, err = col.Run(set, report); err == nil {
		res, err = out.Measure(set, c.Classifier, report)
	}
	return out, res, err
}

// show prints what came out of a density.
func (c collectSimulate) show(std terminal.Streams, set *dataset.Set, res measure.Result) error {
	if c.JSON {
		return terminal.WriteJSON(std.Out, res)
	}
	labels := "not protected"
	if c.LabelEpsilon != "none" {
		labels = fmt.Sprintf("epsilon %s, local", c.LabelEpsilon)
		if res.AccuracyDebiased > 0 {
			labels += fmt.Sprintf("; with the noise taken out accuracy %.4f", res.AccuracyDebiased)
		}
	}
	nearest := ""
	if res.AccuracyNearestMean > 0 {
		nearest = fmt.Sprintf(", nearest mean %.4f", res.AccuracyNearestMean)
	}
	rows := []string{set.String(), fmt.Sprintf("accuracy             %.4f", res.Accuracy), fmt.Sprintf("without privacy      %.4f, with the same kernel", res.AccuracyNoPrivacy)}
	if res.ExactClassifier != "" {
		rows = append(rows, fmt.Sprintf("best without privacy %.4f, of classifiers that see the records: %s", res.AccuracyExact, res.ExactClassifier))
	}
	rows = append(rows,
		fmt.Sprintf("classifier           %s (highest density %.4f%s)", res.Classifier, res.AccuracyHighestDensity, nearest),
		fmt.Sprintf("features             %s; %s", account.Verdict(res.Epsilon, res.Delta, account.Adjacency(res.Adjacency)), res.Method),
		"everyone colludes    "+account.Verdict(res.EpsilonLocal, 0, account.Replacement),
		"labels               "+labels,
		fmt.Sprintf("error of one bitsum  %.4g respondents (smallest class %d)", res.RMSEBitsum, res.Users))
	if res.KDERMSE > 0 {
		rows = append(rows, fmt.Sprintf("error of a density   %.4g", res.KDERMSE))
	}
	rows = append(rows, fmt.Sprintf("messages per device  %.4g", res.MessagesPerDevice), fmt.Sprintf("seconds              %.1f", res.Seconds))
	_, err := fmt.Fprintln(std.Out, strings.Join(rows, "\n"))
	return err
}
