package learn

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/cmd/confetti/internal/beside"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/formula"
	"github.com/confetti-dp/confetti/internal/learn/fitted"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/release"
)

// noisy begins the name of every file of records, and heads its first column.
const noisy = "noisy"

// file waits to be written until all are made.
type file struct {
	name string
	text []byte
}

// files returns the model, what is asked for beside it, and last the page.
func (c fromLatent) files(m *model.Model, t results.Taught, r release.Release, software string) ([]file, error) {
	text, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	files := []file{{filepath.Join(c.Out, modelFile), text}}
	if c.Judged != "" {
		state, err := fitted.State(m)
		if err != nil {
			return nil, err
		}
		files = append(files, file{c.Judged, state})
	}
	if c.Records != "" {
		dir, name := filepath.Split(c.Records)
		if !strings.HasPrefix(name, noisy+"-") {
			name = noisy + "-" + name
		}
		columns := []string{}
		for _, column := range m.Features.Columns {
			columns = append(columns, column.Name)
		}
		rows, err := records(t, columns)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, ".parquet") {
			if rows, err = beside.WriteParquet(strings.TrimSuffix(name, ".parquet")+".csv", rows); err != nil {
				return nil, err
			}
		}
		files = append(files, file{filepath.Join(dir, name), rows})
	}
	var b bytes.Buffer
	err = page.WriteDocument(&b, c.page(m, t, r, software))
	return append(files, file{filepath.Join(c.Out, pageFile), b.Bytes()}), err
}

// records returns a table with a row for each report: a record that it may have come of, and the class as it was told.
func records(t results.Taught, names []string) ([]byte, error) {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	row := []string{noisy}
	for _, name := range names {
		row = append(row, formula.Quote(name))
	}
	w.Write(append(row, "class told with noise")) // Error tells, as of the rest
	for i, class := range t.Told {
		row = append(row[:0], "1")
		for _, v := range t.Records.Data[i*t.Records.Stride:][:t.Records.Cols] {
			row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 32))
		}
		w.Write(append(row, formula.Quote(t.Classes[class])))
	}
	w.Flush()
	return text.Bytes(), w.Error()
}

// carried writes that the release's promises hold of all that is written.
const carried = "Nothing more is charged: this follows from the release and from public records alone. So what the release promised to each respondent holds of the model, of records and of this page, and of whatever is made of these."

// page returns the page of a model.
func (c fromLatent) page(m *model.Model, t results.Taught, r release.Release, software string) release.Document {
	learned := release.Section{Title: "What was learned", Text: fmt.Sprintf("A network tells %d classes apart by %d columns. ", len(t.Classes), len(m.Features.Columns)) + how(c.Loss, len(t.Told) > 0)}
	if m.Number != nil {
		learned.Text = fmt.Sprintf("A line predicts %s by %d columns. ", m.Number.Name, len(m.Features.Columns)) + how(c.Loss, len(t.Told) > 0)
	}
	switch tested := m.Tested; {
	case tested == nil:
		learned.Text += " It was tested on nothing."
	case m.Number != nil:
		learned.Metrics = []release.Metric{{Name: "r2", Label: "Share of the variance that it explains", Value: tested.Value, Unit: release.Share, Records: tested.Records, Note: "of public records that it did not learn from"}}
	default:
		learned.Metrics = []release.Metric{{Name: "accuracy", Label: "Right about public records", Value: tested.Value, Low: tested.Low, High: tested.High, Level: 0.95, Unit: release.Share, Records: tested.Records, Note: "which it did not learn from"}}
	}
	promises := release.Table{Name: "promises", Title: "What each respondent was promised", Columns: []release.Column{{Label: "against"}, {Label: "promise"}, {Label: "respondents it rests on"}, {Label: "by"}, {Label: "what it speaks of"}}}
	for _, s := range r.Guarantees {
		promises.Rows = append(promises.Rows, []release.Cell{release.Text(s.Observer), release.Text(s.Guarantee.Verdict()), release.Text(terminal.Thousands(s.Guarantee.Users)), release.Text(s.Guarantee.Method), release.Text(s.Note)})
	}
	from := release.Section{Title: "What it costs", Text: fmt.Sprintf("%s It was learned from the release %q of %s respondents, of the plan %.12s.", carried, r.Title, terminal.Thousands(m.Promise.Respondents), r.Plan), Tables: []release.Table{promises}}
	sections := []release.Section{learned, from}
	if c.Records != "" {
		sections = append(sections, release.Section{Title: "Noisy records", Text: fmt.Sprintf("A file has %s noisy records, one for each report. A report is read as the mean of public records, by how likely it came of each, and its class stands as it was told, which is often a lie. No row is a person's record: means, tests and intervals of these rows are false.", terminal.Thousands(len(t.Told)))})
	}
	text := "What a collection of private records taught, though each record is private."
	if r.Source == release.Simulation {
		text += " The release is a simulation, which asked nobody."
	}
	return release.Document{Title: "Learned from: " + r.Title, Text: text, Created: time.Now().UTC(), Sections: sections, Provenance: release.Provenance{Software: software, Randomness: fmt.Sprintf("weights to begin with from seed %d", c.Seed)}}
}

// how writes how a model was learned.
func how(loss string, vectors bool) string {
	switch {
	case !vectors:
		return "Each public record counts with the likeliest shares of classes in its cluster."
	case loss == "paper":
		return "Each public record counts with what a network says of its vector, which learned from the noisy vectors themselves, by how likely each told class is for each true one (LTN, equation 8)."
	}
	return "Each public record counts with what a network says of its vector, which learned from public prototypes, by how likely each report came of each and each told class of each true one."
}

// say prints what was learned.
func (c fromLatent) say(std terminal.Streams, m *model.Model, files []file) error {
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Files   []string      `json:"files"`
			Classes []string      `json:"classes,omitempty"`
			Promise model.Promise `json:"promise"`
			Tested  *model.Tested `json:"tested,omitempty"`
		}{names(files), m.Classes, m.Promise, m.Tested})
	}
	if t := m.Tested; t != nil && m.Number != nil {
		fmt.Fprintf(std.Out, "explains             %.1f%% of the variance of %s test records\n", 100*t.Value, terminal.Thousands(t.Records))
	} else if t != nil {
		fmt.Fprintf(std.Out, "accuracy             %.1f%%  95%% interval %.1f%% to %.1f%%, of %s test records\n", 100*t.Value, 100*t.Low, 100*t.High, terminal.Thousands(t.Records))
	}
	p := m.Promise
	g := account.Guarantee{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: account.Adjacency(p.Adjacency)}
	fmt.Fprintf(std.Out, "everyone colludes    %s; %s respondents; by %s\nnothing more is charged: it follows from the release and from public records alone\n", g.Verdict(), terminal.Thousands(p.Respondents), p.Method)
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f.name), noisy+"-") {
			fmt.Fprintf(std.Out, "noisy records        %s: no row is a person's, and means, tests and intervals of these rows are false\n", f.name)
		}
	}
	_, err := fmt.Fprintf(std.Out, "page                 %s\nNow type: confetti predict %s FILE\n", filepath.Join(c.Out, pageFile), filepath.Join(c.Out, modelFile))
	return err
}

func names(files []file) (all []string) {
	for _, f := range files {
		all = append(all, f.name)
	}
	return all
}
