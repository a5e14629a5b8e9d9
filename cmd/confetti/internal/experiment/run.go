package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/flags"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/terminal"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/experiments/esa"
	"github.com/confetti-dp/confetti/experiments/kde"
	"github.com/confetti-dp/confetti/experiments/ldc"
	"github.com/confetti-dp/confetti/experiments/sgd"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/release"
)

type experimentRun struct {
	flags.DataSets
	Name    string   `arg:"" help:"Which measurement; confetti experiment list names them all."`
	Dataset []string `help:"Data sets to measure on, instead of the measurement's own." placeholder:"NAME"`
	Runs    int      `help:"Repeat each cell with new features and noise; 0 for the measurement's own number."`
	Quick   bool     `help:"The least and the largest epsilon, one run, the first data set."`
	Seed    uint64   `help:"The same seed gives the same experiment." default:"1"`
	Out     string   `help:"Folder for the cells, the figures and the page." default:"confetti-experiments" type:"path"`
	JSON    bool     `help:"End with one JSON object."`
}

func (experimentRun) Help() string {
	return "Cells are kept in the folder as they are finished: the same command again goes on where it was stopped.\nCells that a published theorem does not cover are left out, with the reason.\n\nExample:\n  confetti experiment run figure4 --data DIR --dataset agnews --out results"
}

func (c experimentRun) Run(std terminal.Streams) error {
	all := specs()
	at := slices.IndexFunc(all, func(s experiments.Spec) bool { return s.Name == c.Name })
	if at < 0 {
		return terminal.Usagef("there is no experiment %q: confetti experiment list names them", c.Name)
	}
	if c.Runs < 0 || c.Runs > 1000 {
		return terminal.Usagef("--runs is %d: give 1 to 1000, or 0 for the measurement's own", c.Runs)
	}
	spec := all[at]
	cells := spec.Cells(experiments.Options{Datasets: c.Dataset, Runs: c.Runs, Quick: c.Quick, Seed: c.Seed})
	for _, cell := range cells {
		switch takes, folder := spec.Kind.Takes(cell.Dataset); {
		case !takes:
			return terminal.Usagef("--dataset %s is unknown: choose from %s", cell.Dataset, strings.Join(spec.Kind.Choices, ", "))
		case folder && c.Data == "":
			return terminal.Usagef("data set %s needs the folder of data sets: --data DIR or CONFETTI_DATA", cell.Dataset)
		}
	}
	if err := terminal.Writable(c.Out); err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	runner := experiments.Runner{Out: c.Out, Tell: report, Bench: spec.Kind.Bench(experiments.Data{
		Out:        c.Out,
		Set:        func(name string) (*dataset.Set, error) { return dataset.Load(c.Data, name) },
		Population: func(name string) (*dataset.Population, error) { return dataset.LoadPopulation(c.Data, name) },
	})}
	out, err := runner.Run(cells)
	finish()
	if err != nil {
		return err
	}
	by := release.Provenance{Software: std.Version, Command: c.command()}
	if err := terminal.Uninterrupted(func() error { return spec.Page(c.Out, out.Cells, by) }); err != nil {
		return err
	}
	page := filepath.Join(c.Out, spec.Name+".html")
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Name     string `json:"name"`
			Page     string `json:"page"`
			Measured int    `json:"measured"`
			Kept     int    `json:"kept"`
			Refused  int    `json:"refused"`
		}{spec.Name, page, out.Measured, out.Kept, out.Refused})
	}
	_, err = fmt.Fprintf(std.Out, "%s: %d cells measured, %d kept from before, %d that cannot be\npage: %s\n", spec.Title, out.Measured, out.Kept, out.Refused, page)
	return err
}

// specs are all measurements, in the order of the papers.
func specs() []experiments.Spec {
	return slices.Concat(kde.Specs(), esa.Specs(), sgd.Specs(), ldc.Specs())
}

// command is what gives the same numbers again, but for the folders.
func (c experimentRun) command() string {
	s := "confetti experiment run " + c.Name
	if len(c.Dataset) > 0 {
		s += " --dataset " + strings.Join(c.Dataset, ",")
	}
	if c.Runs > 0 {
		s += fmt.Sprintf(" --runs %d", c.Runs)
	}
	if c.Quick {
		s += " --quick"
	}
	return s + fmt.Sprintf(" --seed %d", c.Seed)
}

type experimentList struct {
	JSON bool `help:"Print JSON."`
}

func (experimentList) Help() string {
	return "Example:\n  confetti experiment list\n  confetti experiment list --json"
}

func (c experimentList) Run(std terminal.Streams) error {
	if c.JSON {
		type measurement struct {
			Name     string   `json:"name"`
			Title    string   `json:"title"`
			Datasets []string `json:"datasets"`
		}
		var all []measurement
		for _, s := range specs() {
			all = append(all, measurement{s.Name, s.Title, s.Datasets})
		}
		return terminal.WriteJSON(std.Out, all)
	}
	for _, s := range specs() {
		if _, err := fmt.Fprintf(std.Out, "%-14s %s\n%-14s   on %s\n", s.Name, s.Title, "", strings.Join(s.Datasets, ", ")); err != nil {
			return err
		}
	}
	return nil
}
