// Package trends implements confetti study trend: how each metric of a study went, from what confetti study fetch wrote.
// Used by cmd/confetti/internal/study.
package trends

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/fetched"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/plan"
)

// Command reads releases of rounds and draws them.
type Command struct {
	Folder     []string `arg:"" help:"What confetti study fetch wrote: a folder below it for each round. Of several, which are seasons of the same metrics, one trend is drawn." type:"path"`
	Metric     []string `help:"Which metric; given twice, two are beside each other. All of them without it." placeholder:"NAME"`
	Note       []string `help:"What happened, with its day: a version that came out." placeholder:"DAY=TEXT" sep:"none"`
	Out        string   `help:"Where to write the page." type:"path" placeholder:"FILE"`
	CSV        string   `help:"Where to write all numbers, for a spreadsheet." type:"path" placeholder:"FILE"`
	Parquet    string   `help:"Where to write the same as Parquet." type:"path" placeholder:"FILE"`
	Prometheus string   `help:"Where to write the newest numbers, in Prometheus' text format." type:"path" placeholder:"FILE"`
	terminal.Form
}

func (Command) Help() string {
	return `Reads releases and asks nobody: call confetti study fetch before, and confetti release
verify for each that you do not trust. A line is the share of a value. What changed has
an interval of noise and of sampling, which asks that who answers is a matter of chance.
Seasons follow each other by when they began. Where a metric has other values than it
had, its trend begins anew.

Example:
  confetti study trend fetched --metric theme --note "2026-12-07=version 5.0" --out theme.html
  confetti study trend autumn winter --out seasons.html --parquet seasons.parquet`
}

func (c Command) Run(std terminal.Streams) error {
	notes, err := c.notes()
	if err != nil {
		return err
	}
	study, rounds, err := fetched.Seasons(c.Folder)
	if err != nil {
		return err
	}
	trends, err := c.follow(study.Newest.Plan, rounds, notes)
	if err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{
		c.Out:        func(w io.Writer) error { return write(w, study, trends) },
		c.CSV:        func(w io.Writer) error { return trend.WriteCSV(w, trends) },
		c.Parquet:    func(w io.Writer) error { return writeParquet(w, trends) },
		c.Prometheus: func(w io.Writer) error { return trend.WritePrometheus(w, study.Name, trends) },
	}
	delete(files, "")
	texts := map[string][]byte{}
	for name, write := range files {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		texts[name] = b.Bytes()
	}
	if err := terminal.Uninterrupted(func() error {
		for name, text := range texts {
			if err := atomicfile.Replace(name, text, 0o644); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	var says strings.Builder
	for _, t := range trends {
		fmt.Fprintf(&says, "%s\n", sanitize.Text(strings.TrimSuffix(t.Metric+", "+t.Crowd, ", ")+": "+t.Says))
	}
	return c.Print(std, map[string]any{"study": study.Name, "trends": trends}, "%s", says.String())
}

// write writes the page, with the newest study's promise and the cost of all.
func write(w io.Writer, study fetched.Study, trends []trend.Trend) error {
	p, err := statement.New(study.Newest, nil)
	if err != nil {
		return err
	}
	kept, err := p.Keep(study.All, study.Newest.Plan.Times.Closes)
	if err != nil {
		return err
	}
	return trend.Write(w, study.Newest.Plan.Title, trends, trend.Shield(kept))
}

// writeParquet writes what WriteCSV does as Parquet.
func writeParquet(w io.Writer, trends []trend.Trend) error {
	var text bytes.Buffer
	if err := trend.WriteCSV(&text, trends); err != nil {
		return err
	}
	file, err := beside.WriteParquet("trend.csv", text.Bytes())
	if err != nil {
		return fmt.Errorf("--parquet: %w", err)
	}
	_, err = w.Write(file)
	return err
}

// notes reads what happened when.
func (c Command) notes() (all []trend.Note, err error) {
	for _, text := range c.Note {
		n, err := trend.ParseNote(text)
		if err != nil {
			return nil, terminal.Usagef("--note: %w", err)
		}
		all = append(all, n)
	}
	return all, nil
}

// follow returns the trends that were asked for, each metric in all its crowds.
func (c Command) follow(newest plan.Plan, rounds []trend.Round, notes []trend.Note) (all []trend.Trend, err error) {
	names, crowds := trend.Metrics(rounds)
	if len(names) == 0 {
		return nil, untold(newest)
	}
	for _, name := range c.Metric {
		if !slices.Contains(names, name) {
			return nil, terminal.Usagef("--metric %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	if len(c.Metric) > 0 {
		names = c.Metric
	}
	for _, name := range names {
		for _, crowd := range crowds[name] {
			if t, ok := trend.Follow(rounds, name, crowd, notes); ok {
				all = append(all, t)
			}
		}
	}
	return all, nil
}

// untold says why rounds have no trend.
func untold(p plan.Plan) error {
	switch {
	case p.Correlated() != nil:
		return errors.New("its rounds are correlated, and the newest release tells of all of them: see it with confetti release show")
	case !trend.Followed(p):
		return fmt.Errorf("a trend is of shares of values that a plan names, or of lifts of an experiment; a question of kind %s has neither: see each round with confetti release show, or all in the console", p.Question.Kind)
	}
	return errors.New("no round has a table of respondents: all were withheld, and there is no trend to draw")
}
