package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/esa"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/kde"
	"github.com/confetti-dp/confetti/lab/ldc"
	"github.com/confetti-dp/confetti/lab/ltn"
	"github.com/confetti-dp/confetti/lab/papers"
	"github.com/confetti-dp/confetti/lab/sgd"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

type experimentRun struct {
	flags.DataSets
	Name    string   `arg:"" help:"Which measurement; confetti-lab list names them all. With --all a paper: kde, esa, ltn or ldc."`
	Dataset []string `help:"Data sets to measure on, instead of the measurement's own." placeholder:"NAME"`
	Runs    int      `help:"Repeat each cell with new features and noise; 0 for the measurement's own number."`
	Only    string   `help:"Only cells whose name, as progress shows it, matches a regular expression: 'by vlm at (6|8)$$'." placeholder:"PATTERN"`
	Quick   bool     `help:"The least and the largest epsilon, one run, the first data set."`
	Seed    uint64   `help:"The same seed gives the same experiment." default:"1"`
	All     bool     `help:"Every table and figure of a paper, and its page."`
	Resume  bool     `help:"Go on with what the folder has; with --no-resume a folder that has cells is refused." default:"true" negatable:""`
	Out     string   `help:"Folder for the cells, the figures and the page." default:"confetti-experiments" type:"path" placeholder:"DIR"`
	JSON    bool     `help:"End with one JSON object."`
}

func (experimentRun) Help() string {
	return "Cells are kept in the folder as they are finished: the same command again goes on where it was stopped.\nCells that a published theorem does not cover are left out, with the reason.\n\nExample:\n  confetti-lab run figure4 --data DIR --dataset agnews --out results"
}

func (c experimentRun) Run(std terminal.Streams) error {
	if c.Runs < 0 || c.Runs > 1000 {
		return terminal.Usagef("--runs is %d: give 1 to 1000, or 0 for the measurement's own", c.Runs)
	}
	if paper, ok := papers.Named(c.Name); ok || c.All {
		if !ok || !c.All {
			return terminal.Usagef("--all is of a paper, and a paper is run whole: confetti-lab run kde --all (or esa, ltn, ldc)")
		}
		return c.runPaper(std, paper)
	}
	all := specs()
	at := slices.IndexFunc(all, func(s experiments.Spec) bool { return s.Name == c.Name })
	if at < 0 {
		return terminal.Usagef("there is no experiment %q: confetti-lab list names them", c.Name)
	}
	spec := all[at]
	if err := errors.Join(c.check(spec), c.fresh()); err != nil {
		return err
	}
	out, err := c.measure(std, spec, nil)
	if err != nil {
		return err
	}
	by := release.Provenance{Software: std.Version, Command: c.command()}
	if err := terminal.Uninterrupted(func() error { return spec.Page(c.Out, out.Cells, by) }); err != nil {
		return err
	}
	return c.say(std, spec.Title, filepath.Join(c.Out, spec.Name+".html"), out.Measured, out.Kept, out.Refused)
}

// cells returns those of a measurement under the flags.
func (c experimentRun) cells(spec experiments.Spec) []experiments.Cell {
	all := spec.Cells(experiments.Options{Datasets: c.Dataset, Runs: c.Runs, Quick: c.Quick, Seed: c.Seed})
	named, err := regexp.Compile(c.Only)
	if err != nil { // which is refused before
		return nil
	}
	return slices.DeleteFunc(all, func(cell experiments.Cell) bool { return !named.MatchString(cell.String()) })
}

// check refuses data sets that a measurement does not take, or that are in no folder.
func (c experimentRun) check(spec experiments.Spec) error {
	cells := c.cells(spec)
	if _, err := regexp.Compile(c.Only); err != nil {
		return terminal.Usagef("--only: %w", err)
	}
	if len(cells) == 0 && !c.All {
		return terminal.Usagef("--only: no cell of %s has a name that matches: run it without, and progress names them", spec.Name)
	}
	for _, cell := range cells {
		switch takes, folder := spec.Kind.Takes(cell.Dataset); {
		case !takes:
			return terminal.Usagef("--dataset %s is unknown: choose from %s", cell.Dataset, strings.Join(spec.Kind.Choices, ", "))
		case folder && c.Data == "":
			return terminal.Usagef("data set %s needs the folder of data sets: --data DIR or CONFETTI_DATA", cell.Dataset)
		}
	}
	return nil
}

