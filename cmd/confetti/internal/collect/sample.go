package collect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

type Sample struct {
	File       string `arg:"" help:"Where to write the table." type:"path"`
	Rows       int    `help:"Respondents." default:"20000"`
	Seed       uint64 `help:"The same seed gives the same table." default:"1"`
	Experiment bool   `help:"In the place of the canteen people of an experiment: an arm each, minutes of use a day, and those of the week before. The new arm has 5 % more."`
	terminal.Form
}

func (Sample) Help() string {
	return "Writes a made-up table of people in a canteen, to try things out with: nobody is in it.\nThe examples of collect simulate are about this table.\n\nExample:\n  confetti sample people.csv"
}

func (c Sample) Run(std terminal.Streams) error {
	if c.Rows < 1 || c.Rows > dataset.MaxSample {
		return terminal.Usagef("--rows is %d: give 1 to %d", c.Rows, dataset.MaxSample)
	}
	var b bytes.Buffer
	write := dataset.WriteSample
	if c.Experiment {
		write = dataset.WriteExperiment
	}
	if err := write(&b, seeded.New(c.Seed), c.Rows); err != nil {
		return err
	}
	err := atomicfile.Create(c.File, b.Bytes(), 0o644)
	if errors.Is(err, fs.ErrExist) {
		if there, readErr := atomicfile.Read(c.File); readErr == nil && bytes.Equal(there, b.Bytes()) {
			err = nil // the same was written before
		} else {
			return fmt.Errorf("%s exists and is something else: choose another name", c.File)
		}
	}
	if err != nil {
		return err
	}
	return c.Print(std, struct {
		File string `json:"file"`
		Rows int    `json:"rows"`
	}{c.File, c.Rows}, "%d made-up respondents are in %s: drawn at random, and of nobody\n", c.Rows, c.File)
}
