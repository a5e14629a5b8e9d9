// Package papers prints what four papers measured beside what is measured here, with every numbered table and
// figure. Used by lab/cmd/confetti-lab/experiment and lab/papers/draw.
package papers

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/release"
)

// Paper is one of the four.
type Paper struct {
	Name  string // of its page and of the command that measures it
	Title string
	text  string // what the page begins with, in Markdown
	items []item
	specs func() []experiments.Spec
	// counted says how runs follow from a cell's seed, and timed what else is to be known of the minutes.
	counted, timed string
	// pictures writes what the page shows beside figures.
	pictures func(d experiments.Data) error
}

// Pictures writes the files that the page shows and that are no figures, to the folder of the data. It leaves those that are there.
func (p Paper) Pictures(d experiments.Data) error {
	if p.pictures == nil {
		return nil
	}
	return p.pictures(d)
}

// Specs returns the measurements that the paper's page is made of.
func (p Paper) Specs() []experiments.Spec {
	return slices.DeleteFunc(p.specs(), func(s experiments.Spec) bool { return s.Beside })
}

// item is a numbered table or figure.
type item struct {
	name  string // Table 3
	title string
	text  string // how ours is measured, or why it is not there
	// lacks is what of the paper's was not measured, and what that would take; data what it had that cannot be had, and what
	// stands in. Both may be empty.
	lacks, data string
	show        func(c Cells) (tables []release.Table, figures []figures.Chart)
	// awaits names data sets that not every folder has; those without a cell are said to be missing.
	awaits []string
}

// All returns the papers.
func All() []Paper { return []Paper{kdePaper(), esaPaper(), ltnPaper(), ldcPaper()} }

// Named returns a paper by its name.
func Named(name string) (Paper, bool) {
	all := All()
	at := slices.IndexFunc(all, func(p Paper) bool { return p.Name == name })
	if at < 0 {
		return Paper{}, false
	}
	return all[at], true
}

// Cells are measured ones, of any measurement.
type Cells []experiments.Measured

// where returns the results of the cells that a rule picks, of equal cells that of most runs.
func (c Cells) where(pick func(experiments.Cell) bool) Cells {
	var out Cells
	for _, m := range c {
		if m.Result != nil && pick(m.Cell) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b experiments.Measured) int { return b.Cell.Runs - a.Cell.Runs })
	return out
}

// one returns the first of them, and false where there is none.
func (c Cells) one(pick func(experiments.Cell) bool) (experiments.Measured, bool) {
	found := c.where(pick)
	if len(found) == 0 {
		return experiments.Measured{}, false
	}
	return found[0], true
}

