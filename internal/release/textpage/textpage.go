// Package textpage writes a release as plain text for a terminal. Used by cmd/confetti/internal and
// internal/simulate/measure.
package textpage

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/release"
)

// columns is the width that Write wraps at: the narrowest terminal in common use.
const columns = 80

// Write writes the release as plain text for a terminal: no colour, no control
// codes, so that it reads the same in a file.
func Write(w io.Writer, r release.Release) error {
	if err := r.Validate(); err != nil {
		return err
	}
	var p printer
	p.paragraph("", r.Title)
	p.paragraph("", r.Question)
	p.line("%s, %s", r.Kind, r.Created.UTC().Format("2 January 2006, 15:04 UTC"))
	for _, b := range r.Banners() {
		p.line("")
		p.paragraph("", strings.ToUpper(b.Title)+" "+b.Text)
	}
	p.line("")
	if r.Answer != "" {
		p.paragraph("  ", r.Answer)
		p.line("")
	}
	p.metrics(r.Headline)
	for _, s := range r.Sections {
		p.section(s)
	}
	p.points("Withheld", r.Withheld)
	p.heading("Who is protected from whom")
	for i, g := range r.Guarantees {
		if i > 0 {
			p.line("")
		}
		p.guarantee(g)
	}
	for _, s := range r.Protection {
		p.section(s)
	}
	if len(r.Cost) > 0 {
		p.heading("What one device spends")
		p.metrics(r.Cost)
	}
	p.points("What the guarantees rest on", r.Assumptions)
	p.points("Notes", r.Noted())
	p.heading("Check it yourself")
	p.line("  confetti plan check plan.toml recomputes the guarantees and prints the hash:")
	p.line("  %s", r.Plan)
	p.line("  confetti release verify FOLDER checks the signatures of a collection over a")
	p.line("  network too, in the folder that confetti release fetch wrote.")
	p.line("")
	p.paragraph("  ", "Made by "+r.Provenance.Software+", "+r.Provenance.Randomness+".")
	if r.Provenance.Command != "" {
		p.line("  %s", r.Provenance.Command)
	}
	_, err := io.WriteString(w, sanitize.Page(p.String()))
	return err
}

type printer struct{ strings.Builder }

// line writes one line, without the blanks a padded last column leaves.
func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	p.WriteByte('\n')
}

func (p *printer) heading(s string) {
	p.line("")
	p.line("%s", s)
	p.line("%s", strings.Repeat("─", utf8.RuneCountInString(s)))
}

// paragraph wraps words behind an indent.
func (p *printer) paragraph(indent, s string) {
	line := indent
	for _, word := range strings.Fields(s) {
		if line != indent {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
				p.line("%s", line)
				line = indent
			} else {
				line += " "
			}
		}
		line += word
	}
	p.line("%s", line)
}

func (p *printer) points(title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.heading(title)
	for _, s := range items {
		var item printer
		item.paragraph("    ", s)
		p.WriteString(strings.Replace(item.String(), "    ", "  • ", 1))
	}
}

func (p *printer) metrics(ms []release.Metric) {
	var rows [][]string
	for _, m := range ms {
		rows = append(rows, []string{m.Title, m.String(), m.Uncertainty(), m.FormatTruth()})
	}
	for i, s := range align(rows, []bool{false, true, false, false}) {
		p.line("  %s", s)
		if ms[i].Note != "" {
			p.paragraph("      ", ms[i].Note)
		}
	}
}

func (p *printer) guarantee(s account.Statement) {
	g := s.Guarantee
	p.paragraph("  ", strings.ToUpper(s.Observer)+": "+g.Verdict())
	p.paragraph("    ", s.Who)
	p.paragraph("    ", g.Meaning())
	if s.Note != "" {
		p.paragraph("    ", "Note: "+s.Note)
	}
	var rows [][]string
	for _, f := range g.Facts() {
		rows = append(rows, []string{f.Name, f.Value})
	}
	for _, s := range align(rows, []bool{false, false}) {
		p.line("      %s", s)
	}
}

func (p *printer) section(s release.Section) {
	p.heading(s.Title)
	for _, f := range s.Figures {
		p.figure(f)
		if f.Kind != release.Bars {
			p.line("    drawn in %s.svg", f.Name)
		}
	}
	if len(s.Figures) > 0 {
		p.line("")
	}
	if s.Text != "" {
		p.paragraph("  ", s.Text)
	}
	p.metrics(s.Metrics)
	for _, t := range s.Tables {
		p.table(t)
	}
	for _, l := range s.Lists {
		p.list(l)
	}
}

func (p *printer) table(t release.Table) {
	heads, right := make([]string, len(t.Columns)), make([]bool, len(t.Columns))
	for j, c := range t.Columns {
		heads[j], right[j] = c.Title, t.Numeric(j)
	}
	rows := [][]string{heads}
	for _, row := range t.Rows {
		var cells []string
		for j, c := range row {
			cells = append(cells, t.Format(j, c))
		}
		rows = append(rows, cells)
	}
	p.line("")
	p.line("  %s", t.Title)
	for i, s := range align(rows, right) {
		p.line("    %s", s)
		if i == 0 {
			p.line("    %s", strings.Repeat("─", utf8.RuneCountInString(s)))
		}
	}
	if t.Note != "" {
		p.paragraph("    ", t.Note)
	}
}

func (p *printer) list(l release.List) {
	longest := 0.0
	for _, it := range l.Items {
		longest = max(longest, it.Score)
	}
	var rows [][]string
	for _, it := range l.Items {
		rows = append(rows, []string{it.Key, bar(it.Score, longest, itemLength), it.FormatScore(), l.FormatInterval(it), it.FormatTruth(), it.Rank()})
	}
	p.line("")
	p.line("  %s", l.Title)
	for _, s := range align(rows, []bool{false, false, true, true, false, false}) {
		p.line("    %s", s)
	}
	if s := l.Intervals(); s != "" {
		p.line("    %s", s)
	}
	if l.Note != "" {
		p.paragraph("    ", l.Note)
	}
}

// align pads the cells of every column to one width, to the right where asked, and
// leaves out columns that are empty.
func align(rows [][]string, right []bool) []string {
	width := make([]int, len(right))
	for _, row := range rows {
		for j := range row {
			row[j] = strings.ReplaceAll(row[j], "\n", " ") // a cell is one line
			width[j] = max(width[j], utf8.RuneCountInString(row[j]))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var cells []string
		for j, s := range row {
			padding := strings.Repeat(" ", width[j]-utf8.RuneCountInString(s))
			switch {
			case width[j] == 0:
			case right[j]:
				cells = append(cells, padding+s)
			default:
				cells = append(cells, s+padding)
			}
		}
		lines[i] = strings.Join(cells, "  ")
	}
	return lines
}
