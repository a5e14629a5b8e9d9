package experiment

import (
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/simulate"
)

// source is a data set of the folder, or a synthetic one of a seed.
type source struct {
	flags.DataSets
	name string
	seed uint64
}

func (s source) load() (*dataset.Set, error) {
	if s.name == "synthetic" {
		return dataset.Generate(s.seed, dataset.GenerateOptions{})
	}
	return s.Load(s.name)
}

// measured runs a cell, which is checked before anything is read, on a data set with progress, and
// prints the result as one JSON object or as the rows that show it.
func measured[C interface{ Validate() error }, R any](std terminal.Streams, of interface{ load() (*dataset.Set, error) }, cell C, inJSON bool, run func(C, *dataset.Set, simulate.Progress) (R, error), show func(R) []string) error {
	if err := cell.Validate(); err != nil {
		return terminal.Usage(err)
	}
	set, err := of.load()
	if err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	res, err := run(cell, set, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	if inJSON {
		return terminal.WriteJSON(std.Out, res)
	}
	_, err = fmt.Fprintln(std.Out, strings.Join(append([]string{set.String()}, show(res)...), "\n"))
	return err
}
