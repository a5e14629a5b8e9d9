// Package predict implements confetti predict: what a model says of records. Used by cmd/confetti, for analysts.
package predict

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/table"
)

// Command predicts from each row of a file.
type Command struct {
	Model  string `arg:"" help:"What was learned: a model's file." type:"path"`
	File   string `arg:"" help:"Rows of the columns that the model takes (.csv, .parquet, .npy); of texts a column of a table, or a .txt with one a line; of images a PNG, or rows of grey levels." type:"path"`
	Column string `help:"The column of a table that holds the texts." placeholder:"NAME"`
	JSON   bool   `help:"Print one JSON object, with scores."`
}

func (Command) Help() string {
	return "Prints a line for each row: its class, or its number with an interval of 95 %.\n\nExample:\n  confetti predict rates.model loans.csv"
}

type prediction struct {
	Class  string             `json:"class,omitempty"`
	Scores map[string]float64 `json:"scores,omitempty"`
	Value  *float64           `json:"value,omitempty"`
	Low    *float64           `json:"low,omitempty"`
	High   *float64           `json:"high,omitempty"`
}

func (c Command) Run(std terminal.Streams) error {
	f, err := os.Open(c.Model)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := model.Read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Model, err)
	}
	report, finish := terminal.Progress(std.Err)
	all, err := c.predict(m, report)
	finish()
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return c.show(std, m, all)
}

func (c Command) show(std terminal.Streams, m *model.Model, all []model.Prediction) error {
	if !c.JSON {
		for _, p := range all {
			line := p.Class
			if m.Number != nil {
				line = fmt.Sprintf("%.6g (%.6g to %.6g)", p.Value, p.Low, p.High)
			}
			if _, err := fmt.Fprintln(std.Out, line); err != nil {
				return err
			}
		}
		return nil
	}
	out := make([]prediction, len(all))
	for i, p := range all {
		if m.Number != nil {
			out[i] = prediction{Value: &p.Value, Low: &p.Low, High: &p.High}
			continue
		}
		out[i] = prediction{Class: p.Class, Scores: map[string]float64{}}
		for k, s := range p.Scores {
			out[i].Scores[m.Classes[k]] = s
		}
	}
	return json.NewEncoder(std.Out).Encode(struct {
		Title       string        `json:"title"`
		Promise     model.Promise `json:"promise"`
		Tested      *model.Tested `json:"tested,omitempty"`
		Predictions []prediction  `json:"predictions"`
	}{m.Title, m.Promise, m.Tested, out})
}

func (c Command) predict(m *model.Model, report func(stage string, done, total int)) ([]model.Prediction, error) {
	if m.Features.Texts() {
		texts, err := c.texts()
		if err != nil {
			return nil, err
		}
		return each(len(texts), report, func(i int) (model.Prediction, error) { return m.OfText(texts[i]) })
	}
	if c.Column != "" {
		return nil, terminal.Usagef("--column names texts, and the model takes none")
	}
	if m.Features.Image != nil && dataset.IsPicture(c.File) {
		p, err := dataset.ReadPicture(c.File)
		if err != nil {
			return nil, err
		}
		got, err := m.OfNumbers(p.Grey())
		return []model.Prediction{got}, err
	}
	var choice table.Choice
	npy := strings.EqualFold(filepath.Ext(c.File), ".npy")
	for _, column := range m.Features.Columns {
		if !npy {
			choice.Features = append(choice.Features, column.Name)
		}
	}
	rows, err := table.ReadRecords(c.File, choice)
	if err != nil {
		return nil, err
	}
	places := make([]int, rows.X.Cols) // of the model's columns in the file
	for i := range places {
		places[i] = i
	}
	if len(choice.Features) > 0 {
		if places, err = m.Features.Places(rows.Columns); err != nil {
			return nil, err
		}
	}
	return each(rows.X.Rows, report, func(i int) (model.Prediction, error) {
		given, x := rows.X.Data[i*rows.X.Stride:][:rows.X.Cols], make([]float32, len(places))
		for k, at := range places {
			x[k] = given[at]
		}
		return m.OfNumbers(x)
	})
}

// texts returns those of a column, or of the lines of a file.
func (c Command) texts() ([]string, error) {
	if c.Column == "" {
		return table.ReadLines(c.File)
	}
	t, err := table.ReadColumns(c.File, table.Missing{}, table.Column{Name: c.Column, MayBeEmpty: true})
	if err != nil {
		return nil, err
	}
	return t.Values[0], nil
}

func each(n int, report func(stage string, done, total int), one func(i int) (model.Prediction, error)) ([]model.Prediction, error) {
	all := make([]model.Prediction, n)
	for i := range all {
		if i%1000 == 0 {
			report("predictions", i, n)
		}
		var err error
		if all[i], err = one(i); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
	}
	return all, nil
}
