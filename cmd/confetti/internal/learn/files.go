package learn

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
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
func (c fromLatent) files(l lesson, r release.Release, software string) ([]file, error) {
	m, t := l.model, l.taught
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
	err = page.WriteDocument(&b, c.page(l, r, software))
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

// ofJoined writes the same where a party's own columns and classes stand beside what was told.
const ofJoined = "Nothing more is charged for what was told: the release's promises hold of that part. The party's own columns and classes are in the model as they are, and are promised nothing: treat the model, and this page, as you treat your own table."

// page returns the page of a model.
func (c fromLatent) page(l lesson, r release.Release, software string) release.Document {
	m, t := l.model, l.taught
	learned := release.Section{Title: "What was learned", Text: fmt.Sprintf("A network tells %d classes apart by %d columns. ", len(m.Classes), len(m.Features.Columns)) + c.how(len(t.Told) > 0)}
	if m.Number != nil {
		learned.Text = fmt.Sprintf("A line predicts %s by %d columns. ", m.Number.Name, len(m.Features.Columns)) + c.how(len(t.Told) > 0)
	}
	note := "which it did not learn from"
	if c.Join != "" {
		learned.Metrics = append(learned.Metrics, release.Metric{Name: "alone", Title: "Right by the party's own columns alone", Value: l.alone.Value, Low: l.alone.Low, High: l.alone.High, Level: 0.95, Unit: release.Share, Records: l.alone.Records, Note: note})
	} else if c.Novel != "" {
		note += "; both kinds count alike"
	}
	switch tested := m.Tested; {
	case tested == nil:
		learned.Text += " It was tested on nothing."
	case m.Number != nil:
		learned.Metrics = []release.Metric{{Name: "r2", Title: "Share of the variance that it explains", Value: tested.Value, Unit: release.Share, Records: tested.Records, Note: "of public records that it did not learn from"}}
	default:
		learned.Metrics = slices.Insert(learned.Metrics, 0, release.Metric{Name: "accuracy", Title: "Right about records", Value: tested.Value, Low: tested.Low, High: tested.High, Level: 0.95, Unit: release.Share, Records: tested.Records, Note: note})
	}
	promises := release.Table{Name: "promises", Title: "What each respondent was promised", Columns: []release.Column{{Title: "against"}, {Title: "promise"}, {Title: "respondents it rests on"}, {Title: "by"}, {Title: "what it speaks of"}}}
	for _, s := range r.Guarantees {
		promises.Rows = append(promises.Rows, []release.Cell{release.Text(s.Observer), release.Text(s.Guarantee.Verdict()), release.Text(terminal.Thousands(s.Guarantee.Users)), release.Text(s.Guarantee.Method), release.Text(s.Note)})
	}
	costs := carried
	if c.Join != "" {
		costs = ofJoined
	}
	if l.decoder != nil {
		costs += " Its columns are those of a decoder, whose own records were promised: " + l.decoder.Promise() + ". A record that the decoder learned from and that told its code has both promises."
	}
	from := release.Section{Title: "What it costs", Text: fmt.Sprintf("%s It was learned from the release %q of %s respondents, of the plan %.12s.", costs, r.Title, terminal.Thousands(m.Promise.Respondents), r.Plan), Tables: []release.Table{promises}}
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
func (c fromLatent) how(vectors bool) string {
	switch {
	case c.Join != "":
		return "The columns are the party's own, and what was told with noise of the same records, matched by their numbers. One in five records was held back."
	case c.Novel != "":
		return "The second class has no public record: each public record counts with how much commoner the class is where it lies than public records are, if both were as many."
	case !vectors:
		return "Each public record counts with the likeliest shares of classes in its cluster."
	case c.Loss == "paper":
		return "Each public record counts with what a network says of its vector, which learned from the noisy vectors themselves, by how likely each told class is for each true one (LTN, equation 8)."
	}
	return "Each public record counts with what a network says of its vector, which learned from public prototypes, by how likely each report came of each and each told class of each true one."
}

// say prints what was learned.
func (c fromLatent) say(std terminal.Streams, l lesson, files []file) error {
	m := l.model
	if c.JSON {
		return terminal.WriteJSON(std.Out, struct {
			Files   []string      `json:"files"`
			Classes []string      `json:"classes,omitempty"`
			Promise model.Promise `json:"promise"`
			Tested  *model.Tested `json:"tested,omitempty"`
			Alone   *model.Tested `json:"tested_alone,omitempty"` // by the party's own columns
		}{names(files), m.Classes, m.Promise, m.Tested, l.alone})
	}
	if t := m.Tested; t != nil && m.Number != nil {
		fmt.Fprintf(std.Out, "explains             %.1f%% of the variance of %s test records\n", 100*t.Value, terminal.Thousands(t.Records))
	} else if t != nil {
		fmt.Fprintln(std.Out, accuracy(t))
	}
	if t := l.alone; t != nil {
		fmt.Fprintf(std.Out, "%s by your own columns alone\n", accuracy(t))
	}
	p := m.Promise
	g := account.Guarantee{Epsilon: p.Epsilon, Delta: p.Delta, Adjacency: account.Adjacency(p.Adjacency)}
	follows := "it follows from the release and from public records alone"
	if c.Join != "" {
		follows = "it follows from the release, and from columns and classes of your own"
	}
	fmt.Fprintf(std.Out, "everyone colludes    %s; %s respondents; by %s\nnothing more is charged: %s\n", g.Verdict(), terminal.Thousands(p.Respondents), p.Method, follows)
	if l.decoder != nil {
		fmt.Fprintf(std.Out, "records of the decoder %s\n", l.decoder.Promise())
	}
	for _, f := range files {
		if strings.HasPrefix(filepath.Base(f.name), noisy+"-") {
			fmt.Fprintf(std.Out, "noisy records        %s: no row is a person's, and means, tests and intervals of these rows are false\n", f.name)
		}
	}
	_, err := fmt.Fprintf(std.Out, "page                 %s\nNow type: confetti predict %s FILE\n", filepath.Join(c.Out, pageFile), filepath.Join(c.Out, modelFile))
	return err
}

// accuracy writes how often a model is right.
func accuracy(t *model.Tested) string {
	alike := ""
	if t.Measure == fitted.Balanced {
		alike = ", both kinds alike"
	}
	return fmt.Sprintf("accuracy             %.1f%%  95%% interval %.1f%% to %.1f%%, of %s test records%s", 100*t.Value, 100*t.Low, 100*t.High, terminal.Thousands(t.Records), alike)
}

func names(files []file) (all []string) {
	for _, f := range files {
		all = append(all, f.name)
	}
	return all
}
