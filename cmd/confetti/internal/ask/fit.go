package ask

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/cmd/confetti/internal/releases"
	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/table"
)

// Fit fits an additive model of one column.
type Fit struct {
	Release string `arg:"" help:"Folder of a release of tables." type:"path"`
	Target  string `help:"The column that is explained by all others." required:"" placeholder:"COLUMN"`
	Value   string `help:"Explain how many hold this value; without it each value of the column." placeholder:"VALUE"`
	Beyond  bool   `help:"Widen ranges to speak of the people whom respondents were drawn from."`
	Test    string `help:"Public rows (CSV) of these columns, to test the model on." type:"path" placeholder:"FILE"`
	JSON    bool   `help:"Print one JSON object."`
}

func (Fit) Help() string {
	return `For each value of each other column: by how much the share of those who hold it differs from everybody's, all else alike. It is the least-squares fit that respondents' own records would give, but for noise, since that takes tables of two columns and no more. It reads the release alone, so it costs no privacy.

Example:
  confetti fit tables --target drink --value mate`
}

// effect carries how much a value adds to a prediction, as JSON.
type effect struct {
	Column string  `json:"column,omitempty"`
	Value  string  `json:"value,omitempty"`
	Share  float64 `json:"share"`
	StdErr float64 `json:"std_err"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// fitted carries a model with its ranges, as JSON.
type fitted struct {
	Value     string   `json:"value"`
	Share     effect   `json:"share"`
	Effects   []effect `json:"effects"`
	Explained float64  `json:"explained_by_itself"`
	Tested    *float64 `json:"explained_of_test,omitempty"`
}

func (c Fit) Run(std terminal.Streams) error {
	m, err := releases.Tables(c.Release)
	if err != nil {
		return err
	}
	target, err := find(c.Target, m.Columns)
	if err != nil {
		return err
	}
	names := m.Values[target]
	if c.Value != "" && !slices.Contains(names, c.Value) {
		return terminal.Usagef("--value %q is none of %s: it has %q", c.Value, c.Target, names)
	}
	test, err := c.test(m)
	if err != nil {
		return err
	}
	values := 0
	for _, k := range m.Code.Sizes {
		values += k
	}
	among := values * values // effects of every value on every other, whatever is the target
	z := m.Among(level, float64(among))
	out := struct {
		Respondents int      `json:"respondents"`
		Target      string   `json:"target"`
		Level       float64  `json:"level"`
		Among       int      `json:"among"`
		Beyond      bool     `json:"beyond_respondents"`
		Models      []fitted `json:"models"`
	}{m.Respondents, c.Target, level, among, c.Beyond, nil}
	for v, name := range names {
		if c.Value != "" && c.Value != name {
			continue
		}
		f, err := m.Fit(target, v, c.Beyond)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Target, err)
		}
		model := fitted{Value: name, Share: effectOf(f.Share, z, 0), Explained: f.Explained}
		for a, effects := range f.Effects {
			for i, e := range effects {
				one := effectOf(e, z, -1)
				one.Column, one.Value = m.Columns[a].Name, m.Values[a][i]
				model.Effects = append(model.Effects, one)
			}
		}
		if test != nil {
			explained := tested(f, test, target, v)
			model.Tested = &explained
		}
		out.Models = append(out.Models, model)
	}
	if c.JSON {
		return json.NewEncoder(std.Out).Encode(out)
	}
	for _, f := range out.Models {
		fmt.Fprintf(std.Out, "%s = %s: %.1f %% of respondents (%.1f to %.1f)\n", c.Target, f.Value, 100*f.Share.Share, 100*f.Share.Low, 100*f.Share.High)
		rows := [][]string{{"column", "value", "points more or less", "range"}}
		for _, e := range f.Effects {
			rows = append(rows, []string{e.Column, e.Value, fmt.Sprintf("%+.1f", 100*e.Share), fmt.Sprintf("%+.1f to %+.1f", 100*e.Low, 100*e.High)})
		}
		aligned(std.Out, rows)
		if f.Tested != nil {
			fmt.Fprintf(std.Out, "  explains %.1f %% of the variance of the test's rows.\n\n", 100**f.Tested)
			continue
		}
		fmt.Fprintf(std.Out, "  explains %.1f %% of the variance by its own account; not tested on people (--test FILE has public rows).\n\n", 100*f.Explained)
	}
	_, err = fmt.Fprintf(std.Out, "All else alike, in percentage points of the share. Ranges of 95 %% hold for all effects of all columns at once. %s An effect is no cause.\n",
		map[bool]string{false: "They speak of the respondents alone (--beyond widens them).", true: "They speak of the people whom respondents were drawn from."}[c.Beyond])
	return err
}

// effectOf returns a share with its range, cut to what a share can be: from least to 1.
func effectOf(v estimate.Value, z, least float64) effect {
	cut := func(x float64) float64 { return max(least, min(1, x)) }
	return effect{Share: v.Mean, StdErr: v.StdErr, Low: cut(v.Mean - z*v.StdErr), High: cut(v.Mean + z*v.StdErr)}
}

// test returns records of public rows, nil where none are named.
func (c Fit) test(m results.Crosstabs) (records [][]int, err error) {
	if c.Test == "" {
		return nil, nil
	}
	var wanted []table.Column
	for _, column := range m.Columns {
		wanted = append(wanted, table.Column{Name: column.Name})
	}
	t, err := table.ReadColumns(c.Test, table.Missing{}, wanted...)
	if err != nil {
		return nil, err
	}
	for row := range t.Lines {
		var held []any
		for i := range wanted {
			held = append(held, t.Values[i][row])
		}
		record, fits := m.Record(held)
		if !fits {
			return nil, fmt.Errorf("%s: line %d has a value that its column does not have", c.Test, t.Lines[row])
		}
		records = append(records, record)
	}
	return records, nil
}

// tested returns the share of the variance of records that a model explains.
func tested(f tables.Fit, records [][]int, target, value int) float64 {
	mean, left, all := 0.0, 0.0, 0.0
	held := func(r []int) float64 {
		if r[target] == value {
			return 1
		}
		return 0
	}
	for _, r := range records {
		mean += held(r) / float64(len(records))
	}
	for _, r := range records {
		said := f.Share.Mean
		for a, effects := range f.Effects {
			if effects != nil {
				said += effects[r[a]].Mean
			}
		}
		left += math.Pow(held(r)-min(1, max(0, said)), 2)
		all += math.Pow(held(r)-mean, 2)
	}
	if all == 0 {
		return 0
	}
	return 1 - left/all
}
