package collect

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/confetti-dp/confetti/internal/cli/flags"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/textpage"
	"github.com/confetti-dp/confetti/internal/simulate/collection"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/internal/table"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/simulate"
)

// collectHistogram are the flags of a histogram of one's own table.
type collectHistogram struct {
	CSV    string   `name:"csv" help:"Table: a line of column names, then one line a respondent." type:"path" placeholder:"FILE"`
	Column []string `help:"Column to count; several are several questions." sep:"none" placeholder:"NAME"`
	Crowd  string   `help:"Column that names the respondent's crowd, which is public; each crowd has its own release." placeholder:"NAME"`
	Groups string   `help:"Table with the columns group and value (and column, with several): the release says how many respondents hold a value of each group." type:"path" placeholder:"FILE"`
	flags.Histogram
	Strings   flags.Strings `embed:""`
	Tabulated flags.Columns `embed:""`
	Work      string        `help:"With --full: hold in memory little more than the table, and what devices send in this folder; the same command goes on there after a stop." type:"path" placeholder:"DIR"`
	Part      int           `help:"Of --work: bytes of a part of a crowd, at least; some ten times as much memory is used. 0 is 16 MiB." name:"part-bytes" default:"0" placeholder:"BYTES"`
	flags.Experiment

	Alphabet string `help:"Of strings: the characters that these are made of, such as a-z0-9; without it they are any text." placeholder:"CHARS"`
}

// checkHistogram is of the flags by themselves, before anything is read.
func (c collectSimulate) checkHistogram() error {
	errs := []error{c.Budget.Check(), c.Histogram.Check(), c.CheckAccounting(c.Accounting)}
	if len(c.Column) == 0 {
		errs = append(errs, terminal.Usagef("--csv needs the columns to count: --column NAME, one or more"))
	}
	for i, name := range c.Column {
		if slices.Contains(c.Column[:i], name) {
			errs = append(errs, terminal.Usagef("--column %s is given twice", name))
		}
	}
	if c.Crowd == "" && c.CrowdEpsilon != 0 {
		errs = append(errs, terminal.Usagef("--crowd-epsilon is of the sizes of crowds: name their column with --crowd"))
	}
	if c.Minimum < 0 || c.Minimum > plan.MaxCrowd {
		errs = append(errs, terminal.Usagef("--minimum is %d: give 1 to %d respondents, or 0 for the smallest crowd there is", c.Minimum, plan.MaxCrowd))
	}
	errs = append(errs, c.Histogram.CheckNoised(c.Route, c.LocalEpsilon)...)
	if c.Route.Route == plan.RouteSum {
		if c.CrowdEpsilon != 0 || c.Fragments > 1 {
			errs = append(errs, terminal.Usagef("--crowd-epsilon and --fragments are of answers that are mixed: leave them out of a sum"))
		}
	}
	if c.Work != "" && !c.full() {
		errs = append(errs, terminal.Usagef("--work holds what devices send, and without --full they send nothing: add --full"))
	}
	if c.Part < 0 || c.Part > 0 && c.Work == "" {
		errs = append(errs, terminal.Usagef("--part-bytes is %d: give bytes of a part of what --work keeps, or 0", c.Part))
	}
	if c.Work != "" && c.Route.Route == plan.RouteSum {
		errs = append(errs, terminal.Usagef("--work is of answers that are mixed: leave it out of a sum"))
	}
	if c.Out != "" {
		errs = append(errs, terminal.Writable(c.Out))
	}
	return errors.Join(errs...)
}

// mostCells is some 3 GB: a cell takes about 200 bytes, from its count to the page.
const mostCells = 1 << 24