// fresh refuses a folder with cells that are not to be gone on with.
func (c experimentRun) fresh() error {
	if _, err := os.Stat(filepath.Join(c.Out, experiments.CellsFile)); err == nil && !c.Resume {
		return terminal.Usagef("--no-resume: %s has measured cells: name another folder with --out", c.Out)
	}
	return nil
}

// measure runs what neither the folder has yet nor is known.
func (c experimentRun) measure(std terminal.Streams, spec experiments.Spec, known papers.Cells) (experiments.Outcome, error) {
	if err := terminal.Writable(c.Out); err != nil {
		return experiments.Outcome{}, err
	}
	report, finish := terminal.Progress(std.Err)
	defer finish()
	runner := experiments.Runner{Out: c.Out, Tell: report, Known: known, Bench: spec.Kind.Bench(c.sets(report))}
	return runner.Run(c.cells(spec))
}

// sets returns the data, and where a bench may leave files.
func (c experimentRun) sets(report simulate.Progress) experiments.Data {
	return experiments.Data{
		Out: c.Out, Tell: report,
		Set:        func(name string) (*dataset.Set, error) { return c.set(name, report) },
		Texts:      func(name string) (*datasets.Texts, error) { return datasets.LoadTexts(c.Data, name) },
		Words:      func() (*datasets.WordVectors, error) { return datasets.LoadWordVectors(c.Data) },
		Population: func(name string) (*dataset.Population, error) { return datasets.LoadPopulation(c.Data, name) },
	}
}

// set returns one of the folder, of which loans have a form of their own, and what is public of another kind.
func (c experimentRun) set(name string, tell simulate.Progress) (*dataset.Set, error) {
	switch {
	case name == ltn.LoansName:
		return ltn.Loans(c.Data)
	case slices.Contains(ltn.ShiftNames(), name):
		return ltn.Shifted(c.Data, name, tell)
	}
	return dataset.Load(c.Data, name)
}

// runPaper measures all of a paper, and writes its page and the cells that it is made of: those of its measurements, and no
// others that the folder may have.
func (c experimentRun) runPaper(std terminal.Streams, paper papers.Paper) error {
	if len(c.Dataset) > 0 {
		return terminal.Usagef("--dataset: a paper has its own data sets: leave it out with --all")
	}
	specs := paper.Specs()
	for _, s := range specs {
		if err := c.check(s); err != nil {
			return err
		}
	}
	if err := c.fresh(); err != nil {
		return err
	}
	kept, err := paper.Kept(c.Out)
	if err != nil {
		return err
	}
	var cells papers.Cells
	var sum experiments.Outcome
	for _, s := range specs {
		out, err := c.measure(std, s, kept)
		if err != nil {
			return err
		}
		cells = append(cells, out.Cells...)
		sum.Measured, sum.Kept, sum.Refused = sum.Measured+out.Measured, sum.Kept+out.Kept, sum.Refused+out.Refused
	}
	if err := paper.Keep(c.Out, cells); err != nil {
		return err
	}
	report, finish := terminal.Progress(std.Err)
	err = paper.Pictures(c.sets(report))
	finish()
	if err != nil {
		return err
	}
	if err := terminal.Uninterrupted(func() error { return paper.Write(c.Out, "") }); err != nil {
		return err
	}
	return c.say(std, paper.Title, filepath.Join(c.Out, paper.Name+".md"), sum.Measured, sum.Kept, sum.Refused)
}

func (c experimentRun) say(std terminal.Streams, title, page string, measured, kept, refused int) error {
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Name     string `json:"name"`
			Page     string `json:"page"`
			Measured int    `json:"measured"`
			Kept     int    `json:"kept"`
			Refused  int    `json:"refused"`
		}{c.Name, page, measured, kept, refused})
	}
	_, err := fmt.Fprintf(std.Out, "%s: %d cells measured, %d kept from before, %d that cannot be\npage: %s\n", title, measured, kept, refused, page)
	return err
}

// specs returns all measurements, in the order of the papers.
func specs() []experiments.Spec {
	return slices.Concat(kde.Specs(), esa.Specs(), sgd.Specs(), ldc.Specs(), ltn.Specs())
}

// command returns what gives the same numbers again, but for the folders.
func (c experimentRun) command() string {
	s := "confetti-lab run " + c.Name
	if len(c.Dataset) > 0 {
		s += " --dataset " + strings.Join(c.Dataset, ",")
	}
	if c.Runs > 0 {
		s += fmt.Sprintf(" --runs %d", c.Runs)
	}
	if c.Only != "" {
		s += fmt.Sprintf(" --only %q", c.Only)
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
	return "Example:\n  confetti-lab list\n  confetti-lab list --json"
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
