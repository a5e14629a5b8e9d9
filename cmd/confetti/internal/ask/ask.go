// Package ask implements confetti ask, rows and fit: what a release of tables tells, from its own files and nothing else.
// Used by cmd/confetti, for analysts.
package ask

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/release/results"
)

// level bounds how likely each range holds.
const level = 0.95

// Ask answers questions of a release of tables.
type Ask struct {
	Release   string   `arg:"" help:"Folder of a release of tables." type:"path"`
	Questions []string `arg:"" help:"Such as: drink by class, drink where spend >= 20, people where class = student." name:"question"`
	JSON      bool     `help:"Print one JSON object."`
}

func (Ask) Help() string {
	return `Reads the release alone, so it costs no privacy, however much is asked. Ranges hold for all that can be asked at once. Of two columns a count has a best guess and a range; of three the range is what tables of two allow, and the guess is a model's. Of several questions it says how far their noise goes together.

Examples:
  confetti ask tables "drink by class"
  confetti ask tables "drink by class where spend >= 20"`
}

// cell carries one line of an answer, as JSON.
type cell struct {
	Values    []string `json:"values,omitempty"`
	Count     float64  `json:"count"`
	Estimate  *float64 `json:"estimate,omitempty"` // unbiased
	StdErr    *float64 `json:"std_err,omitempty"`
	Low       float64  `json:"low"`
	High      float64  `json:"high"`
	Share     *float64 `json:"share,omitempty"`
	ShareLow  *float64 `json:"share_low,omitempty"`
	ShareHigh *float64 `json:"share_high,omitempty"`
	ByModel   bool     `json:"by_model"`
}

type answered struct {
	Question string   `json:"question"`
	Columns  []string `json:"columns,omitempty"`
	Cells    []cell   `json:"cells"`
}

func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

func (c Ask) Run(std terminal.Streams) error {
	m, err := releases.Tables(c.Release)
	if err != nil {
		return err
	}
	all, asked := make([][]line, len(c.Questions)), make([]question, len(c.Questions))
	for i, text := range c.Questions {
		if asked[i], err = parse(text, m); err != nil {
			return err
		}
		if all[i], err = asked[i].answer(m, level); err != nil {
			return terminal.Usage(err)
		}
	}
	if !c.JSON {
		for i, q := range asked {
			show(std.Out, q, m, all[i])
		}
		together(std.Out, all)
		_, err := fmt.Fprintf(std.Out, "Of %d respondents. Ranges of 95 %% hold for all that can be asked of this release at once. Asking is free.\n", m.Respondents)
		return err
	}
	out := struct {
		Respondents int           `json:"respondents"`
		Level       float64       `json:"level"`
		Among       float64       `json:"among"` // how many ranges hold at once
		Answers     []answered    `json:"answers"`
		Together    [][][]float64 `json:"together,omitempty"` // of each question after the first, by its cells, with each cell of the first
	}{Respondents: m.Respondents, Level: level, Among: m.Questions()}
	for i, q := range asked {
		a := answered{Question: q.text}
		for _, column := range q.columns {
			a.Columns = append(a.Columns, m.Columns[column].Name)
		}
		for _, l := range all[i] {
			a.Cells = append(a.Cells, cell{l.values, l.Count, known(l.Raw), known(l.StdErr), l.Low, l.High, known(l.Share), known(l.ShareLow), known(l.ShareHigh), l.ByModel})
		}
		out.Answers = append(out.Answers, a)
		if i > 0 {
			out.Together = append(out.Together, correlations(all[0], all[i]))
		}
	}
	return json.NewEncoder(std.Out).Encode(out)
}

// correlations returns how far the noise of cells goes together.
func correlations(first, other []line) (out [][]float64) {
	for _, l := range other {
		var row []float64
		for _, f := range first {
			row = append(row, tables.Correlation(f.Answer, l.Answer))
		}
		out = append(out, row)
	}
	return out
}

// show prints the answer of a question.
func show(to io.Writer, q question, m results.Crosstabs, lines []line) {
	var rows [][]string
	head := []string{}
	for _, column := range q.columns {
		head = append(head, m.Columns[column].Name)
	}
	head = append(head, "people", "range", "share", "range")
	model := false
	for _, l := range lines {
		row := append([]string{}, l.values...)
		row = append(row, fmt.Sprintf("%.0f", l.Count), fmt.Sprintf("%.0f to %.0f", l.Low, l.High))
		if math.IsNaN(l.Share) {
			row = append(row, "", "")
		} else {
			row = append(row, fmt.Sprintf("%.1f %%", 100*l.Share), fmt.Sprintf("%.1f to %.1f %%", 100*l.ShareLow, 100*l.ShareHigh))
		}
		if l.ByModel {
			model = true
			row = append(row, "by model")
		}
		rows = append(rows, row)
	}
	if model {
		head = append(head, "")
	}
	fmt.Fprintln(to, q.text)
	aligned(to, append([][]string{head}, rows...))
	if model {
		fmt.Fprintln(to, "  Three columns at once are not in this release: the range is all that tables of two allow, and the number is a model's, of no range of its own.")
	}
	fmt.Fprintln(to)
}

// together prints which cells of the first question and of another share noise.
func together(to io.Writer, all [][]line) {
	if len(all) < 2 {
		return
	}
	for _, other := range all[1:] {
		most, at := 0.0, [2]int{}
		for i, row := range correlations(all[0], other) {
			for j, c := range row {
				if math.Abs(c) > math.Abs(most) {
					most, at = c, [2]int{j, i}
				}
			}
		}
		name := func(l line) string {
			if len(l.values) == 0 {
				return "the count"
			}
			return strings.Join(l.values, ", ")
		}
		fmt.Fprintf(to, "Noise of these answers goes together by %.2f at most (of %s and %s); --json has all.\n\n", most, name(all[0][at[0]]), name(other[at[1]]))
	}
}

// aligned prints rows in columns: texts to the left, numbers to the right.
func aligned(to io.Writer, rows [][]string) {
	var wide []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], len([]rune(text)))
		}
	}
	for _, row := range rows {
		out := " "
		for i, text := range row {
			out += " " + text + strings.Repeat(" ", wide[i]-len([]rune(text))+1)
		}
		fmt.Fprintln(to, strings.TrimRight(out, " "))
	}
}