// runHistogram counts columns of a table.
func (c collectSimulate) runHistogram(std terminal.Streams, given *kong.Context) error {
	if err := c.checkHistogram(); err != nil {
		return err
	}
	attributes, err := c.Attributes(c.Column)
	if err != nil {
		return err
	}
	missing, err := c.missing()
	if err != nil {
		return err
	}
	t, err := c.readTable(attributes, missing)
	if err != nil {
		return err
	}
	cells := 0
	for _, a := range attributes {
		cells = min(mostCells+1, cells+a.Domain()*max(1, len(t.crowds)))
	}
	if cells > mostCells {
		return fmt.Errorf("a simulation holds all cells of all crowds in memory, at most %d: ask for fewer", mostCells)
	}
	for _, note := range t.notes {
		fmt.Fprintln(std.Err, "note: "+note)
	}
	groups, err := c.groups()
	if err != nil {
		return err
	}
	h, neighbours := c.Question(attributes, c.Accounting), ""
	if c.Histogram.Noised(c.Route) {
		h.Randomizer, neighbours = plan.Randomizer{Name: plan.RandomizerNone}, "replacement"
	}
	s := collection.Survey{
		Title:        fmt.Sprintf("%s of the respondents in %s", strings.Join(c.Column, ", "), filepath.Base(c.CSV)),
		Histogram:    h,
		Crowds:       t.crowds,
		Budget:       plan.Budget{Epsilon: c.Epsilon, LocalEpsilon: c.LocalEpsilon, Delta: c.Delta, Adjacency: cmp.Or(neighbours, c.Neighbours(h))},
		Minimum:      c.Minimum,
		CrowdEpsilon: c.CrowdEpsilon, Noise: c.Route.Adds("histogram"),
		Instances: 1, Hops: 2, Suite: "x25519",
		Groups: groups, Full: c.full(), Work: simulate.Bounded{Dir: c.Work, PartBytes: c.Part}, Seed: c.Seed,
	}
	report, finish := terminal.Progress(std.Err)
	out, err := s.Run(filepath.Base(c.CSV), t.respondents, report)
	finish()
	if err != nil {
		return flags.InDomain(err)
	}
	out.Release.Remarks = append(out.Release.Remarks, t.notes...)
	if out.Choice != "" {
		fmt.Fprintln(std.Err, "note: "+out.Choice)
		out.Release.Remarks = append(out.Release.Remarks, "Of the ways to ask: "+out.Choice)
	}
	proto, err := protocol.New(out.Plan)
	if err != nil {
		return err
	}
	for _, doubt := range design.Doubts(proto) {
		fmt.Fprintln(std.Err, "note: "+doubt)
		out.Release.Remarks = append(out.Release.Remarks, doubt)
	}
	if c.Out != "" {
		if err := c.publish(std, given, &out.Release, out.Plan, out.Model, out.Public); err != nil {
			return err
		}
	}
	if c.JSON {
		return terminal.WriteJSON(std.Out, out.Result)
	}
	return ShowSurvey(std.Out, out)
}

// groups reads which values of a column belong together.
func (c collectHistogram) groups() ([]results.Group, error) {
	if c.Groups == "" {
		return nil, nil
	}
	names := []string{"group", "value"}
	if len(c.Column) > 1 {
		names = append(names, "column")
	}
	var columns []table.Column
	for _, name := range names {
		columns = append(columns, table.Column{Name: name})
	}
	t, err := table.ReadColumns(c.Groups, table.Missing{}, columns...)
	if err != nil {
		return nil, err
	}
	var groups []results.Group
	for row, name := range t.Values[0] {
		column := c.Column[0]
		if len(names) > 2 {
			column = t.Values[2][row]
		}
		at := slices.IndexFunc(groups, func(g results.Group) bool { return g.Name == name && g.Attribute == column })
		if at < 0 {
			at, groups = len(groups), append(groups, results.Group{Attribute: column, Name: name})
		}
		groups[at].Cells = append(groups[at].Cells, t.Values[1][row])
	}
	return groups, nil
}

// ShowSurvey prints what was found, and its figures as far as text has them.
func ShowSurvey(w io.Writer, s collection.Surveyed) error {
	r := s.Result
	rows := []string{
		fmt.Sprintf("devices              %d", r.Respondents),
		fmt.Sprintf("error of a count     %.4g respondents (root mean square over %d cells; largest %.4g)", r.Unbiased, r.Cells, r.LinfUnbiased),
	}
	rows = append(rows, verdicts(s.Release)...)
	rows = append(rows, "accounted by         "+r.Method)
	rows = append(rows, sent(s.Plan, r)...)
	for _, withheld := range r.Withheld {
		rows = append(rows, "withheld             "+withheld)
	}
	rows = append(rows, fmt.Sprintf("seconds              %.1f", r.Seconds))
	if _, err := fmt.Fprintln(w, strings.Join(rows, "\n")); err != nil {
		return err
	}
	for _, section := range s.Release.Sections {
		for _, f := range section.Figures {
			if err := textpage.WriteFigure(w, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// sent says what a device sends.
func sent(p plan.Plan, r measure.Result) []string {
	said := fmt.Sprintf("messages per device  %.4g, with dummies %d", r.MessagesPerDevice, r.EnvelopesPerDevice)
	if sum := p.Route.Sum; sum != nil {
		said = fmt.Sprintf("numbers per device   %d, in two shares", sum.Circuit.Length)
	}
	return []string{said, fmt.Sprintf("bytes per device     %d", r.BytesPerDevice)}
}