// Write makes the paper's page, NAME.md, and its figures as SVG in a folder, from the cells that are kept there. What has
// not been measured has a dash. It writes all figures as one PDF, NAME-figures.pdf, to the folder for print, unless that is "".
func (p Paper) Write(folder, print string) error {
	cells, err := p.Kept(folder)
	if err != nil {
		return err
	}
	if len(cells) == 0 {
		return fmt.Errorf("%s is not there, or has no cells: measure them first", p.cellsFile(folder))
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "# %s\n\n%s\n\n%s\n", p.Title, p.text, p.head(cells))
	var all []figures.Chart
	for _, it := range p.items {
		fmt.Fprintf(&text, "\n## %s: %s\n\n%s\n", it.name, it.title, it.text)
		if it.show == nil {
			continue
		}
		tables, drawn := it.show(cells)
		if len(drawn) == 0 && !slices.ContainsFunc(tables, func(t release.Table) bool { return len(t.Rows) > 0 }) {
			fmt.Fprintf(&text, "\n**Not measured yet in this form**: the command above measures it.\n")
		}
		for _, set := range it.awaits {
			if _, ok := cells.one(func(x experiments.Cell) bool { return x.Dataset == set }); !ok {
				fmt.Fprintf(&text, "\n**Not yet measured**: %s.\n", called(set))
			}
		}
		for _, t := range tables {
			markdown(&text, t)
		}
		for _, f := range drawn {
			f.Name = p.Name + "-" + f.Name
			var b bytes.Buffer
			if err := figures.Write(&b, f); err != nil {
				return err
			}
			if err := atomicfile.Replace(filepath.Join(folder, f.Name+".svg"), b.Bytes(), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&text, "\n![%s](%s.svg)\n", f.Alt, f.Name)
			all = append(all, f)
		}
	}
	if len(all) > 0 {
		fmt.Fprintf(&text, "\n## For print\n\n`cd lab && go run ./papers/draw -pdf FOLDER` writes all figures of this page as a PDF.\n")
		if print != "" {
			var b bytes.Buffer
			if err := figures.WritePDF(&b, all); err != nil {
				return err
			}
			if err := atomicfile.Replace(filepath.Join(print, p.Name+"-figures.pdf"), b.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	text.WriteString(origin(cells))
	return atomicfile.Replace(filepath.Join(folder, p.Name+".md"), text.Bytes(), 0o644)
}

// markdown writes a table, without rows and columns that nothing was measured for.
func markdown(w *bytes.Buffer, t release.Table) {
	if len(t.Rows) == 0 {
		return
	}
	cells := make([][]string, len(t.Rows))
	kept := make([]bool, len(t.Columns))
	for i, row := range t.Rows {
		for j, c := range row {
			s := strings.ReplaceAll(cellText(c, t.Columns[j].Unit), "|", "\\|")
			cells[i] = append(cells[i], s)
			kept[j] = kept[j] || s != none
		}
	}
	if t.Title != "" {
		fmt.Fprintf(w, "\n**%s**\n", t.Title)
	}
	line := func(of func(j int) string) {
		fmt.Fprint(w, "|")
		for j := range t.Columns {
			if kept[j] {
				fmt.Fprintf(w, " %s |", of(j))
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	line(func(j int) string { return t.Columns[j].Title })
	line(func(j int) string {
		if t.Rows[0][j].Text != "" && t.Rows[0][j].Text != none {
			return "---"
		}
		return "---:"
	})
	for i := range cells {
		line(func(j int) string { return cells[i][j] })
	}
	if t.Note != "" {
		fmt.Fprintf(w, "\n%s\n", t.Note)
	}
}

// none stands where there is no number.
const none = "–"

// cellText returns a cell in words: shares in percent without the sign, with their deviation.
func cellText(c release.Cell, unit string) string {
	switch {
	case c.Low != nil && unit == release.Share:
		return fmt.Sprintf("%s to %s", percent(*c.Low, 0), percent(*c.High, 0))
	case c.Value == nil:
		return c.Text
	case unit == release.Share:
		return percent(*c.Value, c.StdErr)
	case c.StdErr > 0:
		return fmt.Sprintf("%s ± %s", number(*c.Value), number(c.StdErr))
	}
	return number(*c.Value)
}

// percent has one decimal, and a deviation where there is one.
func percent(mean, std float64) string {
	if std > 0 {
		return fmt.Sprintf("%.1f ± %.1f", 100*mean, 100*std)
	}
	return fmt.Sprintf("%.1f", 100*mean)
}

// number has three digits that count, and thousands apart.
func number(x float64) string {
	switch {
	case x != 0 && x > -0.001 && x < 0.001, x >= 1e7:
		return fmt.Sprintf("%.3g", x)
	case x >= 1000:
		s := fmt.Sprintf("%.0f", x)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.3g", x), ".0")
}

// words returns a cell of text, and a dash where there is none.
func words(s string) release.Cell {
	if s == "" {
		s = none
	}
	return release.Text(s)
}

func columns(labels ...string) (of []release.Column) {
	for _, l := range labels {
		of = append(of, release.Column{Title: l})
	}
	return of
}

func row(cells ...string) (of []release.Cell) {
	for _, c := range cells {
		of = append(of, words(c))
	}
	return of
}
