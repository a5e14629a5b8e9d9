package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
)

type Demo struct {
	flags.DataSets
	Epsilon      float64 `help:"Privacy of the features." default:"4"`
	Delta        float64 `help:"Probability that the promise may fail by." default:"1e-5"`
	LabelEpsilon string  `help:"Local privacy of the class, or none: sent as it is." default:"4"`
	Seed         uint64  `help:"The same seed gives the same experiment." default:"1"`
	Out          string  `help:"Folder for the page, its data and its figures." default:"confetti-demo" type:"path" placeholder:"DIR"`
	JSON         bool    `help:"End with one JSON object."`
}

func (Demo) Help() string {
	return "Two thousand simulated devices randomize, seal and send what they hold; two hops mix; the analyzer\nlearns a classifier, names each class in words, and writes a page. Uses AG news from --data where it is,\notherwise generated documents.\n\nExample:\n  confetti demo --out page"
}

func (c Demo) Run(std terminal.Streams) error {
	label, err := flags.ParseLabelEpsilon(c.LabelEpsilon)
	if err := errors.Join(flags.CheckBudget(c.Epsilon, c.Delta), err); err != nil {
		return err
	}
	if err := terminal.Writable(c.Out); err != nil {
		return err
	}
	set, err := c.set(std)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "%s\n", set)
	report, finish := terminal.Progress(std.Err)
	res, out, err := collection.Demo{Epsilon: c.Epsilon, Delta: c.Delta, LabelEpsilon: label, Seed: c.Seed}.Run(set, report)
	finish()
	if err != nil {
		return err
	}
	r := out.Release
	r.Provenance.Software = std.Version
	r.Provenance.Command = "confetti demo " + fmt.Sprintf("--epsilon %g --delta %g --label-epsilon %s --seed %d", c.Epsilon, c.Delta, c.LabelEpsilon, c.Seed)
	table, err := releases.Sheet(out.Learned, out.Public, &r)
	if err != nil {
		return err
	}
	if err := releases.Save(std, c.Out, r, out.Plan, table); err != nil {
		return err
	}
	html := filepath.Join(c.Out, page.PageFile)
	if c.JSON {
		fmt.Fprintf(std.Err, "page: %s\n", html)
		return terminal.WriteJSON(std.Out, res)
	}
	fmt.Fprintf(std.Out, "%d devices sent %d sealed fragments through %d hops: accuracy %.3f on %d classes (without privacy %.3f)\n", res.Devices, res.Fragments, res.Hops, res.Accuracy, res.Classes, res.AccuracyNoPrivacy)
	fmt.Fprintf(std.Out, "a respondent's whole record, shuffler honest: %s\n", account.Verdict(&res.Epsilon, res.Delta, "replacement"))
	for _, class := range set.Classes {
		fmt.Fprintf(std.Out, "  %-12s %s\n", class, strings.Join(res.Decoded[class], ", "))
	}
	_, err = fmt.Fprintf(std.Out, "page: %s (%.0f s)\n", html, res.Seconds)
	return err
}

// set is AG news if the data folder has it, otherwise generated documents.
func (c Demo) set(std terminal.Streams) (*dataset.Set, error) {
	if c.Data == "" {
		fmt.Fprintln(std.Err, "no data folder (--data or CONFETTI_DATA): using generated, synthetic documents")
		return dataset.Generate(c.Seed, dataset.GenerateOptions{})
	}
	if _, err := os.Stat(c.Data); err != nil {
		return nil, fmt.Errorf("the folder of data sets: %w", err)
	}
	if _, err := os.Stat(filepath.Join(c.Data, "agnews")); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(std.Err, "no agnews in %s: using generated, synthetic documents\n", c.Data)
		return dataset.Generate(c.Seed, dataset.GenerateOptions{})
	}
	return dataset.Load(c.Data, "agnews")
}
